"""The waits of requests and answers, as a running broker counts them: with real sockets."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import perf_counter

import pytest
from confluent_kafka import Producer

from odradek.client import Admin
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import DescribeGroupsRequest, HeartbeatRequest
from odradek.testing import InProcessBroker

from .metric_samples import Samples, samples_of

METRICS = {"odradek.metrics.listener": "127.0.0.1:0"}
WAITS = ("requestqueuetimems", "responsequeuetimems", "responsesendtimems", "throttletimems")
SHORTEST = "0.001"
PATIENCE_S = 60
GROUPS = 20_000
RECORD_BYTES, RECORDS = 500_000, 40
HEARTBEAT = encode_request(HeartbeatRequest("none", 1, "none"), 4, 7, "client")


@contextmanager
def connected(kafka: InProcessBroker, receive_bytes: int | None = None) -> Iterator[socket.socket]:
    """A client's socket."""
    with closing(socket.socket()) as client:
        if receive_bytes is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        client.connect((kafka.host, kafka.port))
        yield client


def receive(client: socket.socket) -> int:
    """Reads one answer; returns its size."""
    [size] = struct.unpack(">i", received(client, 4))
    return len(received(client, size))


def received(client: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        part = client.recv(min(size - len(found), 1 << 16))
        assert part, "the connection was closed"
        found += part
    return bytes(found)


def waits(samples: Samples, name: str, api: str) -> tuple[float, float, float]:
    """Returns how many times are 0, how many there are, and their sum in ms."""
    metric = f"kafka_network_requestmetrics_{name}"
    zeros = samples[f"{metric}_bucket", SHORTEST, api]
    return zeros, samples[f"{metric}_count", api], samples[f"{metric}_sum", api]


@pytest.mark.kafka(configs=METRICS)
def test_requests_that_do_not_wait_count_with_0(kafka: InProcessBroker) -> None:
    with connected(kafka) as client:
        for _ in range(5):
            client.sendall(HEARTBEAT)
            receive(client)
    samples = samples_of(kafka)
    assert {name: waits(samples, name, "Heartbeat") for name in WAITS} == dict.fromkeys(WAITS, (5, 5, 0))


@pytest.mark.kafka(configs=METRICS)
def test_a_large_request_makes_the_next_one_wait(kafka: InProcessBroker) -> None:
    groups = DescribeGroupsRequest([f"group-{number}" for number in range(GROUPS)])
    with connected(kafka) as client:
        client.sendall(encode_request(groups, 5, 6, "client") + HEARTBEAT)
        receive(client)
        receive(client)
    samples = samples_of(kafka)
    for api in ("DescribeGroups", "Heartbeat"):
        zeros, count, ms = waits(samples, "requestqueuetimems", api)
        assert (zeros, count) == (0, 1), api
        assert ms > 0.1, api
    worked_ms = samples["kafka_network_requestmetrics_localtimems_sum", "DescribeGroups"]
    assert waits(samples, "requestqueuetimems", "Heartbeat")[2] > worked_ms


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_a_slow_reader_makes_the_send_time_grow(kafka: InProcessBroker) -> None:
    for number in range(RECORDS):
        kafka.produce("orders", bytes(RECORD_BYTES), key=str(number))
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=RECORDS * RECORD_BYTES)
    fetch = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=RECORDS * RECORD_BYTES, session_epoch=-1)
    fetch.topics = [FetchRequest.FetchTopic(topic="orders", partitions=[partition])]
    with connected(kafka, receive_bytes=4096) as client:
        client.sendall(encode_request(fetch, 12, 8, "client"))
        client.recv(1, socket.MSG_PEEK)
        before = samples_of(kafka)
        assert waits(before, "responsesendtimems", "Fetch") == (0, 0, 0)  # it waits
        begun_s = perf_counter()
        samples_of(kafka)
        not_read_ms = (perf_counter() - begun_s) * 1000
        assert receive(client) > RECORDS * RECORD_BYTES / 2
    kafka.wait_until(lambda: waits(samples_of(kafka), "responsesendtimems", "Fetch")[1] == 1)
    zeros, _, ms = waits(samples_of(kafka), "responsesendtimems", "Fetch")
    assert zeros == 0
    assert ms > not_read_ms


@pytest.mark.kafka(topics="orders", configs=METRICS)
async def test_a_throttled_request_counts_with_its_throttle_time(kafka: InProcessBroker) -> None:
    async with Admin(kafka.bootstrap_servers) as admin:
        await admin.alter_client_quotas({"client-id": "loader"}, set_quotas={"producer_byte_rate": 1_000})
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "loader"})
    producer.produce("orders", bytes(20_000))
    assert producer.flush(PATIENCE_S) == 0
    samples = await asyncio.to_thread(samples_of, kafka)
    zeros, count, ms = waits(samples, "throttletimems", "Produce")
    assert (zeros, count) == (0, 1)
    assert ms == samples["kafka_server_produce_throttle_time", "loader", ""] > 0
    assert waits(samples, "throttletimems", "AlterClientQuotas") == (1, 1, 0)
