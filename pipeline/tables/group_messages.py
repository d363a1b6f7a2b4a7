"""Records of ``__consumer_offsets`` as messages of the table.

Pure. Unknown types and versions, and what can't be decoded, are values, never errors: a newer Kafka may have written
them. The decoder is dump-log's. Source: Kafka's CoordinatorRecordType, GroupCoordinatorRecordSerde.
"""

from enum import StrEnum
from typing import Any, NamedTuple

from ...protocol.messages.group_records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from ...protocol.records.record import Record
from ...storage.dump.decoders import Tombstone, Typed, group_record

OFFSET_COMMIT_TYPES = (0, 1)


class GroupKind(StrEnum):
    """Which protocol a record type belongs to."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupMessage(NamedTuple):
    """A record's key and value; `value` None: a tombstone, or not decoded."""

    record_type: int
    """The key's version, which is the record's type; -1 for a key without one."""
    key: Any
    value: Any
    value_version: int
    """As the value says, -1 without one."""
    fault: str | None
    """Why it can't be decoded, in words."""
    is_unknown: bool
    """Whether the type or the value's version is only unknown: a newer Kafka may have written it."""

    @property
    def is_offset_commit(self) -> bool:
        """Whether the record says what a group has committed."""
        return self.record_type in OFFSET_COMMIT_TYPES

    @property
    def group(self) -> str | None:
        """The group that it is about, None where that can't be told."""
        if self.key is None:
            return None
        name: str = self.key.group if hasattr(self.key, "group") else self.key.group_id
        return name


def group_message(record: Record) -> GroupMessage:
    """What a record of the offsets topic says."""
    record_type = _int16(record.key)
    value_version = _int16(record.value)
    decoded = group_record(record)
    if isinstance(decoded.key, Typed):
        value = decoded.value.message if isinstance(decoded.value, Typed) else None
        assert value is not None or isinstance(decoded.value, Tombstone)
        return GroupMessage(record_type, decoded.key.message, value, value_version, None, False)
    key = group_record(record._replace(value=None)).key  # the key alone may be whole
    found = key.message if isinstance(key, Typed) else None
    is_unknown = not decoded.is_corrupt or (found is not None and _is_newer(found, value_version))
    return GroupMessage(record_type, found, None, value_version, decoded.fault, is_unknown)


def _int16(data: bytes | None) -> int:
    return int.from_bytes(data[:2], "big", signed=True) if data is not None and len(data) >= 2 else -1


def _is_newer(key: Any, value_version: int) -> bool:
    from ...protocol.messages import message_class

    highest: int = message_class(key.NAME.removesuffix("Key") + "Value").VERSIONS[1]
    return value_version > highest


def kind_of(name: str) -> GroupKind:
    """The kind of group that a key's message name (`ShareGroupMetadataKey`) belongs to."""
    for prefix, kind in (("Consumer", GroupKind.CONSUMER), ("Share", GroupKind.SHARE), ("Streams", GroupKind.STREAMS)):
        if name.startswith(prefix):
            return kind
    return GroupKind.CLASSIC


def commit_key(key: Any) -> tuple[str, str, int]:
    """(group, topic, partition) of an offset commit's key."""
    assert isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey)
    return key.group, key.topic, key.partition


def commit_value(value: Any) -> OffsetCommitValue:
    """An offset commit's value; the oldest form as the newer one."""
    if isinstance(value, LegacyOffsetCommitValue):
        return OffsetCommitValue(value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp)
    assert isinstance(value, OffsetCommitValue)
    return value
