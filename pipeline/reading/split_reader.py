"""Reads splits on an executor: the rows of their records, and what becomes of bytes that can't be read.

Control batches have no rows. A torn last batch of an active segment is what a killed broker leaves, or what a running
one is just writing: no damage. Memory: one chunk.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ...storage.files.file_names import DELETED_SUFFIX
from ...storage.segment.transaction_index import AbortedTransaction
from ..decode.batch_table import BatchTable, check_crcs
from ..decode.damage import Damage, DamageKind
from ..decode.records import decode_chunk
from ..decode.segment_chunks import read_chunks
from ..decode.spans import Flags
from ..directories.file_access import identity
from ..directories.log_directories import SegmentFile, indexed_positions
from .columns import CORRUPT_COLUMN, DIRECTORY, FILE, corrupt_row, decoded_names, to_spark
from .isolation import UnknownTransactionsError, aborted_transactions, is_aborted
from .options import Mode
from .splits import LogSplit


class CorruptLogError(Exception):
    """Bytes that can't be read, in mode FAILFAST; the text names file, position and what is wrong."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How splits are read: which columns, and what to leave out."""

    names: tuple[str, ...]
    mode: Mode
    is_committed_only: bool = False
    first_timestamp: int = -(1 << 63)
    """Batches that are older altogether are skipped (ms since 1970)."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """What can't be read: from which offset on (-1: unknown), and a sentence."""

    offset: int
    text: str


def read_split(split: LogSplit, reading: Reading) -> Iterator[Any]:
    """The rows of a split as Arrow record batches. Raises CorruptLogError in mode FAILFAST, OSError."""
    constants = {
        "topic": split.topic,
        "partition": split.partition,
        DIRECTORY: split.directory,
        FILE: str(split.segment.path),
    }
    for item in _rows(split, reading):
        if not isinstance(item, _Fault):
            yield to_spark(item, reading.names, constants)
        elif reading.mode is Mode.FAILFAST:
            raise CorruptLogError(item.text)
        elif reading.mode is Mode.PERMISSIVE and CORRUPT_COLUMN in reading.names:
            offset = item.offset if item.offset >= 0 else None
            yield corrupt_row(reading.names, constants | {"offset": offset, CORRUPT_COLUMN: item.text})


def _rows(split: LogSplit, reading: Reading) -> Iterator[Any]:
    """Record batches of decoded columns, and faults in between."""
    names = decoded_names(reading.names)
    aborted: list[AbortedTransaction] = []
    if reading.is_committed_only:
        try:
            aborted = aborted_transactions(split.segment.path.parent, split.first_offset, split.end_offset)
        except UnknownTransactionsError as error:
            yield _Fault(split.first_offset, str(error))
    try:
        place = _where_it_is_now(split)
        for chunk in _chunks(place):
            if isinstance(chunk, Damage):
                if not _is_behind_the_log(chunk, place):
                    yield _fault(chunk, place)
                continue
            wanted = (chunk.last_offsets >= split.first_offset) & (chunk.column("base_offset") < split.end_offset)
            wanted &= ~chunk.is_control & (chunk.column("max_timestamp") >= reading.first_timestamp)
            yield from _decoded(chunk, wanted & ~is_aborted(chunk, aborted), names, place)
            if int(chunk.last_offsets[-1]) + 1 >= split.end_offset:
                return  # what follows may be half written
    except FileNotFoundError:
        text = f"segment-deleted: {split.segment.path}: it was deleted after the plan was made"
        yield _Fault(split.first_offset, text)


def _where_it_is_now(split: LogSplit) -> LogSplit:
    """A running broker may have compacted the log since the plan, or deleted the segment a moment ago.

    In another file of the same name the offsets count, not the positions. Kafka keeps a deleted file for
    file.delete.delay.ms under another name.
    """
    path = split.segment.path
    deleted = path.with_name(path.name + DELETED_SUFFIX)
    for candidate in (path, deleted):
        if candidate.exists() and identity(candidate) == split.identity:
            return replace(split, segment=split.segment._replace(path=candidate))
    size = path.stat().st_size
    return replace(split, segment=SegmentFile(split.segment.base_offset, path, size), start=0, end=size)


def _chunks(split: LogSplit) -> Iterator[BatchTable | Damage]:
    positions = indexed_positions(split.segment)
    inside = [position for position in positions if split.start < position < split.end]
    return read_chunks(split.segment.path, start=split.start, end=split.end, batch_positions=inside)


def _is_behind_the_log(damage: Damage, split: LogSplit) -> bool:
    """Whether it is the torn tail of an active segment, or the zeros of one that was preallocated."""
    if not split.is_active or damage.position + damage.size < split.end:
        return False
    return damage.kind in (DamageKind.INCOMPLETE, DamageKind.ZEROS)


def _fault(damage: Damage, split: LogSplit) -> _Fault:
    return _Fault(damage.base_offset, f"{damage.kind}: {split.segment.path}: {damage.message}")


def _decoded(chunk: BatchTable, wanted: Flags, names: Sequence[str], split: LogSplit) -> Iterator[Any]:
    """The records of wanted batches, inside the split's offsets, and the faults of batches that have some."""
    matches, damaged = check_crcs(chunk)
    for damage in damaged:
        if split.first_offset <= damage.base_offset < split.end_offset:
            yield _fault(damage, split)
    for item in decode_chunk(chunk, wanted & matches, columns=names):
        if isinstance(item, Damage):
            yield _fault(item, split)
            continue
        offsets = item.columns.column("offset").to_numpy()
        inside = (offsets >= split.first_offset) & (offsets < split.end_offset)
        yield item.columns if inside.all() else item.columns.filter(pa.array(inside))
