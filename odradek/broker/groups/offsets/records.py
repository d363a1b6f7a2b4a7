"""The records of committed offsets in ``__consumer_offsets``, as Kafka 4.3.1 writes them.

Owns: the content of the records. Never does: keeping state. Pure. Source: ``GroupCoordinatorRecordHelpers``.
"""

from odradek.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue

from ..records import (
    NO_TIMESTAMP,
    OFFSET_COMMIT_VALUE_VERSION,
    OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRATION,
    CoordinatorRecord,
)


def offset_commit_record(group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> CoordinatorRecord:
    """Returns the record of a committed offset."""
    version = OFFSET_COMMIT_VALUE_VERSION
    if value.expire_timestamp != NO_TIMESTAMP:
        version = OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRATION
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value, version)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """Returns the record that deletes a committed offset."""
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)
