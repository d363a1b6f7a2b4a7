"""Bytes-like objects, and a stream cut into blocks of one size."""

from collections.abc import Iterator

Buffer = bytes | bytearray | memoryview


class Blocks:
    """Cuts a stream into blocks of `size` bytes; buffers less than one block."""

    __slots__ = ("_rest", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._rest = b""

    def add(self, data: Buffer) -> Iterator[bytes]:
        """Adds bytes; yields the blocks that are full. Exhaust the iterator before the next call."""
        with memoryview(data) as view:
            position = 0
            if self._rest:
                position = self._size - len(self._rest)
                first = self._rest + bytes(view[:position])
                self._rest = b""
                if len(first) < self._size:
                    self._rest = first
                    return
                yield first
            whole_end = len(view) - (len(view) - position) % self._size
            for start in range(position, whole_end, self._size):
                yield bytes(view[start : start + self._size])
            self._rest = bytes(view[whole_end:])

    def rest(self) -> Iterator[bytes]:
        """Yields the last, incomplete block, if there is one."""
        if self._rest:
            yield self._rest
