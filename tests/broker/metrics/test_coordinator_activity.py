"""The coordinators count rebalances, commits and transactions of real clients."""

import asyncio
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from odradek.client.admin import Admin
from odradek.client.types import TopicPartition as OurTopicPartition
from odradek.testing import InProcessBroker

from .metric_samples import samples_of

PATIENCE_S = 60
GROUPS = "kafka_server_group_coordinator_metrics"
METRICS = pytest.mark.kafka(topics="orders:2", configs={"odradek.metrics.listener": "127.0.0.1:0"})


def transactions_of(kafka: InProcessBroker) -> dict[str, float]:
    return {key[1]: value for key, value in samples_of(kafka).items() if key[0] == "odradek_transactions_total"}


def joined(kafka: InProcessBroker, protocol: str, name: str) -> Consumer:
    """A consumer that has its partitions."""
    assigned: list[object] = []
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "group.protocol": protocol})
    consumer.subscribe(["orders"], on_assign=lambda _, partitions: assigned.append(partitions))
    while not assigned:
        consumer.poll(0.05)
    return consumer


@METRICS
@pytest.mark.parametrize(
    ("protocol", "name"), [("classic", "group_completed_rebalance"), ("consumer", "consumer_group_rebalance")]
)
def test_rebalances(kafka: InProcessBroker, protocol: str, name: str) -> None:
    def count() -> float:
        return samples_of(kafka)[f"{GROUPS}_{name}_count",]

    assert count() == 0
    one = joined(kafka, protocol, "readers")
    assert count() == 1
    two = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "readers", "group.protocol": protocol})
    two.subscribe(["orders"])
    while count() < 2:
        one.poll(0.05)
        two.poll(0.05)
    one.close()
    two.close()


@METRICS
def test_offsets(kafka: InProcessBroker) -> None:
    def counts() -> list[float]:
        samples = samples_of(kafka)
        return [samples[f"{GROUPS}_offset_{what}_count",] for what in ("commit", "deletion", "expiration")]

    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition("orders", 0, 0)], asynchronous=False)
    consumer.commit(offsets=[TopicPartition("orders", 0, 0)], asynchronous=False)
    assert counts() == [2, 0, 0]
    consumer.commit(offsets=[TopicPartition("orders", 1, 0)], asynchronous=False)
    consumer.close()

    async def delete() -> None:
        async with Admin(kafka.bootstrap_servers) as admin:
            await admin.delete_group_offsets("readers", [OurTopicPartition("orders", 1)])

    asyncio.run(delete())
    assert counts() == [3, 1, 0]
    kafka.advance(days=8)
    kafka.wait_until(lambda: counts()[2] == 1)


@METRICS
def test_transactions_by_their_result(kafka: InProcessBroker) -> None:
    def producer(transactional_id: str, timeout_ms: int = 60_000) -> Producer:
        settings = {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": transactional_id}
        made = Producer(settings | {"transaction.timeout.ms": timeout_ms})
        made.init_transactions(PATIENCE_S)
        return made

    def begin(one: Producer) -> None:
        one.begin_transaction()
        one.produce("orders", b"one")
        one.flush(PATIENCE_S)

    first = producer("clerk")
    ends: list[Callable[[float], None]] = [first.commit_transaction, first.commit_transaction, first.abort_transaction]
    for end in ends:
        begin(first)
        end(PATIENCE_S)
    assert transactions_of(kafka) == {"committed": 2, "aborted": 1, "timed_out": 0, "fenced": 0}
    begin(first)
    producer("clerk")
    assert transactions_of(kafka)["fenced"] == 1
    with pytest.raises(KafkaException):
        first.commit_transaction(PATIENCE_S)
    slow = producer("slow", 1_000)
    begin(slow)
    kafka.advance(minutes=2)
    kafka.wait_until(lambda: transactions_of(kafka)["timed_out"] == 1)
    assert transactions_of(kafka) == {"committed": 2, "aborted": 1, "timed_out": 1, "fenced": 1}
