"""The records of ``__consumer_offsets``: keys and values as messages, to bytes and back.

Owns: which record types and versions we write and read. Never does: keeping state. A key is its type as int16, then the
key message; a value is its version as int16, then the value message; no value is a tombstone.
Versions written are those of Kafka 4.3.1: OffsetCommitValue 4 (1 where the commit brings its own retention),
GroupMetadataValue 3. Source: ``GroupCoordinatorRecordHelpers``, ``GroupCoordinatorRecordSerde``.

Types of consumer groups (3 to 8 and 16) are made in :mod:`.consumer.records`; those of share groups (10 to 15)
and streams groups (17 to 23) stay in the log untouched and are skipped here.
"""

from struct import Struct

from ...protocol.codec import decode, encode
from ...protocol.errors import ProtocolError
from ...protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    OffsetCommitValue,
)

LEGACY_OFFSET_COMMIT = 0
OFFSET_COMMIT = 1
GROUP_METADATA = 2
GROUP_METADATA_VALUE_VERSION = 3
OFFSET_COMMIT_VALUE_VERSION = 4
OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRATION = 1
KEY_VERSION = 0
NO_TIMESTAMP = -1

_INT16 = Struct(">h")

ConsumerGroupKey = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)
ConsumerGroupValue = (
    ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
    | ConsumerGroupRegularExpressionValue
)
CoordinatorKey = OffsetCommitKey | GroupMetadataKey | ConsumerGroupKey
CoordinatorValue = OffsetCommitValue | GroupMetadataValue | ConsumerGroupValue

_CONSUMER_GROUP_TYPES: dict[int, tuple[type[ConsumerGroupKey], type[ConsumerGroupValue]]] = {
    3: (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    7: (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    8: (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    16: (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
}


class CoordinatorRecord:
    """One record: a key, and a value with the version it is written in; ``value`` None is a tombstone."""

    __slots__ = ("key", "value", "value_version")

    def __init__(self, key: CoordinatorKey, value: CoordinatorValue | None, value_version: int = 0) -> None:
        self.key = key
        self.value = value
        self.value_version = value_version

    def __repr__(self) -> str:
        return f"CoordinatorRecord({self.key!r}, {self.value!r}, {self.value_version})"

    def key_bytes(self) -> bytes:
        """The key as it is stored."""
        return _INT16.pack(self.key.API_KEY) + encode(self.key, KEY_VERSION)

    def value_bytes(self) -> bytes | None:
        """The value as it is stored; None is a tombstone."""
        if self.value is None:
            return None
        return _INT16.pack(self.value_version) + encode(self.value, self.value_version)


class EncodedRecord(CoordinatorRecord):
    """A record whose bytes are made when it is, for records that are stored in a later turn of the event loop."""

    __slots__ = ("_key_bytes", "_value_bytes")

    def __init__(self, record: CoordinatorRecord) -> None:
        super().__init__(record.key, record.value, record.value_version)
        self._key_bytes = record.key_bytes()
        self._value_bytes = record.value_bytes()

    def key_bytes(self) -> bytes:
        """The key as it is stored."""
        return self._key_bytes

    def value_bytes(self) -> bytes | None:
        """The value as it is stored; None is a tombstone."""
        return self._value_bytes


def record_type_of(key: bytes | None) -> int:
    """The type that a stored key begins with. Raises ProtocolError for a key without one."""
    if key is None or len(key) < _INT16.size:
        raise ProtocolError(f"a key of {0 if key is None else len(key)} bytes has no record type")
    record_type: int = _INT16.unpack_from(key)[0]
    return record_type


def decode_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """Reads a stored record; None for a type that we do not know.

    Raises ProtocolError if the bytes are broken, the value has a version that is not known (Kafka refuses to load the
    partition too: to skip the record would be to forget an offset or a group) or contradicts itself.
    """
    record_type = record_type_of(key)
    assert key is not None, "record_type_of() has refused it"
    decoded_key: CoordinatorKey
    value_class: type[CoordinatorValue]
    if record_type == OFFSET_COMMIT:
        decoded_key = decode(OffsetCommitKey, KEY_VERSION, key, _INT16.size)[0]
        value_class = OffsetCommitValue
    elif record_type == GROUP_METADATA:
        decoded_key = decode(GroupMetadataKey, KEY_VERSION, key, _INT16.size)[0]
        value_class = GroupMetadataValue
    elif record_type == LEGACY_OFFSET_COMMIT:
        # Written by Kafka before 0.9 or so; the value is the same message in its oldest version.
        legacy = decode(LegacyOffsetCommitKey, KEY_VERSION, key, _INT16.size)[0]
        decoded_key = OffsetCommitKey(group=legacy.group, topic=legacy.topic, partition=legacy.partition)
        value_class = OffsetCommitValue
    elif record_type in _CONSUMER_GROUP_TYPES:
        key_class, value_class = _CONSUMER_GROUP_TYPES[record_type]
        decoded_key = decode(key_class, KEY_VERSION, key, _INT16.size)[0]
    else:
        return None
    if value is None:
        return CoordinatorRecord(decoded_key, None)
    version = _INT16.unpack_from(value)[0] if len(value) >= _INT16.size else -1
    lowest, highest = value_class.VERSIONS
    if not lowest <= version <= highest:
        raise ProtocolError(f"{value_class.NAME} has version {version}, not {lowest} to {highest}")
    decoded_value = decode(value_class, version, value, _INT16.size)[0]
    if isinstance(decoded_value, GroupMetadataValue):
        _check_group(decoded_value)
    return CoordinatorRecord(decoded_key, decoded_value, version)


def _check_group(value: GroupMetadataValue) -> None:
    """Raises ProtocolError if two members have one ``group.instance.id`` (``ClassicGroup.add``)."""
    static = [
        (member.group_instance_id, member.member_id) for member in value.members if member.group_instance_id is not None
    ]
    if len(dict(static)) != len(set(static)):
        raise ProtocolError("two members of a group have one group.instance.id")
