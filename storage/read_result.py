"""What a read of the log gives: bytes in memory, or a region of a segment's file for sendfile (being filled in)."""

from typing import NamedTuple


class FileRegion:
    """Bytes `position` to `position + len(self)` of an open segment; `close` gives the descriptor back."""

    fd: int
    position: int

    def __len__(self) -> int: ...
    def close(self) -> None: ...


class ReadResult(NamedTuple):
    """`data`: whole batches, the last one perhaps cut; `first_offset` of the first batch, -1 when empty."""

    data: bytes | FileRegion
    first_offset: int


class TimestampAndOffset(NamedTuple):
    """A record found by its time."""

    timestamp: int
    offset: int
