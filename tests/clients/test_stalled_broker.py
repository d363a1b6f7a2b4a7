"""A broker process that is stopped for longer than session and transaction timeouts keeps all sessions and
transactions.
"""

import gc
import select
import signal
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import learn_partitions

SESSION_MS = 1_500
STALL_S = 5.0
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "true",
}
TRANSACTIONS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
ENDED = ("has expired", "is fenced", "did not join in time", "did not join with its new id")


class Classic:
    """A member of the classic protocol. A thread of the client sends its heartbeats."""

    def __init__(self, servers: str) -> None:
        self._consumer = KafkaConsumer(
            "spools",
            bootstrap_servers=servers,
            group_id="classic",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=300,
            auto_offset_reset="earliest",
        )
        learn_partitions(self._consumer, "spools")

    def poll(self) -> int:
        """Polls for 0.1 s; returns the number of records."""
        return sum(map(len, self._consumer.poll(100).values()))

    def close(self) -> None:
        self._consumer.close()


class Modern:
    """A member of the consumer protocol."""

    def __init__(self, servers: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "modern",
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.subscribe(["spools"])

    def poll(self) -> int:
        """Polls for 0.1 s; returns the number of records."""
        message = self._consumer.poll(0.1)
        return int(message is not None and message.error() is None)

    def close(self) -> None:
        self._consumer.close()


class Connection:
    """One connection that sends requests without waiting for answers."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def begin(self, transactional_id: str, timeout_ms: int) -> tuple[int, int]:
        """Begins a transaction with a partition; returns the producer's id and epoch."""
        topics = [CreateTopicsRequest.CreatableTopic("spools", 1, 1)]
        self.send(CreateTopicsRequest(topics, 10_000), 7)
        self.receive(CreateTopicsResponse, 7)
        error: int = ErrorCode.COORDINATOR_NOT_AVAILABLE
        while error:
            self.send(InitProducerIdRequest(transactional_id, timeout_ms), 4)
            known = self.receive(InitProducerIdResponse, 4)
            error = known.error_code
            if error:
                # The topic of transactions is created at the first FindCoordinator.
                assert error in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
                self.send(FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]), 4)
                self.receive(FindCoordinatorResponse, 4)
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("spools", [0])
        self.send(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=transactional_id,
                v3_and_below_producer_id=known.producer_id,
                v3_and_below_producer_epoch=known.producer_epoch,
                v3_and_below_topics=[topic],
            ),
            3,
        )
        added = self.receive(AddPartitionsToTxnResponse, 3)
        assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0
        return known.producer_id, known.producer_epoch

    def send(self, request: Message, version: int) -> None:
        self._socket.sendall(encode_request(request, version, 7, "transactional"))

    def hear_nothing(self, seconds: float) -> None:
        """Waits for a time, in which nothing may arrive, not even the end of the connection."""
        assert select.select([self._socket], [], [], seconds)[0] == []

    def receive(self, response: type[Message], version: int) -> Any:
        [size] = struct.unpack(">i", self._socket.recv(4, socket.MSG_WAITALL))
        frame = self._socket.recv(size, socket.MSG_WAITALL)
        return decode(response, version, frame, 4 + response_header_version(response.API_KEY, version))[0]


def produce(broker: OurBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("spools", b"value")
    assert producer.flush(60) == 0


def read_one(members: list[Classic | Modern]) -> None:
    """Polls until each member has read a record."""
    for member in members:
        while not member.poll():
            pass


def let_time_pass(seconds: float, members: list[Classic | Modern]) -> None:
    """Polls the clients for a time, as applications do."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        for member in members:
            member.poll()


def rebalances(broker: OurBroker) -> int:
    return sum("rebalances after" in line or ": epoch " in line for line in broker.log().splitlines())


def test_a_commit_that_lay_in_the_socket_during_a_stall_is_carried_out(tmp_path: Path) -> None:
    timeout_ms = 1_500
    with OurBroker(tmp_path, TRANSACTIONS) as broker, Connection(broker.port) as client:
        identity = client.begin("tx", timeout_ms)
        broker.process.send_signal(signal.SIGSTOP)
        client.send(EndTxnRequest("tx", *identity, True), 3)
        client.hear_nothing(2 * timeout_ms / 1000)
        broker.process.send_signal(signal.SIGCONT)
        assert client.receive(EndTxnResponse, 3).error_code == 0
        assert broker.stop() == 0


@pytest.mark.ci
def test_a_transaction_goes_on_after_a_stall_for_as_long_as_it_had(tmp_path: Path) -> None:
    stall_s, rest_s, timeout_ms = 5.0, 6.5, 10_000
    with OurBroker(tmp_path, TRANSACTIONS) as broker, Connection(broker.port) as client:
        identity = client.begin("tx", timeout_ms)
        broker.process.send_signal(signal.SIGSTOP)
        client.hear_nothing(stall_s)
        broker.process.send_signal(signal.SIGCONT)
        # Longer than the grace period after the stall, which is as long as the stall. Then transactions time out again.
        client.hear_nothing(rest_s)
        client.send(EndTxnRequest("tx", *identity, True), 3)
        assert client.receive(EndTxnResponse, 3).error_code == 0
        assert broker.stop() == 0


@pytest.mark.ci
@pytest.mark.parametrize("stalls", [1, 3])
def test_members_stay_when_the_broker_was_stopped_for_longer_than_their_sessions(tmp_path: Path, stalls: int) -> None:
    # A consumer that another test has left open closes itself when it is collected. If that fell into the stall, on
    # whatever thread, it could wait for this broker for ever. Not later: a large heap takes longer than a session.
    gc.collect()
    with OurBroker(tmp_path, SETTINGS) as broker:
        produce(broker)
        members: list[Classic | Modern] = [Classic(broker.bootstrap_servers), Modern(broker.bootstrap_servers)]
        read_one(members)
        before = rebalances(broker)
        for _ in range(stalls):
            broker.process.send_signal(signal.SIGSTOP)
            let_time_pass(STALL_S / stalls + SESSION_MS / 1000, members)
            broker.process.send_signal(signal.SIGCONT)
        produce(broker)
        read_one(members)
        let_time_pass(2 * SESSION_MS / 1000, members)
        text = broker.log()
        assert not [line for line in text.splitlines() if any(words in line for words in ENDED)]
        assert rebalances(broker) == before
        assert "the process did not run" in text
        for member in members:
            member.close()
        assert broker.stop() == 0
