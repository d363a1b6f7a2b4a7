"""Reads the headers and CRCs of a segment's batches, without their records, for an audit of batches.

Owns: the size of reads and of results. The file is read and checksummed in pieces that fit into the processor's cache.
The headers of many pieces are returned in one table, because the checks have a cost per table. Of the bytes, only those
of control batches are kept. Memory: one piece (or one batch if larger) and 61 bytes for each batch of MOST_BYTES.

Cost: 0.2 ns a byte and 2 us a batch. With pieces of 4 MiB, which leave the cache, a byte takes twice as long.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy

from .batch_table import HEADER_DTYPE, BatchTable, HeaderTable, check_crcs
from .damage import Damage
from .segment_chunks import read_chunks
from .spans import Flags, Int64s

PIECE_BYTES = 1 << 20
MOST_BYTES = 32 << 20
"""The bytes of the log after which a table of headers is returned."""
_MOST_BATCHES = 16_384
"""A table also ends with the piece that reaches this number of batches, which may have only a hundred bytes each."""


class ReadHeaders(HeaderTable):
    """Headers without the bytes of their batches, of which messages of format 0 and 1 have another size in the file."""

    __slots__ = ("_disk_sizes",)

    def __init__(self, chunks: Sequence[HeaderTable]) -> None:
        """Joins the headers of adjacent chunks of a file."""
        table = numpy.concatenate([chunk.table for chunk in chunks], dtype=HEADER_DTYPE)
        super().__init__(numpy.concatenate([chunk.places for chunk in chunks]), table)
        self._disk_sizes: Int64s = numpy.concatenate([chunk.disk_sizes for chunk in chunks])

    @property
    def disk_sizes(self) -> Int64s:
        """The size of each batch in the file."""
        return self._disk_sizes


class CheckedHeaders(NamedTuple):
    """Consecutive batches: their headers, which CRCs are right, and the damage of the others."""

    headers: HeaderTable
    matches: Flags
    damage: list[Damage]
    control_batches: dict[int, bytes]
    """The bytes of each control batch, by its index."""


def read_headers(
    path: Path, batch_positions: Sequence[int] = (), *, piece_bytes: int = PIECE_BYTES, most_bytes: int = MOST_BYTES
) -> Iterator[CheckedHeaders | Damage]:
    """The batches of a segment and the damage between them. Takes the arguments of read_chunks. Raises OSError."""
    pieces: list[CheckedHeaders] = []
    size = count = 0
    for chunk in read_chunks(path, batch_positions=batch_positions, chunk_bytes=piece_bytes):
        if isinstance(chunk, Damage):
            if pieces:
                yield _joined(pieces)
            pieces, size, count = [], 0, 0
            yield chunk
            continue
        pieces.append(checked(chunk)._replace(headers=ReadHeaders([chunk])))
        size += chunk.stopped_at
        count += len(chunk)
        if size >= most_bytes or count >= _MOST_BATCHES:
            yield _joined(pieces)
            pieces, size, count = [], 0, 0
    if pieces:
        yield _joined(pieces)


def checked(chunk: BatchTable) -> CheckedHeaders:
    """The headers and damage of one chunk's batches. The result refers to the chunk."""
    matches, damage = check_crcs(chunk)
    kept = {index: bytes(chunk.batch(index)) for index in numpy.flatnonzero(chunk.is_control).tolist()}
    return CheckedHeaders(chunk, matches, damage, kept)


def _joined(pieces: Sequence[CheckedHeaders]) -> CheckedHeaders:
    """Joins several tables into one. Indexes of control batches count from the first table."""
    kept: dict[int, bytes] = {}
    before = 0
    for piece in pieces:
        kept.update((before + index, data) for index, data in piece.control_batches.items())
        before += len(piece.headers)
    return CheckedHeaders(
        ReadHeaders([piece.headers for piece in pieces]),
        numpy.concatenate([piece.matches for piece in pieces]),
        [damage for piece in pieces for damage in piece.damage],
        kept,
    )
