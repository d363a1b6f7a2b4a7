"""The table `share_states`: every record of ``__share_group_state``, oldest first.

A snapshot has the whole state of a share partition, an update what has changed since; `startOffset` -1 in an update
keeps the former one. `key` and `value` are JSON as printed by Kafka's own tool. The topic is known by its id only.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from odradek.protocol.messages.share_records import ShareSnapshotValue
from odradek.protocol.show.message_documents import kafka_json
from odradek.storage.dump.decoders import Typed, share_record
from odradek.storage.dump.embedded import data_document
from odradek.storage.files.meta_properties import uuid_text

from .columns import TIMESTAMP, corrupt_row, microseconds, record_batches, schema_of
from .log_reading import LogRecord, data_batches, record_rows
from .task import TableTask

BATCHES_TYPE = pa.list_(
    pa.field(
        "element",
        pa.struct(
            [
                pa.field("firstOffset", pa.int64()),
                pa.field("lastOffset", pa.int64()),
                pa.field("state", pa.int32()),
                pa.field("deliveryCount", pa.int32()),
            ]
        ),
    )
)

SCHEMA = schema_of(
    directory=pa.string(),
    statePartition=pa.int32(),
    file=pa.string(),
    position=pa.int64(),
    offset=pa.int64(),
    timestamp=TIMESTAMP,
    recordType=pa.int32(),
    kind=pa.string(),
    group=pa.string(),
    topicId=pa.string(),
    partition=pa.int32(),
    isTombstone=pa.bool_(),
    valueVersion=pa.int32(),
    snapshotEpoch=pa.int32(),
    stateEpoch=pa.int32(),
    leaderEpoch=pa.int32(),
    startOffset=pa.int64(),
    deliveryCompleteCount=pa.int32(),
    batches=BATCHES_TYPE,
    key=pa.string(),
    value=pa.string(),
)
"""`kind`: ShareSnapshot or ShareUpdate, null for an unknown type. `stateEpoch`: only snapshots have it. `state` of a
batch: 0 available, 2 acknowledged, 3 archiving, 4 archived."""


def read(task: TableTask) -> Iterator[Any]:
    """Yields the rows of one partition of ``__share_group_state``. Raises OSError."""
    yield from record_batches(SCHEMA, record_rows(task, SCHEMA, "statePartition", data_batches, _row))


def _row(record: LogRecord, place: dict[str, Any]) -> tuple[Any, ...]:
    decoded = share_record(record.plain)
    known = place | {"timestamp": microseconds(record.timestamp), "isTombstone": record.value is None}
    if decoded.fault is not None:
        return corrupt_row(SCHEMA, f"{record.file}: the record at offset {record.offset}: {decoded.fault}", **known)
    assert isinstance(decoded.key, Typed)
    key: Any = decoded.key.message
    known |= {
        "recordType": decoded.key.type,
        "kind": key.NAME.removesuffix("Key"),
        "group": key.group_id,
        "topicId": uuid_text(key.topic_id),
        "partition": key.partition,
        "key": _json(decoded.key),
    }
    if isinstance(decoded.value, Typed):
        known |= _facts(decoded.value)
    return tuple(known.get(column) for column in SCHEMA.names)


def _json(typed: Typed) -> str:
    return kafka_json(data_document(typed, deeper=True))


def _facts(typed: Typed) -> dict[str, Any]:
    value: Any = typed.message
    names = [BATCHES_TYPE.value_type.field(index).name for index in range(BATCHES_TYPE.value_type.num_fields)]
    batches = [
        (batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        for batch in value.state_batches
    ]
    return {
        "valueVersion": typed.version,
        "snapshotEpoch": value.snapshot_epoch,
        "stateEpoch": value.state_epoch if isinstance(value, ShareSnapshotValue) else None,
        "leaderEpoch": value.leader_epoch,
        "startOffset": value.start_offset,
        "deliveryCompleteCount": value.delivery_complete_count,
        "batches": [dict(zip(names, batch, strict=True)) for batch in batches],
        "value": _json(typed),
    }
