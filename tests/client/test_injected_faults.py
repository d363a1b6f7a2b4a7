"""Our client meets the faults that the testing API injects, as a user's own client would in a test."""

import asyncio
from collections.abc import Iterator

import pytest

from odradek.client.consumer import Consumer
from odradek.client.producer import Producer
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.testing import InProcessBroker

from .client_groups import read

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def broker() -> Iterator[InProcessBroker]:
    """A broker with the topic orders."""
    with InProcessBroker() as broker:
        broker.create_topic("orders")
        yield broker


def consumer_of(broker: InProcessBroker, group_protocol: str = "classic") -> Consumer:
    """A consumer that commits only when the test says so."""
    return Consumer(
        "orders",
        bootstrap_servers=broker.bootstrap_servers,
        group_id="readers",
        group_protocol=group_protocol,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        retry_backoff_ms=1,
    )


async def test_a_fetch_that_fails_is_repeated(broker: InProcessBroker) -> None:
    broker.produce("orders", "one")
    fault = broker.faults.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", topic="orders", times=2)
    async with consumer_of(broker) as consumer:
        (record,) = await read([consumer], 1)
    assert (record.value, fault.fired) == (b"one", 2)


async def test_a_slow_fetch_keeps_no_poll_waiting(broker: InProcessBroker) -> None:
    """Polls return without records while the answer is held, and the records come when it is sent."""
    broker.produce("orders", "one")
    held = broker.faults.hold("Fetch")
    async with consumer_of(broker) as consumer:
        while not held.held:
            assert await consumer.poll(10) == {}
        assert await consumer.poll(0) == {}
        held.release()
        (record,) = await read([consumer], 1)
    assert record.value == b"one"


@pytest.mark.parametrize("group_protocol", ["classic", "consumer"])
async def test_a_coordinator_that_moves(broker: InProcessBroker, group_protocol: str) -> None:
    """The client looks up the coordinator again, and the commit is not lost."""
    broker.produce("orders", "one")
    async with consumer_of(broker, group_protocol) as consumer:
        await read([consumer], 1)
        looked_up = broker.faults.delay("FindCoordinator", 0, group="readers")
        moved = broker.faults.fail("OffsetCommit", "NOT_COORDINATOR", group="readers")
        await consumer.commit({ORDERS: OffsetAndMetadata(1)})
    assert (moved.fired, looked_up.fired >= 1) == (1, True)
    assert await asyncio.to_thread(broker.committed, "readers") == {ORDERS: 1}


async def test_a_commit_that_is_refused_is_an_error(broker: InProcessBroker) -> None:
    async with consumer_of(broker) as consumer:
        await consumer.poll(0)
        broker.faults.fail("OffsetCommit", "GROUP_AUTHORIZATION_FAILED", group="readers")
        with pytest.raises(KafkaError) as refused:
            await consumer.commit({ORDERS: OffsetAndMetadata(1)})
    assert refused.value.error_code is ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize("api", ["Produce", "InitProducerId", "EndTxn"])
@pytest.mark.parametrize("served", [False, True])
async def test_a_connection_that_breaks_in_a_transaction(broker: InProcessBroker, api: str, served: bool) -> None:
    """Whether the broker has served the request or not, the records are committed exactly once."""
    fault = broker.faults.disconnect(api, served=served)
    async with Producer(broker.bootstrap_servers, transactional_id="clerk", retry_backoff_ms=1) as producer:
        await producer.init_transactions()
        for value in (b"one", b"two"):
            async with producer.transaction():
                await producer.send("orders", value)
    assert fault.fired == 1
    found = await asyncio.to_thread(broker.consume, "orders", 2, isolation_level="read_committed")
    assert [record.value for record in found] == [b"one", b"two"]
    assert len(await asyncio.to_thread(broker.records, "orders", isolation_level="read_committed")) == 2
