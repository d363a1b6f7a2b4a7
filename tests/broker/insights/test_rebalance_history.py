"""The timeline of rebalances, from the log calls of real groups of each type."""

import logging
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from odradek.broker.insights.rebalance_history import (
    CLASSIC_BEGINS,
    CLASSIC_ENDS,
    EPOCH_BEGINS,
    MOST_CAUSES,
    MOST_GROUPS,
    MOST_REBALANCES,
    UNKNOWN_CAUSE,
    Rebalance,
    RebalanceHistory,
)
from odradek.client import ShareConsumer
from odradek.testing import InProcessBroker
from support.eventually import eventually

CLASSIC = "odradek.broker.groups.classic.rebalance"
SHARE = "odradek.broker.groups.share.heartbeat"


@pytest.fixture
def history() -> Iterator[RebalanceHistory]:
    made = RebalanceHistory()
    made.attach()
    yield made
    made.detach()


def log(name: str, template: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.INFO, "file.py", 1, template, arguments, None)


def of(history: RebalanceHistory, group_id: str) -> list[Rebalance]:
    return [one for one in history.last() if one.group_id == group_id]


def consume(kafka: InProcessBroker, group_id: str, **settings: str) -> Consumer:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group_id, **settings})
    consumer.subscribe(["orders"])
    return consumer


def assigned(consumer: Consumer, count: int) -> None:
    def has_them() -> bool:
        consumer.poll(0.1)
        return len(consumer.assignment()) == count

    eventually("the member has its partitions", has_them)


@pytest.mark.kafka(topics="orders:4")
def test_a_classic_group_has_reasons_durations_and_members(kafka: InProcessBroker, history: RebalanceHistory) -> None:
    with caught_at_info():
        first = consume(kafka, "classic")
        assigned(first, 4)
        second = consume(kafka, "classic")

        def both() -> bool:
            first.poll(0.05)
            second.poll(0.05)
            return len(first.assignment()) == len(second.assignment()) == 2

        eventually("both have partitions", both)
        second.close()
        assigned(first, 4)
        first.close()
        eventually("its end is seen", lambda: of(history, "classic")[-1].members == 0)
    found = of(history, "classic")
    assert [one.group_type for one in found] == ["classic"] * len(found)
    assert [one.members for one in found] == [1, 2, 1, 0]
    assert all(one.reason for one in found)
    assert any("leaves" in one.reason or "left" in one.reason or "leav" in one.reason for one in found), found
    assert all(one.end_ms is not None and one.end_ms >= one.begin_ms for one in found)


@pytest.mark.kafka(topics="orders:4")
def test_a_consumer_group_has_epochs(kafka: InProcessBroker, history: RebalanceHistory) -> None:
    with caught_at_info():
        consumer = consume(kafka, "modern", **{"group.protocol": "consumer"})
        assigned(consumer, 4)
        consumer.close()
        eventually("its leave is seen", lambda: len(of(history, "modern")) >= 2)
    found = of(history, "modern")
    assert [one.group_type for one in found] == ["consumer"] * len(found)
    assert [one.generation for one in found] == sorted({one.generation for one in found})
    assert "leaves" in found[-1].reason
    assert found[0].end_ms is not None


@pytest.mark.kafka(topics="orders:4")
async def test_a_share_group_has_epochs(kafka: InProcessBroker, history: RebalanceHistory) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("orders", "one")
    producer.flush()
    with caught_at_info():
        async with ShareConsumer("orders", bootstrap_servers=kafka.bootstrap_servers, group_id="shared") as consumer:
            await consumer.poll(1000)
        eventually("its leave is seen", lambda: len(of(history, "shared")) >= 2)
    found = of(history, "shared")
    assert [one.group_type for one in found] == ["share"] * len(found)
    assert "joins" in found[0].reason
    assert "leaves" in found[-1].reason


class caught_at_info:  # noqa: N801 - reads as a context manager
    """The level of a broker's log while the block lasts: the broker for tests logs warnings only."""

    def __enter__(self) -> None:
        self.logger = logging.getLogger("odradek.broker.groups")
        self.before = self.logger.level
        self.logger.setLevel(logging.INFO)

    def __exit__(self, *_: object) -> None:
        self.logger.setLevel(self.before)


def test_memory_is_bounded() -> None:
    history = RebalanceHistory()
    for number in range(10 * MOST_GROUPS):
        name = f"group-{number}"
        for _ in range(2 * MOST_CAUSES):
            history.emit(log(SHARE, "group %r: member %r joins", name, "m" * 10_000))
        history.emit(log(CLASSIC, CLASSIC_BEGINS, name, 1, "r" * 10_000))
    assert len(history.last()) == MOST_REBALANCES
    assert max(len(one.reason) for one in history.last()) < 400
    history.emit(log(CLASSIC, CLASSIC_ENDS, "group-0", 2, 1))  # it was forgotten
    history.emit(log(CLASSIC, CLASSIC_ENDS, f"group-{10 * MOST_GROUPS - 1}", 2, 1))
    assert [one.group_id for one in history.last() if one.end_ms is not None] == [f"group-{10 * MOST_GROUPS - 1}"]


def test_an_epoch_without_a_known_cause_says_what_it_may_be() -> None:
    history = RebalanceHistory()
    history.emit(log(SHARE, EPOCH_BEGINS[0], "g", 3))
    history.emit(log(SHARE, "group %r: member %r leaves", "g", "m"))
    history.emit(log(SHARE, EPOCH_BEGINS[1], "g", 4))
    assert [one.reason for one in history.last()] == [
        UNKNOWN_CAUSE,
        "member 'm' leaves; its regular expressions match other topics",
    ]


def test_other_lines_are_not_taken() -> None:
    history = RebalanceHistory()
    history.emit(log(SHARE, "no arguments"))
    history.emit(log(SHARE, "%d groups", 3))
    history.emit(log(SHARE, "member %r leaves group %r: %r", "m", "g", "r"))
    assert history.last() == []
