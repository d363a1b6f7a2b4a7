"""Reads the batches and records of one partition for the tables, with their place in the log, and damage.

Never writes. Memory: one chunk. An incomplete last batch of the active segment is not damage: a killed broker left it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from odradek.protocol.records.record import Record

from ..decode.batch_table import BatchTable, check_crcs
from ..decode.damage import Damage, DamageKind
from ..decode.living_log import END_OF_OFFSETS, AbsenceReason, AbsentOffsets, parts_of, read_living
from ..decode.records import DecodedRecords, decode_chunk
from ..decode.segment_chunks import read_chunks
from ..directories.file_access import is_gone
from ..directories.log_directories import PartitionDirectory
from ..directories.segment_files import SegmentFile
from .columns import corrupt_row
from .task import TableTask

Select = Callable[[BatchTable], NDArray[numpy.bool_]]

TRANSACTIONAL = 0x10
CONTROL = 0x20


class LogRecord(NamedTuple):
    """A record of a log, without headers. `position`: that of its batch, in bytes. `timestamp`: ms since 1970."""

    file: str
    position: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    attributes: int
    """The attributes of its batch."""
    producer_id: int
    producer_epoch: int
    leader_epoch: int

    @property
    def plain(self) -> Record:
        """The record in the type that decoders accept."""
        return Record(self.offset, self.timestamp, self.key, self.value, [])


class LogDamage(NamedTuple):
    """Bytes that can't be read. `offset`: the base offset of the batch; -1 if it can't be read either."""

    file: str
    position: int
    offset: int
    text: str


class LogChunk(NamedTuple):
    """Some whole batches of a segment."""

    segment: SegmentFile
    batches: BatchTable


def read_batches(partition: PartitionDirectory) -> Iterator[LogChunk | LogDamage]:
    """Yields all batches of a partition in chunks, and the damage between them. Raises OSError.

    If a running broker changes the partition, lists it again (living_log.py). Skips offsets that retention deleted. A
    partition that is gone or can't be listed is damage.
    """
    if partition.fault:
        yield LogDamage(str(partition.path), 0, -1, partition.fault_sentence)
        return
    key = (partition.topic, partition.partition)
    parts = parts_of(partition, 0, END_OF_OFFSETS)
    for found in read_living(key, partition.path, lambda: parts, 0, END_OF_OFFSETS):
        if isinstance(found, AbsentOffsets):
            if found.kind is not AbsenceReason.DELETED:
                yield LogDamage(str(partition.path), 0, found.first_offset, found.text)
        elif not isinstance(found.item, Damage):
            yield LogChunk(found.part.segment, found.item)
        elif not (found.part.is_active and is_torn_tail(found.item, found.part.segment)):
            yield damage_of(found.part.segment, found.item)


def read_file_batches(segment: SegmentFile) -> Iterator[LogChunk | LogDamage]:
    """Yields all batches and damage of one file, such as a metadata snapshot; none if it is gone. Raises OSError."""
    try:
        for item in read_chunks(segment.path):
            yield LogChunk(segment, item) if not isinstance(item, Damage) else damage_of(segment, item)
    except OSError as error:
        if not is_gone(error):
            raise


def is_torn_tail(damage: Damage, segment: SegmentFile) -> bool:
    """Whether the damage is an incomplete batch, or zeros, at the end of the file."""
    return damage.kind in (DamageKind.INCOMPLETE, DamageKind.ZEROS) and damage.position + damage.size >= segment.size


def damage_of(segment: SegmentFile, damage: Damage) -> LogDamage:
    """Converts Damage to LogDamage, whose text has the file."""
    return LogDamage(
        str(segment.path), damage.position, damage.base_offset, f"{damage.kind}: {segment.path}: {damage.message}"
    )


def all_batches(chunk: BatchTable) -> NDArray[numpy.bool_]:
    """Selects every batch."""
    return numpy.ones(len(chunk), dtype=numpy.bool_)


def data_batches(chunk: BatchTable) -> NDArray[numpy.bool_]:
    """Selects the batches that are not control batches."""
    is_data: NDArray[numpy.bool_] = ~chunk.is_control
    return is_data


def control_batches(chunk: BatchTable) -> NDArray[numpy.bool_]:
    """Selects control batches."""
    return chunk.is_control


def read_records(partition: PartitionDirectory, select: Select) -> Iterator[LogRecord | LogDamage]:
    """Yields the records of a partition's selected batches in order, and damage between them. Raises OSError."""
    return records_of(read_batches(partition), select)


def records_of(batches: Iterable[LogChunk | LogDamage], select: Select) -> Iterator[LogRecord | LogDamage]:
    """Yields the records of the selected batches in order, and damage between them. Raises the errors of `batches`."""
    for item in batches:
        if isinstance(item, LogDamage):
            yield item
            continue
        matches, damage = check_crcs(item.batches)
        yield from (damage_of(item.segment, found) for found in damage)
        yield from _records(item, select(item.batches) & matches)


def _records(chunk: LogChunk, selected: NDArray[numpy.bool_]) -> Iterator[LogRecord | LogDamage]:
    for found in decode_chunk(chunk.batches, selected):
        if isinstance(found, Damage):
            yield damage_of(chunk.segment, found)
        else:
            yield from _rows(chunk, found)


def _rows(chunk: LogChunk, found: DecodedRecords) -> Iterator[LogRecord]:
    path, table = str(chunk.segment.path), chunk.batches
    positions = table.places[found.batches].tolist()
    of_batch = [
        table.column(name)[found.batches].tolist()
        for name in ("attributes", "producer_id", "producer_epoch", "partition_leader_epoch")
    ]
    of_record = [found.columns.column(name).to_pylist() for name in ("offset", "timestamp", "key", "value")]
    for position, *fields in zip(positions, *of_record, *of_batch, strict=True):
        yield LogRecord(path, position, *fields)


Row = tuple[Any, ...]
RowOf = Callable[[LogRecord, dict[str, Any]], Row | None]
"""Returns the row of a record, given the columns of its place; None if the table has no row for it."""


def record_rows(task: TableTask, schema: Any, partition_column: str, select: Select, row_of: RowOf) -> Iterator[Row]:
    """Yields the rows of the selected batches of a task's partition, oldest first. Raises OSError.

    `partition_column`: the name of the column with the partition.
    """
    assert task.partition is not None
    for record in read_records(task.partition, select):
        place = {
            "directory": str(task.directory),
            partition_column: task.partition.partition,
            "file": record.file,
            "position": record.position,
            "offset": record.offset,
        }
        row = corrupt_row(schema, record.text, **place) if isinstance(record, LogDamage) else row_of(record, place)
        if row is not None:
            yield row
