"""The offset index of a segment: maps an offset to a nearby position in the log file.

    entry    int32 offset relative to the segment's base, int32 position of the batch with that last offset

Sparse: an entry every `index.interval.bytes`. Held in memory while in use; written when the log is flushed, rolled or
closed (entries after the recovery point are rebuilt anyway). Never reads the log. Invariant: offsets and positions
rise. Source: Kafka's OffsetIndex; a preallocated tail of zeros, as a killed Kafka leaves it, is ignored.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right

from ..errors import CorruptIndexError

ENTRY_SIZE = 8
MAX_RELATIVE_OFFSET = 0x7FFFFFFF


class OffsetIndex:
    """Entries of one segment; offsets in the calls are absolute."""

    __slots__ = ("_base_offset", "_offsets", "_positions", "saved_entries")

    def __init__(self, base_offset: int, data: bytes = b"") -> None:
        """Parses the file's bytes. Raises CorruptIndexError if the entries do not rise."""
        self._base_offset = base_offset
        used = data.rstrip(b"\0")
        entries = -(-len(used) // ENTRY_SIZE)
        if entries * ENTRY_SIZE > len(data):
            raise CorruptIndexError(f"the index has {len(data)} bytes, not a multiple of {ENTRY_SIZE}")
        numbers = array("i", data[: entries * ENTRY_SIZE])
        if sys.byteorder == "little":
            numbers.byteswap()
        self._offsets = numbers[0::2]
        self._positions = numbers[1::2]
        self.saved_entries = entries
        for column in (self._offsets, self._positions):
            if entries and (column[0] < 0 or array("i", sorted(column)) != column):
                raise CorruptIndexError("the entries of the offset index do not rise")

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def last_position(self) -> int:
        """The position in the last entry; 0 if the index is empty."""
        return self._positions[-1] if self._positions else 0

    @property
    def last_offset(self) -> int:
        """The offset in the last entry; the segment's base offset if the index is empty."""
        return self._base_offset + (self._offsets[-1] if self._offsets else 0)

    def append(self, offset: int, position: int) -> None:
        """Adds an entry; both must be larger than the last entry's."""
        relative = offset - self._base_offset
        assert not self._offsets or relative > self._offsets[-1], f"offset {offset} does not rise"
        self._offsets.append(relative)
        self._positions.append(position)

    def lookup(self, offset: int) -> int:
        """The position in the last entry whose offset is at most `offset`; 0 if no entry qualifies."""
        slot = bisect_right(self._offsets, min(offset - self._base_offset, 0x7FFFFFFF)) - 1
        return self._positions[slot] if slot >= 0 else 0

    def first_offset_from(self, position: int) -> int | None:
        """The offset in the first entry whose position is at least `position`; None if no entry qualifies."""
        slot = bisect_left(self._positions, position)
        return self._base_offset + self._offsets[slot] if slot < len(self._positions) else None

    def truncate_to(self, offset: int) -> None:
        """Drops the entries of `offset` and later."""
        kept = bisect_left(self._offsets, min(offset - self._base_offset, 0x7FFFFFFF))
        del self._offsets[kept:]
        del self._positions[kept:]
        self.saved_entries = -1

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        numbers = array("i", bytes(len(self._offsets) * ENTRY_SIZE))
        numbers[0::2] = self._offsets
        numbers[1::2] = self._positions
        if sys.byteorder == "little":
            numbers.byteswap()
        return numbers.tobytes()
