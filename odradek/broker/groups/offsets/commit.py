"""OffsetCommit and OffsetDelete, after the topics were looked up.

Source: ``OffsetMetadataManager.commitOffset``, ``deleteOffsets``; ``ClassicGroup.validateOffsetCommit``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Union

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.group_records import OffsetCommitValue
from odradek.protocol.messages.groups import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)

from ..classic.group import NO_TIMESTAMP, ClassicGroup, GroupState
from ..effects import GroupEffects
from .store import GroupsAndOffsets, offset_commit_record, offset_tombstone

with lazy_imports:
    from ..consumer import offset_validation as consumer_offset_validation
    from ..streams import offset_validation as streams_offset_validation

if TYPE_CHECKING:
    from ..consumer.group import ConsumerGroup
    from ..streams.group import StreamsGroup

GROUP_ID_NOT_FOUND_SINCE = 9
NO_RETENTION = -1


class TopicCommit:
    """The offsets that a request commits for one topic that exists."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(
        self, name: str, topic_id: bytes, partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition]
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


def commit_offsets(
    core: GroupsAndOffsets,
    request: OffsetCommitRequest,
    topics: list[TopicCommit],
    api_version: int,
    effects: GroupEffects,
) -> None:
    """Commits offsets. The topics of the response have both name and id. Raises KafkaError if the sender may not
    commit."""
    validate_partition = _validate_commit(core, request, api_version, effects)
    now_ms = effects.now_ms
    expire_timestamp_ms = NO_TIMESTAMP
    if request.retention_time_ms != NO_RETENTION:
        # The sum may exceed an int64. Java's long wraps then, and so does Kafka's answer.
        expire_timestamp_ms = (now_ms + request.retention_time_ms + 2**63) % 2**64 - 2**63
    max_metadata = core.groups.config.offset_metadata_max_bytes
    response_topics = []
    for topic in topics:
        responses = []
        for partition in topic.partitions:
            if validate_partition is not None:
                validate_partition(topic.name, topic.topic_id, partition.partition_index)
            metadata = partition.committed_metadata or ""
            error = ErrorCode.NONE
            if len(metadata) > max_metadata:
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                value = OffsetCommitValue(
                    offset=partition.committed_offset,
                    leader_epoch=partition.committed_leader_epoch,
                    metadata=metadata,
                    commit_timestamp=now_ms
                    if partition.commit_timestamp == NO_TIMESTAMP
                    else partition.commit_timestamp,
                    expire_timestamp=expire_timestamp_ms,
                    topic_id=topic.topic_id,
                )
                effects.records.append(
                    offset_commit_record(request.group_id, topic.name, partition.partition_index, value)
                )
            responses.append(
                OffsetCommitResponse.OffsetCommitResponsePartition(
                    partition_index=partition.partition_index, error_code=error
                )
            )
        response_topics.append(
            OffsetCommitResponse.OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=responses
            )
        )
    effects.counts.offset_commits += len(effects.records)
    effects.response = OffsetCommitResponse(topics=response_topics)


def _validate_commit(
    core: GroupsAndOffsets, request: OffsetCommitRequest, api_version: int, effects: GroupEffects
) -> Callable[[str, bytes, int], None] | None:
    """Returns a check for each partition, or None if none is needed. Raises KafkaError."""
    group = core.groups.classic.get(request.group_id)
    generation_id = request.generation_id_or_member_epoch
    if group is None:
        consumer_group = core.groups.consumer.get(request.group_id)
        if consumer_group is not None:
            return consumer_offset_validation.validate_commit(
                consumer_group, request.member_id, generation_id, api_version
            )
        if request.group_id in core.groups.share:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        streams_group = core.groups.streams.get(request.group_id)
        if streams_group is not None:
            return streams_offset_validation.validate_commit(
                streams_group, request.member_id, generation_id, api_version
            )
        if generation_id < 0:
            # An administrator, or a consumer without a group: replaying the commit creates a simple group.
            return None
        if api_version >= GROUP_ID_NOT_FOUND_SINCE:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    validate_committer(group, request.member_id, request.group_instance_id, generation_id)
    if group.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE):
        # A commit renews the session, as a heartbeat does.
        member = group.members[request.member_id]
        effects.set_timer(member.session_timer)
    return None


def validate_committer(group: ClassicGroup, member_id: str, group_instance_id: str | None, generation_id: int) -> None:
    """Raises KafkaError if this member of this generation may not commit now."""
    if group.state is GroupState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if generation_id < 0 and group.state is GroupState.EMPTY:
        return
    if generation_id < 0 and not member_id and group_instance_id is None:
        # A commit without a member id: allowed only if the group has no members.
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    group.validate_member(member_id, group_instance_id)
    if generation_id != group.generation_id:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if group.state is GroupState.COMPLETING_REBALANCE:
        # A member of this generation that has joined must synchronise before it commits.
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)


def delete_offsets(
    core: GroupsAndOffsets,
    group_id: str,
    topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic],
    effects: GroupEffects,
) -> None:
    """Deletes offsets of topics that the group does not read. Raises KafkaError if the group may not be changed."""
    group = _group_to_delete_from(core, group_id)
    response_topics = []
    for topic in topics:
        subscribed = group.is_subscribed_to(topic.name)
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
        responses = []
        for partition in topic.partitions:
            index = partition.partition_index
            responses.append(
                OffsetDeleteResponse.OffsetDeleteResponsePartition(partition_index=index, error_code=error)
            )
            known = core.offsets.get(group_id, topic.name, index) is not None
            if not subscribed and (known or core.offsets.has_pending(group_id, topic.name, index)):
                effects.records.append(offset_tombstone(group_id, topic.name, index))
        response_topics.append(OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name, partitions=responses))
    effects.counts.offset_deletions += len(effects.records)
    effects.response = OffsetDeleteResponse(topics=response_topics)


def _group_to_delete_from(
    core: GroupsAndOffsets, group_id: str
) -> Union[ClassicGroup, "ConsumerGroup", "StreamsGroup"]:
    streams_group = core.groups.streams.get(group_id)
    if streams_group is not None:
        return streams_group
    consumer_group = core.groups.consumer.get(group_id)
    if consumer_group is not None:
        return consumer_group
    group = core.groups.classic.get(group_id)
    if group is None or group.state is GroupState.DEAD:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if group.state is not GroupState.EMPTY and not group.uses_consumer_protocol:
        # The topics that its members read are not known.
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    return group
