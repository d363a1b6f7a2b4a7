"""Collects a batch of bytes whose size is not known before the last one, without copying what it has.

Owns: the memory of one batch. Invariant: it takes the memory that its bytes need, and a page. A bytearray that grows
beyond MAPPED_FROM_BYTES moves to a mapping of the greatest size allowed, which the system fills page by page. As a
bytearray, a batch of 90 MB grew through 64 blocks, and left 10 MB of holes in the heap.
"""

import mmap
from mmap import MAP_ANONYMOUS, MAP_PRIVATE

from .buffers import Buffer

MAPPED_FROM_BYTES = 512 * 1024
"""Up to this size the bytes are in a bytearray: to map and unmap as many takes as long as to copy them."""
NO_RESERVE: int = getattr(mmap, "MAP_NORESERVE", 0)
"""Linux: the mapping counts for nothing until its pages are written."""


class GrowingBuffer:
    """Bytes that are added at the end. It begins with ``first_bytes`` zeros."""

    __slots__ = ("_mapped", "_most_bytes", "_size", "_small")

    def __init__(self, first_bytes: int, most_bytes: int) -> None:
        """``most_bytes``: the caller adds no more than this in all."""
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
