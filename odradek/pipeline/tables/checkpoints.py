"""The table `checkpoints`: the entries of checkpoint files, properties files and producer snapshots.

One row for each entry. Of a log directory: recovery-point-offset-checkpoint, log-start-offset-checkpoint,
replication-offset-checkpoint, cleaner-offset-checkpoint, meta.properties, .kafka_cleanshutdown. Of a partition:
leader-epoch-checkpoint, partition.metadata, quorum-state, producer snapshots. A file that can't be parsed has one row
with `_corrupt_record`.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.storage.errors import CorruptCheckpointError, CorruptSnapshotError
from odradek.storage.files.checkpoints import ROOT_CHECKPOINTS, read_epoch_checkpoint, read_offset_checkpoint
from odradek.storage.files.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    SNAPSHOT_SUFFIX,
    base_offset_of,
)
from odradek.storage.files.meta_properties import (
    CLEAN_SHUTDOWN_FILE,
    META_PROPERTIES,
    read_partition_metadata,
    uuid_text,
)
from odradek.storage.producers.producer_snapshots import decode_snapshot

from ..directories.file_access import PathFiles, is_gone, is_unreadable, list_directory, read_file, unreadable_text
from ..directories.log_directories import find_partitions
from .columns import TIMESTAMP, corrupt_row, microseconds, record_batches, schema_of
from .task import TableTask, unlisted_row

SCHEMA = schema_of(
    directory=pa.string(),
    file=pa.string(),
    kind=pa.string(),
    topic=pa.string(),
    partition=pa.int32(),
    name=pa.string(),
    value=pa.string(),
    offset=pa.int64(),
    epoch=pa.int32(),
    producerId=pa.int64(),
    producerEpoch=pa.int32(),
    lastSequence=pa.int32(),
    lastOffset=pa.int64(),
    offsetDelta=pa.int32(),
    lastTimestamp=TIMESTAMP,
    coordinatorEpoch=pa.int32(),
    transactionFirstOffset=pa.int64(),
)
"""`kind`: the name of the file, or `snapshot`. `offset`: that of the entry, for producers that of the snapshot."""

QUORUM_STATE = "quorum-state"
Facts = Iterator[dict[str, Any]]
_FILES = PathFiles()


def plan(directory: Path, topics: Sequence[str] | None) -> list[TableTask]:
    """A task for each partition of `topics`. If None: for the log directory and all partitions, metadata log too."""
    if topics is not None:
        return [TableTask(directory, found) for found in find_partitions(directory, topics)]
    partitions = find_partitions(directory) + find_partitions(directory, [METADATA_TOPIC])
    return [TableTask(directory, None), *(TableTask(directory, found) for found in partitions)]


def read(task: TableTask) -> Iterator[Any]:
    """Yields the rows of the files of a log directory, or of a partition. Raises OSError."""
    yield from record_batches(SCHEMA, _directory_rows(task) if task.partition is None else _partition_rows(task))


def _directory_rows(task: TableTask) -> Iterator[tuple[Any, ...]]:
    for name in ROOT_CHECKPOINTS:
        yield from _rows(task, task.directory / name, _offsets)
    yield from _rows(task, task.directory / META_PROPERTIES, _properties)
    yield from _rows(task, task.directory / CLEAN_SHUTDOWN_FILE, _json)


def _partition_rows(task: TableTask) -> Iterator[tuple[Any, ...]]:
    assert task.partition is not None
    if task.partition.fault:
        yield unlisted_row(SCHEMA, task)
        return
    directory = task.partition.path
    yield from _rows(task, directory / PARTITION_METADATA, _topic_id)
    yield from _rows(task, directory / LEADER_EPOCH_CHECKPOINT, _epochs)
    yield from _rows(task, directory / QUORUM_STATE, _json)
    for name in _snapshot_names(directory):
        yield from _rows(task, directory / name, _producers)


def _snapshot_names(directory: Path) -> list[str]:
    """The names of the producer snapshots; none if the directory is gone or can't be listed. Raises OSError."""
    try:
        return sorted(entry.name for entry in list_directory(directory) if entry.name.endswith(SNAPSHOT_SUFFIX))
    except OSError as error:
        if is_gone(error) or is_unreadable(error, directory):
            return []  # a plan, this one or the next, reports the directory
        raise


def _rows(task: TableTask, path: Path, read_facts: Callable[[Path], Facts]) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each entry of a file; none if the file does not exist."""
    kind = SNAPSHOT_SUFFIX[1:] if path.name.endswith(SNAPSHOT_SUFFIX) else path.name
    known: dict[str, Any] = {"directory": str(task.directory), "file": str(path), "kind": kind}
    if task.partition is not None:
        known |= {"topic": task.partition.topic, "partition": task.partition.partition}
    try:
        for fact in read_facts(path):
            row = known | fact
            yield tuple(row.get(name) for name in SCHEMA.names)
    except OSError as error:
        if is_gone(error):
            return
        if not is_unreadable(error, path):
            raise
        yield corrupt_row(SCHEMA, unreadable_text(path, error), **known)
    except (CorruptCheckpointError, CorruptSnapshotError, ValueError) as error:
        yield corrupt_row(SCHEMA, f"{path}: {error}", **known)


def _offsets(path: Path) -> Facts:
    for (topic, partition), offset in read_offset_checkpoint(_FILES, path).items():
        yield {"topic": topic, "partition": partition, "offset": offset}


def _epochs(path: Path) -> Facts:
    for epoch, offset in read_epoch_checkpoint(_FILES, path):
        yield {"epoch": epoch, "offset": offset}


def _topic_id(path: Path) -> Facts:
    topic_id = read_partition_metadata(_FILES, path.parent)
    if topic_id is not None:
        yield {"name": "topic_id", "value": uuid_text(topic_id)}


def _properties(path: Path) -> Facts:
    for line in read_file(path).decode().splitlines():
        name, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            yield {"name": name.strip(), "value": value.strip().replace("\\", "")}


def _json(path: Path) -> Facts:
    found = json.loads(read_file(path))
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    for name, value in found.items():
        yield {"name": name, "value": value if isinstance(value, str) else json.dumps(value)}


def _producers(path: Path) -> Facts:
    for producer in decode_snapshot(read_file(path)):
        fact = {
            "offset": base_offset_of(path.name),
            "producerId": producer.producer_id,
            "producerEpoch": producer.producer_epoch,
            "lastTimestamp": microseconds(producer.last_timestamp),
            "coordinatorEpoch": producer.coordinator_epoch,
            "transactionFirstOffset": producer.transaction_first_offset,
        }
        for batch in producer.batches[:1]:
            fact |= {
                "lastSequence": batch.last_sequence,
                "lastOffset": batch.last_offset,
                "offsetDelta": batch.offset_delta,
            }
        yield fact
