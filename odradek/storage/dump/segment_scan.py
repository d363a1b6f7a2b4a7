"""Reads the batches of a log file one after the other, and reports bytes that are not batches.

Owns: reading a file in windows, finding the batches' bounds. Never does: formatting, decoding records. Invariant:
items are yielded in the order of the file and do not overlap; damage is yielded as `DamagedBytes`, not raised. Source:
Kafka's FileLogInputStream.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.records.batch import (
    BATCH_HEADER_SIZE,
    HEADER,
    HEADER_UP_TO_MAGIC_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    SMALLEST_LENGTHS,
    BatchHeader,
    crc_of,
    legacy_header,
)

from ..files.regular_files import open_regular

WINDOW_SIZE = 1 << 20  # one read of the disk; larger ones are not faster


class DamagedBytes(NamedTuple):
    """Bytes that are not a batch of a known format."""

    position: int
    size: int
    """The number of these bytes: one batch of an unknown format, or everything to the end."""
    expected: str
    """The expected and the actual content, as text."""
    ends_log: bool
    """Later batches can't be found, since the next position is unknown."""
    is_cut: bool = False
    """The bytes end inside a batch, which is normal if only a part of the file is read."""
    is_unwritten: bool = False
    """The bytes begin with zeros: preallocated space, or an append that a crash lost."""

    @property
    def is_torn(self) -> bool:
        """Whether an append that was not completed explains these bytes."""
        return self.is_cut or self.is_unwritten


class Batch(NamedTuple):
    """A whole batch in a file."""

    position: int
    header: BatchHeader
    data: bytes

    @property
    def computed_crc(self) -> int:
        """The checksum that the header should have."""
        return crc_of(self.data, 0, self.header)

    @property
    def is_valid(self) -> bool:
        """Whether the stored CRC is correct."""
        return self.computed_crc == self.header.crc


class LogFile:
    """A log file or snapshot opened for reading; use it in a ``with``."""

    __slots__ = ("_file", "_start", "_window", "path", "size")

    def __init__(self, path: Path) -> None:
        """Opens the file. Raises OSError."""
        self.path = path
        self._file = open_regular(path)
        self.size = os.fstat(self._file).st_size
        self._window = b""
        self._start = 0

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def read(self, position: int, size: int) -> bytes:
        """``size`` bytes at ``position``, fewer at the end of the file. Raises OSError."""
        begin = position - self._start
        if begin < 0 or begin + size > len(self._window):
            self._window = os.pread(self._file, max(size, WINDOW_SIZE), position)
            self._start = position
            begin = 0
        return self._window[begin : begin + size]

    def header_at(self, position: int) -> BatchHeader | DamagedBytes:
        """The header of the batch at a position, or the damage there. Raises OSError."""
        return self._header_at(position, self.size)

    def _header_at(self, position: int, end: int) -> BatchHeader | DamagedBytes:
        available = end - position
        if not 0 <= position < end:
            return DamagedBytes(position, 0, f"expected a batch at {position}, the file has {end} bytes", ends_log=True)
        head = self.read(position, min(BATCH_HEADER_SIZE, available))
        if len(head) < HEADER_UP_TO_MAGIC_SIZE:
            what = f"{available} bytes are left, fewer than a batch header has"
            return DamagedBytes(position, available, what, ends_log=True, is_cut=True)
        length = int.from_bytes(head[8:12], "big", signed=True)
        magic = head[MAGIC_POSITION]
        if length < SMALLEST_LENGTHS[0]:
            what = f"the length field says {length + LOG_OVERHEAD} bytes, a batch has at least {BATCH_HEADER_SIZE}"
            is_unwritten = not any(head)
            if is_unwritten:
                what += " (zeros: preallocated space, or an append that a crash lost)"
            return DamagedBytes(position, available, what, ends_log=True, is_unwritten=is_unwritten)
        size = length + LOG_OVERHEAD
        if size > available:
            what = f"the batch has {size} bytes, only {available} are left"
            return DamagedBytes(position, available, what, ends_log=True, is_cut=True)
        if magic > MAGIC:
            return DamagedBytes(position, size, f"expected magic {MAGIC}, found {magic}", ends_log=False)
        if length < SMALLEST_LENGTHS[magic]:
            least = SMALLEST_LENGTHS[magic] + LOG_OVERHEAD
            what = f"the length field says {size} bytes, a batch of magic {magic} has at least {least}"
            return DamagedBytes(position, available, what, ends_log=True)
        return BatchHeader._make(HEADER.unpack(head)) if magic == MAGIC else legacy_header(head, 0)

    def headers(self, end: int | None = None) -> Iterator[tuple[int, BatchHeader] | DamagedBytes]:
        """(position, header) of each batch up to ``end`` (None: the file's), and each damage between. Raises OSError.

        Ends after damage that `ends_log`.
        """
        limit = self.size if end is None else min(end, self.size)
        position = 0
        while position < limit:
            found = self._header_at(position, limit)
            if isinstance(found, DamagedBytes):
                yield found
                if found.ends_log:
                    return
                position += found.size
            else:
                yield position, found
                position += found.size_in_bytes

    def batches(self, end: int | None = None) -> Iterator[Batch | DamagedBytes]:
        """As `headers`, with the bytes of each batch."""
        for found in self.headers(end):
            if isinstance(found, DamagedBytes):
                yield found
            else:
                yield self.batch_at(*found)

    def batch_at(self, position: int, header: BatchHeader) -> Batch:
        """Reads the batch with this header. Raises OSError."""
        return Batch(position, header, self.read(position, header.size_in_bytes))
