"""OffsetFetch for one group, after the topics were looked up.

Source: ``OffsetMetadataManager.fetchOffsets``, ``fetchAllOffsets``. A group that does not exist has no offsets; that is
not an error.
"""

from collections.abc import Generator, Mapping

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetFetchResponse

from ..classic.group import GroupState
from .partition_offsets import CommittedOffset
from .store import ZERO_UUID, GroupsAndOffsets, TopicOffsets

with lazy_imports:
    from ..consumer import offset_validation as consumer_offset_validation
    from ..streams import offset_validation as streams_offset_validation

NO_OFFSET = -1
NO_LEADER_EPOCH = -1
OFFSETS_A_STEP = 64

FetchedTopic = OffsetFetchResponse.OffsetFetchResponseTopics
FetchedPartition = OffsetFetchResponse.OffsetFetchResponsePartitions


class TopicFetch:
    """The partitions of one topic whose offsets are requested. ``topic_id`` is ZERO_UUID if it is not known."""

    __slots__ = ("name", "partition_indexes", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partition_indexes: list[int]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = partition_indexes


def validate_fetch(core: GroupsAndOffsets, group_id: str, member_id: str | None, member_epoch: int) -> None:
    """Raises KafkaError if the sender names a member of a consumer group that does not exist, or with a wrong epoch
    (KIP-848)."""
    streams_group = core.groups.streams.get(group_id)
    if streams_group is not None:
        streams_offset_validation.validate_fetch(streams_group, member_id, member_epoch)
    consumer_group = core.groups.consumer.get(group_id)
    if consumer_group is not None and (member_id is not None or member_epoch >= 0):
        consumer_offset_validation.validate_fetch(consumer_group, member_id, member_epoch)


def fetch_offsets(
    core: GroupsAndOffsets, group_id: str, topics: list[TopicFetch], require_stable: bool
) -> Generator[None, None, list[FetchedTopic]]:
    """Returns the requested offsets, in steps. Each step reads the offsets as they are then.

    ``require_stable``: a partition with an uncommitted offset of an open transaction gets UNSTABLE_OFFSET_COMMIT
    (KIP-447).
    """
    fetched = []
    left = OFFSETS_A_STEP
    for topic in topics:
        indexes = topic.partition_indexes
        partitions: list[FetchedPartition] = []
        for start in range(0, len(indexes), OFFSETS_A_STEP):
            portion = indexes[start : start + OFFSETS_A_STEP]
            left -= len(portion)
            if left < 0:
                left = OFFSETS_A_STEP - len(portion)
                yield
            partitions += _fetch_portion(core, group_id, topic, portion, require_stable)
        left -= 1
        fetched.append(FetchedTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
    return fetched


def _fetch_portion(
    core: GroupsAndOffsets, group_id: str, topic: TopicFetch, indexes: list[int], require_stable: bool
) -> list[FetchedPartition]:
    offsets: Mapping[int, CommittedOffset] = _offsets_of(core, group_id).get(topic.name, {})
    return [
        _fetched(
            index,
            _of_this_topic(offsets.get(index), topic.topic_id),
            require_stable and core.offsets.has_pending(group_id, topic.name, index),
        )
        for index in indexes
    ]


def fetch_all_offsets(
    core: GroupsAndOffsets, group_id: str, require_stable: bool
) -> Generator[None, None, list[FetchedTopic]]:
    """Returns the offsets of all partitions that the group has committed when this begins, in steps. The caller adds
    the topic ids."""
    topics = [
        TopicFetch(topic, ZERO_UUID, list(partitions)) for topic, partitions in _offsets_of(core, group_id).items()
    ]
    fetched = yield from fetch_offsets(core, group_id, topics, require_stable)
    return fetched


def _offsets_of(core: GroupsAndOffsets, group_id: str) -> TopicOffsets:
    if group_id in core.groups.streams or group_id in core.groups.share:
        return core.offsets.topics_of(group_id)
    group = core.groups.classic.get(group_id)
    if (group is None or group.state is GroupState.DEAD) and group_id not in core.groups.consumer:
        return {}
    return core.offsets.topics_of(group_id)


def _of_this_topic(committed: CommittedOffset | None, topic_id: bytes) -> CommittedOffset | None:
    """Returns ``committed``, or None if it was committed for a deleted topic of the same name."""
    if committed is None or ZERO_UUID in (topic_id, committed.topic_id) or topic_id == committed.topic_id:
        return committed
    return None


def _fetched(index: int, committed: CommittedOffset | None, unstable: bool) -> FetchedPartition:
    if unstable or committed is None:
        return FetchedPartition(
            partition_index=index,
            committed_offset=NO_OFFSET,
            committed_leader_epoch=NO_LEADER_EPOCH,
            metadata="",
            error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT if unstable else ErrorCode.NONE,
        )
    return FetchedPartition(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )
