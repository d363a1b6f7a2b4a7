"""Walks over the batches in a segment's file: headers only, or whole batches for recovery.

Never does: writing, decompressing. Invariant: positions rise by whole batches. Memory: one chunk, or one batch if it is
larger. Source: Kafka's FileLogInputStream.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ...protocol.records.batch import (
    BATCH_HEADER_SIZE,
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    batch_size,
    read_header,
)
from ...protocol.records.errors import CorruptRecordError
from ..files.files import Files

HEADER_CHUNK = 8192
BATCH_CHUNK = 1 << 20

# Base offset, length, magic, last offset delta: the fields needed to find an offset.
PLACE = Struct(">qi4xb6xi")


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
            if len(chunk) < BATCH_HEADER_SIZE:
                raise CorruptRecordError(f"{len(chunk)} bytes are left at {position}, fewer than a batch header has")
        _, length, magic, _ = PLACE.unpack_from(chunk, start)
        if magic != MAGIC or length < BATCH_HEADER_SIZE - LOG_OVERHEAD or position + LOG_OVERHEAD + length > end:
            batch_size(chunk, start)  # names an older format or a wrong magic
            raise CorruptRecordError(
                f"the batch at {position} has {length + LOG_OVERHEAD} bytes, only {end - position} are left"
            )
        yield position, chunk, start
        position += LOG_OVERHEAD + length


def scan_places(files: Files, fd: int, position: int, end: int) -> Iterator[BatchPlace]:
    """The place of each batch from `position` (a batch's start) on, up to `end`. The CRC is not checked.

    Raises CorruptRecordError for an impossible length: the file is damaged there.
    """
    for at, chunk, start in _walk(files, fd, position, end):
        base_offset, length, _, delta = PLACE.unpack_from(chunk, start)
        yield BatchPlace(at, length + LOG_OVERHEAD, base_offset + delta)


def scan_headers(files: Files, fd: int, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """As `scan_places`, but (position, whole header)."""
    for at, chunk, start in _walk(files, fd, position, end):
        yield at, BatchHeader._make(HEADER.unpack_from(chunk, start))


def scan_batches(
    files: Files, fd: int, position: int, end: int, chunk_bytes: int = BATCH_CHUNK
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """(position, header, bytes) of each whole batch up to `end`. The caller checks the CRC.

    Raises CorruptRecordError or UnsupportedForMessageFormatError at the first invalid or incomplete batch.
    """
    chunk = memoryview(b"")
    start = 0
    while position < end:
        available = len(chunk) - start
        size = batch_size(chunk, start) if available >= BATCH_HEADER_SIZE else None
        if size is None or size > available:
            wanted = min(max(chunk_bytes, size or 0), end - position)
            if size is not None and size > end - position:
                raise CorruptRecordError(f"the batch at {position} has {size} bytes, only {end - position} are left")
            chunk, start = memoryview(files.read(fd, wanted, position)), 0
            if len(chunk) < wanted:
                raise CorruptRecordError(f"the file ends at {position + len(chunk)}, not at {end}")
            if batch_size(chunk) is None:
                raise CorruptRecordError(f"{len(chunk)} bytes are left at {position}, fewer than a batch header has")
            size = batch_size(chunk)
            if size is not None and size > len(chunk):
                if size > end - position:
                    raise CorruptRecordError(
                        f"the batch at {position} has {size} bytes, only {end - position} are left"
                    )
                continue
        header = read_header(chunk, start)
        yield position, header, chunk[start : start + header.size_in_bytes]
        start += header.size_in_bytes
        position += header.size_in_bytes
