"""Checks whether a member of a consumer group may commit and fetch offsets.

Owns: the errors. A commit with an older epoch is accepted for partitions that the member has owned since then
(KIP-1251).
Source: ``ConsumerGroup``, validateOffsetCommit, createAssignmentEpochValidator, validateOffsetFetch.
"""

from collections.abc import Callable

from odradek.protocol.errors import ErrorCode, KafkaError

from ..modern.assignment import TopicId
from .group import ConsumerGroup
from .member import ConsumerGroupMember

MEMBER_EPOCHS_SINCE = 9
"""The first version of OffsetCommit that members of the consumer protocol may use: older ones lack STALE_MEMBER_EPOCH.
"""

TRANSACTIONAL_MEMBER_EPOCHS_SINCE = 6
"""The first version of TxnOffsetCommit whose clients know STALE_MEMBER_EPOCH."""

PartitionValidator = Callable[[str, TopicId, int], None]
"""Raises KafkaError for a partition that the member may not commit, by the topic's name and id and its index."""


def validate_commit(
    group: ConsumerGroup, member_id: str, member_epoch: int, api_version: int
) -> PartitionValidator | None:
    """Returns a check for each partition, or None if none is needed. Raises KafkaError if the sender may not commit."""
    if member_epoch < 0 and not group.members:
        # An administrator, or a consumer without a group.
        return None
    member = group.existing_member(member_id)
    if member.classic is None and api_version < MEMBER_EPOCHS_SINCE:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return _by_epoch(member, member_epoch, _epoch_error(member))


def validate_transactional_commit(
    group: ConsumerGroup, member_id: str, instance_id: str | None, member_epoch: int, api_version: int
) -> PartitionValidator | None:
    """Checks like :func:`validate_commit`, for TxnOffsetCommit. Its clients may send no member id."""
    if member_epoch < 0 and (not group.members or (not member_id and instance_id is None)):
        return None
    member = group.existing_member(member_id)
    knows_epochs = api_version >= TRANSACTIONAL_MEMBER_EPOCHS_SINCE
    return _by_epoch(member, member_epoch, _epoch_error(member) if knows_epochs else ErrorCode.ILLEGAL_GENERATION)


def _by_epoch(member: ConsumerGroupMember, member_epoch: int, error: ErrorCode) -> PartitionValidator | None:
    if member_epoch == member.member_epoch:
        return None
    if member_epoch > member.member_epoch:
        raise KafkaError(error)

    def validate(_: str, topic_id: TopicId, partition: int) -> None:
        assigned_in = member.assignment_epoch(topic_id, partition)
        if assigned_in is None or member_epoch < assigned_in:
            raise KafkaError(error)

    return validate


def validate_fetch(group: ConsumerGroup, member_id: str | None, member_epoch: int) -> None:
    """Raises KafkaError UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION or UNKNOWN_SERVER_ERROR."""
    if member_id is None:
        # An epoch without a member: Kafka's handler fails.
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    member = group.existing_member(member_id)
    if member_epoch != member.member_epoch:
        raise KafkaError(_epoch_error(member))


def _epoch_error(member: ConsumerGroupMember) -> ErrorCode:
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
