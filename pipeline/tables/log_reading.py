"""Batches and records of one partition, for tables: decoded, with the place they have, and what can't be read.

Never writes. Memory: one chunk. A torn last batch of the active segment is what a killed broker leaves, no damage.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from ...protocol.records.record import Record
from ..decode.batch_table import BatchTable, check_crcs
from ..decode.damage import Damage, DamageKind
from ..decode.living_log import END_OF_OFFSETS, Absence, Absent, parts_of, read_living
from ..decode.records import DecodedRecords, decode_chunk
from ..decode.segment_chunks import read_chunks
from ..directories.file_access import is_gone
from ..directories.log_directories import PartitionDirectory, SegmentFile

Select = Callable[[BatchTable], NDArray[numpy.bool_]]

TRANSACTIONAL = 0x10
CONTROL = 0x20


class LogRecord(NamedTuple):
    """A record of a log; `position` is its batch's, in bytes, times are ms since 1970. Headers are left out."""

    file: str
    position: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    attributes: int
    """Of its batch."""
    producer_id: int
    producer_epoch: int
    leader_epoch: int

    @property
    def plain(self) -> Record:
        """The record as decoders take it."""
        return Record(self.offset, self.timestamp, self.key, self.value, [])


class LogDamage(NamedTuple):
    """Bytes that can't be read; `offset` -1 where that can't be read either."""

    file: str
    position: int
    offset: int
    text: str


class LogChunk(NamedTuple):
    """Some whole batches of a segment."""

    segment: SegmentFile
    batches: BatchTable


def read_batches(partition: PartitionDirectory) -> Iterator[LogChunk | LogDamage]:
    """All batches of a partition in chunks, and damage between them. Raises OSError.

    A partition that a running broker changes is listed again (living_log.py); what retention deleted is left out. A
    partition that is gone or can't be listed is damage.
    """
    if partition.fault:
        yield LogDamage(str(partition.path), 0, -1, partition.fault_sentence)
        return
    key = (partition.topic, partition.partition)
    parts = parts_of(partition, 0, END_OF_OFFSETS)
    for found in read_living(key, partition.path, lambda: parts, 0, END_OF_OFFSETS):
        if isinstance(found, Absent):
            if found.kind is not Absence.DELETED:
                yield LogDamage(str(partition.path), 0, found.first_offset, found.text)
        elif not isinstance(found.item, Damage):
            yield LogChunk(found.part.segment, found.item)
        elif not (found.part.is_active and is_torn_tail(found.item, found.part.segment)):
            yield damage_of(found.part.segment, found.item)


def read_file_batches(segment: SegmentFile) -> Iterator[LogChunk | LogDamage]:
    """All batches of one file (a metadata snapshot, too), and damage; nothing if it is gone. Raises OSError."""
    try:
        for item in read_chunks(segment.path):
            yield LogChunk(segment, item) if not isinstance(item, Damage) else damage_of(segment, item)
    except OSError as error:
        if not is_gone(error):
            raise


def is_torn_tail(damage: Damage, segment: SegmentFile) -> bool:
    """Whether the bytes are the beginning of a batch at the end of the file, or zeros there."""
    return damage.kind in (DamageKind.INCOMPLETE, DamageKind.ZEROS) and damage.position + damage.size >= segment.size


def damage_of(segment: SegmentFile, damage: Damage) -> LogDamage:
    """Damage with its place in words."""
    return LogDamage(
        str(segment.path), damage.position, damage.base_offset, f"{damage.kind}: {segment.path}: {damage.message}"
    )


def all_batches(chunk: BatchTable) -> NDArray[numpy.bool_]:
    """Selects every batch."""
    return numpy.ones(len(chunk), dtype=numpy.bool_)


def data_batches(chunk: BatchTable) -> NDArray[numpy.bool_]:
    """Selects those that are no control batches."""
    is_data: NDArray[numpy.bool_] = ~chunk.is_control
    return is_data


def control_batches(chunk: BatchTable) -> NDArray[numpy.bool_]:
    """Selects control batches."""
    return chunk.is_control


def read_records(partition: PartitionDirectory, select: Select) -> Iterator[LogRecord | LogDamage]:
    """The records of a partition's selected batches in order, and damage in its place. Raises OSError."""
    return records_of(read_batches(partition), select)


def records_of(batches: Iterable[LogChunk | LogDamage], select: Select) -> Iterator[LogRecord | LogDamage]:
    """The records of the selected batches in order, and damage in its place. Raises what `batches` raises."""
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
    positions = (table.positions + table.file_position)[found.batches].tolist()
    of_batch = [
        table.column(name)[found.batches].tolist()
        for name in ("attributes", "producer_id", "producer_epoch", "partition_leader_epoch")
    ]
    of_record = [found.columns.column(name).to_pylist() for name in ("offset", "timestamp", "key", "value")]
    for position, *fields in zip(positions, *of_record, *of_batch, strict=True):
        yield LogRecord(path, position, *fields)
