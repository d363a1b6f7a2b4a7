"""The sums with which replicas are compared: equal ranges have the same batches, wherever segments end."""

from collections.abc import Iterator
from itertools import pairwise

import numpy
import pytest

from odradek.pipeline.audit.replica_points import (
    MOST_POINTS,
    PointsOfSegment,
    PointsRecording,
    SegmentPoints,
    equal_ranges,
    other_ranges,
)
from odradek.pipeline.decode.batch_table import HEADER_DTYPE, HeaderTable

FIELDS = ("base_offset", "last_offset_delta", "partition_leader_epoch", "crc")
Rows = list[tuple[int, int, int, int]]
"""The fields of each batch."""


def random_rows(chance: numpy.random.Generator, count: int) -> Rows:
    """Batches with rising base offsets, and gaps between some."""
    sizes = chance.integers(1, 9, count)
    bases = numpy.cumsum(sizes + chance.integers(0, 2, count)) + 10
    crcs = chance.integers(0, 1 << 32, count)
    return [(int(base), int(size - 1), 3, int(crc)) for base, size, crc in zip(bases, sizes, crcs, strict=True)]


def points_of(rows: Rows, pieces: int = 1) -> SegmentPoints:
    recording = PointsRecording()
    for part in numpy.array_split(numpy.arange(len(rows)), pieces):
        table = numpy.zeros(len(part), HEADER_DTYPE)
        for place, row in enumerate(part.tolist()):
            for name, value in zip(FIELDS, rows[row], strict=True):
                table[name][place] = value
        recording.read(HeaderTable(numpy.arange(len(part)), table))
    found = recording.end()
    assert found is not None
    return found


def segments_of(chance: numpy.random.Generator, rows: Rows, unknown: float) -> Iterator[PointsOfSegment]:
    """The rows in segments that end anywhere; some of them are not known."""
    cuts = sorted({0, len(rows), *chance.integers(1, len(rows), 4).tolist()})
    for first, after in pairwise(cuts):
        end = rows[after][0] if after < len(rows) else rows[-1][0] + 9
        if chance.random() >= unknown:
            yield PointsOfSegment(rows[first][0], end, points_of(rows[first:after], pieces=3))


def between(rows: Rows, start: int, end: int) -> Rows:
    return [row for row in rows if start <= row[0] < end]


@pytest.mark.parametrize("seed", range(100))
def test_equal_ranges_have_the_same_batches(seed: int) -> None:
    chance = numpy.random.default_rng(seed)
    rows = random_rows(chance, 400)
    others = list(rows)
    changed = set()
    for _ in range(seed % 4):
        index, field = int(chance.integers(0, len(others))), int(chance.integers(1, 4))
        row = list(others[index])
        row[field] += 1
        changed.add(row[0])
        others[index] = (row[0], row[1], row[2], row[3])
    unknown = 0.3 * (seed % 2)
    ranges = equal_ranges(segments_of(chance, rows, unknown), segments_of(chance, others, unknown))
    assert ranges == sorted(ranges)
    for start, end in ranges:
        assert between(rows, start, end) == between(others, start, end)
        assert not changed & {row[0] for row in between(rows, start, end)}
    left = sum(len(between(rows, *found)) for found in other_ranges(ranges, rows[0][0], rows[-1][0] + 9))
    if not changed and not unknown:
        assert left == 0, "segments that end elsewhere do not matter"
    elif not unknown:
        assert left <= 150 * len(changed), "only what is around a change"


def test_many_batches_have_few_points() -> None:
    rows = random_rows(numpy.random.default_rng(1), 60_000)
    points = points_of(rows, pieces=7)
    assert MOST_POINTS / 4 < points.offsets.size <= MOST_POINTS
    assert points == points_of(rows), "the pieces in which a segment was read do not matter"
    half = [PointsOfSegment(rows[0][0], rows[30_000][0], points_of(rows[:30_000]))]
    whole = [PointsOfSegment(rows[0][0], rows[-1][0] + 9, points)]
    [(start, end)] = equal_ranges(half, whole)
    assert start == rows[0][0]
    assert len(between(rows, start, end)) > 29_000


def test_offsets_that_do_not_rise_have_no_points() -> None:
    recording = PointsRecording()
    table = numpy.zeros(2, HEADER_DTYPE)
    recording.read(HeaderTable(numpy.arange(2), table))
    assert recording.end() is None


def test_the_rest_of_ranges() -> None:
    assert other_ranges([], 3, 9) == [(3, 9)]
    assert other_ranges([(0, 4), (6, 7), (8, 20)], 3, 9) == [(4, 6), (7, 8)]
    assert other_ranges([(0, 20)], 3, 9) == []
    assert other_ranges([(10, 20)], 3, 9) == [(3, 9)]
