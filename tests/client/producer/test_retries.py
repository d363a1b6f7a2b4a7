"""The producer retries a batch up to ``retries`` times, and sockets get buffers of the given sizes."""

import socket

import pytest

from odradek.client.cluster.connection import BrokerConnection
from odradek.client.consumer import Consumer
from odradek.client.errors import ConfigurationError
from odradek.client.producer import Producer
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.testing import InProcessBroker


@pytest.mark.parametrize(("retries", "sent"), [(0, 1), (1, 2), (2, 3)])
async def test_a_batch_is_sent_again_as_often_as_configured(retries: int, sent: int) -> None:
    with InProcessBroker() as kafka:
        fault = kafka.faults.fail("Produce", "NOT_ENOUGH_REPLICAS", topic="t", times=10)
        async with Producer(kafka.bootstrap_servers, retries=retries, retry_backoff_ms=1) as producer:
            future = await producer.send("t", b"lost")
            with pytest.raises(KafkaError) as refused:
                await future
            assert refused.value.error_code is ErrorCode.NOT_ENOUGH_REPLICAS
            assert fault.fired == sent
            kafka.faults.clear()
            assert (await (await producer.send("t", b"kept"))).offset == 0, "what follows is not lost"


async def test_a_batch_is_sent_again_until_it_is_stored() -> None:
    with InProcessBroker() as kafka:
        fault = kafka.faults.fail("Produce", "NOT_ENOUGH_REPLICAS", topic="t", times=4)
        async with Producer(kafka.bootstrap_servers, retries=4, retry_backoff_ms=1) as producer:
            assert (await (await producer.send("t", b"kept"))).offset == 0
        assert fault.fired == 4


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"retries": -1}, "retries is -1; it must be at least 0"),
        ({"retries": 0, "enable_idempotence": True}, "enable_idempotence needs retries of at least 1"),
        ({"retries": 0, "transactional_id": "t"}, "transactional_id needs retries of at least 1"),
    ],
)
def test_what_does_not_go_together(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Producer("h:1", **settings)  # type: ignore[arg-type]  # values of several types


async def test_the_sizes_of_a_sockets_buffers(bootstrap: str) -> None:
    host, port = bootstrap.split(":")

    async def sizes(send_bytes: int, receive_bytes: int) -> list[int]:
        connection = await BrokerConnection.open(
            host, int(port), send_buffer_bytes=send_bytes, receive_buffer_bytes=receive_bytes
        )
        assert connection._transport is not None
        taken = connection._transport.get_extra_info("socket")
        found = [taken.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
        connection.close()
        return found

    assert min(await sizes(-1, -1)) > 40_000, "what the system chooses"
    small = await sizes(20_000, 20_000)
    assert all(size in (20_000, 40_000) for size in small), "Linux doubles the size for its own bookkeeping"


async def test_clients_pass_on_the_sizes(bootstrap: str) -> None:
    async with (
        Producer(bootstrap, send_buffer_bytes=20_000) as producer,
        Consumer(bootstrap_servers=bootstrap, receive_buffer_bytes=30_000) as consumer,
    ):
        for client, option, size in ((producer, socket.SO_SNDBUF, 20_000), (consumer, socket.SO_RCVBUF, 30_000)):
            connection = await client._cluster.any_connection()
            assert connection._transport is not None
            taken = connection._transport.get_extra_info("socket")
            assert taken.getsockopt(socket.SOL_SOCKET, option) in (size, 2 * size)
