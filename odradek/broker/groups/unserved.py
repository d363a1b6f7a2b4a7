"""Streams groups that a Kafka has written to the log. They are kept and listed, but not served.

Owns: their record types, and the state of such a group. Never does: deciding, decoding more of a record than is needed.
A group id belongs to one group of one kind: if this broker stored another kind of group under the id of one of these,
Kafka could not load the partition any more.

Source: ``StreamsGroup``; KIP-1071.
"""

from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.coordinator_serde import (
    GROUP_RECORDS,
    PREFIX_BYTES,
    CoordinatorRecordType,
    encode_key,
    record_type_of,
)
from odradek.protocol.messages.structure import Message

from .records import CoordinatorRecord

STREAMS_TYPE = "streams"

_STREAMS_RECORDS = frozenset(
    record_type for record_type in CoordinatorRecordType if record_type.name.startswith("STREAMS_GROUP")
)
_STREAMS_EPOCH = CoordinatorRecordType.STREAMS_GROUP_METADATA
"""Its tombstone deletes the group."""
_STREAMS_TARGET_EPOCH = CoordinatorRecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA
_TOMBSTONE_ORDER = (
    CoordinatorRecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    CoordinatorRecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER,
    CoordinatorRecordType.STREAMS_GROUP_MEMBER_METADATA,
    CoordinatorRecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA,
    CoordinatorRecordType.STREAMS_GROUP_TOPOLOGY,
)
"""Tombstones of these types are written before the tombstone of the group: Kafka refuses to delete a group that still
has such records."""


class UnservedGroup:
    """One streams group. ``keys``: those of its records in the log."""

    __slots__ = ("assignment_epoch", "group_epoch", "group_id", "keys", "members")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.members: set[str] = set()
        self.keys: dict[bytes, None] = {}
        self.group_epoch = 0
        self.assignment_epoch = 0

    @property
    def state(self) -> str:
        """The state that Kafka shows for the group after a start, before the sessions of its members end."""
        if not self.members:
            return "Empty"
        return "Assigning" if self.group_epoch > self.assignment_epoch else "Stable"

    @property
    def may_become_classic(self) -> bool:
        """Whether a classic group may take over this id: only if this group has no members."""
        return not self.members

    def is_subscribed_to(self, _: str) -> bool:
        """Whether a member may read a topic: True if the group has members, as topologies are not decoded."""
        return bool(self.members)

    def replay(self, record: "UnservedRecord") -> None:
        """Replays a record of the group."""
        if record.is_tombstone:
            self.keys.pop(record.stored_key, None)
        else:
            self.keys[record.stored_key] = None
        if record.record_type == CoordinatorRecordType.STREAMS_GROUP_MEMBER_METADATA:
            member_id = record.member_id
            if record.is_tombstone:
                self.members.discard(member_id)
            else:
                self.members.add(member_id)
        elif record.record_type == _STREAMS_EPOCH:
            self.group_epoch = record.epoch
        elif record.record_type == _STREAMS_TARGET_EPOCH:
            self.assignment_epoch = record.epoch

    def tombstones(self) -> list[CoordinatorRecord]:
        """Returns records that delete all of the group except its offsets."""
        # Kafka wants the tombstone of the target epoch even if the group never had a target assignment.
        keys = {**self.keys, _group_key(_STREAMS_TARGET_EPOCH, self.group_id): None}
        records = [read_record(record_type_of(key), key, None) for key in keys]
        order: dict[int, int] = {record_type: place for place, record_type in enumerate(_TOMBSTONE_ORDER)}
        records.sort(key=lambda record: order.get(record.record_type, len(order)))
        return [*records]


class UnservedRecord(CoordinatorRecord):
    """A record of a streams group. This broker writes only tombstones of these types."""

    __slots__ = ("epoch", "is_tombstone", "record_type", "stored_key")

    def __init__(self, record_type: int, key: Message, stored_key: bytes, epoch: int, is_tombstone: bool) -> None:
        """``epoch``: that of the group or of its target assignment, 0 in records of other types."""
        super().__init__(key, None)  # type: ignore[arg-type]  # of no kind that a coordinator here decides about
        self.record_type = record_type
        self.stored_key = stored_key
        self.epoch = epoch
        self.is_tombstone = is_tombstone

    @property
    def group_id(self) -> str:
        """The id of its group."""
        group_id: str = self.key.group_id  # type: ignore[union-attr]
        return group_id

    @property
    def member_id(self) -> str:
        """The member id in a record of a member."""
        member_id: str = self.key.member_id  # type: ignore[union-attr]
        return member_id

    @property
    def forgets_group(self) -> bool:
        """Whether it is the tombstone of the group itself."""
        return self.is_tombstone and self.record_type == _STREAMS_EPOCH

    def key_bytes(self) -> bytes:
        """The key as it is stored."""
        return self.stored_key


def _group_key(record_type: int, group_id: str) -> bytes:
    """The key of a record whose key holds nothing but the group's id."""
    key = GROUP_RECORDS.types[record_type][0]()
    key.group_id = group_id  # type: ignore[attr-defined]
    return encode_key(key)


def is_unserved(record_type: int) -> bool:
    """Whether records of the type belong to streams groups."""
    return record_type in _STREAMS_RECORDS


def read_record(record_type: int, key: bytes, value: bytes | None) -> UnservedRecord:
    """Reads a stored record of a streams group. Raises ProtocolError if the key or the epoch is malformed."""
    decoded_key = GROUP_RECORDS.decode_key(key)
    epoch = 0
    if value is not None and record_type in (_STREAMS_EPOCH, _STREAMS_TARGET_EPOCH):
        # Both values begin with the epoch, after their version. Nothing else of them is needed.
        if len(value) < PREFIX_BYTES + 4:
            raise ProtocolError(f"the value of a record of {decoded_key.NAME} has only {len(value)} bytes")
        epoch = int.from_bytes(value[PREFIX_BYTES : PREFIX_BYTES + 4], "big", signed=True)
    return UnservedRecord(record_type, decoded_key, key, epoch, value is None)
