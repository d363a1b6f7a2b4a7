"""What stays of one batch: the whole batch as it is, a rebuilt one, its bare header, or nothing.

Pure. Offsets, sequences, producer fields, leader epoch, timestamp type and compression type of a rebuilt batch are the
original's; a batch that keeps a tombstone, or a marker whose data has gone, gets a delete horizon once. Source: Kafka's
Cleaner.cleanInto and shouldRetainRecord, MemoryRecords.filterTo; KIP-534; KAFKA-17076 (a round's last batch stays).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...protocol.records.batch import BatchHeader, Buffer
from ...protocol.records.builder import BatchBuilder, encode_empty_batch
from ...protocol.records.errors import InvalidRecordError
from ...protocol.records.record import Record, decode_records
from .offset_map import OffsetMap
from .transactions import CleanedTransactions


class LastRecord(NamedTuple):
    """The last data offset of a producer that the broker still knows (None: it wrote markers only), and its epoch."""

    last_data_offset: int | None
    producer_epoch: int


@dataclass(slots=True)
class Round:
    """What one round over a partition goes by. Times are ms since 1970."""

    now_ms: int
    delete_retention_ms: int
    offset_map: OffsetMap
    upper_bound_offset: int
    """The first offset that this round does not clean: the batch in front of it stays, if only as a header."""
    last_records: Mapping[int, LastRecord]
    transactions: CleanedTransactions = field(default_factory=CleanedTransactions)
    records_read: int = 0
    records_kept: int = 0
    records_without_key: int = 0


def retain(round_: Round, header: BatchHeader, batch: Buffer) -> tuple[Buffer, bool] | None:
    """(bytes to write, whether they are the batch itself), or None when nothing stays. Batches come in offset order.

    Raises InvalidRecordError for records that can't be decoded or rebuilt: the partition is then left as it is.
    """
    records = decode_records(batch, header) if header.is_control else None
    if records is not None:
        is_discardable = round_.transactions.is_discardable(header, records[0].key if records else None)
        horizon = header.delete_horizon_ms
        drops_records = is_discardable and horizon is not None and horizon <= round_.now_ms
    else:
        is_discardable = drops_records = round_.transactions.is_aborted(header)
    keeps_header = _keeps_header(round_, header)
    if drops_records and not keeps_header:
        return None
    if records is None:
        records = decode_records(batch, header)
    round_.records_read += len(records)
    if drops_records:
        kept = []
    elif header.is_control:
        kept = records
    else:
        kept = [record for record in records if _stays(round_, header, record)]
    round_.records_kept += len(kept)
    if not kept:
        if not keeps_header:
            return None
        bare = _bare_header(header)
        return bare, bare == batch  # one that an earlier round has left bare stays as it is
    needs_horizon = not header.has_delete_horizon and (
        (header.is_control and is_discardable) or any(record.value is None for record in kept)
    )
    if len(kept) == len(records) and not needs_horizon:
        return batch, True
    horizon = round_.now_ms + round_.delete_retention_ms if needs_horizon else header.delete_horizon_ms
    return _rebuilt(header, kept, horizon), False


def _keeps_header(round_: Round, header: BatchHeader) -> bool:
    """Whether the batch stays as a header even without records: a producer's last sequence, or the round's end."""
    if header.next_offset == round_.upper_bound_offset:
        return True
    if not header.has_producer_id:
        return False
    last = round_.last_records.get(header.producer_id)
    if last is None:
        return False
    if last.last_data_offset is None:
        return header.is_control and header.producer_epoch == last.producer_epoch
    return header.last_offset == last.last_data_offset


def _stays(round_: Round, header: BatchHeader, record: Record) -> bool:
    """Whether a data record is the latest of its key; a tombstone only until its horizon, none without a key."""
    offset_map = round_.offset_map
    if record.offset > offset_map.latest_offset:
        return True
    if record.key is None:
        round_.records_without_key += 1
        return False
    if record.offset < offset_map.get(record.key):
        return False
    horizon = header.delete_horizon_ms
    return record.value is not None or horizon is None or round_.now_ms < horizon


def _bare_header(header: BatchHeader) -> bytes:
    return encode_empty_batch(
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        max_timestamp=header.max_timestamp,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_log_append_time=header.is_log_append_time,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
    )


def _rebuilt(header: BatchHeader, kept: list[Record], delete_horizon_ms: int | None) -> bytes:
    builder = BatchBuilder(
        compression=header.compression_type,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
        delete_horizon_ms=delete_horizon_ms,
    )
    try:
        for offset, timestamp, key, value, headers in kept:
            builder.append(timestamp, key, value, headers, offset)
        return builder.build(header.last_offset)
    except ValueError as error:
        raise InvalidRecordError(f"batch at offset {header.base_offset} can't be rebuilt: {error}") from error
