"""The table `metadata`: every record of the log and the snapshots of ``__cluster_metadata-0``, as type name and JSON.

The JSON is the same as Kafka's own tool prints. Control records (leader changes, voters, kraft.version) have rows too.
A record of an unknown type has `_corrupt_record`. Source: Kafka's MetadataRecordSerde, ControlRecordType.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS
from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.protocol.show.message_documents import document, kafka_json
from odradek.storage.dump.decoders import Typed
from odradek.storage.dump.log_dump import control_of

from ..directories.file_access import is_gone, is_unreadable, list_directory
from ..directories.log_directories import PartitionDirectory, find_partitions
from ..directories.segment_files import SegmentFile
from .columns import TIMESTAMP, corrupt_row, microseconds, record_batches, schema_of
from .log_reading import (
    CONTROL,
    LogChunk,
    LogDamage,
    LogRecord,
    all_batches,
    read_batches,
    read_file_batches,
    records_of,
)
from .task import TableTask

SCHEMA = schema_of(
    directory=pa.string(),
    file=pa.string(),
    position=pa.int64(),
    offset=pa.int64(),
    leaderEpoch=pa.int32(),
    timestamp=TIMESTAMP,
    isSnapshot=pa.bool_(),
    isControl=pa.bool_(),
    type=pa.string(),
    typeId=pa.int32(),
    version=pa.int32(),
    data=pa.string(),
)
SNAPSHOT_SUFFIX = ".checkpoint"


def plan(directory: Path, _: object) -> list[TableTask]:
    """One task: the metadata log is one partition."""
    return [TableTask(directory, found) for found in find_partitions(directory, [METADATA_TOPIC])]


def read(task: TableTask) -> Iterator[Any]:
    """Yields the rows of the snapshots, oldest first, then those of the log. Raises OSError."""
    yield from record_batches(SCHEMA, _rows(task))


def _rows(task: TableTask) -> Iterator[tuple[Any, ...]]:
    assert task.partition is not None
    for segment in _snapshots(task.partition):
        yield from _records(task, read_file_batches(segment), is_snapshot=True)
    yield from _records(task, read_batches(task.partition), is_snapshot=False)


def _snapshots(found: PartitionDirectory) -> list[SegmentFile]:
    """The snapshots in the directory; none if it is gone or can't be listed. Raises OSError."""
    try:
        entries = [] if found.fault else list_directory(found.path)
    except OSError as error:
        if not (is_gone(error) or is_unreadable(error, found.path)):
            raise
        return []  # the read of the log reports it
    names = sorted(entry for entry in entries if entry.name.endswith(SNAPSHOT_SUFFIX))
    return [SegmentFile(0, found.path / entry.name, entry.size) for entry in names]


def _records(
    task: TableTask, batches: Iterator[LogChunk | LogDamage], *, is_snapshot: bool
) -> Iterator[tuple[Any, ...]]:
    for record in records_of(batches, all_batches):
        place: dict[str, Any] = {
            "directory": str(task.directory),
            "file": record.file,
            "position": record.position,
            "offset": record.offset,
            "isSnapshot": is_snapshot,
        }
        if isinstance(record, LogDamage):
            yield corrupt_row(SCHEMA, record.text, **place)
        else:
            yield _row(record, place)


def _row(record: LogRecord, known: dict[str, Any]) -> tuple[Any, ...]:
    is_control = bool(record.attributes & CONTROL)
    known |= {
        "leaderEpoch": record.leader_epoch,
        "timestamp": microseconds(record.timestamp),
        "isControl": is_control,
    }
    try:
        known |= _control(record) if is_control else _data(record)
    except (KafkaError, ProtocolError) as error:
        what = error.message if isinstance(error, KafkaError) else str(error)
        text = f"{record.file}: the record at offset {record.offset}: {what}"
        return corrupt_row(SCHEMA, text, **known)
    return tuple(known.get(name) for name in SCHEMA.names)


def _control(record: LogRecord) -> dict[str, Any]:
    """The columns of a control record. Raises InvalidRecordError, ProtocolError."""
    control = control_of(record.plain)
    found = {"type": control.type.name, "typeId": control.type_id}
    return found | (_typed(control.message) if control.message is not None else {}) | {"type": control.type.name}


def _data(record: LogRecord) -> dict[str, Any]:
    """The columns of a metadata record. Raises ProtocolError."""
    message, version = METADATA_RECORDS.decode(record.value)
    return _typed(Typed(message, message.API_KEY, version))


def _typed(typed: Typed) -> dict[str, Any]:
    return {
        "type": typed.message.NAME,
        "typeId": typed.type,
        "version": typed.version,
        "data": kafka_json(document(typed.message, typed.version)),
    }
