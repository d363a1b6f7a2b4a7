"""Splits a segment with offsets too far from its base for an index entry. Old cleaners could create such segments.

The bytes of all batches are unchanged, and the exchange has the same order as in a round (swap.py). A crash leaves
either the old segment or all new ones. It differs from Kafka in two points. The first segment keeps the base of the old
one, while Kafka names it after its first batch: after a crash in between, the loader would then keep the old segment
beside the new ones. And aborted transactions stay in the index of the segment that has their marker; Kafka loses them.
Source: LocalLog.splitOverflowedSegment, LogSegment.appendFromFile.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..files.file_names import CLEANED_SUFFIX, LOG_SUFFIX, SEGMENT_SUFFIXES, TRANSACTION_INDEX_SUFFIX, segment_path
from ..files.files import Files
from ..segment.offset_index import MAX_RELATIVE_OFFSET
from ..segment.transaction_index import TransactionIndex
from .batch_chunk import BatchChunk, read_chunks
from .cleaned_indexes import CleanedIndexes
from .grouping import SegmentInfo
from .pace import Pace
from .record_steps import Piece
from .segment_writer import SegmentWriter, write_indexes
from .swap import swap_in


def split_overflowed_segment(
    files: Files, directory: Path, segment: SegmentInfo, index_interval_bytes: int, pace: Pace, buffer_bytes: int
) -> list[int]:
    """Replaces one segment by several whose offsets fit their base offsets. Returns the base offsets.

    Raises CorruptRecordError for damage, CorruptIndexError (transaction index), OSError. The log is then unchanged.
    """
    log = segment_path(directory, segment.base_offset, LOG_SUFFIX)
    indexes = [CleanedIndexes(segment.base_offset, index_interval_bytes)]
    bases = [segment.base_offset]
    with ExitStack() as stack:

        def begin() -> SegmentWriter:
            return stack.enter_context(SegmentWriter(files, directory, indexes[-1], bases[-1], pace, buffer_bytes))

        writer = begin()
        for chunk in read_chunks(files, log, segment.base_offset, segment.size, buffer_bytes, pace):
            for base_offset, piece in _pieces(chunk, bases[-1]):
                if base_offset != bases[-1]:
                    writer.flush()
                    bases.append(base_offset)
                    indexes.append(CleanedIndexes(base_offset, index_interval_bytes))
                    writer = begin()
                writer.append(piece)
        writer.flush()
    _split_transaction_index(files, directory, segment.base_offset, bases, indexes)
    for base_offset, built in zip(bases, indexes, strict=True):
        write_indexes(files, directory, base_offset, built.files(), is_dry_run=False)
        for suffix in SEGMENT_SUFFIXES:
            path = segment_path(directory, base_offset, suffix + CLEANED_SUFFIX)
            if files.exists(path):
                files.copy_attributes(log, log, path)
    files.sync_directory(directory)
    swap_in(files, directory, bases, [segment.base_offset])
    return bases


def _pieces(chunk: BatchChunk, base_offset: int) -> Iterator[tuple[int, Piece]]:
    """The batches of a chunk in runs, each with the base offset of its segment: `base_offset` as long as offsets fit
    it.
    """
    first = 0
    for index, header in enumerate(chunk.headers):
        if header.last_offset - base_offset > MAX_RELATIVE_OFFSET:
            if index > first:
                yield base_offset, _run(chunk, first, index)
            base_offset, first = header.base_offset, index
    yield base_offset, _run(chunk, first, len(chunk.headers))


def _run(chunk: BatchChunk, first: int, end: int) -> Piece:
    stop = chunk.starts[end - 1] + len(chunk.batch(end - 1))
    return Piece(chunk.data[chunk.starts[first] : stop], chunk.indexed(first, end))


def _split_transaction_index(
    files: Files, directory: Path, old_base: int, bases: list[int], indexes: list[CleanedIndexes]
) -> None:
    """Adds each aborted transaction to the index of the segment that has its marker."""
    path = segment_path(directory, old_base, TRANSACTION_INDEX_SUFFIX)
    if files.exists(path):
        for entry in TransactionIndex(old_base, files.read_file(path)).entries:
            slot = max(index for index, base_offset in enumerate(bases) if base_offset <= entry.last_offset)
            indexes[slot].append_aborted([entry])
