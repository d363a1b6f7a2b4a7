"""The segments of a log, by base offset.

Owns: their order. Never does: I/O. Invariant: base offsets rise; appends go to the last segment.
Source: Kafka's LogSegments.
"""

from bisect import bisect_right
from collections.abc import Iterator

from ..segment.segment import Segment


class LogSegments:
    """An ordered collection of segments."""

    __slots__ = ("_bases", "_segments", "active")

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._segments: list[Segment] = []
        self.active: Segment
        """The newest segment, from the first :meth:`add` on."""

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(list(self._segments))

    @property
    def in_order(self) -> list[Segment]:
        """The list itself, oldest first. It changes with the log; callers only read it."""
        return self._segments

    @property
    def first(self) -> Segment:
        """The oldest segment."""
        return self._segments[0]

    @property
    def base_offsets(self) -> list[int]:
        """The base offsets, rising."""
        return list(self._bases)

    @property
    def size_in_bytes(self) -> int:
        """The size of all log files."""
        return sum(segment.size for segment in self._segments)

    def add(self, segment: Segment) -> None:
        """Adds a segment; one with the same base offset is replaced."""
        slot = bisect_right(self._bases, segment.base_offset)
        if slot and self._bases[slot - 1] == segment.base_offset:
            self._segments[slot - 1] = segment
        else:
            self._bases.insert(slot, segment.base_offset)
            self._segments.insert(slot, segment)
        self.active = self._segments[-1]

    def remove(self, segment: Segment) -> None:
        """Takes a segment out."""
        slot = self._bases.index(segment.base_offset)
        del self._bases[slot]
        del self._segments[slot]
        if self._segments:
            self.active = self._segments[-1]

    def replace(self, old: list[Segment], new: Segment) -> None:
        """Puts one segment in the place of neighbours, at the base offset of the first."""
        slot = self._bases.index(old[0].base_offset)
        self._bases[slot : slot + len(old)] = [new.base_offset]
        self._segments[slot : slot + len(old)] = [new]
        self.active = self._segments[-1]

    def floor(self, offset: int) -> Segment | None:
        """The segment whose range holds `offset`; None below the first."""
        slot = bisect_right(self._bases, offset) - 1
        return self._segments[slot] if slot >= 0 else None

    def after(self, segment: Segment) -> Segment | None:
        """The next segment, or None."""
        slot = bisect_right(self._bases, segment.base_offset)
        return self._segments[slot] if slot < len(self._segments) else None

    def reaching(self, offset: int) -> list[Segment]:
        """The segment that holds `offset` and all later ones; all segments if it is below the first."""
        slot = max(0, bisect_right(self._bases, offset) - 1)
        return self._segments[slot:]
