"""The coordinator sends markers to other leaders until they are written."""

from typing import Any, cast

import pytest

from odradek.broker.transactions.effects import MarkerOrder
from odradek.broker.transactions.marker_writer import RETRY_MS
from odradek.broker.transactions.peers import TransactionPeers
from odradek.broker.transactions.remote_markers import MarkerQuestion
from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import iterate_headers
from support.transactions.harness import TransactionHarness

HERE, THERE = 1, 2
T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)


class Peers:
    """Other brokers whose answers the test sets."""

    node_id = HERE

    def __init__(self) -> None:
        self.leaders: dict[tuple[str, int], int | None] = {T0: HERE, T1: THERE, T2: THERE}
        self.asked: list[tuple[int, MarkerQuestion]] = []

    def leader_of(self, topic: str, index: int) -> int | None:
        return self.leaders.get((topic, index))

    def write_markers(self, broker_id: int, question: MarkerQuestion) -> None:
        self.asked.append((broker_id, question))

    def answer(self, *errors: ErrorCode) -> None:
        _, question = self.asked.pop(0)
        question.done(dict(zip(sorted(question.partitions), errors, strict=True)))


class Coordinator:
    """A marker writer in a cluster, and one order for three partitions."""

    def __init__(self) -> None:
        self.harness = TransactionHarness()
        self.peers = Peers()
        self.is_wanted = True
        self.times_done: list[None] = []
        writer = self.harness.coordinator.markers
        writer.peers = cast(TransactionPeers, self.peers)
        order = MarkerOrder("tx", 7, 3, True, frozenset({T0, T1, T2}))
        writer.write_all(order, 4, lambda: self.is_wanted, lambda: self.times_done.append(None))

    def done(self) -> int:
        """The number of times the order was reported as carried out."""
        return len(self.times_done)

    def pass_retry(self, times: int = 1) -> None:
        self.harness.timers.advance(RETRY_MS * 2 ** (times - 1))


def test_each_leader_gets_the_markers_of_its_partitions() -> None:
    coordinator = Coordinator()
    ((broker_id, question),) = coordinator.peers.asked
    assert (broker_id, question.partitions, question.coordinator_epoch) == (THERE, frozenset({T1, T2}), 4)
    log: Any = coordinator.harness.partitions[T0]
    assert [header.producer_id for batch in log.batches for _, header in iterate_headers(batch)] == [7]
    assert not coordinator.done()
    coordinator.peers.answer(ErrorCode.NONE, ErrorCode.NONE)
    assert coordinator.done() == 1


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.REQUEST_TIMED_OUT,
    ],
)
def test_other_leaders_error_is_tried_again_at_the_leader_of_then(error: ErrorCode) -> None:
    coordinator = Coordinator()
    coordinator.peers.answer(ErrorCode.NONE, error)
    assert not coordinator.peers.asked
    coordinator.peers.leaders[T2] = 3
    coordinator.pass_retry()
    ((broker_id, question),) = coordinator.peers.asked
    assert (broker_id, question.partitions) == (3, frozenset({T2}))
    coordinator.peers.answer(ErrorCode.NONE)
    assert coordinator.done() == 1


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ],
)
def test_error_that_settles_a_partition(error: ErrorCode) -> None:
    coordinator = Coordinator()
    coordinator.peers.answer(error, ErrorCode.NONE)
    assert coordinator.done() == 1


def test_partition_without_leader_waits_and_a_deleted_one_is_settled() -> None:
    coordinator = Coordinator()
    coordinator.peers.leaders.update({T1: -1, T2: -1})
    coordinator.peers.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    for times in (1, 2, 3):
        coordinator.pass_retry(times)
        assert not coordinator.peers.asked
        assert not coordinator.done()
    del coordinator.peers.leaders[T1], coordinator.peers.leaders[T2]
    coordinator.pass_retry(4)
    assert coordinator.done() == 1


def test_leadership_that_comes_here_is_written_here() -> None:
    coordinator = Coordinator()
    coordinator.peers.leaders.update({T1: HERE, T2: HERE})
    coordinator.peers.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    coordinator.pass_retry()
    assert coordinator.done() == 1
    assert not coordinator.peers.asked


def test_former_coordinator_retries_no_marker() -> None:
    coordinator = Coordinator()
    coordinator.is_wanted = False
    coordinator.peers.answer(ErrorCode.NONE, ErrorCode.NETWORK_EXCEPTION)
    coordinator.pass_retry()
    assert not coordinator.peers.asked
    assert not coordinator.done()
