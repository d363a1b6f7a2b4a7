"""A buffer for a frame or a batch; its memory grows as bytes arrive.

Pure. Owns: the memory of one frame or batch. Invariant: bytes that are only announced take no memory; at most
BUFFER_GROWTH times the bytes that have arrived are allocated, or a map whose other pages were never written. A
bytearray for a batch of 90 MB was reallocated 64 times, and left 10 MB of holes in the heap. Growing one from 64 to
100 MB took 64 ms at once; mapping 100 MB takes 3 ms.
"""

import mmap
from mmap import MAP_ANONYMOUS, MAP_PRIVATE

BUFFER_GROWTH = 4
"""The factor by which the memory grows in :meth:`GrowingBuffer.grow`. For a frame of 1 MiB, growing copies a third of
its bytes."""
MAPPED_BYTES = 4 * 1024 * 1024
"""A buffer that may become larger than this is mapped when MAPPED_FROM_BYTES have arrived. The system provides the
pages of a map as they are written, so it is not cleared and does not grow any more."""
MAPPED_FROM_BYTES = 512 * 1024
"""Up to this size the bytes are in a bytearray: mapping and unmapping takes as long as copying this many bytes. Beyond
it they are not, because the C library would keep a freed buffer of 4 MiB in its heap."""
NO_RESERVE: int = getattr(mmap, "MAP_NORESERVE", 0)
"""Linux: a flag with which the map does not count as used memory until its pages are written; 0 elsewhere."""


class GrowingBuffer:
    """Bytes that are added at the end, by :meth:`add`, or by writing to the rest of ``memory`` and raising ``filled``.

    ``memory``: all that is allocated. ``filled``: how many of its bytes have arrived.
    """

    __slots__ = ("filled", "memory", "most_bytes")

    def __init__(self, first_bytes: int, most_bytes: int, filled: int = 0) -> None:
        """It begins with ``first_bytes`` zeros, of which ``filled`` count as arrived. ``most_bytes``: the highest size;
        adding more is a programming error."""
        self.memory: bytearray | mmap.mmap = bytearray(first_bytes)
        self.most_bytes = most_bytes
        self.filled = filled

    def add(self, data: bytes) -> None:
        """Adds the bytes of ``data``, with no more memory than they need. No view may exist."""
        start, end = self.filled, self.filled + len(data)
        assert end <= self.most_bytes, f"{end} bytes in a buffer of {self.most_bytes}"
        if end > len(self.memory) and self._is_to_be_mapped(end):
            self.grow(end)
        if isinstance(self.memory, bytearray):
            self.memory[start:] = data
        else:
            self.memory[start:end] = data
        self.filled = end

    def grow(self, needed_bytes: int) -> None:
        """Moves the bytes to new memory for at least ``needed_bytes``. Views of the old memory stay valid."""
        grown: bytearray | mmap.mmap
        if self._is_to_be_mapped(needed_bytes):
            grown = mmap.mmap(-1, self.most_bytes, flags=MAP_PRIVATE | MAP_ANONYMOUS | NO_RESERVE)
        else:
            grown = bytearray(min(self.most_bytes, max(needed_bytes, BUFFER_GROWTH * len(self.memory))))
        # Between views, bytes are copied once. Assigning a view to a slice of a bytearray would copy them twice.
        memoryview(grown)[: self.filled] = memoryview(self.memory)[: self.filled]
        self.memory = grown

    def _is_to_be_mapped(self, needed_bytes: int) -> bool:
        return self.most_bytes > MAPPED_BYTES and needed_bytes > MAPPED_FROM_BYTES

    def view(self) -> memoryview:
        """The bytes that have arrived, to read and to change. Nothing may be added afterwards."""
        return memoryview(self.memory)[: self.filled]
