"""The records of ``__consumer_offsets``: the types and versions that this broker writes and reads.

Owns: record types and versions. Never does: keeping state, framing (:mod:`odradek.protocol.internal_records` does).
Versions written are those of Kafka 4.4.0: OffsetCommitValue 4 (1 if the commit has its own retention),
GroupMetadataValue 3. Source: ``GroupCoordinatorRecordHelpers``, ``GroupCoordinatorRecordSerde``.

Types of consumer groups (3 to 8 and 16) are made in :mod:`.consumer.records`, those of share groups (10 to 15) in
:mod:`.share.records`, those of streams groups (17 and 19 to 23) in :mod:`.streams.records`.
"""

from collections.abc import Generator

from odradek.protocol.errors import ProtocolError, UnknownRecordError
from odradek.protocol.internal_records.coordinator_serde import (
    GROUP_RECORDS,
    CoordinatorRecordType,
    encode_key,
    encode_value,
    offset_commit_key,
    offset_commit_value,
)
from odradek.protocol.messages.group_records import (
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
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)

GROUP_METADATA_VALUE_VERSION = 3
OFFSET_COMMIT_VALUE_VERSION = 4
OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRATION = 1
NO_TIMESTAMP = -1

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
ShareGroupKey = (
    ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
)
ShareGroupValue = (
    ShareGroupMemberMetadataValue
    | ShareGroupMetadataValue
    | ShareGroupTargetAssignmentMetadataValue
    | ShareGroupTargetAssignmentMemberValue
    | ShareGroupCurrentMemberAssignmentValue
    | ShareGroupStatePartitionMetadataValue
)
StreamsGroupKey = (
    StreamsGroupMetadataKey
    | StreamsGroupMemberMetadataKey
    | StreamsGroupTargetAssignmentMetadataKey
    | StreamsGroupTargetAssignmentMemberKey
    | StreamsGroupCurrentMemberAssignmentKey
    | StreamsGroupTopologyKey
)
StreamsGroupValue = (
    StreamsGroupMetadataValue
    | StreamsGroupMemberMetadataValue
    | StreamsGroupTargetAssignmentMetadataValue
    | StreamsGroupTargetAssignmentMemberValue
    | StreamsGroupCurrentMemberAssignmentValue
    | StreamsGroupTopologyValue
)
CoordinatorKey = OffsetCommitKey | GroupMetadataKey | ConsumerGroupKey | ShareGroupKey | StreamsGroupKey
CoordinatorValue = OffsetCommitValue | GroupMetadataValue | ConsumerGroupValue | ShareGroupValue | StreamsGroupValue

SHARE_GROUP_TYPES = range(
    CoordinatorRecordType.SHARE_GROUP_MEMBER_METADATA, CoordinatorRecordType.SHARE_GROUP_STATE_PARTITION_METADATA + 1
)
"""Record types of share groups."""
STREAMS_GROUP_TYPES = frozenset(
    record_type for record_type in CoordinatorRecordType if record_type.name.startswith("STREAMS_GROUP")
)
"""Record types of streams groups."""


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
        return encode_key(self.key)

    def value_bytes(self) -> bytes | None:
        """The value as it is stored; None is a tombstone."""
        return None if self.value is None else encode_value(self.value, self.value_version)


class EncodedRecord(CoordinatorRecord):
    """A record that is encoded when it is created, because it is stored in a later turn of the event loop."""

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


RecordsInSteps = Generator[list[CoordinatorRecord], None, list[CoordinatorRecord]]
"""Work in steps: each step yields the records to store after it, if any. The last records are the return value."""


def decode_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
    """Reads a stored record. Returns None for a record of an unknown type.

    Raises ProtocolError if the bytes are broken, if two members of a classic group have the same group.instance.id, or
    if the version of the value is unknown. Kafka refuses to load such a partition too: skipping the record could lose
    an offset or a group.
    """
    try:
        decoded_key: CoordinatorKey | LegacyOffsetCommitKey = GROUP_RECORDS.decode_key(key)  # type: ignore[assignment]
    except UnknownRecordError:
        return None
    record_type = decoded_key.API_KEY
    if isinstance(decoded_key, LegacyOffsetCommitKey):
        decoded_key = offset_commit_key(decoded_key)
    if value is None:
        return CoordinatorRecord(decoded_key, None)
    decoded_value: CoordinatorValue | LegacyOffsetCommitValue
    decoded_value, version = GROUP_RECORDS.decode_value(record_type, value)  # type: ignore[assignment]
    if isinstance(decoded_value, GroupMetadataValue):
        _check_group(decoded_value)
    elif isinstance(decoded_value, LegacyOffsetCommitValue):
        decoded_value = offset_commit_value(decoded_value)
    return CoordinatorRecord(decoded_key, decoded_value, version)


def _check_group(value: GroupMetadataValue) -> None:
    """Raises ProtocolError if two members have the same ``group.instance.id`` (``ClassicGroup.add``)."""
    static = [
        (member.group_instance_id, member.member_id) for member in value.members if member.group_instance_id is not None
    ]
    if len(dict(static)) != len(set(static)):
        raise ProtocolError("two members of a group have one group.instance.id")
