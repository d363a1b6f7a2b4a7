"""The time index of a segment: maps a timestamp to a nearby offset.

    entry    int64 greatest timestamp so far (ms), int32 last offset of its batch, relative to the base

An entry is added with each offset index entry if the greatest timestamp has risen, and when the segment is rolled or
closed. Held in memory and written like the offset index. Invariant: timestamps and offsets rise. Source: Kafka's
TimeIndex.
"""

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct

from ..errors import CorruptIndexError

ENTRY = Struct(">qi")
ENTRY_SIZE = 12
NO_TIMESTAMP = -1


class TimeIndex:
    """Entries of one segment; offsets in the calls are absolute."""

    __slots__ = ("_base_offset", "_offsets", "_timestamps", "saved_entries")

    def __init__(self, base_offset: int, data: bytes = b"") -> None:
        """Parses the file's bytes. Raises CorruptIndexError if the entries do not rise."""
        self._base_offset = base_offset
        entries = -(-len(data.rstrip(b"\0")) // ENTRY_SIZE)
        if entries * ENTRY_SIZE > len(data):
            raise CorruptIndexError(f"the index has {len(data)} bytes, not a multiple of {ENTRY_SIZE}")
        pairs = list(ENTRY.iter_unpack(data[: entries * ENTRY_SIZE]))
        self._timestamps = array("q", [timestamp for timestamp, _ in pairs])
        self._offsets = array("i", [offset for _, offset in pairs])
        self.saved_entries = entries
        for column in (self._timestamps, self._offsets):
            if entries and (column[0] < 0 or array(column.typecode, sorted(column)) != column):
                raise CorruptIndexError("the entries of the time index do not rise")

    def __len__(self) -> int:
        return len(self._timestamps)

    @property
    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) if the index is empty."""
        if not self._timestamps:
            return NO_TIMESTAMP, self._base_offset
        return self._timestamps[-1], self._base_offset + self._offsets[-1]

    def append_if_later(self, timestamp: int, offset: int) -> None:
        """Adds an entry if the timestamp is greater than the last entry's."""
        if timestamp > (self._timestamps[-1] if self._timestamps else NO_TIMESTAMP):
            self._timestamps.append(timestamp)
            self._offsets.append(offset - self._base_offset)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """The last entry whose timestamp is at most `timestamp`; (-1, base offset) if no entry qualifies."""
        slot = bisect_right(self._timestamps, timestamp) - 1
        if slot < 0:
            return NO_TIMESTAMP, self._base_offset
        return self._timestamps[slot], self._base_offset + self._offsets[slot]

    def truncate_to(self, offset: int) -> None:
        """Drops the entries of `offset` and later."""
        kept = bisect_left(self._offsets, min(offset - self._base_offset, 0x7FFFFFFF))
        del self._offsets[kept:]
        del self._timestamps[kept:]
        self.saved_entries = -1

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return b"".join(map(ENTRY.pack, self._timestamps, self._offsets))
