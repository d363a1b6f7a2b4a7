"""Finds the offsets that have expired, and the groups that are deleted with them.

An offset that has an expiry time of its own (commits of old clients may) expires at that time. For others Kafka's rules
are (KIP-211):

- a group with a protocol type that is Empty: ``offsets.retention.minutes`` after it became empty (after the commit, if
  the group's record is of an old version without that time);
- a Stable consumer group: for topics that no member reads any more, that long after the commit;
- a simple group (it never had members): that long after the commit;
- a consumer group (KIP-848) or streams group (KIP-1071): for topics that no member reads, that long after the commit;
- any other group keeps everything. An offset with an open transaction is kept too.

An Empty group without offsets is deleted too. Source: ``OffsetMetadataManager.cleanupExpiredOffsets``,
``ClassicGroup.offsetExpirationCondition``.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Union

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.messages.group_records import OffsetCommitKey

from ..classic.group import NO_TIMESTAMP, ClassicGroup, GroupState
from ..classic.records import group_tombstone
from ..records import CoordinatorRecord
from .partition_offsets import CommittedOffset
from .store import GroupsAndOffsets, offset_tombstone

with lazy_imports:
    from ..consumer import records as consumer_records
    from ..streams import records as streams_records

if TYPE_CHECKING:
    from ..consumer.group import ConsumerGroup
    from ..streams.group import StreamsGroup

STEP_US = 500
GROUP_US = 1
OFFSET_US = 2
TOMBSTONE_US = 10
OFFSETS_A_US = 50
"""STEP_US: the length of a step. The others are measured costs: of looking at a group and at an offset, and of deleting
an offset. OFFSETS_A_US: the offsets among which the oldest is found in one microsecond."""

AnyGroup = Union[ClassicGroup, "ConsumerGroup", "StreamsGroup"]


class Expiration:
    """One search through all offsets of a partition of ``__consumer_offsets``, in steps of 0.5 ms. Offsets may be
    committed or deleted between steps."""

    def __init__(self, core: GroupsAndOffsets, now_ms: int) -> None:
        self._core = core
        self._now_ms = now_ms
        self._records: list[CoordinatorRecord] = []
        self._cost_us = 0
        self._steps = self._scan()

    def step(self) -> tuple[list[CoordinatorRecord], bool]:
        """Returns tombstones, which must be replayed before the next step, and whether there is a next step."""
        self._records = []
        self._cost_us = 0
        goes_on = next(self._steps, False)
        return self._records, goes_on

    def _scan(self) -> Iterator[bool]:
        core = self._core
        for group_id in list(core.groups.classic):
            group = core.groups.classic.get(group_id)
            if group is None:
                continue
            if (yield from self._expire_offsets(group)) and group.state is GroupState.EMPTY:
                self._records.append(group_tombstone(group_id))
        for group_id in list(core.groups.consumer):
            consumer_group = core.groups.consumer.get(group_id)
            if consumer_group is None:
                continue
            if (yield from self._expire_offsets(consumer_group)) and not consumer_group.members:
                self._records += consumer_records.group_tombstones(consumer_group)
        for group_id in list(core.groups.streams):
            streams_group = core.groups.streams.get(group_id)
            if streams_group is None:
                continue
            if (yield from self._expire_offsets(streams_group)) and not streams_group.members:
                self._records += streams_records.group_tombstones(streams_group)

    def _ends_step(self, cost_us: int) -> bool:
        """Whether the step has used its time."""
        self._cost_us += cost_us
        return self._cost_us >= STEP_US

    def _expire_offsets(self, group: AnyGroup) -> Generator[bool, None, bool]:
        """Adds the tombstones of one group's expired offsets. Returns True if no offset of the group remains. Yields
        True at the end of a step."""
        core, now_ms, group_id = self._core, self._now_ms, group.group_id
        if self._ends_step(GROUP_US):
            yield True
        offsets = core.offsets.topics_of(group_id)
        if not offsets:
            return not core.offsets.has_open_transactions(group_id)
        if not _may_expire(group):
            return False
        all_expired = True
        for topic in list(offsets):
            partitions = core.offsets.topics_of(group_id).get(topic)
            if partitions is None:
                continue
            if self._ends_step(len(partitions) // OFFSETS_A_US):
                yield True
            if group.is_subscribed_to(topic):
                all_expired = False
                continue
            if not partitions.brings_expiry and not _is_old(core, group, partitions.oldest_commit_ms, now_ms):
                all_expired = False  # the usual case, for millions of offsets
                continue
            for partition in list(partitions):
                if self._ends_step(OFFSET_US):
                    yield True
                committed = partitions.get(partition)
                if committed is None:
                    continue
                if _is_expired(core, group, committed, now_ms) and not core.offsets.has_pending(
                    group_id, topic, partition
                ):
                    self._records.append(offset_tombstone(group_id, topic, partition))
                    self._cost_us += TOMBSTONE_US
                else:
                    all_expired = False
        return all_expired and not core.offsets.has_open_transactions(group_id) and self._forgets_all(group_id)

    def _forgets_all(self, group_id: str) -> bool:
        """Whether this step deletes all offsets of the group. Offsets may have been committed since the search
        began."""
        remaining = sum(map(len, self._core.offsets.topics_of(group_id).values()))
        return remaining <= len(self._records) and remaining == sum(
            1 for record in self._records if isinstance(record.key, OffsetCommitKey) and record.key.group == group_id
        )


def _may_expire(group: AnyGroup) -> bool:
    if not isinstance(group, ClassicGroup):
        return True
    if group.protocol_type is None or group.state is GroupState.EMPTY:
        return True
    return group.uses_consumer_protocol and group.subscribed_topics is not None and group.state is GroupState.STABLE


def _is_expired(core: GroupsAndOffsets, group: AnyGroup, committed: CommittedOffset, now_ms: int) -> bool:
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        return now_ms >= committed.expire_timestamp_ms
    return _is_old(core, group, committed.commit_timestamp_ms, now_ms)


def _is_old(core: GroupsAndOffsets, group: AnyGroup, commit_timestamp_ms: int, now_ms: int) -> bool:
    """Whether an offset without an expiry time of its own has expired, by its commit time and its group's state."""
    since_ms = commit_timestamp_ms
    if isinstance(group, ClassicGroup):
        left_empty = group.protocol_type is not None and group.state is GroupState.EMPTY
        if left_empty and group.state_timestamp_ms != NO_TIMESTAMP:
            since_ms = group.state_timestamp_ms
    return now_ms - since_ms >= core.groups.config.offsets_retention_ms
