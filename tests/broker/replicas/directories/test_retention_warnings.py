"""A group that is about to lose records to retention is logged before that happens."""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.offsets.retention_risk import (
    WARN_AGAIN_MS,
    GroupAtRisk,
    Removal,
    WarningThrottle,
    groups_at_risk,
    upcoming_removals,
)
from odradek.broker.groups.retention_warnings import RetentionWarnings
from odradek.broker.replicas.partitions import Partitions
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.broker.timers.slices import Slices
from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.log_retention import RetentionSegment
from support.brokers.our_broker import OurBroker
from support.eventually import eventually

NOW = 1_000_000_000
HOUR = 3_600_000
CHECK = 300_000


def removals(config: LogConfig, *segments: RetentionSegment) -> list[Removal]:
    end = segments[-1].end_offset
    return upcoming_removals(
        segments, config, log_start_offset=0, high_watermark=end, check_interval_ms=CHECK, now_ms=NOW
    )


def segment(end_offset: int, age_ms: int, size: int = 100) -> RetentionSegment:
    return RetentionSegment(end_offset, size, lambda: NOW - age_ms)


def test_what_is_older_than_nine_tenths_of_retention_goes_soon() -> None:
    config = LogConfig(retention_ms=20 * HOUR)
    segments = [segment(10, 19 * HOUR), segment(20, 18 * HOUR + 1), segment(30, 17 * HOUR), segment(40, 0)]
    assert removals(config, *segments) == [Removal(10, NOW + HOUR), Removal(20, NOW + 2 * HOUR - 1)]


def test_two_check_intervals_are_the_least_and_half_of_retention_the_most() -> None:
    assert removals(LogConfig(retention_ms=HOUR), segment(10, HOUR - 2 * CHECK + 1), segment(20, 0)) == [
        Removal(10, NOW + 2 * CHECK - 1)
    ]
    assert removals(LogConfig(retention_ms=CHECK), segment(10, CHECK // 2), segment(20, 0)) == []
    assert len(removals(LogConfig(retention_ms=CHECK), segment(10, CHECK // 2 + 1), segment(20, 0))) == 1


def test_a_partition_near_its_size_loses_its_oldest_segment_soon() -> None:
    config = LogConfig(retention_ms=-1, retention_bytes=1000)
    assert removals(config, segment(10, 0, 100), segment(20, 0, 890)) == []
    assert removals(config, segment(10, 0, 100), segment(20, 0, 900)) == [Removal(10, None)]


def test_nothing_goes_where_nothing_is_deleted() -> None:
    assert removals(LogConfig(retention_ms=-1), segment(10, 99 * HOUR), segment(20, 0)) == []
    compacted = LogConfig(retention_ms=HOUR, cleanup_policy=frozenset({"compact"}))
    assert removals(compacted, segment(10, 99 * HOUR), segment(20, 0)) == []


def test_groups_whose_next_offset_goes_are_found() -> None:
    soon = {("t", 0): [Removal(10, 5), Removal(20, 9)]}
    committed = [
        ("lost", "t", 0, 2),
        ("first", "t", 0, 3),
        ("second", "t", 0, 10),
        ("safe", "t", 0, 20),
        ("x", "u", 0, 0),
    ]
    assert groups_at_risk(committed, soon, {("t", 0): 3}) == [
        GroupAtRisk("first", "t", 0, 3, Removal(10, 5)),
        GroupAtRisk("second", "t", 0, 10, Removal(20, 9)),
    ]


def test_each_is_said_once_an_hour_and_anew_for_another_segment() -> None:
    said = WarningThrottle()
    risk = GroupAtRisk("g", "t", 0, 3, Removal(10, 5))
    assert said.new([risk], NOW) == [risk]
    assert said.new([risk._replace(committed_offset=4)], NOW + 1) == []
    later = risk._replace(removal=Removal(20, 9))
    assert said.new([later], NOW + 2) == [later]
    assert said.new([later], NOW + 2 + WARN_AGAIN_MS) == [later]
    assert said.new([], NOW) == []
    assert said.new([later], NOW) == [later]


def test_of_another_segment_nothing_is_said_within_the_pause() -> None:
    said = WarningThrottle(pause_ms=60_000)
    risk = GroupAtRisk("g", "t", 0, 3, Removal(10, None, by_cap=True))
    other = risk._replace(removal=Removal(20, None, by_cap=True))
    assert said.new([risk], NOW) == [risk]
    assert said.new([other], NOW + 59_999) == []
    assert said.new([other], NOW + 60_000) == [other]
    assert said.new([other], NOW + 120_000) == []


@pytest.mark.ci
def test_a_running_broker_names_the_group_before_its_records_go(tmp_path: Path) -> None:
    configs = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500"}
    with OurBroker(tmp_path, configs) as broker:
        servers: dict[str, str | int | float | bool] = {"bootstrap.servers": broker.bootstrap_servers}
        topic = NewTopic("t", 1, config={"retention.ms": "4000"})
        admin = AdminClient(servers)
        for future in admin.create_topics([topic]).values():
            future.result(60)
        consumers = {name: Consumer({**servers, "group.id": name}) for name in ("slow", "done")}
        # Before the records, because their age matters: nothing must wait once they exist.
        for name, offset in (("slow", 3), ("done", 10)):
            consumers[name].commit(offsets=[TopicPartition("t", 0, offset)], asynchronous=False)
            consumers[name].close()
        producer = Producer(servers)
        for _ in range(10):
            producer.produce("t", b"x", timestamp=clock_ms())
        assert producer.flush(60) == 0
        eventually("the records to go", lambda: "removed: retention time 4000 ms breached" in broker.log())
        text = broker.log()
        warned = text.index(
            "group 'slow' has read t-0 up to offset 3, and retention removes the records before offset 10"
        )
        assert warned < text.index("removed: retention time 4000 ms breached")
        assert text.count("group 'slow' has read") == 1
        assert "group 'done'" not in text
        assert broker.stop() == 0


class OnePartition:
    """A partition without a log, which counts how often it is checked."""

    looked = 0
    topic, index = "t", 0

    @property
    def open_log(self) -> None:
        type(self).looked += 1


def test_what_goes_under_the_cap_is_looked_for_in_slices() -> None:
    soon: deque[Callable[[], None]] = deque()
    slices = Slices(soon.append, lambda: OnePartition.looked / 16)  # one millisecond for 16 of them
    partitions = cast("Partitions", [OnePartition() for _ in range(1_000)])
    groups, timers = cast("GroupCoordinator", None), cast("LoopTimers", None)
    warnings = RetentionWarnings(partitions, groups, timers, lambda: NOW, CHECK, slices)
    longest = 0
    warnings.warn_under_cap({})
    warnings.warn_under_cap({})  # the first check has not ended
    while soon:
        before = OnePartition.looked
        soon.popleft()()
        longest = max(longest, OnePartition.looked - before)
    assert OnePartition.looked == 1_000
    assert longest <= 64
