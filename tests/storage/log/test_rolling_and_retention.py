"""The active segment is closed by age, with jitter and for compaction; retention skips segments that must stay."""

from dataclasses import replace
from pathlib import Path

import pytest

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.log_retention import RetentionSegment, breached_segments, may_be_breached, oldest_breached
from support.disks.unsynced_files import UnsyncedFiles

NOW_MS = 1_780_000_000_000
DAY_MS = 86_400_000


def open_log(directory: Path, config: LogConfig, seed: int = 0) -> Log:
    return Log.open(directory, config, now_ms=NOW_MS, descriptors=DescriptorCache(UnsyncedFiles()), jitter_seed=seed)


def append(log: Log, time_ms: int) -> None:
    log.appender.append_as_leader(encode_batch([Record(0, time_ms, b"k", b"v", [])]), 0, time_ms)


def ages_at_roll(log: Log, count: int, start_ms: int = NOW_MS, step_ms: int = 10) -> list[int]:
    """The age of each of the first ``count`` segments when it was rolled, by its records' timestamps."""
    ages: list[int] = []
    now_ms = start_ms
    while len(ages) < count:
        begun_ms, segments = now_ms, len(log.segments)
        append(log, now_ms)
        while len(log.segments) == segments or log.segments.active.size == 0:
            now_ms += step_ms
            append(log, now_ms)
        ages.append(now_ms - begun_ms)
    return ages


def test_every_segment_has_a_jitter_of_its_own(tmp_path: Path) -> None:
    config = LogConfig(segment_ms=1000, segment_jitter_ms=400, segment_bytes=1 << 20)
    ages = ages_at_roll(open_log(tmp_path / "t-0", config), 8)
    assert all(600 < age <= 1020 for age in ages)
    assert len(set(ages)) > 3
    assert ages != ages_at_roll(open_log(tmp_path / "t-1", config, seed=1), 8), "logs don't roll together"


def test_an_altered_jitter_holds_for_the_next_segment(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", LogConfig(segment_ms=1000, segment_bytes=1 << 20))
    assert set(ages_at_roll(log, 3)) <= {1000, 1010, 1020}
    log.update_config(replace(log.config, segment_jitter_ms=900))
    assert min(ages_at_roll(log, 5, NOW_MS + 10_000)) < 900


def test_jitter_is_less_than_the_segments_age() -> None:
    config = LogConfig(segment_ms=100, segment_jitter_ms=10_000)
    drawn = {config.roll_jitter_ms(7, base) for base in range(500)}
    assert max(drawn) < 100
    assert len(drawn) > 80
    assert LogConfig().roll_jitter_ms(7, 0) == 0


def test_max_compaction_lag_rolls_compacted_logs_only(tmp_path: Path) -> None:
    compacted = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=500, segment_bytes=1 << 20)
    assert compacted.max_segment_ms == 500
    assert replace(compacted, segment_ms=300).max_segment_ms == 300
    assert replace(compacted, cleanup_policy=frozenset({"delete"})).max_segment_ms == 7 * DAY_MS
    assert set(ages_at_roll(open_log(tmp_path / "t-0", compacted), 2)) <= {500, 510, 520}


@pytest.mark.parametrize(("sizes", "removed"), [((0, 10, 10), 3), ((10, 0, 10), 3), ((10, 10, 0), 2), ((0, 0, 0), 2)])
def test_retention_passes_segments_that_were_cleaned_empty(sizes: tuple[int, ...], removed: int) -> None:
    """Only an empty active segment stays."""
    facts = [RetentionSegment(10 * (index + 1), size, lambda: NOW_MS) for index, size in enumerate(sizes)]
    config = LogConfig(retention_ms=1000)
    later_ms = NOW_MS + 1001
    count, reason = breached_segments(facts, config, log_start_offset=0, high_watermark=30, now_ms=later_ms)
    assert count == removed
    assert "retention time" in reason


@pytest.mark.parametrize("retention_bytes", [-1, 0, 200])
@pytest.mark.parametrize("retention_ms", [-1, 0, 1_000])
def test_a_quick_look_finds_every_log_with_old_segments(
    tmp_path: Path, retention_bytes: int, retention_ms: int
) -> None:
    config = LogConfig(retention_bytes=retention_bytes, retention_ms=retention_ms, segment_bytes=150)
    log = open_log(tmp_path / "t-0", config)
    found = passed = 0
    for number in range(8):
        for later_ms in (0, 1, 1_000, 1_001, 1_002 + number):
            now_ms = NOW_MS + number + later_ms
            may_be = may_be_breached(log.segments, config, now_ms)
            *_, count, _ = oldest_breached(
                log.segments,
                config,
                log_start_offset=0,
                high_watermark=log.high_watermark,
                log_end_offset=log.log_end_offset,
                now_ms=now_ms,
            )
            assert may_be or not count
            found, passed = found + (count > 0), passed + (not may_be)
        append(log, NOW_MS + number)
    assert found or retention_ms == retention_bytes == -1
    assert passed or retention_bytes >= 0, "most logs with one segment need no more than the quick look"
    log.abort()
