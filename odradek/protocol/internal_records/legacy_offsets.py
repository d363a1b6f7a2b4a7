"""Converts offset commit records of Kafka before 0.9 to the current form. Pure.

Source: ``GroupCoordinatorShard.convertLegacyOffsetCommitKey``, ``convertLegacyOffsetCommitValue``.
"""

from ..messages.group_records import LegacyOffsetCommitKey, LegacyOffsetCommitValue, OffsetCommitKey, OffsetCommitValue


def offset_commit_key(key: OffsetCommitKey | LegacyOffsetCommitKey) -> OffsetCommitKey:
    """The key; a legacy key is converted to the current form."""
    if isinstance(key, LegacyOffsetCommitKey):
        return OffsetCommitKey(key.group, key.topic, key.partition)
    return key


def offset_commit_value(value: OffsetCommitValue | LegacyOffsetCommitValue) -> OffsetCommitValue:
    """The value; a legacy value is converted to the current form."""
    if isinstance(value, LegacyOffsetCommitValue):
        return OffsetCommitValue(value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp)
    return value
