"""Reads splits on an executor: returns rows of their records, and rows or errors for bytes that can't be read.

Control batches have no rows. An incomplete last batch of the active segment is not damage: a broker was killed, or is
writing it. A split is defined by its offsets: if its segment vanishes, lists the partition again and continues at the
next offset (living_log.py). Memory: one chunk.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import pyarrow as pa

from odradek.storage.files.file_names import DELETED_SUFFIX
from odradek.storage.segment.transaction_index import AbortedTransaction

from ..decode.batch_table import BatchTable, check_crcs
from ..decode.damage import Damage, DamageKind
from ..decode.living_log import AbsenceReason, AbsentOffsets, LogPart, read_living
from ..decode.records import decode_chunk
from ..decode.spans import Flags
from ..directories.file_access import is_gone, is_local, is_unreadable, size_and_inode
from ..directories.segment_files import SegmentFile
from .columns import CORRUPT_COLUMN, DIRECTORY, FILE, corrupt_row, decoded_names, to_spark
from .isolation import UnknownTransactionsError, aborted_transactions, is_aborted
from .options import Mode
from .registry_texts import Decoding, decoded
from .splits import LogSplit, UnreadPartition

logger = logging.getLogger(__name__)


class CorruptLogError(Exception):
    """Bytes can't be read, and the mode is FAILFAST. The text has the file, the position and the fault."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The options for reading splits: columns, mode, and the records to leave out."""

    names: tuple[str, ...]
    mode: Mode
    is_committed_only: bool = False
    first_timestamp: int = -(1 << 63)
    """Batches whose maximum timestamp is lower are skipped (ms since 1970)."""
    names_deleted: bool = False
    """Whether offsets that retention deleted before they were read are a fault. True for streams."""
    decoding: Decoding | None = None


@dataclass(frozen=True, slots=True)
class _Fault:
    """Something that can't be read: the offset from which on (-1: unknown), and a text. `is_note`: it is not damage."""

    offset: int
    text: str
    is_note: bool = False


def read_split(split: LogSplit, reading: Reading) -> Iterator[Any]:
    """Yields the rows of a split as Arrow record batches. Raises CorruptLogError in mode FAILFAST, OSError."""
    constants: dict[str, Any] = {
        "topic": split.topic,
        "partition": split.partition,
        DIRECTORY: split.directory,
        FILE: str(split.segment.path),
    }
    for item in _rows(split, reading):
        if isinstance(item, _Fault):
            yield from _fault_rows(item, reading, constants)
        elif reading.decoding is None:
            yield to_spark(item, reading.names, constants)
        else:
            rows, faults = decoded(to_spark(item, reading.names, constants), reading.decoding, split.topic)
            yield from _without(rows, [row for row, _ in faults])
            offsets = item.column("offset")
            for row, text in faults:
                yield from _fault_rows(_Fault(offsets[row].as_py(), text), reading, constants)


def _without(rows: Any, left_out: list[int]) -> Iterator[Any]:
    """The record batch without some rows, if there are others."""
    kept = numpy.ones(rows.num_rows, numpy.bool_)
    kept[left_out] = False
    if kept.any() or not left_out:
        yield rows if not left_out else rows.filter(pa.array(kept))


def unread_rows(unread: UnreadPartition, reading: Reading) -> Iterator[Any]:
    """The row of a partition that could not be planned. Raises CorruptLogError in mode FAILFAST."""
    known = {"topic": unread.topic, "partition": unread.partition, DIRECTORY: unread.directory}
    yield from _fault_rows(_Fault(-1, unread.text), reading, known)


def _fault_rows(fault: _Fault, reading: Reading, known: dict[str, Any]) -> Iterator[Any]:
    """Yields a row for a fault in mode PERMISSIVE, else nothing. Raises CorruptLogError in mode FAILFAST."""
    if reading.mode is Mode.FAILFAST and not fault.is_note:
        raise CorruptLogError(fault.text)
    if reading.mode is Mode.PERMISSIVE and CORRUPT_COLUMN in reading.names:
        offset = fault.offset if fault.offset >= 0 else None
        found = known | {"offset": offset, CORRUPT_COLUMN: fault.text}
        yield corrupt_row(reading.names, found, reading.decoding)
    elif fault.is_note:
        logger.warning("%s", fault.text)


def _rows(split: LogSplit, reading: Reading) -> Iterator[Any]:
    """Yields record batches of decoded columns, and faults between them."""
    names = decoded_names(reading.names)
    aborted: list[AbortedTransaction] = []
    if reading.is_committed_only:
        try:
            aborted = [
                *split.aborted,
                *aborted_transactions(split.segment.path.parent, split.first_offset, split.end_offset),
            ]
        except UnknownTransactionsError as error:
            yield _Fault(split.first_offset, str(error))
    key, path = (split.topic, split.partition), split.segment.path.parent
    for found in read_living(key, path, lambda: _where_it_is_now(split), split.first_offset, split.end_offset):
        if isinstance(found, AbsentOffsets):
            if found.kind is not AbsenceReason.DELETED or reading.names_deleted:
                is_note = found.kind is AbsenceReason.GONE and not reading.names_deleted
                yield _Fault(found.first_offset, found.text, is_note)
            continue
        chunk = found.item
        if isinstance(chunk, Damage):
            if not _is_behind_the_log(chunk, found.part):
                yield _fault(chunk, found.part.segment)
            continue
        is_selected = (chunk.last_offsets >= split.first_offset) & (chunk.column("base_offset") < split.end_offset)
        is_selected &= ~chunk.is_control & (chunk.column("max_timestamp") >= reading.first_timestamp)
        yield from _decoded(chunk, is_selected & ~is_aborted(chunk, aborted), names, split, found.part.segment)


def _where_it_is_now(split: LogSplit) -> list[LogPart]:
    """The part of the log to read first: where the split's offsets are now, if a running broker changed the file.

    Kafka keeps a deleted file for file.delete.delay.ms with the suffix .deleted, so that file is used if it exists. If
    the cleaner has replaced the file, the planned positions do not apply, and the new file is read from its start.
    Raises OSError if neither file exists.
    """
    planned = LogPart(split.segment, split.start, split.end, split.end_offset, split.is_active)
    segment = split.segment
    path = segment.path
    if not is_local(path):
        return [planned]
    for candidate in (path, path.with_name(path.name + DELETED_SUFFIX)):
        try:
            size, inode = size_and_inode(candidate)
        except OSError as error:
            if is_gone(error):
                continue
            if not is_unreadable(error, candidate):
                raise
            return [planned]  # the later read reports the error
        if inode == segment.inode and size >= segment.size:  # also compares sizes: a new file may reuse the inode
            return [planned._replace(segment=segment._replace(path=candidate))]
    size, inode = size_and_inode(path)
    now = SegmentFile(segment.base_offset, path, size, inode=inode)
    return [planned._replace(segment=now, start=0, end=size)]


def _is_behind_the_log(damage: Damage, part: LogPart) -> bool:
    """Whether damage is only the incomplete last batch of the active segment, or preallocated zeros at its end."""
    if not part.is_active or damage.position + damage.size < part.end:
        return False
    return damage.kind in (DamageKind.INCOMPLETE, DamageKind.ZEROS)


def _fault(damage: Damage, segment: SegmentFile) -> _Fault:
    return _Fault(damage.base_offset, f"{damage.kind}: {segment.path}: {damage.message}")


def _decoded(
    chunk: BatchTable, is_selected: Flags, names: Sequence[str], split: LogSplit, segment: SegmentFile
) -> Iterator[Any]:
    """Yields the records of selected batches that are in the split's offsets, and the faults of damaged batches."""
    matches, damaged = check_crcs(chunk)
    for damage in damaged:
        if split.first_offset <= damage.base_offset < split.end_offset:
            yield _fault(damage, segment)
    for item in decode_chunk(chunk, is_selected & matches, columns=names):
        if isinstance(item, Damage):
            yield _fault(item, segment)
            continue
        offsets = item.columns.column("offset").to_numpy()
        inside = (offsets >= split.first_offset) & (offsets < split.end_offset)
        yield item.columns if inside.all() else item.columns.filter(pa.array(inside))
