"""What a read of the log gives: bytes in memory, or a region of a segment's file for sendfile.

Owns: a hold on the open file. Never does: I/O, unless the bytes are wanted in memory after all. Invariant: the
descriptor is valid until `close`, even when the segment is deleted meanwhile.
"""

from typing import NamedTuple

from ..files.descriptors import Descriptor


class FileRegion:
    """Bytes `position` to `position + len(self)` of an open segment; `close` gives the descriptor back."""

    __slots__ = ("_descriptor", "_length", "fd", "position")

    def __init__(self, descriptor: Descriptor, position: int, length: int) -> None:
        """Holds the descriptor from now on."""
        self._descriptor: Descriptor | None = descriptor.hold()
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
        """Gives the descriptor back; a second call does nothing."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            descriptor.release()

    def __del__(self) -> None:
        self.close()


def in_memory(data: bytes | FileRegion) -> bytes:
    """The bytes that a read of the log gives, whichever way it gives them; a region is closed. Raises OSError."""
    if isinstance(data, bytes):
        return data
    try:
        return data.read()
    finally:
        data.close()


class ReadResult(NamedTuple):
    """`data`: batches from the one that holds the offset on, the last one perhaps cut; empty when there is nothing.

    `first_offset` is the offset asked for.
    """

    data: bytes | FileRegion
    first_offset: int


class TimestampAndOffset(NamedTuple):
    """A record found by its time: its own timestamp (ms) and offset, and the leader epoch of its batch."""

    timestamp: int
    offset: int
    leader_epoch: int
