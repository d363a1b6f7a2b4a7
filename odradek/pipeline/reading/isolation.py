"""Finds the last stable offset and the aborted transactions of a partition, for a read with `read_committed`.

Reads transaction indexes, the newest producer snapshot and the batch headers after it. Source: KIP-98; Kafka's
ProducerStateManager.firstUndecidedOffset, ConsumerConfig isolation.level.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.record import decode_records
from odradek.storage.errors import CorruptCheckpointError, CorruptIndexError, CorruptSnapshotError
from odradek.storage.files.checkpoints import RECOVERY_POINT_CHECKPOINT, read_offset_checkpoint
from odradek.storage.files.file_names import SNAPSHOT_SUFFIX, SWAP_SUFFIX, TRANSACTION_INDEX_SUFFIX, base_offset_of
from odradek.storage.files.meta_properties import CLEAN_SHUTDOWN_FILE
from odradek.storage.producers.producer_snapshots import decode_snapshot
from odradek.storage.segment.transaction_index import AbortedTransaction, TransactionIndex

from ..decode.batch_table import BatchTable
from ..decode.damage import Damage
from ..decode.segment_chunks import read_chunks
from ..decode.spans import Flags
from ..directories.file_access import (
    PathFiles,
    attempts,
    is_gone,
    is_unreadable,
    list_directory,
    read_file,
    unreadable_text,
)
from ..directories.log_directories import PartitionDirectory, list_entries
from ..directories.segment_files import indexed_positions

_TRANSACTIONAL = 0x10
_OF_EXCHANGED = (TRANSACTION_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX + SWAP_SUFFIX)
"""The names of transaction indexes while the cleaner exchanges segments, or after it was stopped in that."""
NO_OPEN_TRANSACTION = (1 << 63) - 1


class TransactionTail(NamedTuple):
    """What the end of a log says about transactions.

    `aborted`: those whose markers are in it. Transaction indexes may lack them: Odradek writes an index when it syncs
    the log, and a power failure may take what Kafka has written. The next start finds them in the log, too.
    """

    last_stable_offset: int
    """The first offset of the earliest open transaction; NO_OPEN_TRANSACTION if none is open."""
    aborted: tuple[AbortedTransaction, ...]
    open: tuple[tuple[int, int], ...] = ()
    """(producer id, first offset) of each open transaction."""


def transaction_tail(found: PartitionDirectory) -> TransactionTail:
    """Reads the batch headers after the newest snapshot of producers before which the indexes are complete.

    Raises OSError.
    """
    snapshot_offset, is_open = trusted_snapshot(found)
    aborted: list[AbortedTransaction] = []
    for index, segment in enumerate(found.segments):
        if index + 1 < len(found.segments) and found.segments[index + 1].base_offset <= snapshot_offset:
            continue
        for chunk in read_chunks(segment.path, batch_positions=indexed_positions(segment), inode=segment.inode):
            if not isinstance(chunk, Damage):
                _follow(chunk, snapshot_offset, is_open, aborted)
    first_open = min(is_open.values(), default=NO_OPEN_TRANSACTION)
    return TransactionTail(first_open, tuple(aborted), tuple(sorted(is_open.items())))


def trusted_snapshot(found: PartitionDirectory) -> tuple[int, dict[int, int]]:
    """As :func:`newest_snapshot`, of those up to the recovery point: the indexes of later ones may not be on the disk.
    After a clean stop, they are."""
    parent = found.path.parent
    if (parent / CLEAN_SHUTDOWN_FILE).exists():
        return newest_snapshot(found.path)
    try:
        points = read_offset_checkpoint(PathFiles(), parent / RECOVERY_POINT_CHECKPOINT)
    except CorruptCheckpointError:
        points = {}
    except OSError as error:
        if not (is_gone(error) or is_unreadable(error, parent / RECOVERY_POINT_CHECKPOINT)):
            raise
        points = {}
    return newest_snapshot(found.path, points.get((found.topic, found.partition), 0))


def newest_snapshot(directory: Path, most: int = NO_OPEN_TRANSACTION) -> tuple[int, dict[int, int]]:
    """Reads the newest valid snapshot with an offset up to `most`.

    Returns (its offset, producer id -> first offset of its open transaction); (0, {}) without a valid snapshot.
    """
    names = (entry.name for entry in list_directory(directory) if entry.name.endswith(SNAPSHOT_SUFFIX))
    offsets = [(offset, name) for name in names if (offset := base_offset_of(name)) is not None and offset <= most]
    for offset, name in sorted(offsets, reverse=True):
        try:
            entries = decode_snapshot(read_file(directory / name))
        except CorruptSnapshotError:
            continue
        except OSError as error:
            if not (is_gone(error) or is_unreadable(error, directory / name)):
                raise
            continue  # an older snapshot gives the same result, but more of the log is read
        first_offsets = {entry.producer_id: entry.transaction_first_offset for entry in entries}
        return offset, {producer: first for producer, first in first_offsets.items() if first is not None}
    return 0, {}


def _follow(chunk: BatchTable, from_offset: int, is_open: dict[int, int], aborted: list[AbortedTransaction]) -> None:
    """Updates `is_open` with the batches of a chunk: data opens a transaction of its producer, a marker ends it. Adds
    those that an abort marker ends to `aborted`."""
    base_offsets = chunk.column("base_offset")
    is_transactional = (chunk.column("attributes") & _TRANSACTIONAL) != 0
    producers, is_control = chunk.column("producer_id"), chunk.is_control
    for index in numpy.flatnonzero(is_transactional & (base_offsets >= from_offset)).tolist():
        producer = int(producers[index])
        if not is_control[index]:
            is_open.setdefault(producer, int(base_offsets[index]))
        elif (first := is_open.pop(producer, None)) is not None and is_abort_marker(chunk.batch(index)):
            aborted.append(aborted_by(producer, first, int(chunk.last_offsets[index])))


def aborted_by(producer_id: int, first_offset: int, marker_offset: int) -> AbortedTransaction:
    """A transaction that an abort marker ends."""
    return AbortedTransaction(producer_id, first_offset, marker_offset, marker_offset + 1)


def is_abort_marker(batch: bytes | memoryview) -> bool:
    """Whether a control batch aborts its producer's transaction. One that can't be decoded does not."""
    try:
        [record] = decode_records(batch, read_header(batch), 0)
        return control_record_type(record.key) is ControlRecordType.ABORT
    except (ValueError, KafkaError):
        return False


class UnknownTransactionsError(Exception):
    """A transaction index can't be read, so the aborted records that it names can't be recognised."""


def aborted_transactions(directory: Path, first_offset: int, end_offset: int) -> list[AbortedTransaction]:
    """The aborted transactions with offsets in `[first_offset, end_offset)`. Their markers may be in later segments.

    Returns none if the directory is gone. If an index vanishes, lists the directory again, because the cleaner may have
    merged it into another one. Raises UnknownTransactionsError; OSError for errors that do not concern one file.
    """
    for is_last in attempts():
        try:
            listed, is_changing = list_entries(directory)
        except OSError as error:
            if is_gone(error):
                return []
            if not is_unreadable(error, directory):
                raise
            raise UnknownTransactionsError(unreadable_text(directory, error)) from error
        if is_changing and not is_last:
            continue
        suffixes = _OF_EXCHANGED if is_changing else TRANSACTION_INDEX_SUFFIX
        paths = sorted(directory / entry.name for entry in listed if entry.name.endswith(suffixes))
        try:
            entries = [entry for path in paths for entry in _entries_of(path)]
        except OSError as error:
            if not is_gone(error):
                raise
            continue
        return [entry for entry in entries if entry.last_offset >= first_offset and entry.first_offset < end_offset]
    raise UnknownTransactionsError(
        f"partition-changing: {directory}: transaction indexes disappeared during each attempt to read"
    )


def _entries_of(path: Path) -> list[AbortedTransaction]:
    """The entries of a transaction index.

    Raises UnknownTransactionsError; OSError if the file is gone, or for errors that do not concern this file.
    """
    base_offset = base_offset_of(path.name)
    if base_offset is None:
        return []
    try:
        return TransactionIndex(base_offset, read_file(path)).entries
    except CorruptIndexError as error:
        raise UnknownTransactionsError(f"transaction-index-corrupt: {path}: {error}") from error
    except OSError as error:
        if is_gone(error) or not is_unreadable(error, path):
            raise
        raise UnknownTransactionsError(unreadable_text(path, error)) from error


def is_aborted(chunk: BatchTable, aborted: Sequence[AbortedTransaction]) -> Flags:
    """A flag for each batch: whether it belongs to an aborted transaction."""
    flags: Flags = numpy.zeros(len(chunk), dtype=numpy.bool_)
    if aborted:
        base_offsets, producers = chunk.column("base_offset"), chunk.column("producer_id")
        is_transactional = (chunk.column("attributes") & _TRANSACTIONAL) != 0
        for entry in aborted:
            inside = (base_offsets >= entry.first_offset) & (base_offsets <= entry.last_offset)
            flags |= is_transactional & inside & (producers == entry.producer_id)
    return flags
