"""Checks whether a member of a streams group may commit and fetch offsets.

Pure. Owns: the errors. A commit with an older epoch is accepted for the source partitions of tasks that the member has
had since then. Source: ``StreamsGroup``, validateOffsetCommit, createAssignmentEpochValidator, validateOffsetFetch.
"""

from collections.abc import Callable

from odradek.protocol.errors import ErrorCode, KafkaError

from .group import StreamsGroup

MEMBER_EPOCHS_SINCE = 9
"""The first version of OffsetCommit that members may use: older ones lack STALE_MEMBER_EPOCH."""
TRANSACTIONAL_MEMBER_EPOCHS_SINCE = 6
"""The first version of TxnOffsetCommit whose clients know STALE_MEMBER_EPOCH."""

PartitionValidator = Callable[[str, bytes, int], None]
"""Raises KafkaError for a partition that the member may not commit, by the topic's name and id and its index."""


def validate_commit(
    group: StreamsGroup, member_id: str, member_epoch: int, api_version: int
) -> PartitionValidator | None:
    """Returns a check for each partition, or None if none is needed. Raises KafkaError if the sender may not commit."""
    if member_epoch < 0 and not group.members:
        # An administrator, or a consumer without a group.
        return None
    group.existing_member(member_id)
    if api_version < MEMBER_EPOCHS_SINCE:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return _by_epoch(group, member_id, member_epoch, ErrorCode.STALE_MEMBER_EPOCH)


def validate_transactional_commit(
    group: StreamsGroup, member_id: str, instance_id: str | None, member_epoch: int, api_version: int
) -> PartitionValidator | None:
    """Checks like :func:`validate_commit`, for TxnOffsetCommit. Its clients may send no member id."""
    if member_epoch < 0 and (not group.members or (not member_id and instance_id is None)):
        return None
    knows_epochs = api_version >= TRANSACTIONAL_MEMBER_EPOCHS_SINCE
    error = ErrorCode.STALE_MEMBER_EPOCH if knows_epochs else ErrorCode.ILLEGAL_GENERATION
    return _by_epoch(group, member_id, member_epoch, error)


def _by_epoch(group: StreamsGroup, member_id: str, member_epoch: int, error: ErrorCode) -> PartitionValidator | None:
    member = group.existing_member(member_id)
    if member_epoch == member.member_epoch:
        return None
    if member_epoch > member.member_epoch:
        raise KafkaError(error)
    topology = group.topology

    def validate(topic: str, _: bytes, partition: int) -> None:
        subtopology_id = None if topology is None else topology.readers.get(topic)
        assigned_in = None if subtopology_id is None else member.task_epoch(subtopology_id, partition)
        if assigned_in is None or member_epoch < assigned_in:
            raise KafkaError(error)

    return validate


def validate_fetch(group: StreamsGroup, member_id: str | None, member_epoch: int) -> None:
    """Raises KafkaError UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or UNKNOWN_SERVER_ERROR."""
    if member_id is None:
        if member_epoch >= 0:
            # An epoch without a member: Kafka's handler fails.
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return
    member = group.existing_member(member_id)
    if member_epoch != member.member_epoch:
        raise KafkaError(ErrorCode.STALE_MEMBER_EPOCH)
