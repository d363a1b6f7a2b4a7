"""Finds the last stable offset and the aborted transactions of a partition, for a read with `read_committed`.

Reads transaction indexes, the newest producer snapshot and the batch headers after it. Source: KIP-98; Kafka's
ProducerStateManager.firstUndecidedOffset, ConsumerConfig isolation.level.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy

from odradek.storage.errors import CorruptIndexError, CorruptSnapshotError
from odradek.storage.files.file_names import SNAPSHOT_SUFFIX, SWAP_SUFFIX, TRANSACTION_INDEX_SUFFIX, base_offset_of
from odradek.storage.producers.producer_snapshots import decode_snapshot
from odradek.storage.segment.transaction_index import AbortedTransaction, TransactionIndex

from ..decode.batch_table import BatchTable
from ..decode.damage import Damage
from ..decode.segment_chunks import read_chunks
from ..decode.spans import Flags
from ..directories.file_access import is_gone, is_unreadable, list_directory, read_file, unreadable_text
from ..directories.log_directories import PartitionDirectory, list_entries
from ..directories.restarts import attempts
from ..directories.segment_files import indexed_positions

_TRANSACTIONAL = 0x10
_OF_EXCHANGED = (TRANSACTION_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX + SWAP_SUFFIX)
"""The names of transaction indexes while the cleaner exchanges segments, or after it was stopped in that."""
NO_OPEN_TRANSACTION = (1 << 63) - 1


def last_stable_offset(found: PartitionDirectory) -> int:
    """The first offset of the earliest open transaction; NO_OPEN_TRANSACTION if none is open. Raises OSError."""
    snapshot_offset, is_open = newest_snapshot(found.path)
    for index, segment in enumerate(found.segments):
        if index + 1 < len(found.segments) and found.segments[index + 1].base_offset <= snapshot_offset:
            continue
        for chunk in read_chunks(segment.path, batch_positions=indexed_positions(segment), inode=segment.inode):
            if not isinstance(chunk, Damage):
                _follow(chunk, snapshot_offset, is_open)
    return min(is_open.values(), default=NO_OPEN_TRANSACTION)


def newest_snapshot(directory: Path) -> tuple[int, dict[int, int]]:
    """Reads the newest valid snapshot. Returns (its offset, producer id -> first offset of its open transaction).

    Returns (0, {}) without a valid snapshot.
    """
    names = (entry.name for entry in list_directory(directory) if entry.name.endswith(SNAPSHOT_SUFFIX))
    offsets = [(offset, name) for name in names if (offset := base_offset_of(name)) is not None]
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


def _follow(chunk: BatchTable, from_offset: int, is_open: dict[int, int]) -> None:
    """Updates `is_open` with the batches of a chunk: data opens a transaction of its producer, a marker ends it."""
    base_offsets = chunk.column("base_offset")
    is_transactional = (chunk.column("attributes") & _TRANSACTIONAL) != 0
    producers, is_control = chunk.column("producer_id"), chunk.is_control
    for index in numpy.flatnonzero(is_transactional & (base_offsets >= from_offset)).tolist():
        producer = int(producers[index])
        if is_control[index]:
            is_open.pop(producer, None)
        else:
            is_open.setdefault(producer, int(base_offsets[index]))


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
