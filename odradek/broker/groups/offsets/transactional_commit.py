"""TxnOffsetCommit, after the topics were looked up: offsets that take effect when a transaction commits.

Source: ``OffsetMetadataManager.commitTransactionalOffset``, ``validateTransactionalOffsetCommit``; KIP-98, KIP-447.
"""

from collections.abc import Callable

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.group_records import OffsetCommitValue
from odradek.protocol.messages.transactions import TxnOffsetCommitRequest, TxnOffsetCommitResponse

from ...coordinator.effects import OpenTransaction
from ..classic.group import NO_TIMESTAMP, ClassicGroup, GroupState
from ..effects import GroupEffects
from .store import GroupsAndOffsets, offset_commit_record

with lazy_imports:
    from ..consumer import offset_validation as consumer_offset_validation
    from ..streams import offset_validation as streams_offset_validation

GROUP_ID_NOT_FOUND_SINCE = 6
TxnOffsetCommitResponseTopic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
PartitionResponse = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition


class TransactionalTopicCommit:
    """The offsets that a request commits for one topic that exists."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(
        self, name: str, topic_id: bytes, partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition]
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


def commit_transactional_offsets(
    core: GroupsAndOffsets,
    request: TxnOffsetCommitRequest,
    topics: list[TransactionalTopicCommit],
    api_version: int,
    effects: GroupEffects,
) -> None:
    """Stores the offsets as part of the producer's transaction. The topics of the response have both name and id.
    Raises KafkaError if the sender may not commit."""
    validate_partition = _validate_sender(core, request, api_version)
    if validate_partition is not None:
        for topic in topics:
            for partition in topic.partitions:
                if not _is_too_large(core, partition):
                    validate_partition(topic.name, topic.topic_id, partition.partition_index)
    effects.transaction = OpenTransaction(request.producer_id, request.producer_epoch)
    effects.response = TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [_commit(core, request, topic, partition, effects) for partition in topic.partitions],
            )
            for topic in topics
        ]
    )
    effects.counts.offset_commits += len(effects.records)


def _validate_sender(
    core: GroupsAndOffsets, request: TxnOffsetCommitRequest, api_version: int
) -> Callable[[str, bytes, int], None] | None:
    """Returns a check for each partition, or None if none is needed. Raises KafkaError."""
    group = core.groups.classic.get(request.group_id)
    consumer_group = core.groups.consumer.get(request.group_id)
    epoch = request.generation_id_or_member_epoch
    if consumer_group is not None:
        return consumer_offset_validation.validate_transactional_commit(
            consumer_group, request.member_id, request.group_instance_id, epoch, api_version
        )
    if group is not None:
        _validate_committer(group, request)
    elif request.group_id in core.groups.share:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    elif request.group_id in core.groups.streams:
        return streams_offset_validation.validate_transactional_commit(
            core.groups.streams[request.group_id], request.member_id, request.group_instance_id, epoch, api_version
        )
    elif epoch >= 0:
        raise KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND if api_version >= GROUP_ID_NOT_FOUND_SINCE else ErrorCode.ILLEGAL_GENERATION
        )
    return None


def _commit(
    core: GroupsAndOffsets,
    request: TxnOffsetCommitRequest,
    topic: TransactionalTopicCommit,
    partition: TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition,
    effects: GroupEffects,
) -> PartitionResponse:
    metadata = partition.committed_metadata or ""
    if _is_too_large(core, partition):
        return PartitionResponse(partition.partition_index, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    value = OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=metadata,
        commit_timestamp=effects.now_ms,
        expire_timestamp=NO_TIMESTAMP,
        topic_id=topic.topic_id,
    )
    effects.records.append(offset_commit_record(request.group_id, topic.name, partition.partition_index, value))
    return PartitionResponse(partition.partition_index)


def _is_too_large(core: GroupsAndOffsets, partition: TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition) -> bool:
    return len(partition.committed_metadata or "") > core.groups.config.offset_metadata_max_bytes


def _validate_committer(group: ClassicGroup, request: TxnOffsetCommitRequest) -> None:
    """Raises KafkaError if the sender may not commit. Clients before KIP-447 send no member id; they may commit in any
    state of the group."""
    if group.state is GroupState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if request.generation_id_or_member_epoch < 0 and group.state is GroupState.EMPTY:
        return
    if request.generation_id_or_member_epoch >= 0 or request.member_id or request.group_instance_id is not None:
        group.validate_member(request.member_id, request.group_instance_id)
        if request.generation_id_or_member_epoch != group.generation_id:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
