"""Walks over the batches in a segment's file: headers only, or whole batches for recovery.

Messages of format 0 and 1 count as batches (protocol/records/batch.py). Never does: writing, decompressing. Invariant:
positions rise by whole batches. Memory: one chunk, or one batch if it is larger. Source: Kafka's FileLogInputStream.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from odradek.protocol.records.batch import (
    BATCH_HEADER_SIZE,
    HEADER,
    HEADER_UP_TO_MAGIC_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    batch_size,
    legacy_header,
    read_header,
)
from odradek.protocol.records.errors import CorruptRecordError

from ..files.files import Files

HEADER_CHUNK = 8192
BATCH_CHUNK = 1 << 20

# Base offset, length, magic, last offset delta: the fields needed to find an offset.
PLACE = Struct(">qi4xb6xi")
LENGTH = Struct(">8xi")


class BatchPlace(NamedTuple):
    """The place of a batch in the file, and its last offset."""

    position: int
    size: int
    last_offset: int


def _walk(files: Files, fd: int, position: int, end: int) -> Iterator[tuple[int, bytes, int]]:
    """(position, chunk, index in the chunk) of each batch's header."""
    chunk = b""
    chunk_start = position
    while position < end:
        start = position - chunk_start
        if start + BATCH_HEADER_SIZE > len(chunk):
            chunk = files.read(fd, min(HEADER_CHUNK, end - position), position)
            chunk_start, start = position, 0
            if len(chunk) < min(BATCH_HEADER_SIZE, end - position):
                raise CorruptRecordError(f"the file ends at {position + len(chunk)}, not at {end}")
        size = LENGTH.unpack_from(chunk, start)[0] + LOG_OVERHEAD if len(chunk) - start >= LOG_OVERHEAD else 0
        if size < BATCH_HEADER_SIZE or size > end - position or chunk[start + MAGIC_POSITION] != MAGIC:
            size = _checked_size(chunk, start, position, end)
        yield position, chunk, start
        position += size


def _checked_size(chunk: bytes, start: int, position: int, end: int) -> int:
    """The size of the batch at `start` in a chunk that begins at most HEADER_CHUNK bytes before it.

    Raises CorruptRecordError unless a whole batch lies between `position` and `end`.
    """
    size = batch_size(chunk, start)
    if size is None:
        raise CorruptRecordError(f"{len(chunk) - start} bytes are left at {position}, fewer than a batch header has")
    if size > end - position:
        raise CorruptRecordError(f"the batch at {position} has {size} bytes, only {end - position} are left")
    return size


def scan_places(files: Files, fd: int, position: int, end: int) -> Iterator[BatchPlace]:
    """The place of each batch from `position` (a batch's start) on, up to `end`. The CRC is not checked.

    Raises CorruptRecordError for an impossible length: the file is damaged there.
    """
    for at, chunk, start in _walk(files, fd, position, end):
        if chunk[start + MAGIC_POSITION] == MAGIC:
            base_offset, length, _, delta = PLACE.unpack_from(chunk, start)
            yield BatchPlace(at, length + LOG_OVERHEAD, base_offset + delta)
        else:
            header = legacy_header(chunk, start)
            yield BatchPlace(at, header.size_in_bytes, header.last_offset)


def scan_headers(files: Files, fd: int, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """As `scan_places`, but (position, whole header)."""
    for at, chunk, start in _walk(files, fd, position, end):
        if chunk[start + MAGIC_POSITION] == MAGIC:
            yield at, BatchHeader._make(HEADER.unpack_from(chunk, start))
        else:
            yield at, legacy_header(chunk, start)


def scan_batches(
    files: Files, fd: int, position: int, end: int, chunk_bytes: int = BATCH_CHUNK
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """(position, header, bytes) of each whole batch up to `end`. The caller checks the CRC.

    Raises CorruptRecordError at the first invalid or incomplete batch.
    """
    chunk = memoryview(b"")
    start = 0
    while position < end:
        available = len(chunk) - start
        size = batch_size(chunk, start) if available >= HEADER_UP_TO_MAGIC_SIZE else None
        if size is None or size > available:
            if size is not None and size > end - position:
                raise CorruptRecordError(f"the batch at {position} has {size} bytes, only {end - position} are left")
            read_bytes = min(max(chunk_bytes, size or 0), end - position)
            chunk, start = memoryview(files.read(fd, read_bytes, position)), 0
            if len(chunk) < read_bytes:
                raise CorruptRecordError(f"the file ends at {position + len(chunk)}, not at {end}")
            size = batch_size(chunk)
            if size is None:
                raise CorruptRecordError(f"{len(chunk)} bytes are left at {position}, fewer than a batch header has")
            if size > len(chunk):
                if size > end - position:
                    raise CorruptRecordError(
                        f"the batch at {position} has {size} bytes, only {end - position} are left"
                    )
                continue
        header = read_header(chunk, start)
        yield position, header, chunk[start : start + header.size_in_bytes]
        start += header.size_in_bytes
        position += header.size_in_bytes
