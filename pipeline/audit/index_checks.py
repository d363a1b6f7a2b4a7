"""The indexes of one segment against its batches, in linear time.

Pure: bytes of the index files and columns of the batches in, findings out. Preallocated zeros at an index's end are
none of its entries. Source: Kafka's DumpLogSegments (dumpIndex, dumpTimeIndex), OffsetIndex, TimeIndex.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

Int64s = NDArray[numpy.int64]
Report = Callable[[str, str, int], None]
"""Takes (name of the check, detail, offset)."""

_DUE_IN_TAIL = 4


class SegmentBatches(NamedTuple):
    """The batches of one segment in the order of the file, and the parts of it that can't be read."""

    base_offset: int
    size: int
    positions: Int64s
    last_offsets: Int64s
    max_timestamps: Int64s
    sizes: Int64s
    lost: list[tuple[int, int]]
    is_active: bool
    is_settled: bool
    """Not an active segment of a broker that was killed or runs: there indexes lag behind the log."""


def check_offset_index(data: bytes, batches: SegmentBatches, interval: int, report: Report) -> None:
    """Every entry must be (last offset, position) of a batch; entries rise; none that was due is missing."""
    if len(data) % 8:
        report("offset-index-size", f"{len(data)} bytes", -1)
    entries = numpy.frombuffer(data[: len(data) // 8 * 8], dtype=">i4").reshape(-1, 2).astype(numpy.int64)
    entries = entries[: _used(entries)]
    offsets, positions = entries[:, 0] + batches.base_offset, entries[:, 1]
    for index in numpy.flatnonzero((numpy.diff(offsets) <= 0) | (numpy.diff(positions) <= 0)).tolist():
        before, after = entries[index].tolist(), entries[index + 1].tolist()
        detail = f"entry {index + 1} is {after} (relative offset, position), the one in front of it {before}"
        report("offset-index-not-increasing", detail, int(offsets[index + 1]))
    slots = numpy.searchsorted(batches.positions, positions)
    inside = slots < len(batches.positions)
    safe = numpy.where(inside, slots, 0)
    is_right = inside.copy()
    if len(batches.positions):
        is_right &= (batches.positions[safe] == positions) & (batches.last_offsets[safe] == offsets)
    for start, end in batches.lost:
        is_right |= (positions >= start) & (positions < end)
    if not batches.is_settled:
        is_right |= positions >= batches.size
    for index in numpy.flatnonzero(~is_right).tolist():
        detail = f"entry {index} is ({offsets[index]}, {positions[index]}), where no batch with that last offset begins"
        report("offset-index-mismatch", detail, int(offsets[index]))
    if batches.is_settled and not batches.lost and is_right.all():
        _check_density(positions, batches, interval, report)


def _check_density(positions: Int64s, batches: SegmentBatches, interval: int, report: Report) -> None:
    """Whether a batch began more than the interval behind an entry and got none."""
    if not len(batches.positions):
        return
    starts = numpy.concatenate([[0], positions])
    ends = numpy.concatenate([positions, [batches.size]])
    last_before = batches.positions[numpy.maximum(numpy.searchsorted(batches.positions, ends) - 1, 0)]
    is_sparse = last_before - starts > interval
    if not is_sparse.any():
        return
    tail = int(last_before[-1] - starts[-1])
    if tail > _DUE_IN_TAIL * (interval + int(batches.sizes.max())):
        report("offset-index-truncated", f"the last entry is at {starts[-1]}, the log has {batches.size} bytes", -1)
    else:
        first = int(numpy.flatnonzero(is_sparse)[0])
        detail = f"{int(is_sparse.sum())} stretches without an entry, the first from {starts[first]} to {ends[first]}"
        report("offset-index-sparse", detail, -1)


def check_time_index(data: bytes, batches: SegmentBatches, report: Report) -> None:
    """Every entry must be the greatest timestamp up to its batch; entries rise; the last one is the segment's."""
    if len(data) % 12:
        report("time-index-size", f"{len(data)} bytes", -1)
    raw = numpy.frombuffer(data[: len(data) // 12 * 12], dtype=[("time", ">i8"), ("offset", ">i4")])
    entries = numpy.stack([raw["time"].astype(numpy.int64), raw["offset"].astype(numpy.int64)], axis=1)
    entries = entries[: _used(entries)]
    times, offsets = entries[:, 0], entries[:, 1] + batches.base_offset
    for index in numpy.flatnonzero((numpy.diff(times) <= 0) | (numpy.diff(offsets) < 0)).tolist():
        detail = (
            f"entry {index + 1} is ({times[index + 1]}, {offsets[index + 1]}) behind ({times[index]}, {offsets[index]})"
        )
        report("time-index-not-increasing", detail, int(offsets[index + 1]))
    if batches.lost or not len(batches.positions):
        return
    greatest = numpy.maximum.accumulate(batches.max_timestamps)
    slots = numpy.searchsorted(batches.last_offsets, offsets)
    inside = slots < len(greatest)
    is_right = inside & (greatest[numpy.where(inside, slots, 0)] == times)
    if not batches.is_settled:
        is_right |= ~inside
    for index in numpy.flatnonzero(~is_right).tolist():
        detail = f"entry {index} is ({times[index]}, {offsets[index]}), the greatest time up to that batch is another"
        report("time-index-mismatch", detail, int(offsets[index]))
    last = int(times[-1]) if len(times) else -1
    if not batches.is_active and is_right.all() and last != max(int(greatest[-1]), -1):
        report("time-index-incomplete", f"the last entry's time is {last}, the segment's is {int(greatest[-1])}", -1)


def _used(entries: NDArray[Any]) -> int:
    """How many entries there are in front of preallocated zeros."""
    used = numpy.flatnonzero(entries.any(axis=1))
    return int(used[-1]) + 1 if len(used) else 0
