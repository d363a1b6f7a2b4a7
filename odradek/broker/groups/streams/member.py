"""A member of a streams group: its metadata, its epoch, and the tasks that it has.

Pure. Owns: the fields, and the estimate of their bytes. Never does: changing; a changed member is a new tuple, so a
decision whose append fails leaves no trace. Source: ``StreamsGroupMember``, ``MemberState``; KIP-1071.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from ..memory import MEMBER_BYTES, text_bytes
from .tasks import EMPTY_MEMBER_TASKS, MemberTasks

LEAVE_GROUP_STATIC_MEMBER_EPOCH = -2
NO_TOPOLOGY_EPOCH = -1
TASK_BYTES = 120
"""The estimated bytes of a task: in the member, in the target assignment, and in the map of its processes."""
TAG_BYTES = 160
"""The estimated bytes of a client tag besides its characters."""


class StreamsMemberState(IntEnum):
    """The progress of a member towards its target assignment. The numbers are those in its records."""

    STABLE = 1
    """It has reached its target assignment."""
    UNREVOKED_TASKS = 2
    """It must give up tasks before it may enter the next epoch."""
    UNRELEASED_TASKS = 3
    """It waits for tasks that others have not given up yet."""
    UNKNOWN = 127
    """A newer Kafka wrote a state that this release does not know."""

    @classmethod
    def of(cls, value: int) -> "StreamsMemberState":
        """The state of a record."""
        return cls(value) if value in cls._value2member_map_ else cls.UNKNOWN


class StreamsEndpoint(NamedTuple):
    """The address at which a member serves interactive queries."""

    host: str
    port: int


class StreamsGroupMember(NamedTuple):
    """One member of a streams group: one thread of a Kafka Streams process."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = NO_TOPOLOGY_EPOCH
    process_id: str = ""
    user_endpoint: StreamsEndpoint | None = None
    client_tags: Mapping[str, str] = {}
    assigned: MemberTasks = EMPTY_MEMBER_TASKS
    pending_revocation: MemberTasks = EMPTY_MEMBER_TASKS

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether it has reached the target assignment of that epoch."""
        return self.state is StreamsMemberState.STABLE and self.member_epoch == assignment_epoch

    def with_epoch(self, epoch: int) -> "StreamsGroupMember":
        """Returns the member in another epoch. The present one becomes the previous one."""
        return self._replace(member_epoch=epoch, previous_member_epoch=self.member_epoch)

    def task_epoch(self, subtopology_id: str, partition: int) -> int | None:
        """Returns the epoch in which the member was assigned an active task, or None if it does not have the task."""
        for tasks in (self.assigned, self.pending_revocation):
            epoch = tasks.active.get(subtopology_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


def member_bytes(member: StreamsGroupMember) -> int:
    """The bytes of a member: what it sent, its tasks, and what is kept for each member."""
    texts = (
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.process_id,
        None if member.user_endpoint is None else member.user_endpoint.host,
    )
    tags = sum(TAG_BYTES + text_bytes(key) + text_bytes(value) for key, value in member.client_tags.items())
    return MEMBER_BYTES + sum(map(text_bytes, texts)) + tags + task_count(member) * TASK_BYTES


def task_count(member: StreamsGroupMember) -> int:
    """The number of tasks that a member has or gives up."""
    return sum(
        sum(map(len, tasks.active.values()))
        + sum(map(len, tasks.standby.values()))
        + sum(map(len, tasks.warmup.values()))
        for tasks in (member.assigned, member.pending_revocation)
    )
