"""The rules for low and full disks: the states of a directory, and the segments that may be removed.

Pure. Owns: the states and the thresholds between them, with hysteresis; the choice of segments to remove under the cap.
Never does: I/O, reading a clock. Invariants: clients' records are refused below the lowest threshold; data that a
topic's own limits retain is removed only if a cap for the whole node is set. Source: our own; a full disk halts Kafka's
broker.
"""

import heapq
from collections.abc import Hashable, Mapping, Sequence
from enum import IntEnum
from itertools import count
from typing import NamedTuple, TypeVar

from odradek.protocol.common.steps import Steps

MIN_FREE_KEY = "odradek.log.dirs.min.free.bytes"
CAP_KEY = "odradek.log.dirs.max.bytes"
MIN_FREE_BYTES = 64 << 20
MIN_FREE_SHARE = 16
"""The default threshold of free space: MIN_FREE_BYTES, or this fraction (1/16) of the file system if that is less."""
LEAST_RESUME_BYTES = 256 << 10
WRITER_BYTES_MS = 400_000
"""Bytes per ms: the assumed maximum write rate (400 MB/s), from which the time to the next check follows."""
SHORTEST_CHECK_MS = 25
LONGEST_CHECK_MS = 5_000
"""A check costs 0.4 ms. At 400 MB/s it takes this long to write 2 GB."""
LOW_CHECK_MS = 1_000
FULL_CHECK_MS = 200
SEGMENTS_UNDER_CAP = 16
"""Under a cap, a segment is at most 1/16 of it, since only whole segments can be removed."""
LEAST_SEGMENT_BYTES = 1 << 20
CHOICES_A_STEP = 256
"""The number of logs or segments in one step of the choice."""

Key = TypeVar("Key", bound=Hashable)


class SpaceState(IntEnum):
    """How short of space a log directory is; higher is worse."""

    NORMAL = 0
    LOW = 1
    """Retention runs at every check, and deleted files are removed at once; under the cap the oldest segments are
    removed, too.
    """
    FULL = 2
    """As LOW, and clients' records are refused."""


class SpaceMarks(NamedTuple):
    """Bytes of free room at which the state changes: `full` < `resume` and `low` < `normal`."""

    full: int
    resume: int
    low: int
    normal: int


def min_free_bytes(configured: int, total_bytes: int) -> int:
    """The threshold of free space: `odradek.log.dirs.min.free.bytes`, or a default by file system size if that is
    -1.
    """
    return min(MIN_FREE_BYTES, total_bytes // MIN_FREE_SHARE) if configured < 0 else configured


def free_space_marks(min_free: int) -> SpaceMarks:
    """The thresholds of a file system on which clients' records are refused if less than `min_free` bytes are free."""
    resume = max(min_free + min_free // 4, LEAST_RESUME_BYTES)
    return SpaceMarks(min_free, resume, 2 * min_free, max(2 * min_free + min_free // 2, resume))


def cap_marks(cap: int) -> SpaceMarks:
    """The thresholds for the rest of `odradek.log.dirs.max.bytes`: full at 0, low at 1/16 of it."""
    return SpaceMarks(1, max(1, cap // 32), cap // 16, cap // 8)


def announce_below(cap: int) -> int:
    """Bytes left under the cap at which upcoming deletions are logged: 3/16 of the cap (deletion starts at 1/16)."""
    return 3 * cap // 16


def next_state(state: SpaceState, room: int, marks: SpaceMarks, *, was_refused: bool = False) -> SpaceState:
    """The state for `room` bytes left (negative: over the limit). Leaving a state needs more room than entering it.

    `was_refused`: the file system has refused bytes since the last check, regardless of its reported free space.
    """
    if room < marks.full or (was_refused and room < marks.resume):
        return SpaceState.FULL
    if room < (marks.resume if state is SpaceState.FULL else marks.full):
        return SpaceState.FULL
    if room < (marks.low if state is SpaceState.NORMAL else marks.normal):
        return SpaceState.LOW
    return SpaceState.NORMAL


def next_check_ms(state: SpaceState, room: int, marks: SpaceMarks) -> int:
    """The time in ms to the next check: shorter when less room is left."""
    if state is SpaceState.FULL:
        return FULL_CHECK_MS
    longest_ms = LONGEST_CHECK_MS if state is SpaceState.NORMAL else LOW_CHECK_MS
    return max(SHORTEST_CHECK_MS, min((room - marks.full) // WRITER_BYTES_MS, longest_ms))


def segment_bytes_under(cap: int, segment_bytes: int) -> int:
    """The maximum size of a segment under a node's cap (-1: no cap)."""
    if cap < 0:
        return segment_bytes
    return min(segment_bytes, max(cap // SEGMENTS_UNDER_CAP, LEAST_SEGMENT_BYTES))


class SegmentSize(NamedTuple):
    """A removable segment: its greatest timestamp (ms), its size in bytes."""

    largest_timestamp: int
    size: int


def oldest_segments(candidates: Mapping[Key, Sequence[SegmentSize]], excess: int) -> Steps[dict[Key, int]]:
    """The number of oldest segments to remove from each log, to free at least `excess` bytes in total. Segments with
    the oldest data are chosen first.

    `candidates` has the segments of each log that may lose data, oldest first; within a log they are chosen in this
    order. Runs in steps, because a node may have thousands of logs.
    """
    keys, logs = list(candidates), list(candidates.values())
    heads: list[tuple[int, int]] = []
    for number, segments in enumerate(logs):
        if segments:
            heapq.heappush(heads, (segments[0].largest_timestamp, number))
        if number % CHOICES_A_STEP == CHOICES_A_STEP - 1:
            yield
    chosen: dict[Key, int] = {}
    for picked in count(1):
        if not heads or excess <= 0:
            break
        if picked % CHOICES_A_STEP == 0:
            yield
        _, number = heapq.heappop(heads)
        going = chosen[keys[number]] = chosen.get(keys[number], 0) + 1
        excess -= logs[number][going - 1].size
        if going < len(logs[number]):
            heapq.heappush(heads, (logs[number][going].largest_timestamp, number))
    return chosen


def in_words(size: int) -> str:
    """A number of bytes in a readable unit."""
    if size < 1 << 10:
        return f"{size} bytes"
    unit = "KiB" if size < 1 << 20 else "MiB" if size < 1 << 30 else "GiB"
    return f"{size / {'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}[unit]:.1f} {unit}"
