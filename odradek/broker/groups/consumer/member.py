"""A member of a consumer group: its metadata, its epoch, and the partitions that it owns.

Owns: the fields. Never does: changing; a changed member is a new tuple, so a decision whose append fails leaves no
trace. Invariant: each owned partition has the epoch in which it was assigned. Source: ``ConsumerGroupMember``,
``MemberState``; KIP-848, KIP-1251 (assignment epochs).
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from ..memory import MEMBER_BYTES, names_bytes, protocol_bytes, text_bytes
from ..modern.assignment import TopicId

LEAVE_GROUP_STATIC_MEMBER_EPOCH = -2

PartitionEpochs = Mapping[TopicId, Mapping[int, int]]
"""Topic id -> partition index -> the member's epoch when it was assigned the partition."""

NO_PARTITIONS: PartitionEpochs = {}


class MemberState(IntEnum):
    """The progress of a member towards its target assignment. The numbers are those in its records."""

    STABLE = 0
    """It has reached its target assignment."""
    UNREVOKED_PARTITIONS = 1
    """It must give up partitions before it may enter the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that others have not given up yet."""
    UNKNOWN = 127
    """A newer Kafka wrote a state that this release does not know."""

    @classmethod
    def of(cls, value: int) -> "MemberState":
        """The state of a record."""
        return cls(value) if value in cls._value2member_map_ else cls.UNKNOWN


class ClassicMemberMetadata(NamedTuple):
    """The JoinGroup fields of a member of the classic protocol (KIP-848, online migration)."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Name and subscription of each protocol, the preferred first."""


class ConsumerGroupMember(NamedTuple):
    """One member. ``classic`` is None if it uses the consumer protocol."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str | None = ""
    server_assignor: str | None = None
    assigned: PartitionEpochs = NO_PARTITIONS
    pending_revocation: PartitionEpochs = NO_PARTITIONS
    classic: ClassicMemberMetadata | None = None

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether it has reached the target assignment of that epoch."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch

    def with_epoch(self, member_epoch: int) -> "ConsumerGroupMember":
        """Returns the member in epoch ``member_epoch``. Its present epoch becomes the previous epoch."""
        return self._replace(member_epoch=member_epoch, previous_member_epoch=self.member_epoch)

    def assignment_epoch(self, topic_id: TopicId, partition: int) -> int | None:
        """Returns the epoch in which the member was assigned a partition, or None if it does not own the partition."""
        for partitions in (self.assigned, self.pending_revocation):
            epoch = partitions.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


PARTITION_BYTES = 240
"""The bytes of an owned partition: its epoch in the member and in the group, and its entry in the target assignment.
Measured: 123 to 232 bytes, depending on how full the dictionaries are."""


def member_bytes(member: ConsumerGroupMember) -> int:
    """The bytes of a member: what it sent, what it owns, and what is kept for each member."""
    texts = (
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.subscribed_topic_regex,
        member.server_assignor,
    )
    size = MEMBER_BYTES + sum(map(text_bytes, texts)) + names_bytes(member.subscribed_topic_names)
    size += (_count(member.assigned) + _count(member.pending_revocation)) * PARTITION_BYTES
    if member.classic is not None:
        size += protocol_bytes(member.classic.protocols)
    return size


def _count(partitions: PartitionEpochs) -> int:
    return sum(map(len, partitions.values())) if partitions else 0
