"""A disk becomes low and full at its thresholds, and recovers. With a cap the oldest segments are removed first."""

import random

import pytest

from odradek.broker.replicas.directories.disk_space import (
    FULL_CHECK_MS,
    LONGEST_CHECK_MS,
    LOW_CHECK_MS,
    SHORTEST_CHECK_MS,
    SegmentSize,
    SpaceState,
    cap_marks,
    free_space_marks,
    min_free_bytes,
    next_check_ms,
    next_state,
    oldest_segments,
    segment_bytes_under,
)
from odradek.protocol.common.steps import run_to_end

MIB = 1 << 20
NORMAL, LOW, FULL = SpaceState


@pytest.mark.parametrize(
    ("configured", "total", "expected"),
    [(-1, 64 * MIB, 4 * MIB), (-1, 1 << 40, 64 * MIB), (0, 64 * MIB, 0), (123, 64 * MIB, 123)],
)
def test_the_mark_fits_the_file_system_unless_it_is_set(configured: int, total: int, expected: int) -> None:
    assert min_free_bytes(configured, total) == expected


def test_a_disk_that_fills_and_empties_passes_each_state_once() -> None:
    marks = free_space_marks(4 * MIB)
    state, seen = NORMAL, []
    for room in [*range(20 * MIB, -1, -MIB // 4), *range(0, 20 * MIB, MIB // 4)]:
        following = next_state(state, room, marks)
        if following is not state:
            seen.append((following, room))
        state = following
    assert seen == [(LOW, 8 * MIB - MIB // 4), (FULL, 4 * MIB - MIB // 4), (LOW, 5 * MIB), (NORMAL, 10 * MIB)]


@pytest.mark.parametrize("state", SpaceState)
def test_bytes_around_a_mark_do_not_make_it_flap(state: SpaceState) -> None:
    marks = free_space_marks(4 * MIB)
    chance = random.Random(9)
    settled = next_state(state, marks.full - 1, marks)
    for _ in range(1000):
        settled = next_state(settled, marks.full + chance.randrange(-MIB // 2, MIB // 2), marks)
        assert settled is FULL


def test_a_refused_write_closes_it_whatever_is_said_to_be_free() -> None:
    marks = free_space_marks(0)
    assert next_state(NORMAL, 0, marks) is NORMAL
    assert next_state(NORMAL, 4096, marks, was_refused=True) is FULL
    assert next_state(FULL, 4096, marks) is FULL
    assert next_state(FULL, MIB, marks) is NORMAL


def test_a_cap_is_full_when_nothing_is_left_of_it() -> None:
    marks = cap_marks(160 * MIB)
    assert [next_state(NORMAL, room * MIB, marks) for room in (-5, 0, 1, 9, 10)] == [FULL, FULL, LOW, LOW, NORMAL]
    assert next_state(FULL, 4 * MIB, marks) is FULL
    assert next_state(FULL, 5 * MIB, marks) is LOW


def test_looks_come_closer_together_as_room_gets_short() -> None:
    marks = free_space_marks(4 * MIB)
    assert next_check_ms(NORMAL, 1 << 40, marks) == LONGEST_CHECK_MS
    assert next_check_ms(LOW, 1 << 40, marks) == LOW_CHECK_MS
    assert next_check_ms(LOW, 5 * MIB, marks) == SHORTEST_CHECK_MS
    assert next_check_ms(FULL, 0, marks) == FULL_CHECK_MS
    # A writer of 400 MB/s cannot reach the threshold between two checks.
    assert next_check_ms(NORMAL, 84 * MIB, marks) * 400_000 <= 80 * MIB


def test_segments_are_small_enough_for_the_cap_to_remove_some() -> None:
    assert segment_bytes_under(-1, 1 << 30) == 1 << 30
    assert segment_bytes_under(160 * MIB, 1 << 30) == 10 * MIB
    assert segment_bytes_under(160 * MIB, 5 * MIB) == 5 * MIB
    assert segment_bytes_under(1, 1 << 30) == MIB


def test_the_oldest_data_of_all_logs_goes_first_and_within_a_log_in_order() -> None:
    logs = {
        "a": [SegmentSize(10, 5), SegmentSize(40, 5)],
        "b": [SegmentSize(20, 5), SegmentSize(5, 5), SegmentSize(50, 5)],
        "c": [],
    }
    assert run_to_end(oldest_segments(logs, 0)) == {}
    assert run_to_end(oldest_segments(logs, 1)) == {"a": 1}
    assert run_to_end(oldest_segments(logs, 11)) == {"a": 1, "b": 2}
    assert run_to_end(oldest_segments(logs, 16)) == {"a": 2, "b": 2}
    assert run_to_end(oldest_segments(logs, 1000)) == {"a": 2, "b": 3}
