"""Sums of a segment's batches with which two replicas are compared without their bytes: a part of `--state`.

Pure. Every batch has a hash of what a comparison looks at: base offset, last offset, leader epoch and CRC. A segment
keeps the sum of these hashes before some of its batches, its points. The hash of a batch decides whether it is a point,
so replicas with the same batches have the same points, wherever their segments end. If the sums between two offsets
that are points of both replicas differ by the same number, the batches between them are the same.

Sums are modulo 2^64. Only segments whose base offsets rise, and in which nothing is damaged, have points.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from ..decode.batch_table import HeaderTable
from ..decode.spans import Int64s
from .packed_arrays import PackedArray

UInt64s = NDArray[numpy.uint64]
ONE_OF = 16
"""One of so few batches is a point, as long as there are not too many."""
MOST_POINTS = 1024
"""The most points of a segment: with more of them, every second one is left out, by its hash."""
_FACTORS = tuple(numpy.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class SegmentPoints:
    """The points of a segment. `first`, `last`: the lowest and the highest base offset of its batches, -1 for none.

    `offsets`: base offsets of the points, relative to `first`. `sums`: of the hashes of the batches before each.
    `total`: of the hashes of all batches.
    """

    first: int
    last: int
    total: int
    offsets: PackedArray
    sums: PackedArray


class PointsRecording:
    """Finds the points of a segment while it is read."""

    __slots__ = ("_first", "_found", "_is_sound", "_last", "_one_of", "_total")

    def __init__(self) -> None:
        self._first = self._last = -1
        self._total = 0
        self._is_sound = True
        self._one_of = ONE_OF
        self._found: list[UInt64s] = []

    def damaged(self) -> None:
        """Notes that the segment has bytes that are not batches: it gets no points."""
        self._is_sound = False

    def read(self, headers: HeaderTable) -> None:
        """Adds the next batches."""
        bases = headers.column("base_offset")
        if not self._is_sound or not len(bases):
            return
        if bases[0] <= self._last or (numpy.diff(bases) <= 0).any():
            self._is_sound = False
            return
        if self._first < 0:
            self._first = int(bases[0])
        self._last = int(bases[-1])
        hashes = batch_hashes(headers)
        sums = numpy.cumsum(hashes, dtype=numpy.uint64)
        before = sums - hashes + numpy.uint64(self._total)
        self._total = (self._total + int(sums[-1])) % _WORD
        chosen = _chosen(hashes, self._one_of)
        self._found.append(numpy.stack([bases.astype(numpy.uint64), before, hashes])[:, chosen])
        self._thin()

    def _thin(self) -> None:
        while sum(found.shape[1] for found in self._found) > MOST_POINTS:
            self._one_of *= 2
            self._found = [found[:, _chosen(found[2], self._one_of)] for found in self._found]

    def end(self) -> SegmentPoints | None:
        """The points of the segment; None if it has none that can be compared."""
        if not self._is_sound:
            return None
        offsets, sums, _ = numpy.concatenate([numpy.zeros((3, 0), numpy.uint64), *self._found], axis=1)
        relative = offsets.astype(numpy.int64) - max(self._first, 0)
        return SegmentPoints(self._first, self._last, self._total, PackedArray.of(relative), PackedArray.of(sums))


class PointsOfSegment(NamedTuple):
    """A segment with known points: its base offset, and that of the segment after it."""

    start: int
    end: int
    points: SegmentPoints

    @property
    def is_inside(self) -> bool:
        """Whether each of its batches begins in this segment's offsets."""
        return self.points.first < 0 or (self.start <= self.points.first and self.points.last < self.end)


class _PointRun(NamedTuple):
    """Adjacent segments: offsets, and the sums of the hashes of the batches before each."""

    offsets: Int64s
    sums: UInt64s


def equal_ranges(one: Iterable[PointsOfSegment], other: Iterable[PointsOfSegment]) -> list[tuple[int, int]]:
    """The offsets, as rising ranges `[start, end)`, between which two replicas have the same batches.

    Batches in other segments than the given ones are not looked at. Segments are in the order of their offsets.
    """
    runs, found = _runs(other), []
    for mine in _runs(one):
        for theirs in runs:
            offsets, left, right = numpy.intersect1d(mine.offsets, theirs.offsets, return_indices=True)
            same = numpy.diff(mine.sums[left]) == numpy.diff(theirs.sums[right])
            found += [(int(offsets[index]), int(offsets[index + 1])) for index in numpy.flatnonzero(same)]
    return _joined(sorted(found))


def other_ranges(ranges: Sequence[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """What rising ranges leave of `[start, end)`."""
    found = []
    for low, high in ranges:
        if start < min(low, end):
            found.append((start, min(low, end)))
        start = max(start, high)
    return [*found, (start, end)] if start < end else found


def batch_hashes(headers: HeaderTable) -> UInt64s:
    """The hash of each batch."""
    epoch = headers.column("partition_leader_epoch").astype(numpy.uint64)
    words = (headers.column("base_offset"), headers.last_offsets, headers.column("crc"))
    mixed = _mixed(epoch)
    for word in words:
        mixed = _mixed(mixed ^ word.astype(numpy.uint64))
    return mixed


def _mixed(words: UInt64s) -> UInt64s:
    """SplitMix64: each bit of the result depends on each bit of the word."""
    first, second, third = _FACTORS
    words = words + first
    words = (words ^ (words >> numpy.uint64(30))) * second
    words = (words ^ (words >> numpy.uint64(27))) * third
    mixed: UInt64s = words ^ (words >> numpy.uint64(31))
    return mixed


def _chosen(hashes: UInt64s, one_of: int) -> NDArray[numpy.bool_]:
    chosen: NDArray[numpy.bool_] = (hashes & numpy.uint64(one_of - 1)) == 0
    return chosen


def _runs(segments: Iterable[PointsOfSegment]) -> list[_PointRun]:
    """Joins segments that follow each other."""
    runs: list[_PointRun] = []
    parts: list[tuple[Int64s, UInt64s]] = []
    total, end = 0, -1
    for segment in segments:
        if segment.start != end:
            _close(runs, parts, end, total)
            parts, total = [], 0
        points = segment.points
        offsets = numpy.concatenate([[segment.start], points.offsets.values() + max(points.first, 0)])
        sums = numpy.concatenate([numpy.zeros(1, numpy.uint64), points.sums.values()]) + numpy.uint64(total)
        parts.append((offsets, sums))
        total, end = (total + points.total) % _WORD, segment.end
    _close(runs, parts, end, total)
    return runs


def _close(runs: list[_PointRun], parts: Sequence[tuple[Int64s, UInt64s]], end: int, total: int) -> None:
    if parts:
        offsets = numpy.concatenate([*(part for part, _ in parts), [end]])
        sums = numpy.concatenate([*(part for _, part in parts), numpy.array([total], numpy.uint64)])
        runs.append(_PointRun(offsets, sums))


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins ranges that touch or overlap."""
    found: list[tuple[int, int]] = []
    for low, high in ranges:
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found
