"""Edge cases of transactions: the same steps, fixed and random, on Odradek and on a real Kafka."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from odradek.protocol.messages.transactions import DescribeTransactionsRequest, ListTransactionsRequest
from parity.random_transactions import RandomTransactions
from parity.seeds import live_on, replay
from parity.side import Side, same
from parity.transactional import Transactional
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

Scene = Callable[[Transactional], Any]


def a_commit(tx: Transactional) -> Any:
    return [tx.init(), tx.add("a", 0, 1), tx.produce(), tx.produce("a", 1), tx.end()]


def an_abort(tx: Transactional) -> Any:
    return [tx.init(), tx.add(), tx.produce(), tx.produce(), tx.end(commit=False), tx.add(), tx.produce(), tx.end()]


def offsets(tx: Transactional) -> Any:
    return [tx.init(), tx.offsets(), tx.commit("a", 7), tx.end(), tx.offsets(), tx.commit("a", 9), tx.end(commit=False)]


def a_zombie(tx: Transactional) -> Any:
    begun = [tx.init("a"), tx.add("a"), tx.produce("a"), tx.init("b")]
    late = [tx.produce("a"), tx.add("a"), tx.add("a", version=1), tx.offsets("a"), tx.offsets("a", version=1)]
    return [*begun, *late, tx.commit("a"), tx.end("a"), tx.end("a", version=1), tx.init("a", known=True)]


def a_zombie_of_old_versions(tx: Transactional) -> Any:
    return [
        tx.init("a", version=1),
        tx.init("b", version=1),
        tx.init("a", known=True, version=3),
        tx.end("a", version=0),
    ]


def epochs_that_a_client_had(tx: Transactional) -> Any:
    first = [tx.init("a"), tx.init("a", known=True), tx.init("a", known=True)]
    tx.who("a").producer_epoch = 1
    return [*first, tx.init("a", known=True), tx.init("b"), tx.init("a", known=True)]


def an_id_that_is_somebody_elses(tx: Transactional) -> Any:
    tx.init("a")
    tx.who("b").take(tx.who("a").producer_id + 1_000_000, 0)
    return [tx.add("b"), tx.offsets("b"), tx.end("b"), tx.commit("b"), tx.produce("b"), tx.init("b", known=True)]


def nothing_was_begun(tx: Transactional) -> Any:
    return [tx.end(), tx.add(), tx.offsets(), tx.init(), tx.end(), tx.end(commit=False), tx.commit(), tx.produce()]


def twice(tx: Transactional) -> Any:
    begun = [tx.init(), tx.add(), tx.add(), tx.add("a", 0, 1), tx.produce(), tx.end(), tx.end(), tx.end(commit=False)]
    return [*begun, tx.add(), tx.end(commit=False), tx.end(commit=False), tx.end()]


def times(tx: Transactional) -> Any:
    return [tx.init(timeout_ms=0), tx.init(timeout_ms=-1), tx.init(timeout_ms=900_001), tx.init(timeout_ms=900_000)]


def partitions_that_are_not_there(tx: Transactional) -> Any:
    return [tx.init(), tx.add("a", 0, 9), tx.add("a", topic="no-such-topic"), tx.add("a", topic="__consumer_offsets")]


def a_partition_that_was_not_added(tx: Transactional) -> Any:
    begun = [tx.init(), tx.produce(version=10), tx.produce(version=11), tx.add("a", 1), tx.produce(version=11)]
    return [*begun, tx.commit(version=3), tx.commit(version=4), tx.end(commit=False)]


def sequences(tx: Transactional) -> Any:
    begun = [tx.init(), tx.add(), tx.produce(sequence=0), tx.produce(sequence=0), tx.produce(sequence=5)]
    return [*begun, tx.end(), tx.add(), tx.produce(sequence=1), tx.produce(sequence=2), tx.end()]


def version_2(tx: Transactional) -> Any:
    first = [tx.init(), tx.produce(version=12), tx.commit("a", 3, version=5), tx.end(version=5)]
    second = [tx.produce(version=12), tx.produce("a", 1, version=12), tx.end(commit=False, version=5)]
    return [*first, *second, tx.commit("a", 4, version=5), tx.end(version=5)]


def version_2_without_a_transaction(tx: Transactional) -> Any:
    begun = [tx.init(), tx.end(version=5), tx.end(commit=False, version=5), tx.end(commit=False, version=5)]
    tx.who("a").producer_epoch -= 1
    return [*begun, tx.end(commit=False, version=5), tx.end(version=5)]


def version_2_repeated(tx: Transactional) -> Any:
    begun = [tx.init(), tx.produce(version=12), tx.end(version=5)]
    tx.who("a").producer_epoch -= 1
    again = [tx.end(version=5)]
    tx.who("a").producer_epoch -= 1
    return [*begun, *again, tx.end(commit=False, version=5), tx.produce(version=12)]


def version_2_beside_a_zombie(tx: Transactional) -> Any:
    begun = [
        tx.init("a"),
        tx.produce("a", version=12),
        tx.init("b"),
        tx.produce("a", version=12),
        tx.end("a", version=5),
    ]
    return [*begun, tx.commit("a", version=5), tx.produce("b", version=12), tx.end("b", version=5)]


def too_late(tx: Transactional) -> Any:
    begun = [tx.init("a", timeout_ms=1), tx.add("a"), tx.wait_until_it_is_aborted()]
    return [*begun, tx.end("a"), tx.produce("a"), tx.init("a", known=True), tx.add("a"), tx.end("a", commit=False)]


def versions_mixed(tx: Transactional) -> Any:
    first = [tx.init(), tx.add(), tx.produce(), tx.end(version=5), tx.add(), tx.produce(version=12), tx.end()]
    return [*first, tx.produce(version=12), tx.end(version=3)]


def markers_by_transaction_version(tx: Transactional) -> Any:
    """From transaction version 2 on, a marker's epoch must be above that of the open transaction (KIP-1228)."""
    late = [tx.init(), tx.add(), tx.produce(), tx.mark(), tx.mark(transaction_version=0), tx.mark()]
    again = [tx.add(), tx.produce(), tx.mark(), tx.mark(transaction_version=1), tx.produce()]
    next_epoch = [tx.mark(later=1), tx.mark(later=1), tx.mark(later=1, version=1), tx.mark(), tx.produce()]
    return [*late, *again, *next_epoch, tx.mark(later=2, coordinator_epoch=5), tx.mark(later=3)]


def markers_of_a_fenced_epoch(tx: Transactional) -> Any:
    """A marker with the epoch before the last InitProducerId ends no transaction, open or not."""
    fenced = [tx.init(), tx.init(), tx.mark(later=-1), tx.add(), tx.produce(), tx.commit("a", 3)]
    refused = [tx.mark(later=-1), tx.mark(later=-1, transaction_version=0), tx.mark(later=-1, version=1)]
    return [*fenced, *refused, tx.end(), tx.mark(later=-1), tx.mark(later=-1, transaction_version=0)]


SCENES: list[Scene] = [
    a_commit,
    an_abort,
    offsets,
    a_zombie,
    a_zombie_of_old_versions,
    epochs_that_a_client_had,
    an_id_that_is_somebody_elses,
    nothing_was_begun,
    twice,
    times,
    partitions_that_are_not_there,
    a_partition_that_was_not_added,
    sequences,
    version_2,
    version_2_without_a_transaction,
    version_2_repeated,
    version_2_beside_a_zombie,
    too_late,
    versions_mixed,
    markers_by_transaction_version,
    markers_of_a_fenced_epoch,
]


@pytest.mark.parametrize("scene", SCENES, ids=[scene.__name__ for scene in SCENES])
def test_transactions(both: TwoBrokers, scene: Scene) -> None:
    def play(side: Side) -> Any:
        tx = Transactional(side, scene.__name__)
        return [scene(tx), tx.seen()]

    same(both, play)


def test_described_and_listed(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        tx = Transactional(side, "listed-transaction")
        tx.init()
        tx.add()
        described = side.ask(DescribeTransactionsRequest(["no-such-transaction", ""]), 0)
        filters: list[dict[str, Any]] = [
            {"state_filters": ["Ongoing"]},
            {"state_filters": ["Ongoing", "NoSuchState"]},
            {"state_filters": ["ongoing"]},
            {"producer_id_filters": [tx.who("a").producer_id]},
            {"transactional_id_pattern": "listed-.*"},
            {"transactional_id_pattern": "listed"},
            {"transactional_id_pattern": "("},
            {"duration_filter": 600_000},
        ]
        listed = []
        for wanted in filters:
            body = side.ask(ListTransactionsRequest(**wanted), 2)
            names = sorted(
                one["transactionalId"] for one in body["transactionStates"] if one["transactionalId"] == tx.name
            )
            listed.append((body["errorCode"], body["unknownStateFilters"], names))
        return [described, listed, tx.end()]

    same(both, scene)


def test_a_batch_sent_again_in_the_next_transaction(both: TwoBrokers) -> None:
    """Kafka refuses the next batch, because it verified the repeated one (docs/differences.md)."""

    def scene(side: Side) -> Any:
        tx = Transactional(side, "sent-again")
        tx.init()
        tx.add()
        tx.produce()
        tx.end()
        tx.add()
        return tx.produce(sequence=0), tx.produce(sequence=1)

    assert scene(Side(both.wire, both.ours.port, True)) == ((0, 0), (0, 2))
    assert scene(Side(both.wire, both.kafka.port, False)) == ((0, 0), (45, -1))


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (5, -1)])
def test_a_marker_of_no_producer(both: TwoBrokers, producer_id: int, epoch: int) -> None:
    """Kafka fails to build the marker, and returns the error for all markers of the request (docs/differences.md)."""

    def scene(side: Side) -> Any:
        tx = Transactional(side, f"no-producer-{producer_id}")
        tx.who("a").take(producer_id, epoch)
        return tx.mark()

    assert scene(Side(both.wire, both.ours.port, True)) == {False: [42], True: [42]}
    assert scene(Side(both.wire, both.kafka.port, False)) == {False: [-1], True: [-1]}


STEPS = 16


def live(both: TwoBrokers, seed: int) -> int:
    """Runs one history. Returns 1, so that histories are counted."""
    one = RandomTransactions(both, f"random-{seed}", seed)
    for _ in range(STEPS):
        one.step()
    one.end()
    return 1


def run(both: TwoBrokers, seeds: range) -> None:
    """Runs all seeds, several at a time."""
    live_on(both, live, seeds, replay("TRANSACTION_SEED", __file__))


def test_random_transactions(both: TwoBrokers) -> None:
    run(both, range(10))


def test_given_seed(both: TwoBrokers) -> None:
    live(both, int(os.environ.get("TRANSACTION_SEED", "4711")))


@pytest.mark.ci
def test_more_random_transactions(both: TwoBrokers) -> None:
    run(both, range(1_000, 1_050))


@pytest.mark.long
def test_random_transactions_at_length(both: TwoBrokers) -> None:
    run(both, range(100_000, 103_300))
