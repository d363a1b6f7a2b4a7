"""The records of ``__share_group_state``: snapshots and updates of the state of a share partition, and tombstones.

Pure. Owns: the form of the records, as Kafka writes it (version 0). The framing is in
:mod:`.coordinator_serde`. Source: ``ShareCoordinatorRecordHelpers``, ``ShareCoordinatorRecordSerde``.
"""

from collections.abc import Iterable
from typing import NamedTuple, cast

from ..errors import ProtocolError
from ..messages.share_records import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue
from .coordinator_serde import SHARE_RECORDS, encode_key, encode_value, record_type_of
from .share_batches import StateBatch, combined, is_valid
from .share_partition_key import SharePartitionKey

VALUE_VERSION = 0


class Snapshot(NamedTuple):
    """The whole state of a share partition. Timestamps: milliseconds since the epoch.

    ``created_ms``: when the state was first written in this form. ``written_ms``: when this snapshot was made.
    ``batches``: sorted, without overlaps.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    created_ms: int
    written_ms: int
    batches: tuple[StateBatch, ...]


class Update(NamedTuple):
    """A change since the last snapshot. ``start_offset`` -1 keeps the stored one."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class Unreadable(NamedTuple):
    """A stored value that makes no sense. Never written."""

    reason: str


class ShareStateRecord(NamedTuple):
    """One record. ``value`` None: the share partition has no state any more (a tombstone)."""

    key: SharePartitionKey
    value: Snapshot | Update | Unreadable | None

    def key_bytes(self) -> bytes:
        """The key as it is stored. A tombstone has the key of a snapshot."""
        if isinstance(self.value, Update):
            return encode_key(ShareUpdateKey(*self.key))
        return encode_key(ShareSnapshotKey(*self.key))

    def value_bytes(self) -> bytes | None:
        """The value as it is stored; None is a tombstone."""
        match self.value:
            case Snapshot() as snapshot:
                batches = [ShareSnapshotValue.StateBatch(*batch) for batch in snapshot.batches]
                return encode_value(ShareSnapshotValue(*snapshot[:-1], batches), VALUE_VERSION)
            case Update() as update:
                changed = [ShareUpdateValue.StateBatch(*batch) for batch in update.batches]
                return encode_value(ShareUpdateValue(*update[:-1], changed), VALUE_VERSION)
        assert self.value is None, "an unreadable record is never written"
        return None


def decode_record(key: bytes | None, value: bytes | None) -> ShareStateRecord | None:
    """Reads a stored record; None for a key type that we do not know. Raises ProtocolError if the key is broken.

    A broken value concerns one share partition only: it becomes :class:`Unreadable`.
    """
    record_type = record_type_of(key)
    if record_type not in (ShareSnapshotKey.API_KEY, ShareUpdateKey.API_KEY):
        return None
    stored = cast(ShareSnapshotKey | ShareUpdateKey, SHARE_RECORDS.decode_key(key))
    name = SharePartitionKey(stored.group_id, bytes(stored.topic_id), stored.partition)
    if value is None:
        is_tombstone = record_type == ShareSnapshotKey.API_KEY
        return ShareStateRecord(name, None if is_tombstone else Unreadable("an update without a value"))
    try:
        decoded, _ = SHARE_RECORDS.decode_value(record_type, value)
        return ShareStateRecord(name, _value(cast(ShareSnapshotValue | ShareUpdateValue, decoded)))
    except ProtocolError as error:
        return ShareStateRecord(name, Unreadable(str(error)))


def _value(decoded: ShareSnapshotValue | ShareUpdateValue) -> Snapshot | Update:
    """The value, checked. Raises ProtocolError."""
    batches = _batches(decoded.state_batches)
    if isinstance(decoded, ShareUpdateValue):
        return Update(
            decoded.snapshot_epoch,
            decoded.leader_epoch,
            decoded.start_offset,
            decoded.delivery_complete_count,
            batches,
        )
    return Snapshot(
        decoded.snapshot_epoch,
        decoded.state_epoch,
        decoded.leader_epoch,
        decoded.start_offset,
        decoded.delivery_complete_count,
        decoded.create_timestamp,
        decoded.write_timestamp,
        tuple(combined(batches, -1)),
    )


def _batches(
    stored: Iterable[ShareSnapshotValue.StateBatch | ShareUpdateValue.StateBatch],
) -> tuple[StateBatch, ...]:
    batches = tuple(
        StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        for batch in stored
    )
    for batch in batches:
        if not is_valid(batch):
            raise ProtocolError(f"a batch from offset {batch.first_offset} to {batch.last_offset}")
    return batches
