"""A buffer for a batch whose size is not known in advance; it grows without copying its bytes again and again.

Owns: the memory of one batch. Invariant: it takes only the memory of its bytes, rounded up to pages. Beyond
MAPPED_FROM_BYTES the bytes move from a bytearray to an anonymous memory map of the largest allowed size, whose pages
the system provides when they are written. A bytearray for a batch of 90 MB was reallocated 64 times, and left 10 MB of
holes in the heap.
"""

import mmap
from mmap import MAP_ANONYMOUS, MAP_PRIVATE

from .buffers import Buffer

MAPPED_FROM_BYTES = 512 * 1024
"""Up to this size the bytes are in a bytearray: mapping and unmapping takes as long as copying this many bytes."""
NO_RESERVE: int = getattr(mmap, "MAP_NORESERVE", 0)
"""Linux: a flag with which the map does not count as used memory until its pages are written; 0 elsewhere."""


class GrowingBuffer:
    """Bytes that are added at the end. It begins with ``first_bytes`` zeros."""

    __slots__ = ("_mapped", "_most_bytes", "_size", "_small")

    def __init__(self, first_bytes: int, most_bytes: int) -> None:
        """``most_bytes``: the highest size, with ``first_bytes``; adding more is a programming error."""
        self._small = bytearray(first_bytes)
        self._mapped: mmap.mmap | None = None
        self._most_bytes = most_bytes
        self._size = first_bytes

    def __len__(self) -> int:
        return self._size

    def add(self, data: Buffer) -> None:
        """Adds the bytes of ``data``."""
        start = self._size
        self._size = end = start + len(data)
        assert end <= self._most_bytes, f"{end} bytes in a buffer of {self._most_bytes}"
        if self._mapped is not None:
            self._mapped[start:end] = data
        elif end <= MAPPED_FROM_BYTES:
            self._small += data
        else:
            self._mapped = mmap.mmap(-1, self._most_bytes, flags=MAP_PRIVATE | MAP_ANONYMOUS | NO_RESERVE)
            self._mapped[:start] = self._small
            self._mapped[start:end] = data
            self._small = bytearray()

    def view(self) -> memoryview:
        """All bytes, to read and to change. Nothing may be added afterwards."""
        return memoryview(self._small if self._mapped is None else self._mapped)[: self._size]
