"""Compares the indexes of one segment with its batches, chunk by chunk, in linear time.

Pure: takes bytes of the index files and columns of the batches, returns findings. Preallocated zeros at an index's end
do not count as entries. Memory: the index. Source: Kafka's DumpLogSegments (dumpIndex, dumpTimeIndex), OffsetIndex,
TimeIndex, LogSegment.append.
"""

from collections.abc import Callable
from typing import Any

import numpy
from numpy.typing import NDArray

from ..decode.spans import Flags, Int64s

Report = Callable[[str, str, int, int], None]
"""Takes (name of the check, detail, position in the index, offset)."""

OFFSET_ENTRY, TIME_ENTRY = 8, 12
_DUE_IN_TAIL = 4


class OffsetIndexCheck:
    """Every entry must be (last offset, position) of a batch, and entries must rise.

    For messages of format 0 and 1 Kafka wrote one entry for several: (last offset of the last, position of the first).

    There must be an entry at least every `interval` bytes (index.interval.bytes).
    """

    def __init__(self, data: bytes, base_offset: int, interval: int, report: Report) -> None:
        self._report = report
        self._interval = interval
        if len(data) % OFFSET_ENTRY:
            report("offset-index-size", f"{len(data)} bytes", len(data) // OFFSET_ENTRY * OFFSET_ENTRY, -1)
        entries = numpy.frombuffer(data[: len(data) // OFFSET_ENTRY * OFFSET_ENTRY], dtype=">i4").reshape(-1, 2)
        entries = entries[: _used(entries)].astype(numpy.int64)
        self._offsets: Int64s = entries[:, 0] + base_offset
        self._positions: Int64s = entries[:, 1]
        falls = (numpy.diff(self._offsets) <= 0) | (numpy.diff(self._positions) <= 0)
        for index in numpy.flatnonzero(falls).tolist():
            before, after = entries[index].tolist(), entries[index + 1].tolist()
            detail = f"entry {index + 1} is {after} (relative offset, position), the previous one {before}"
            self._report_entry("offset-index-not-increasing", index + 1, detail)
        self._is_right: Flags = numpy.zeros(len(entries), numpy.bool_)
        self._is_awaited: Flags = numpy.zeros(
            len(entries), numpy.bool_
        )  # the last of several messages is still to come
        self._order = numpy.argsort(self._positions, kind="stable")
        self._sorted = self._positions[self._order]
        self._sparse: list[tuple[int, int]] = []  # (position of an entry, of the next batch that needs one)
        self._last_batch = 0
        self._largest_batch = 0

    def _report_entry(self, name: str, index: int, detail: str) -> None:
        self._report(name, detail, index * OFFSET_ENTRY, int(self._offsets[index]))

    def read(self, positions: Int64s, last_offsets: Int64s, sizes: Int64s, is_legacy: Flags) -> None:
        """Compares the next batches of the segment."""
        low, high = numpy.searchsorted(self._sorted, [positions[0], positions[-1] + 1])
        chosen = self._order[low:high]
        slots = numpy.searchsorted(positions, self._positions[chosen])
        lasts = last_offsets[slots]
        begins_there = positions[slots] == self._positions[chosen]
        self._is_right[chosen] = begins_there & (lasts == self._offsets[chosen])
        self._is_awaited[chosen] = begins_there & is_legacy[slots] & (lasts < self._offsets[chosen])
        awaited = numpy.flatnonzero(self._is_awaited)
        found = awaited[numpy.isin(self._offsets[awaited], last_offsets)]
        self._is_right[found] = True
        self._is_awaited[found] = False
        earlier = numpy.searchsorted(self._sorted, positions, side="right") - 1
        before = numpy.concatenate([self._sorted, [0]])[earlier]  # -1 takes the 0: no earlier entry
        due = numpy.flatnonzero((positions - before > self._interval) & (positions != before))
        for index in due[numpy.concatenate([[True], numpy.diff(before[due]) != 0])[: len(due)]].tolist():
            if not self._sparse or self._sparse[-1][0] != before[index]:
                self._sparse.append((int(before[index]), int(positions[index])))
        self._last_batch = int(positions[-1])
        self._largest_batch = max(self._largest_batch, int(sizes.max()))

    def close(self, lost: list[tuple[int, int]], size: int, *, is_settled: bool) -> None:
        """Adds the findings that need the whole segment.

        `lost`: unreadable parts of the log as (start, end). `size`: bytes of the log. `is_settled`: no broker can have
        been killed while it wrote to this segment.
        """
        is_right = self._is_right
        for start, end in lost:
            is_right |= (self._positions >= start) & (self._positions < end)
        if not is_settled:
            is_right |= self._positions >= size
        for index in numpy.flatnonzero(~is_right).tolist():
            place = f"({self._offsets[index]}, {self._positions[index]})"
            detail = f"entry {index} is {place}; no batch with that last offset begins there"
            self._report_entry("offset-index-mismatch", index, detail)
        if not is_settled or lost or not is_right.all() or not self._sparse:
            return
        start, due = self._sparse[-1]
        end = int(self._sorted[-1]) if len(self._sorted) else 0
        if start == end and self._last_batch - end > _DUE_IN_TAIL * (self._interval + self._largest_batch):
            detail = f"the last entry points to byte {end}, the log has {size} bytes"
            self._report("offset-index-truncated", detail, len(self._sorted) * OFFSET_ENTRY, -1)
        else:
            start, due = self._sparse[0]
            detail = f"{len(self._sparse)} sections have no entry, the first one from byte {start} to {due} or later"
            self._report("offset-index-sparse", detail, -1, -1)


class TimeIndexCheck:
    """Every entry must have the maximum timestamp up to its batch, and entries must rise.

    The last entry of a closed segment must have the segment's maximum timestamp.
    """

    def __init__(self, data: bytes, base_offset: int, report: Report) -> None:
        self._report = report
        if len(data) % TIME_ENTRY:
            report("time-index-size", f"{len(data)} bytes", len(data) // TIME_ENTRY * TIME_ENTRY, -1)
        raw = numpy.frombuffer(data[: len(data) // TIME_ENTRY * TIME_ENTRY], dtype=[("time", ">i8"), ("offset", ">i4")])
        entries = numpy.stack([raw["time"].astype(numpy.int64), raw["offset"].astype(numpy.int64)], axis=1)
        entries = entries[: _used(entries)]
        self._times: Int64s = entries[:, 0]
        self._offsets: Int64s = entries[:, 1] + base_offset
        times, offsets = self._times, self._offsets
        for index in numpy.flatnonzero((numpy.diff(times) <= 0) | (numpy.diff(offsets) < 0)).tolist():
            before, after = f"({times[index]}, {offsets[index]})", f"({times[index + 1]}, {offsets[index + 1]})"
            self._report_entry(
                "time-index-not-increasing", index + 1, f"entry {index + 1} is {after}, the previous {before}"
            )
        self._is_right: Flags = numpy.zeros(len(entries), numpy.bool_)
        self._order = numpy.argsort(offsets, kind="stable")
        self._sorted = offsets[self._order]
        self._done = 0
        self._greatest = -(1 << 63)
        self._has_batches = False

    def _report_entry(self, name: str, index: int, detail: str) -> None:
        self._report(name, detail, index * TIME_ENTRY, int(self._offsets[index]))

    def read(self, last_offsets: Int64s, max_timestamps: Int64s) -> None:
        """Compares the next batches of the segment."""
        greatest = numpy.maximum.accumulate(numpy.concatenate([[self._greatest], max_timestamps]))[1:]
        end = int(numpy.searchsorted(self._sorted, last_offsets[-1], side="right"))
        chosen = self._order[self._done : end]
        slots = numpy.minimum(numpy.searchsorted(last_offsets, self._offsets[chosen]), len(last_offsets) - 1)
        self._is_right[chosen] = greatest[slots] == self._times[chosen]
        self._done = max(self._done, end)
        self._greatest = int(greatest[-1])
        self._has_batches = True

    def close(self, lost: list[tuple[int, int]], *, is_settled: bool, is_active: bool) -> None:
        """Adds the findings that need the whole segment; arguments as in OffsetIndexCheck.close.

        `is_active`: the segment's last entry is not written yet, so it is not required.
        """
        if lost or (not self._has_batches and (is_active or not len(self._times))):
            return
        if not self._has_batches:
            entry = f"({self._times[-1]}, {self._offsets[-1]})"
            self._report(
                "segment-emptied", f"the last entry is {entry}, the log has no batch", -1, int(self._offsets[-1])
            )
            return
        is_right = self._is_right
        if not is_settled:
            is_right[self._order[self._done :]] = True
        for index in numpy.flatnonzero(~is_right).tolist():
            entry = f"({self._times[index]}, {self._offsets[index]})"
            detail = f"entry {index} is {entry}, which is not the maximum timestamp up to that batch"
            self._report_entry("time-index-mismatch", index, detail)
        last = int(self._times[-1]) if len(self._times) else -1
        if not is_active and is_right.all() and last != max(self._greatest, -1):
            detail = f"the last entry's time is {last}, the segment's is {self._greatest}"
            self._report("time-index-incomplete", detail, len(self._times) * TIME_ENTRY, -1)


def _used(entries: NDArray[Any]) -> int:
    """The number of entries before the preallocated zeros at the end."""
    used = numpy.flatnonzero(entries.any(axis=1))
    return int(used[-1]) + 1 if len(used) else 0
