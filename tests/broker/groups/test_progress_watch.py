"""A group that rebalances again and again, while its offsets stand still, is logged once, with the record to see."""

import logging
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.groups.core import GroupCore
from odradek.broker.groups.offsets.partition_offsets import CommittedOffset, PartitionOffsets
from odradek.broker.groups.progress_watch import LONG_MS, MOST_PARTITIONS, REBALANCES, ProgressWatch
from odradek.protocol.common.steps import run_to_end

LOOK_MS = LONG_MS // REBALANCES + 1


class Watched:
    """The groups of one partition of ``__consumer_offsets``, as far as the watch looks at them, and its log lines."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self._caplog = caplog
        self.generations = {"orders": 1}
        self.epochs: dict[str, int] = {}
        self.committed = {("t", 0): 42}
        self.ends: dict[tuple[str, int], int | None] = {("t", 0): 50}
        self._watch = ProgressWatch(lambda topic, index: self.ends.get((topic, index)))
        self._now_ms = 0

    def _core(self) -> GroupCore:
        topics: dict[str, PartitionOffsets] = {}
        for (topic, index), offset in self.committed.items():
            row = CommittedOffset(offset, -1, "", 0, -1, b"", 0)
            topics.setdefault(topic, PartitionOffsets())[index] = row
        classic = {name: SimpleNamespace(group_id=name, generation_id=at) for name, at in self.generations.items()}
        consumer = {name: SimpleNamespace(group_id=name, group_epoch=at) for name, at in self.epochs.items()}
        groups = SimpleNamespace(classic=classic, consumer=consumer)
        return cast(GroupCore, SimpleNamespace(groups=groups, offsets=SimpleNamespace(topics_of=lambda _: topics)))

    def look(self) -> list[str]:
        """Lets time pass; returns the lines that the next look logs."""
        self._now_ms += LOOK_MS
        self._caplog.clear()
        run_to_end(self._watch.log_changes([self._core()], self._now_ms))
        return [record.getMessage() for record in self._caplog.records]

    def rebalance(self, times: Iterable[Any] = range(REBALANCES + 1)) -> list[str]:
        """Rebalances before each of many looks; returns the lines of all of them."""
        lines = self.look()
        for _ in times:
            for ages in (self.generations, self.epochs):
                for name in ages:
                    ages[name] += 1
            lines += self.look()
        return lines


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    return Watched(caplog)


def test_a_group_that_stands_still_is_logged_once(watched: Watched) -> None:
    assert watched.rebalance() == [
        "group 'orders' has rebalanced 5 times in 60 s and committed nothing beyond offset 42 of t-0, although there "
        "are further records. Its consumers may fail at a record there, or need longer for it than their "
        "max.poll.interval.ms. To see it: odradek consume --topic t --partition 0 --offset 42 --max-messages 1"
    ]
    assert watched.rebalance() == []
    watched.committed["t", 0] = 43
    assert watched.rebalance(range(1)) == ["group 'orders' has committed offsets that it stood at"]


def test_a_group_of_the_new_protocol(watched: Watched) -> None:
    watched.epochs, watched.generations = {"stock": 3}, {}
    assert len(watched.rebalance()) == 1


def test_a_group_that_gets_on_is_not_logged(watched: Watched) -> None:
    for offset in range(43, 50):
        watched.committed["t", 0] = offset
        assert watched.rebalance(range(REBALANCES - 1)) == []


def test_a_group_that_has_read_everything_is_not_logged(watched: Watched) -> None:
    watched.committed["t", 0] = 50
    assert watched.rebalance() == []


def test_a_partition_that_another_broker_leads_says_nothing(watched: Watched) -> None:
    watched.ends = {("t", 0): None}
    assert watched.rebalance() == []


def test_a_group_without_rebalances_may_stand_still(watched: Watched) -> None:
    assert [line for _ in range(20) for line in watched.look()] == []


def test_rebalances_of_one_moment_are_those_of_a_deployment(watched: Watched) -> None:
    watched.look()
    watched.generations["orders"] += 1
    watched.look()
    watched.generations["orders"] += REBALANCES - 1
    assert watched.look() == []


def test_the_partitions_that_move_are_no_longer_counted(watched: Watched) -> None:
    watched.committed = {("t", index): 42 for index in range(MOST_PARTITIONS + 10)}
    watched.ends = dict.fromkeys(watched.committed, 50)
    watched.rebalance(range(2))
    for index in range(MOST_PARTITIONS):
        if index != 7:
            watched.committed["t", index] = 43
    (line,) = watched.rebalance(range(REBALANCES))
    assert "offset 42 of t-7, although" in line


def test_a_group_that_is_deleted_is_forgotten(watched: Watched) -> None:
    watched.rebalance(range(REBALANCES - 2))
    del watched.generations["orders"]
    watched.look()
    watched.generations["orders"] = 1
    assert watched.rebalance(range(REBALANCES - 2)) == []
