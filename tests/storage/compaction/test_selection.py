"""Logs are selected for cleaning by the rules of Kafka's LogCleanerManager."""

import random

import pytest

from odradek.storage.compaction.grouping import CleanableRange, SegmentInfo, cleanable_range, first_dirty_offset
from odradek.storage.compaction.pace import CleaningStoppedError, Pace, Throttle
from odradek.storage.compaction.selection import (
    LogToClean,
    filthiest,
    log_to_clean,
    map_entries,
    max_dirty_ratio,
)
from odradek.storage.log.log_config import LogConfig
from support.each import each

COMPACT = LogConfig(cleanup_policy=frozenset({"compact"}))


def segments(*sizes: int, times: tuple[int, ...] = ()) -> list[SegmentInfo]:
    """Segments of ten offsets each."""
    return [SegmentInfo(10 * index, size, 0, 0, times[index] if times else 0) for index, size in enumerate(sizes)]


def dirty(name: str, clean: int, cleanable: int, *, delay_ms: int = 0, ratio: float = 0.5) -> LogToClean:
    return LogToClean((name, 0), CleanableRange(0, 0), clean, cleanable, delay_ms, ratio)


def test_the_filthiest_log_is_chosen_and_only_above_its_ratio() -> None:
    assert filthiest([]) is None
    assert filthiest([dirty("half", 50, 50)]) is None, "more than the ratio is asked for"
    assert filthiest([dirty("empty", 0, 0, ratio=0.0)]) is None
    logs = [dirty("a", 40, 60), dirty("b", 10, 90), dirty("c", 1, 99, ratio=0.995), dirty("d", 30, 70)]
    best = filthiest(logs)
    assert best is not None
    assert best.key == ("b", 0)
    assert max_dirty_ratio(logs) == 0.99


def test_what_has_waited_for_max_compaction_lag_is_due_whatever_its_ratio() -> None:
    assert filthiest([dirty("waiting", 99, 1, delay_ms=5)]) is not None
    assert filthiest([dirty("nothing to clean", 100, 0, delay_ms=5)]) is None


def test_bytes_are_counted_by_segments_up_to_the_uncleanable_one() -> None:
    facts = log_to_clean(("t", 0), segments(100, 200, 300, 400), CleanableRange(10, 30), COMPACT, None, 0)
    assert (facts.clean_bytes, facts.cleanable_bytes) == (100, 500)
    assert facts.cleanable_ratio == pytest.approx(5 / 6)
    half = log_to_clean(("t", 0), segments(100, 200, 300, 400), CleanableRange(15, 20), COMPACT, None, 0)
    assert (half.clean_bytes, half.cleanable_bytes) == (300, 200), "a segment half cleaned counts as both, as in Kafka"
    active = log_to_clean(("t", 0), segments(100), CleanableRange(0, 0), COMPACT, None, 0)
    assert (active.clean_bytes, active.cleanable_bytes) == (0, 0)


def test_max_compaction_lag_counts_from_the_earliest_dirty_segment() -> None:
    config = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=1000)
    for now_ms, delay in ((1400, 0), (1500, 0), (1501, 1), (2500, 1000)):
        facts = log_to_clean(("t", 0), segments(10, 10), CleanableRange(0, 10), config, 500, now_ms)
        assert facts.compaction_delay_ms == delay


def test_a_checkpoint_outside_the_log_counts_as_none() -> None:
    assert first_dirty_offset(None, 5, 50) == (5, None)
    assert first_dirty_offset(20, 5, 50) == (20, None)
    assert first_dirty_offset(5, 5, 50) == (5, None)
    assert first_dirty_offset(50, 5, 50) == (50, None)
    below, above = first_dirty_offset(4, 5, 50), first_dirty_offset(51, 5, 50)
    assert (below[0], above[0]) == (5, 5)
    assert below[1] is not None
    assert above[1] is not None


def test_the_range_ends_before_what_is_active_unstable_or_young() -> None:
    def ends_at(**changed: int) -> int:
        facts = {"last_stable_offset": 40, "min_compaction_lag_ms": 0, **changed}
        return cleanable_range(
            segments(1, 1, 1, 1, times=(100, 200, 300, 400)),
            cleaned_up_to=None,
            log_start_offset=0,
            log_end_offset=40,
            now_ms=350,
            **facts,
        ).first_uncleanable_offset

    assert ends_at() == 30, "never the active segment"
    assert ends_at(last_stable_offset=25) == 20
    assert ends_at(last_stable_offset=0) == 0
    assert ends_at(min_compaction_lag_ms=51) == 20
    assert ends_at(min_compaction_lag_ms=250) == 10
    assert ends_at(min_compaction_lag_ms=1000) == 0


@each("seed", range(200))
def test_a_range_never_leaves_the_log_nor_reaches_what_must_stay(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 8)
    facts = segments(*(rng.randrange(5) for _ in range(count)), times=tuple(rng.randrange(100) for _ in range(count)))
    active, end = facts[-1].base_offset, facts[-1].base_offset + rng.randrange(10)
    start = rng.randrange(end + 1)
    stable = rng.randrange(start, end + 1)
    lag_ms, now_ms = rng.choice((0, 30)), 100
    first_dirty, uncleanable, _ = cleanable_range(
        facts,
        cleaned_up_to=rng.choice((None, rng.randrange(end + 5))),
        log_start_offset=start,
        log_end_offset=end,
        last_stable_offset=stable,
        min_compaction_lag_ms=lag_ms,
        now_ms=now_ms,
    )
    replay = f"test_a_range_never_leaves_the_log_nor_reaches_what_must_stay[{seed}]"
    assert start <= first_dirty <= end, replay
    assert uncleanable in {segment.base_offset for segment in facts}, replay
    dirty_segments = [s for s in facts[:-1] if s.base_offset < uncleanable and s.base_offset + 10 > first_dirty]
    assert all(s.base_offset < active for s in dirty_segments), replay
    assert all(s.base_offset + 10 <= max(stable, first_dirty + 9) for s in dirty_segments), replay
    if lag_ms:
        assert all(s.largest_timestamp <= now_ms - lag_ms for s in dirty_segments), replay


def test_the_map_has_an_entry_for_every_24_bytes_of_a_threads_share() -> None:
    assert map_entries(134_217_728, 0.9, 1) == 5_033_164
    assert map_entries(134_217_728, 0.9, 4) == 1_258_290
    assert map_entries(1 << 40, 1.0, 1) == 0x7FFFFFFF // 24
    assert map_entries(0, 0.9, 1) == 1


def test_a_throttle_holds_the_rate_and_forgets_what_was_not_used() -> None:
    throttle = Throttle(1000.0, 0.0)
    assert throttle.pause_s(500, 0.1) == pytest.approx(0.4)
    assert throttle.pause_s(500, 0.5) == pytest.approx(0.5)
    assert throttle.pause_s(1, 100.0) == 0.0
    assert throttle.pause_s(2000, 100.0) == pytest.approx(2.0), "the idle time before counts for nothing"


def test_a_round_that_is_to_stop_stops_between_two_chunks() -> None:
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) == 3

    pace = Pace(float("inf"), lambda: 0.0, wait)
    pace.read(10)
    pace.written(20)
    with pytest.raises(CleaningStoppedError):
        pace.read(5)
    assert (pace.bytes_read, pace.bytes_written) == (15, 20)
    assert waits == [0.0, 0.0, 0.0]
