"""Which offsets are old enough to be forgotten, and which groups with them.

Kafka's rules (KIP-211), for offsets without an expiry of their own (old commits brought one: it counts alone):

- a group with a protocol type that is Empty: ``offsets.retention.minutes`` after it became empty (after the commit,
  where an old record does not say when that was);
- a Stable consumer group: for topics that no member reads any more, that long after the commit;
- a simple group (nobody ever joined): that long after the commit;
- a consumer group (KIP-848): for topics that no member reads, that long after the commit;
- any other group keeps everything, and so does any offset with a transaction open on it.

An Empty group without offsets is forgotten too. Source: ``OffsetMetadataManager.cleanupExpiredOffsets``,
``ClassicGroup.offsetExpirationCondition``.
"""

from typing import TYPE_CHECKING, Union

from ..groups.group import NO_TIMESTAMP, ClassicGroup
from ..groups.records import CoordinatorRecord, group_tombstone, offset_tombstone
from ..groups.states import GroupState
from .partition_offsets import CommittedOffset

if TYPE_CHECKING:
    from ..consumer_groups.group import ConsumerGroup
    from .needs import HasOffsets

AnyGroup = Union[ClassicGroup, "ConsumerGroup"]


def expired_records(core: "HasOffsets", now_ms: int) -> list[CoordinatorRecord]:
    """The tombstones due at ``now_ms``."""
    records: list[CoordinatorRecord] = []
    for group in core.groups.values():
        if _expire_offsets(core, group, now_ms, records) and group.state is GroupState.EMPTY:
            records.append(group_tombstone(group.group_id))
    for consumer_group in core.consumer_groups.values():
        if _expire_offsets(core, consumer_group, now_ms, records) and not consumer_group.members:
            from ..consumer_groups.records import group_tombstones

            records += group_tombstones(consumer_group)
    return records


def _expire_offsets(core: "HasOffsets", group: AnyGroup, now_ms: int, records: list[CoordinatorRecord]) -> bool:
    """Adds the tombstones of one group; whether nothing of its offsets remains."""
    offsets = core.offsets.topics_of(group.group_id)
    if not offsets:
        return not core.offsets.has_open_transactions(group.group_id)
    if not _may_expire(group):
        return False
    all_expired = True
    for topic, partitions in offsets.items():
        if group.is_subscribed_to(topic):
            all_expired = False
            continue
        if not partitions.brings_expiry and not _is_old(core, group, partitions.oldest_commit_ms, now_ms):
            all_expired = False  # the usual case, for millions of offsets
            continue
        for partition, committed in partitions.items():
            if _is_expired(core, group, committed, now_ms) and not core.offsets.has_pending(
                group.group_id, topic, partition
            ):
                records.append(offset_tombstone(group.group_id, topic, partition))
            else:
                all_expired = False
    return all_expired and not core.offsets.has_open_transactions(group.group_id)


def _may_expire(group: AnyGroup) -> bool:
    if not isinstance(group, ClassicGroup):
        return True
    if group.protocol_type is None or group.state is GroupState.EMPTY:
        return True
    return group.uses_consumer_protocol and group.subscribed_topics is not None and group.state is GroupState.STABLE


def _is_expired(core: "HasOffsets", group: AnyGroup, committed: CommittedOffset, now_ms: int) -> bool:
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        return now_ms >= committed.expire_timestamp_ms
    return _is_old(core, group, committed.commit_timestamp_ms, now_ms)


def _is_old(core: "HasOffsets", group: AnyGroup, commit_timestamp_ms: int, now_ms: int) -> bool:
    """Whether what was committed at a time, without an expiry of its own, has been kept for long enough."""
    since_ms = commit_timestamp_ms
    if isinstance(group, ClassicGroup):
        left_empty = group.protocol_type is not None and group.state is GroupState.EMPTY
        if left_empty and group.state_timestamp_ms != NO_TIMESTAMP:
            since_ms = group.state_timestamp_ms
    return now_ms - since_ms >= core.config.offsets_retention_ms
