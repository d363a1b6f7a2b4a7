"""When a disk is low or full, and what its owner may lose for that: rules, no disk.

Pure. Owns: the states and the marks between them, with hysteresis; which segments go under the cap. Never does: I/O,
reading a clock. Invariants: clients' records are refused below the lowest mark; nothing that a topic's own limits keep
is picked for removal unless the owner has set a cap for the whole node. Source: our own; a full disk halts Kafka's
broker.
"""

import heapq
from collections.abc import Hashable, Mapping, Sequence
from enum import IntEnum
from itertools import count
from typing import NamedTuple, TypeVar

from ...protocol.steps import Steps

MIN_FREE_KEY = "odradek.log.dirs.min.free.bytes"
CAP_KEY = "odradek.log.dirs.max.bytes"
MIN_FREE_BYTES = 64 << 20
MIN_FREE_SHARE = 16
"""The free-space mark where none is set: MIN_FREE_BYTES, or this part of the file system where that is less."""
LEAST_RESUME_BYTES = 256 << 10
WRITER_BYTES_MS = 400_000
"""What writers are taken to bring at most (400 MB/s): so long a look may wait."""
SHORTEST_LOOK_MS = 25
LONGEST_LOOK_MS = 1_000
FULL_LOOK_MS = 200
SEGMENTS_UNDER_CAP = 16
"""Under a cap a segment is rolled at this part of it at the latest, since only whole segments can go."""
LEAST_SEGMENT_BYTES = 1 << 20
CHOICES_A_STEP = 256
"""Logs, or segments, that one step of the choice looks at."""

Key = TypeVar("Key", bound=Hashable)


class SpaceState(IntEnum):
    """How a log directory is off; the worse the greater."""

    NORMAL = 0
    LOW = 1
    """Retention runs at every look, deleted files go at once; under the cap the oldest segments go too."""
    FULL = 2
    """Clients' records are refused besides."""


class SpaceMarks(NamedTuple):
    """Bytes of room at which the state changes: `full` < `resume` and `low` < `normal`."""

    full: int
    resume: int
    low: int
    normal: int


def min_free_bytes(configured: int, total_bytes: int) -> int:
    """The free-space mark: `odradek.log.dirs.min.free.bytes`, or by the size of the file system where that is -1."""
    return min(MIN_FREE_BYTES, total_bytes // MIN_FREE_SHARE) if configured < 0 else configured


def free_space_marks(min_free: int) -> SpaceMarks:
    """The marks of a file system whose last `min_free` bytes are not for clients' records."""
    resume = max(min_free + min_free // 4, LEAST_RESUME_BYTES)
    return SpaceMarks(min_free, resume, 2 * min_free, max(2 * min_free + min_free // 2, resume))


def cap_marks(cap: int) -> SpaceMarks:
    """The marks for what is left of `odradek.log.dirs.max.bytes`: full with nothing left, low with a sixteenth."""
    return SpaceMarks(1, max(1, cap // 32), cap // 16, cap // 8)


def announce_below(cap: int) -> int:
    """With so much left of the cap it is said what goes next: three sixteenths, where removing begins with one."""
    return 3 * cap // 16


def next_state(state: SpaceState, room: int, marks: SpaceMarks, *, was_refused: bool = False) -> SpaceState:
    """The state with so many bytes of room (negative: too much is taken); the way back needs more than the way in.

    `was_refused`: the file system has refused bytes since the last look, whatever it says is free.
    """
    if room < marks.full or (was_refused and room < marks.resume):
        return SpaceState.FULL
    if room < (marks.resume if state is SpaceState.FULL else marks.full):
        return SpaceState.FULL
    if room < (marks.low if state is SpaceState.NORMAL else marks.normal):
        return SpaceState.LOW
    return SpaceState.NORMAL


def next_look_ms(state: SpaceState, room: int, marks: SpaceMarks) -> int:
    """How long the next look may wait: the nearer the end, the shorter."""
    if state is SpaceState.FULL:
        return FULL_LOOK_MS
    return max(SHORTEST_LOOK_MS, min((room - marks.full) // WRITER_BYTES_MS, LONGEST_LOOK_MS))


def segment_bytes_under(cap: int, segment_bytes: int) -> int:
    """At which size a segment is rolled where the node has a cap (-1: none)."""
    if cap < 0:
        return segment_bytes
    return min(segment_bytes, max(cap // SEGMENTS_UNDER_CAP, LEAST_SEGMENT_BYTES))


class SegmentSize(NamedTuple):
    """A segment that may go: its greatest timestamp (ms), its size in bytes."""

    largest_timestamp: int
    size: int


def oldest_segments(candidates: Mapping[Key, Sequence[SegmentSize]], excess: int) -> Steps[dict[Key, int]]:
    """How many of each log's oldest segments go so that at least `excess` bytes do: those with the oldest data first.

    `candidates` has, for each log that may lose data, its segments from the oldest on; within a log they go in order.
    In steps, because a node may have thousands of logs.
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
    """A number of bytes as a person reads it."""
    if size < 1 << 10:
        return f"{size} bytes"
    unit = "KiB" if size < 1 << 20 else "MiB" if size < 1 << 30 else "GiB"
    return f"{size / {'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}[unit]:.1f} {unit}"
