"""Control records: records that brokers write into a log in separate batches, such as transaction markers.

    key      int16 version (0), int16 type
    value    of ABORT and COMMIT: int16 version (0), int32 coordinator epoch; of the others a message of the table:
             LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord, KRaftVersionRecord, VotersRecord

The values of the KRaft types are not decoded here. Source: Kafka's ControlRecordType and EndTransactionMarker; KIP-98,
KIP-595, KIP-630, KIP-853.
"""

from collections.abc import Iterable
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from .batch import NO_PARTITION_LEADER_EPOCH
from .builder import BatchBuilder
from .errors import InvalidRecordError

_KEY = Struct(">hh")
_END_TRANSACTION_VALUE = Struct(">hi")
_CURRENT_VERSION = 0


class ControlRecordType(IntEnum):
    """The type in the key of a control record. Readers skip records of unknown types (UNKNOWN)."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransactionMarker(NamedTuple):
    """The end of a producer's transaction in this partition, and the epoch of the coordinator that decided it."""

    type: ControlRecordType
    coordinator_epoch: int

    @property
    def is_commit(self) -> bool:
        """Whether the transaction was committed; otherwise it was aborted."""
        return self.type == ControlRecordType.COMMIT


def control_record_key(record_type: ControlRecordType) -> bytes:
    """The key of a control record. Raises ValueError for UNKNOWN, which can't be written."""
    if record_type == ControlRecordType.UNKNOWN:
        raise ValueError("Cannot serialize UNKNOWN control record type")
    return _KEY.pack(_CURRENT_VERSION, record_type)


def control_record_type(key: bytes | None) -> ControlRecordType:
    """The type in the key of a control record; UNKNOWN for any other number. Later key versions are accepted.

    Raises InvalidRecordError for a key that is too short or has a negative version.
    """
    if key is None or len(key) < _KEY.size:
        raise InvalidRecordError(f"control record key has {0 if key is None else len(key)} bytes, needs {_KEY.size}")
    version, type_id = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecordError(f"Invalid version found for control record: {version}. May indicate data corruption")
    if ControlRecordType.ABORT <= type_id <= ControlRecordType.KRAFT_VOTERS:
        return ControlRecordType(type_id)
    return ControlRecordType.UNKNOWN


def end_transaction_value(coordinator_epoch: int) -> bytes:
    """The value of an ABORT or COMMIT record."""
    return _END_TRANSACTION_VALUE.pack(_CURRENT_VERSION, coordinator_epoch)


def end_transaction_marker(key: bytes | None, value: bytes | None) -> EndTransactionMarker:
    """Decodes a transaction marker. Raises InvalidRecordError for another control record type or malformed bytes."""
    record_type = control_record_type(key)
    if record_type not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        raise InvalidRecordError(f"Invalid control record type for end transaction marker: {record_type.name}")
    if value is None or len(value) < _END_TRANSACTION_VALUE.size:
        raise InvalidRecordError(f"end transaction marker has {0 if value is None else len(value)} bytes, needs 6")
    version, coordinator_epoch = _END_TRANSACTION_VALUE.unpack_from(value)
    if version < 0:
        raise InvalidRecordError(f"Invalid version found for end transaction marker: {version}")
    return EndTransactionMarker(record_type, coordinator_epoch)


def encode_end_transaction_batch(
    marker: EndTransactionMarker,
    *,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """A transactional control batch with one marker (Kafka's MemoryRecords.withEndTransactionMarker)."""
    builder = BatchBuilder(
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
    builder.append(timestamp, control_record_key(marker.type), end_transaction_value(marker.coordinator_epoch))
    return builder.build()


def encode_control_batch(
    records: Iterable[tuple[ControlRecordType, bytes]],
    *,
    timestamp: int,
    base_offset: int,
    partition_leader_epoch: int,
) -> bytes:
    """A batch of KRaft control records (type, encoded message), as in the metadata log and its snapshots."""
    builder = BatchBuilder(base_offset=base_offset, partition_leader_epoch=partition_leader_epoch, is_control=True)
    for record_type, value in records:
        builder.append(timestamp, control_record_key(record_type), value)
    return builder.build()
