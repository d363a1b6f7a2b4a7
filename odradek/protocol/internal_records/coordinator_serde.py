"""The records of coordinators: ``__consumer_offsets``, ``__transaction_state``, ``__share_group_state``.

    key     int16 record type (the API key of its messages), then the key message, version 0
    value   int16 version, then the value message; a null value is a tombstone

Pure. Owns: this framing, and the message classes of each record type. Never does: state, interpreting a message.
Invariant: malformed bytes raise ProtocolError and nothing else; the codec compares every length and count with the
bytes left before it allocates. Bytes after the last field are ignored, as Kafka does. Source: Kafka's
CoordinatorRecordSerde, GroupCoordinatorRecordSerde, TransactionCoordinatorRecordSerde, ShareCoordinatorRecordSerde.
"""

from enum import IntEnum
from functools import cached_property
from struct import Struct
from typing import Final

from ..codec import decode, encode
from ..errors import ProtocolError, UnknownRecordError
from ..messages import FAMILIES, message_class
from ..messages.group_records import LegacyOffsetCommitKey, LegacyOffsetCommitValue, OffsetCommitKey, OffsetCommitValue
from ..messages.structure import Message

KEY_VERSION: Final = 0
"""The version of every key message."""
PREFIX_BYTES: Final = 2
"""The size in bytes of the type before a key, and of the version before a value."""

_INT16 = Struct(">h")
Buffer = bytes | memoryview


class CoordinatorRecordType(IntEnum):
    """The record types of ``__consumer_offsets`` (Kafka's enum of this name)."""

    LEGACY_OFFSET_COMMIT = 0
    OFFSET_COMMIT = 1
    GROUP_METADATA = 2
    CONSUMER_GROUP_METADATA = 3
    CONSUMER_GROUP_PARTITION_METADATA = 4
    CONSUMER_GROUP_MEMBER_METADATA = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
    SHARE_GROUP_MEMBER_METADATA = 10
    SHARE_GROUP_METADATA = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14
    SHARE_GROUP_STATE_PARTITION_METADATA = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION = 16
    STREAMS_GROUP_METADATA = 17
    STREAMS_GROUP_MEMBER_METADATA = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22
    STREAMS_GROUP_TOPOLOGY = 23


def record_type_of(key: Buffer | None) -> int:
    """The record type, with which a key begins. Raises ProtocolError for null or a key that is too short."""
    if key is None:
        raise ProtocolError("The record has no key.")
    return _int16(key, "key")


def encode_key(key: Message) -> bytes:
    """Encodes a record's key. Raises ProtocolError if the message can't carry a value."""
    return _INT16.pack(key.API_KEY) + encode(key, KEY_VERSION)


def encode_value(value: Message, version: int) -> bytes:
    """Encodes a record's value. Raises ProtocolError if the version can't carry a field's value."""
    return _INT16.pack(version) + encode(value, version)


class CoordinatorRecordSerde:
    """Decodes the records of one coordinator's topic."""

    def __init__(self, family: str) -> None:
        """``family``: the module of :mod:`..messages` that has the classes."""
        self._family = family

    @cached_property
    def types(self) -> dict[int, tuple[type[Message], type[Message]]]:
        """Record type -> (key class, value class). Imports their module on first use."""
        names = [name for name, family in FAMILIES.items() if family == self._family and name.endswith("Key")]
        pairs = [(message_class(name), message_class(f"{name.removesuffix('Key')}Value")) for name in names]
        return {key.API_KEY: (key, value) for key, value in pairs}

    def decode_key(self, key: Buffer | None) -> Message:
        """Decodes a key. Raises UnknownRecordError for an unknown type, ProtocolError for malformed bytes."""
        record_type = record_type_of(key)
        assert key is not None, "record_type_of() has refused it"
        classes = self.types.get(record_type)
        if classes is None:
            raise UnknownRecordError(f"Unknown record type {record_type}", "key")
        return decode(classes[0], KEY_VERSION, key, PREFIX_BYTES)[0]

    def decode_value(self, record_type: int, value: Buffer) -> tuple[Message, int]:
        """Decodes the value of a record type; returns the message and its version.

        Raises UnknownRecordError for an unknown type or version, ProtocolError for malformed bytes.
        """
        classes = self.types.get(record_type)
        if classes is None:
            raise UnknownRecordError(f"Unknown record type {record_type}", "key")
        value_class = classes[1]
        version = _int16(value, "value")
        lowest, highest = value_class.VERSIONS
        if not lowest <= version <= highest:
            what = f"{value_class.NAME} has no version {version}, only {lowest} to {highest}"
            raise UnknownRecordError(what, "value")
        return decode(value_class, version, value, PREFIX_BYTES)[0], version


def _int16(data: Buffer, where: str) -> int:
    if len(data) < PREFIX_BYTES:
        raise ProtocolError(f"Could not read version from {where}'s buffer: {len(data)} bytes")
    number: int = _INT16.unpack_from(data)[0]
    return number


GROUP_RECORDS: Final = CoordinatorRecordSerde("group_records")
"""The records of ``__consumer_offsets``."""
TRANSACTION_RECORDS: Final = CoordinatorRecordSerde("transaction_records")
"""The records of ``__transaction_state``."""
SHARE_RECORDS: Final = CoordinatorRecordSerde("share_records")
"""The records of ``__share_group_state``."""


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
