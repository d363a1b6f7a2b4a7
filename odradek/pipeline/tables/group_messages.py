"""Decodes records of ``__consumer_offsets``.

Pure. Never raises: for unknown types and versions, which a newer Kafka may have written, and for malformed records, the
result has a `fault`. Source: Kafka's CoordinatorRecordType, GroupCoordinatorRecordSerde.
"""

from enum import StrEnum
from typing import Any, NamedTuple

from odradek.protocol.errors import ProtocolError, UnknownRecordError
from odradek.protocol.internal_records.coordinator_serde import (
    GROUP_RECORDS,
    PREFIX_BYTES,
    CoordinatorRecordType,
    offset_commit_key,
)
from odradek.protocol.records.record import Record

OFFSET_COMMIT_TYPES = (CoordinatorRecordType.LEGACY_OFFSET_COMMIT, CoordinatorRecordType.OFFSET_COMMIT)


class GroupKind(StrEnum):
    """The type of a group: the protocol that its record types belong to."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class GroupMessage(NamedTuple):
    """A record's decoded key and value. `value` is None for a tombstone, or if it could not be decoded."""

    record_type: int
    """The key's version, which is the record's type; -1 for a key without one."""
    key: Any
    value: Any
    value_version: int
    """The version in the value; -1 without a value."""
    fault: str | None
    """Why the record can't be decoded; None if it was decoded."""
    is_unknown: bool
    """Whether the fault is only an unknown type or version, which a newer Kafka may have written."""

    @property
    def is_offset_commit(self) -> bool:
        """Whether the record is an offset commit, or the tombstone of one."""
        return self.record_type in OFFSET_COMMIT_TYPES

    @property
    def group(self) -> str | None:
        """The group id; None if the key can't be decoded."""
        if self.key is None:
            return None
        name: str = self.key.group if hasattr(self.key, "group") else self.key.group_id
        return name


def group_message(record: Record) -> GroupMessage:
    """Decodes a record of the offsets topic."""
    record_type, value_version = _number(record.key), _number(record.value)
    key = value = None
    try:
        key = GROUP_RECORDS.decode_key(record.key)
        if record.value is not None:
            value, value_version = GROUP_RECORDS.decode_value(record_type, record.value)
    except ProtocolError as error:
        is_unknown = isinstance(error, UnknownRecordError) and (record_type if key is None else value_version) >= 0
        return GroupMessage(record_type, key, None, value_version, str(error), is_unknown)
    return GroupMessage(record_type, key, value, value_version, None, False)


def _number(data: bytes | None) -> int:
    """The int16 before a message: the type of a key or the version of a value; -1 without one."""
    return -1 if data is None or len(data) < PREFIX_BYTES else int.from_bytes(data[:PREFIX_BYTES], "big", signed=True)


def has_offset_commit_key(key: bytes | None) -> bool:
    """Whether a key is that of an offset commit."""
    return _number(key) in OFFSET_COMMIT_TYPES


def kind_of(name: str) -> GroupKind:
    """The type of group to which a key's message belongs, by its name, such as `ShareGroupMetadataKey`."""
    for prefix, kind in (("Consumer", GroupKind.CONSUMER), ("Share", GroupKind.SHARE), ("Streams", GroupKind.STREAMS)):
        if name.startswith(prefix):
            return kind
    return GroupKind.CLASSIC


def commit_key(key: Any) -> tuple[str, str, int]:
    """(group, topic, partition) of an offset commit's key."""
    current = offset_commit_key(key)
    return current.group, current.topic, current.partition
