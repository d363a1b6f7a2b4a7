"""The table `offsets`: one row for each offset commit in ``__consumer_offsets``, oldest first.

It has all commits in the log, not only the latest of each key. For a commit in a transaction, the column `transaction`
is the outcome; the commit is valid only if that is `committed`.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from odradek.protocol.internal_records.coordinator_serde import offset_commit_value
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.storage.files.meta_properties import uuid_text

from .columns import TIMESTAMP, corrupt_row, microseconds, record_batches, schema_of
from .group_messages import GroupMessage, commit_key, group_message, has_offset_commit_key
from .log_reading import CONTROL, TRANSACTIONAL, LogRecord, all_batches, record_rows
from .outcomes import Markers, outcome, read_markers
from .task import TableTask

SCHEMA = schema_of(
    directory=pa.string(),
    offsetsPartition=pa.int32(),
    file=pa.string(),
    position=pa.int64(),
    offset=pa.int64(),
    timestamp=TIMESTAMP,
    group=pa.string(),
    topic=pa.string(),
    topicId=pa.string(),
    partition=pa.int32(),
    committedOffset=pa.int64(),
    leaderEpoch=pa.int32(),
    metadata=pa.string(),
    commitTimestamp=TIMESTAMP,
    expireTimestamp=TIMESTAMP,
    isTombstone=pa.bool_(),
    transaction=pa.string(),
    producerId=pa.int64(),
    producerEpoch=pa.int32(),
    valueVersion=pa.int32(),
)
"""`offset`: that of the record. `position`: that of its batch in the file (bytes). `transaction`: `committed`,
`aborted` or `pending`; null without a transaction. `topicId`: only in values from version 4 on (Kafka 4.1)."""


def read(task: TableTask) -> Iterator[Any]:
    """Yields the rows of one partition of the offsets topic. Raises OSError."""
    yield from record_batches(SCHEMA, _rows(task))


def _rows(task: TableTask) -> Iterator[tuple[Any, ...]]:
    assert task.partition is not None
    markers = read_markers(task.partition)

    def row_of(record: LogRecord, place: dict[str, Any]) -> tuple[Any, ...] | None:
        if record.attributes & CONTROL or not has_offset_commit_key(record.key):
            return None
        message = group_message(record.plain)
        if message.fault is None:
            return (*place.values(), *_columns(record, message, markers), None)
        text = f"{record.file}: the record at offset {record.offset}: {message.fault}"
        return corrupt_row(SCHEMA, text, **place, timestamp=microseconds(record.timestamp))

    # All batches: a marker that can't be read also gets a row.
    return record_rows(task, SCHEMA, "offsetsPartition", all_batches, row_of)


def _columns(record: LogRecord, message: GroupMessage, markers: Markers) -> tuple[Any, ...]:
    """The values of the columns after `offset`."""
    group, topic, partition = commit_key(message.key)
    is_transactional = bool(record.attributes & TRANSACTIONAL)
    producer = (record.producer_id, record.producer_epoch) if record.producer_id >= 0 else (None, None)
    ended = str(outcome(markers, record.producer_id, record.offset)) if is_transactional else None
    time = microseconds(record.timestamp)
    if message.value is None:
        return (time, group, topic, None, partition, *(None,) * 5, True, ended, *producer, None)
    value = offset_commit_value(message.value)
    return (
        time,
        group,
        topic,
        None if value.topic_id == ZERO_UUID else uuid_text(value.topic_id),
        partition,
        value.offset,
        value.leader_epoch,
        value.metadata,
        microseconds(value.commit_timestamp),
        microseconds(value.expire_timestamp),
        False,
        ended,
        *producer,
        message.value_version,
    )
