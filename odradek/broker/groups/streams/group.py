"""A streams group: its epochs, its members, its topology, their targets, and the processes that have each task.

Pure. Owns: what belongs to one group, and the bookkeeping that keeps it consistent. Never does: deciding. Invariants:
changed by :mod:`.replay` alone, except what a restart drops (``configured``, ``refresh_deadline``, ``shutdown_by``,
``endpoint_epoch``, ``endpoints``, ``task_offsets``, ``heard``). Source: ``StreamsGroup``; KIP-1071.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

from odradek.protocol.common.steps import Steps
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatResponse

from ..classic.group import ClassicGroup
from ..memory import GroupMemory
from ..modern.group import StaticGroup
from ..modern.groups import ModernGroups
from ..records import CoordinatorRecord
from .configured_topology import ConfiguredTopology
from .member import StreamsGroupMember, member_bytes
from .tasks import EMPTY, MemberTasks, SubtopologyTasks, Tasks
from .topology import StreamsTopology

NO_DESCRIPTION = -1
"""No description of the topology was stored, or failed to be."""


class StreamsGroupState(StrEnum):
    """A group's state, under the name that clients see."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """The topology of the group was not validated: topics are missing, or do not fit together."""
    ASSIGNING = "Assigning"
    """The group's epoch is ahead of its target assignment."""
    RECONCILING = "Reconciling"
    """Not all members have reached the target assignment."""
    STABLE = "Stable"
    DEAD = "Dead"


class TaskOffsets(NamedTuple):
    """What a member has reported last about the state stores of its tasks: offset and end offset of each."""

    offsets: Mapping[tuple[str, int], int] = {}
    end_offsets: Mapping[tuple[str, int], int] = {}

    @property
    def used_bytes(self) -> int:
        """The estimated bytes of what is kept."""
        return TASK_OFFSET_BYTES * (len(self.offsets) + len(self.end_offsets))


NO_TASK_OFFSETS = TaskOffsets()
TASK_OFFSET_BYTES = 200
"""The estimated bytes of a task's offset."""


class StreamsAssignmentComputation:
    """A target assignment that is computed in steps. ``asked_ms``: when it was requested, wall clock. ``group`` and
    ``steps`` are None until the computation begins."""

    __slots__ = ("asked_ms", "group", "steps")

    def __init__(self, asked_ms: int) -> None:
        self.asked_ms = asked_ms
        self.group: StreamsGroup | None = None
        self.steps: Steps[list[CoordinatorRecord]] | None = None


class TaskProcesses:
    """The processes that have each task, by the role of the task."""

    __slots__ = ("active", "standby", "warmup")

    def __init__(self) -> None:
        self.active: dict[tuple[str, int], str] = {}
        """Task -> the id of the process that has it."""
        self.standby: dict[tuple[str, int], set[str]] = {}
        self.warmup: dict[tuple[str, int], set[str]] = {}

    def add(self, tasks: MemberTasks, process_id: str) -> None:
        """Notes the tasks of a member."""
        for subtopology_id, epochs in tasks.active.items():
            for partition in epochs:
                self.active[subtopology_id, partition] = process_id
        for held, found in ((self.standby, tasks.standby), (self.warmup, tasks.warmup)):
            for task in _each(found):
                held.setdefault(task, set()).add(process_id)

    def remove(self, tasks: MemberTasks, process_id: str) -> None:
        """Forgets the tasks of a member, but for those that another process has by now."""
        for subtopology_id, epochs in tasks.active.items():
            for partition in epochs:
                if self.active.get((subtopology_id, partition)) == process_id:
                    del self.active[subtopology_id, partition]
        for held, found in ((self.standby, tasks.standby), (self.warmup, tasks.warmup)):
            for task in _each(found):
                processes = held.get(task)
                if processes is not None:
                    processes.discard(process_id)
                    if not processes:
                        del held[task]


def _each(tasks: SubtopologyTasks) -> Iterator[tuple[str, int]]:
    for subtopology_id, partitions in tasks.items():
        for partition in partitions:
            yield subtopology_id, partition


class StreamsGroup(StaticGroup[StreamsGroupMember, Tasks]):
    """One group. ``assignment_configs``: the settings of the last
    assignment, as they are stored."""

    __slots__ = (
        "assignment_configs",
        "configured",
        "endpoint_epoch",
        "endpoints",
        "failed_description_epoch",
        "heard",
        "processes",
        "shutdown_by",
        "stored_description_epoch",
        "task_offsets",
        "topology",
        "validated_topology_epoch",
    )

    def __init__(self, group_id: str, memory: GroupMemory) -> None:
        """``memory`` counts the bytes of the members of this group and of others."""
        super().__init__(group_id, memory)
        self.validated_topology_epoch = 0
        self.assignment_configs: Mapping[str, str] = {}
        self.stored_description_epoch = NO_DESCRIPTION
        self.failed_description_epoch = NO_DESCRIPTION
        self.topology: StreamsTopology | None = None
        self.processes = TaskProcesses()
        self.configured: ConfiguredTopology | None = None
        """The topology with the partitions that its topics have now; None until a heartbeat has looked at them."""
        self.shutdown_by: str | None = None
        """The member that has asked all members to end; None if none has."""
        self.endpoint_epoch = 0
        self.endpoints: dict[str, StreamsGroupHeartbeatResponse.EndpointToPartitions] = {}
        """What members with an endpoint serve, by member id, as far as it was computed since the last change."""
        self.task_offsets: dict[str, TaskOffsets] = {}
        self.heard: dict[str, int] = {}
        """Member id -> when its last heartbeat came, wall clock in ms; the first one has been silent for longest."""

    # --- queries

    @property
    def state(self) -> StreamsGroupState:
        """The state of the group. It depends on every member, and is computed at each call: only descriptions need
        it."""
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.topology_epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.group_epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic."""
        return bool(self.members) and self.topology is not None and topic in self.topology.readers

    def stored_target(self, member_id: str, instance_id: str | None) -> Tasks | None:
        """Returns the target assignment of a member, or None if it has none yet. A member that takes the place of a
        static one gets the target of its predecessor."""
        predecessor = None if instance_id is None else self.static_members.get(instance_id)
        return self.target_assignment.get(predecessor or member_id)

    def target_of(self, member_id: str, instance_id: str | None) -> Tasks:
        """Returns the target assignment of a member as :meth:`stored_target` does; no tasks if it has none."""
        return self.stored_target(member_id, instance_id) or EMPTY

    def snapshot(self) -> dict[str, object]:
        """Returns the state that a restart restores, as values that can be compared."""
        return super().snapshot() | {
            "topology": (self.topology, self.validated_topology_epoch, dict(self.assignment_configs)),
            "static": dict(self.static_members),
        }

    # --- kept in memory only

    def configure(self, configured: ConfiguredTopology) -> None:
        """Keeps the topology with the partitions that its topics have now."""
        self.configured = configured
        self.endpoints.clear()

    def keep_task_offsets(self, member_id: str, offsets: TaskOffsets) -> None:
        """Keeps what a member has reported about its tasks."""
        self._hold(offsets.used_bytes - self.task_offsets.get(member_id, NO_TASK_OFFSETS).used_bytes)
        self.task_offsets[member_id] = offsets

    def forget_task_offsets(self, member_id: str) -> None:
        """Forgets what a member has reported about its tasks."""
        self._hold(-self.task_offsets.pop(member_id, NO_TASK_OFFSETS).used_bytes)

    def hear(self, member_id: str, now_ms: int) -> None:
        """Notes a heartbeat of a member."""
        self.heard.pop(member_id, None)
        self.heard[member_id] = now_ms

    def has_silent_member(self, now_ms: int, silence_ms: int) -> bool:
        """Whether the last heartbeat of a member is older than ``silence_ms``."""
        while self.heard:
            member_id = next(iter(self.heard))
            if member_id in self.members:
                return now_ms - self.heard[member_id] > silence_ms
            del self.heard[member_id]  # it left, or did not join after all
        return False

    # --- changed by replayed records

    def put_member(self, member: StreamsGroupMember) -> None:
        """Adds a member, or replaces it by its new state."""
        self._uncount(self.members.get(member.member_id))
        self._forget_instance(member.member_id)
        self.members[member.member_id] = member
        self._hold(member_bytes(member))
        self.endpoints.pop(member.member_id, None)
        for tasks in (member.assigned, member.pending_revocation):
            self.processes.add(tasks, member.process_id)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove_member(self, member_id: str) -> None:
        """Removes a member."""
        self._forget_instance(member_id)
        self._uncount(self.members.pop(member_id, None))
        self.forget_task_offsets(member_id)
        self.endpoints.pop(member_id, None)
        if not self.members:
            self.shutdown_by = None

    def _forget_instance(self, member_id: str) -> None:
        """Forgets the instance id of a member, unless another one has taken it over."""
        old = self.members.get(member_id)
        if old is not None and old.instance_id is not None and self.static_members.get(old.instance_id) == member_id:
            del self.static_members[old.instance_id]

    def _uncount(self, old: StreamsGroupMember | None) -> None:
        if old is not None:
            self._hold(-member_bytes(old))
            for tasks in (old.assigned, old.pending_revocation):
                self.processes.remove(tasks, old.process_id)


class StreamsGroups(ModernGroups, Protocol):
    """The streams groups of one partition of ``__consumer_offsets``, and what they need besides."""

    @property
    def classic(self) -> dict[str, ClassicGroup]:
        """The classic groups by id. An empty one may become a streams group."""

    @property
    def streams(self) -> dict[str, StreamsGroup]:
        """The streams groups by id."""

    @property
    def inline_size(self) -> int:
        """Up to this number of members plus tasks, a heartbeat computes the target assignment itself: in a few ms."""

    @property
    def streaming(self) -> dict[str, StreamsAssignmentComputation]:
        """The target assignments of large streams groups that are being computed."""

    @property
    def delayed(self) -> dict[str, int]:
        """The new streams groups that wait for more members before their first target assignment, and until when: wall
        clock, ms."""

    def is_known(self, group_id: str) -> bool:
        """Whether a group of any kind has the id."""

    def is_stored_otherwise(self, group_id: str) -> bool:
        """Whether a group of another kind has records of its own under the id: not only offsets."""
