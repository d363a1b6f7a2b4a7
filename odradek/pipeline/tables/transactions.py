"""The table `transactions`: the records of ``__transaction_state``, and the transactions in each partition's log.

`source` is `state` for a record of ``__transaction_state`` (all in the log, oldest first). It is `log` for a
transaction in a partition's log: its data and its marker. A transaction without a marker is `Open`; these rows come
last. A marker without data has no `firstOffset`: the coordinator writes one to each partition of the transaction.
Source: Kafka's TransactionLog, TransactionState, ProducerStateManager.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import pyarrow as pa

from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.internal_records.coordinator_serde import TRANSACTION_RECORDS
from odradek.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from odradek.protocol.names.transaction_states import BY_NUMBER
from odradek.protocol.records.batch import read_header
from odradek.storage.producers.producer_state import read_marker

from ..decode.batch_table import check_crcs
from .columns import TIMESTAMP, corrupt_row, microseconds, record_batches, schema_of
from .log_reading import (
    CONTROL,
    TRANSACTIONAL,
    LogChunk,
    LogDamage,
    LogRecord,
    damage_of,
    data_batches,
    read_batches,
    read_records,
)
from .task import TableTask

TRANSACTION_TOPIC = "__transaction_state"

PARTITIONS_TYPE = pa.list_(
    pa.field("element", pa.struct([pa.field("topic", pa.string()), pa.field("partition", pa.int32())]))
)

SCHEMA = schema_of(
    directory=pa.string(),
    source=pa.string(),
    topic=pa.string(),
    partition=pa.int32(),
    file=pa.string(),
    position=pa.int64(),
    offset=pa.int64(),
    timestamp=TIMESTAMP,
    transactionalId=pa.string(),
    isTombstone=pa.bool_(),
    state=pa.string(),
    producerId=pa.int64(),
    producerEpoch=pa.int32(),
    firstOffset=pa.int64(),
    firstTimestamp=TIMESTAMP,
    lastUpdate=TIMESTAMP,
    timeoutMs=pa.int32(),
    coordinatorEpoch=pa.int32(),
    batches=pa.int64(),
    records=pa.int64(),
    bytes=pa.int64(),
    partitions=PARTITIONS_TYPE,
    valueVersion=pa.int32(),
)
"""In a `log` row, `offset`, `position` and `timestamp` are those of the marker (null while Open), and `state` is
Committed, Aborted or Open. In a `state` row they are those of the record."""


@dataclass(slots=True)
class _TransactionTotals:
    """The sums of a transaction whose marker has not been read yet. `size` is in bytes."""

    producer_epoch: int
    file: str
    first_offset: int
    first_timestamp: int
    batches: int = 0
    records: int = 0
    size: int = 0


def read(task: TableTask) -> Iterator[Any]:
    """Yields the rows of a partition. Raises OSError."""
    assert task.partition is not None
    is_state = task.partition.topic == TRANSACTION_TOPIC
    rows = _state_rows(task) if is_state else _log_rows(task)
    yield from record_batches(SCHEMA, rows)


def _known(task: TableTask, source: str) -> dict[str, Any]:
    assert task.partition is not None
    return {
        "directory": str(task.directory),
        "source": source,
        "topic": task.partition.topic,
        "partition": task.partition.partition,
    }


def _row(known: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(known.get(name) for name in SCHEMA.names)


def _damage_row(known: dict[str, Any], damage: LogDamage) -> tuple[Any, ...]:
    return corrupt_row(SCHEMA, damage.text, **known, file=damage.file, position=damage.position, offset=damage.offset)


# __transaction_state ------------------------------------------------------------


def _state_rows(task: TableTask) -> Iterator[tuple[Any, ...]]:
    assert task.partition is not None
    known = _known(task, "state")
    for record in read_records(task.partition, data_batches):
        if isinstance(record, LogDamage):
            yield _damage_row(known, record)
        else:
            yield _state_row(known, record)


def _state_row(fixed: dict[str, Any], record: LogRecord) -> tuple[Any, ...]:
    known = fixed | {
        "file": record.file,
        "position": record.position,
        "offset": record.offset,
        "timestamp": microseconds(record.timestamp),
        "isTombstone": record.value is None,
    }
    try:
        key = TRANSACTION_RECORDS.decode_key(record.key)
        if record.value is not None:
            value, version = TRANSACTION_RECORDS.decode_value(key.API_KEY, record.value)
            assert isinstance(value, TransactionLogValue)
            known |= _state(value) | {"valueVersion": version}
    except ProtocolError as error:
        text = f"{record.file}: the record at offset {record.offset}: {error}"
        return corrupt_row(SCHEMA, text, **known)
    assert isinstance(key, TransactionLogKey)
    return _row(known | {"transactionalId": key.transactional_id})


def _state(value: TransactionLogValue) -> dict[str, Any]:
    status = value.transaction_status
    state = BY_NUMBER.get(status)
    return {
        "state": f"unknown({status})" if state is None else state.label,
        "producerId": value.producer_id,
        "producerEpoch": value.producer_epoch,
        "firstTimestamp": microseconds(value.transaction_start_timestamp_ms),
        "lastUpdate": microseconds(value.transaction_last_update_timestamp_ms),
        "timeoutMs": value.transaction_timeout_ms,
        "partitions": [
            {"topic": found.topic, "partition": partition}
            for found in value.transaction_partitions or []
            for partition in found.partition_ids
        ],
    }


# Any other log ------------------------------------------------------------------


def _log_rows(task: TableTask) -> Iterator[tuple[Any, ...]]:
    assert task.partition is not None
    known = _known(task, "log")
    opened: dict[int, _TransactionTotals] = {}
    for item in read_batches(task.partition):
        if isinstance(item, LogDamage):
            yield _damage_row(known, item)
        else:
            yield from _chunk_rows(known, item, opened)
    for producer_id, transaction in opened.items():
        yield _row(known | _transaction(producer_id, transaction) | {"file": transaction.file, "state": "Open"})


def _chunk_rows(
    known: dict[str, Any], chunk: LogChunk, opened: dict[int, _TransactionTotals]
) -> Iterator[tuple[Any, ...]]:
    table = chunk.batches
    attributes = table.column("attributes")
    matches, damage = check_crcs(table)
    for found in damage:
        yield _damage_row(known, damage_of(chunk.segment, found))
    columns = {
        name: table.column(name)
        for name in ("producer_id", "producer_epoch", "base_offset", "base_timestamp", "records_count")
    }
    for index in numpy.flatnonzero(((attributes & (TRANSACTIONAL | CONTROL)) != 0) & matches).tolist():
        producer_id = int(columns["producer_id"][index])
        if attributes[index] & CONTROL:
            yield from _marker_rows(known, chunk, index, opened.pop(producer_id, None))
            continue
        transaction = opened.get(producer_id)
        if transaction is None:
            transaction = opened[producer_id] = _TransactionTotals(
                int(columns["producer_epoch"][index]),
                str(chunk.segment.path),
                int(columns["base_offset"][index]),
                int(columns["base_timestamp"][index]),
            )
        transaction.batches += 1
        transaction.records += int(columns["records_count"][index])
        transaction.size += int(table.disk_sizes[index])


def _marker_rows(
    known: dict[str, Any], chunk: LogChunk, index: int, transaction: _TransactionTotals | None
) -> Iterator[tuple[Any, ...]]:
    """Yields the row of the transaction that a control batch ends; nothing if the batch is empty or not a marker."""
    table = chunk.batches
    position = int(table.positions[index])
    header = read_header(table.view, position)
    place = {
        "file": str(chunk.segment.path),
        "position": table.file_position + position,
        "offset": header.base_offset,
    }
    try:
        found = read_marker(table.view[position : position + header.size_in_bytes], header)
    except KafkaError as error:
        yield corrupt_row(SCHEMA, f"{chunk.segment.path}: the marker at {place['position']}: {error}", **known, **place)
        return
    if found is not None:
        marker, time = found
        ended = {
            "timestamp": microseconds(time),
            "state": "Committed" if marker.is_commit else "Aborted",
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "coordinatorEpoch": marker.coordinator_epoch,
        }
        data = {} if transaction is None else _transaction(header.producer_id, transaction)
        yield _row(known | data | place | ended)


def _transaction(producer_id: int, transaction: _TransactionTotals) -> dict[str, Any]:
    return {
        "producerId": producer_id,
        "producerEpoch": transaction.producer_epoch,
        "firstOffset": transaction.first_offset,
        "firstTimestamp": microseconds(transaction.first_timestamp),
        "batches": transaction.batches,
        "records": transaction.records,
        "bytes": transaction.size,
    }
