"""The metrics of the coordinators: their values, their exposition in pieces, a broker with real clients."""

from collections.abc import Sequence

import pytest
from confluent_kafka import Consumer, Producer
from prometheus_client import generate_latest

from odradek.broker.groups.classic.group import GroupState
from odradek.broker.groups.consumer.group import ConsumerGroupState
from odradek.broker.groups.share.group import ShareGroupState
from odradek.broker.groups.streams.group import StreamsGroupState
from odradek.broker.metrics.coordinator_metrics import (
    CLASSIC_STATES,
    CONSUMER_STATES,
    COUNTED_A_PIECE,
    SHARE_STATES,
    STREAMS_STATES,
    TRANSACTION_STATES,
    UNSETTLED_STATES,
    CoordinatorMetrics,
    CoordinatorSources,
    TransactionSeen,
)
from odradek.broker.metrics.pieces import encoded
from odradek.broker.transactions.transaction import NEVER_STORED
from odradek.protocol.names.transaction_states import BY_LABEL, TransactionState
from odradek.testing import InProcessBroker

from .metric_samples import samples_in, samples_of

PATIENCE_S = 60
GROUPS = "kafka_server_group_coordinator_metrics_group_count"
CLASSIC = "kafka_coordinator_group_groupmetadatamanager_numgroups"
CONSUMER = "kafka_server_group_coordinator_metrics_consumer_group_count"
SHARE = "kafka_server_group_coordinator_metrics_share_group_count"
STREAMS = "kafka_server_group_coordinator_metrics_streams_group_count"


def metrics_of(
    classic: Sequence[str] = (),
    consumer: Sequence[str] = (),
    transactions: Sequence[TransactionSeen] = (),
    share: Sequence[str] = (),
    streams: Sequence[str] = (),
) -> CoordinatorMetrics:
    sources = CoordinatorSources(
        lambda: iter(classic),
        lambda: iter(consumer),
        lambda: iter(share),
        lambda: iter(streams),
        lambda: iter(transactions),
    )
    return CoordinatorMetrics(sources, lambda: 100_000)


def test_states_are_those_of_the_coordinators() -> None:
    assert set(CLASSIC_STATES) == set(GroupState)
    assert set(CONSUMER_STATES) == set(ConsumerGroupState)
    assert set(SHARE_STATES) == set(ShareGroupState)
    assert set(STREAMS_STATES) == set(StreamsGroupState)
    assert set(TRANSACTION_STATES) == {state.label for state in set(TransactionState) - NEVER_STORED}
    assert {label for label in TRANSACTION_STATES if not BY_LABEL[label].is_settled} == UNSETTLED_STATES


def test_states_and_the_oldest_transaction() -> None:
    seen = [
        TransactionSeen("Ongoing", 90_000),
        TransactionSeen("PrepareAbort", 70_000),
        TransactionSeen("CompleteCommit", 1_000),
    ]
    metrics = metrics_of(["Stable", "Stable", "Empty"], ["Assigning"], seen, ["Empty", "Stable"], ["NotReady"])
    samples = samples_in(b"".join(encoded(metrics, generate_latest)).decode())
    assert {key: value for key, value in samples.items() if value} == {
        (GROUPS, "classic"): 3,
        (GROUPS, "consumer"): 1,
        (f"{CLASSIC}stable",): 2,
        (f"{CLASSIC}empty",): 1,
        (CONSUMER, "assigning"): 1,
        (GROUPS, "share"): 2,
        (SHARE, "empty"): 1,
        (SHARE, "stable"): 1,
        (GROUPS, "streams"): 1,
        (STREAMS, "notready"): 1,
        ("odradek_transactional_ids", "Ongoing"): 1,
        ("odradek_transactional_ids", "PrepareAbort"): 1,
        ("odradek_transactional_ids", "CompleteCommit"): 1,
        ("odradek_oldest_transaction_seconds",): 30,
    }


def test_many_groups_take_many_pieces_and_as_many_samples() -> None:
    share = ["Stable"] * 2 * COUNTED_A_PIECE
    few, many = metrics_of(), metrics_of(["Empty"] * 5 * COUNTED_A_PIECE, ["Stable"] * 3 * COUNTED_A_PIECE, (), share)
    assert len(list(many.pieces())) == len(list(few.pieces())) + 5 + 3 + 2
    text = b"".join(encoded(many, generate_latest)).decode()
    assert text.count(f"# TYPE {GROUPS} ") == 1
    samples = samples_in(text)
    assert samples[GROUPS, "classic"] == 5 * COUNTED_A_PIECE
    assert samples.keys() == samples_in(b"".join(encoded(few, generate_latest)).decode()).keys()


@pytest.mark.kafka(topics="orders", configs={"odradek.metrics.listener": "127.0.0.1:0"})
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_group_of_a_real_consumer(kafka: InProcessBroker, protocol: str) -> None:
    def stable() -> float:
        samples = samples_of(kafka)
        return samples[f"{CLASSIC}stable",] if protocol == "classic" else samples[CONSUMER, "stable"]

    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "readers", "group.protocol": protocol}
    consumer = Consumer(settings)
    assert stable() == 0
    consumer.subscribe(["orders"])
    while not stable():
        consumer.poll(0.05)
    assert samples_of(kafka)[GROUPS, protocol] == 1
    consumer.close()
    assert stable() == 0


@pytest.mark.kafka(topics="orders", configs={"odradek.metrics.listener": "127.0.0.1:0"})
def test_transaction_of_a_real_producer(kafka: InProcessBroker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "clerk"})
    producer.init_transactions(PATIENCE_S)
    assert samples_of(kafka)["odradek_oldest_transaction_seconds",] == 0
    producer.begin_transaction()
    producer.produce("orders", b"one")
    producer.flush(PATIENCE_S)
    open_now = samples_of(kafka)
    assert open_now["odradek_transactional_ids", "Ongoing"] == 1
    producer.commit_transaction(PATIENCE_S)
    while not (done := samples_of(kafka))["odradek_transactional_ids", "CompleteCommit"]:
        assert done["odradek_transactional_ids", "Ongoing"] == 0  # the commit's markers are being written
    assert done["odradek_oldest_transaction_seconds",] == 0
