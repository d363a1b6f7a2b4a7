"""The result of a read of the log: bytes in memory, or a region of a segment's file for sendfile.

Owns: a reference to the open file. Never does: I/O, except to read a region into memory on request. Invariant: the
descriptor is valid until `close`, even if the segment is deleted.
"""

from typing import NamedTuple

from ..files.descriptors import Descriptor


class FileRegion:
    """Bytes `position` to `position + len(self)` of an open segment. `close` releases the descriptor."""

    __slots__ = ("_descriptor", "_length", "fd", "position")

    def __init__(self, descriptor: Descriptor, position: int, length: int) -> None:
        """Takes over the caller's hold of `descriptor`, which `close` releases."""
        self._descriptor: Descriptor | None = descriptor
        self.fd = descriptor.fd
        self.position = position
        self._length = length

    def __len__(self) -> int:
        return self._length

    def read(self) -> bytes:
        """The bytes, in memory; the region is not closed. Raises OSError."""
        assert self._descriptor is not None, "closed"
        return self._descriptor.read(self._length, self.position)

    def close(self) -> None:
        """Releases the descriptor. A second call does nothing."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            descriptor.release()

    def __del__(self) -> None:
        self.close()


def in_memory(data: bytes | FileRegion) -> bytes:
    """The bytes of a read's result. A region is read into memory and closed. Raises OSError."""
    if isinstance(data, bytes):
        return data
    try:
        return data.read()
    finally:
        data.close()


class ReadResult(NamedTuple):
    """The result of a read from `first_offset`, the requested offset.

    `data`: the batches from the one that holds that offset on; the last one may be cut. Empty if there is none.
    """

    data: bytes | FileRegion
    first_offset: int


class TimestampAndOffset(NamedTuple):
    """A record found by its time: its own timestamp (ms) and offset, and the leader epoch of its batch."""

    timestamp: int
    offset: int
    leader_epoch: int
