"""Batches and records of one partition, for tables: decoded, with the place they have, and what can't be read.

Never writes. Memory: one chunk. A torn last batch of the active segment is what a killed broker leaves, no damage.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from ...protocol.records.record import Record
from ..decode.batch_table import BatchTable, check_crcs
from ..decode.damage import Damage, DamageKind
from ..decode.records import DecodedRecords, decode_chunk
from ..decode.segment_chunks import read_chunks
from ..directories.log_directories import PartitionDirectory, SegmentFile, indexed_positions

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

    A segment that a running broker has deleted meanwhile is damage, too.
    """
    for index, segment in enumerate(partition.segments):
        is_active = index + 1 == len(partition.segments)
        try:
            for item in read_chunks(segment.path, batch_positions=indexed_positions(segment)):
                if not isinstance(item, Damage):
                    yield LogChunk(segment, item)
                elif not (is_active and is_torn_tail(item, segment)):
                    yield damage_of(segment, item)
        except FileNotFoundError:
            text = f"segment-deleted: {segment.path} is gone: deleted or compacted since its directory was listed"
            yield LogDamage(str(segment.path), 0, segment.base_offset, text)


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
    """The records of the selected batches in order, and damage in its place. Raises OSError."""
    for item in read_batches(partition):
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
