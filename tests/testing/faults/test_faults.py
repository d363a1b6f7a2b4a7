"""Injected faults of a broker, with unmodified clients."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from odradek.broker.dispatch.served import SERVED, served_versions
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import Message, decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest
from odradek.testing import InProcessBroker
from support.data.messages import random_message, seed_of

PATIENCE_S = 60.0
SEEDS = 40


def ask(kafka: InProcessBroker, request: Message, version: int) -> Any:
    """Sends one request on its own connection; returns the answer, or None if the connection was closed."""
    response_class = api(request.API_KEY).response_class()
    with socket.create_connection((kafka.host, kafka.port), PATIENCE_S) as connection:
        connection.sendall(encode_request(request, version, 1, "raw"))
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
            more = connection.recv(1 << 16)
            if not more:
                return None
            data += more
    return decode(response_class, version, data, 8 + response_header_version(request.API_KEY, version))[0]


def codes_in(structure: Any) -> Iterator[int]:
    """Every error code of a response."""
    for name in type(structure).__slots__:
        value = getattr(structure, name)
        if name in ("error_code", "partition_error_code"):
            yield value
        elif isinstance(value, list):
            for item in value:
                if hasattr(type(item), "__slots__") and not isinstance(item, str | bytes | int):
                    yield from codes_in(item)


def request_with_items(api_key: int) -> Message:
    """A random request of the newest version in which each list has items."""
    cls: type[Message] = api(api_key).request_class()
    version = served_versions(api_key)[1]
    found = [random_message(cls, version, seed_of(cls.NAME, seed), unknown_tags=False) for seed in range(SEEDS)]
    if api_key == ApiKey.PRODUCE:
        for request in found:
            request.acks = 1  # type: ignore[attr-defined]
    return max(found, key=lambda request: len(repr(request)))


@pytest.mark.parametrize("api_key", sorted(SERVED), ids=lambda key: ApiKey(key).name)
def test_every_api_can_fail(kafka: InProcessBroker, api_key: int) -> None:
    version = served_versions(api_key)[1]
    with kafka.faults.fail(api_key, "KAFKA_STORAGE_ERROR") as fault:
        response = ask(kafka, request_with_items(api_key), version)
    assert fault.fired == 1
    assert set(codes_in(response)) - {ErrorCode.NONE} == {ErrorCode.KAFKA_STORAGE_ERROR}


def producer(kafka: InProcessBroker, **settings: Any) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, **settings)


@pytest.mark.kafka(topics=["orders:2"])
def test_a_producer_tries_again(kafka: InProcessBroker) -> None:
    fault = kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders", partition=1, times=2)
    with producer(kafka) as client:
        assert client.send("orders", b"two", partition=1).get(timeout=PATIENCE_S).offset == 0
        assert client.send("orders", b"one", partition=0).get(timeout=PATIENCE_S).offset == 0
    assert fault.fired == 2
    assert [record.value for record in kafka.records("orders", partition=1)] == [b"two"]


@pytest.mark.kafka(topics="orders")
def test_an_error_that_no_client_repeats(kafka: InProcessBroker) -> None:
    kafka.faults.fail("Produce", ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic="orders")
    with producer(kafka) as client, pytest.raises(KafkaError, match="AuthorizationFailed"):
        client.send("orders", b"one").get(timeout=PATIENCE_S)
    assert kafka.records("orders") == []


@pytest.mark.kafka(topics="orders")
def test_an_answer_that_is_lost(kafka: InProcessBroker) -> None:
    """An idempotent producer sends the batch again, and the broker recognizes the duplicate."""
    fault = kafka.faults.disconnect("Produce", served=True)
    client = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True})
    client.produce("orders", b"one")
    assert client.flush(PATIENCE_S) == 0
    assert fault.fired == 1
    assert [record.value for record in kafka.records("orders")] == [b"one"]


@pytest.mark.kafka(topics="orders")
def test_a_connection_that_breaks_before_the_request_is_served(kafka: InProcessBroker) -> None:
    fault = kafka.faults.disconnect("Produce", client_id="unlucky")
    with producer(kafka, client_id="unlucky", enable_idempotence=True) as client:
        assert client.send("orders", b"one").get(timeout=PATIENCE_S).offset == 0
    assert fault.fired == 1


@pytest.mark.kafka(topics="orders")
def test_a_fetch_fails_for_its_partition(kafka: InProcessBroker) -> None:
    kafka.produce("orders", "one")
    fault = kafka.faults.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", topic="orders", times=1)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
    consumer.assign([TopicPartition("orders", 0)])
    values: list[bytes] = []
    while not values:
        values = [one.value for records in consumer.poll(1_000).values() for one in records]
    consumer.close()
    assert values == [b"one"]
    assert fault.fired == 1


@pytest.mark.kafka(topics="orders")
def test_answers_wait_until_they_are_released(kafka: InProcessBroker) -> None:
    hold = kafka.faults.hold("Produce")
    with producer(kafka) as client:
        sent = client.send("orders", b"one")
        hold.wait_until_fired()
        assert not sent.is_done
        assert [record.value for record in kafka.consume("orders")] == [b"one"], "it is served at once"
        assert hold.held == 1
        hold.release()
        assert sent.get(timeout=PATIENCE_S).offset == 0


@pytest.mark.kafka(topics="orders")
def test_requests_wait_before_they_are_served(kafka: InProcessBroker) -> None:
    """Nothing has happened before the release. A connection's next request waits, too, as in Kafka."""
    hold = kafka.faults.hold("Produce", served=False)
    client = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True})
    client.produce("orders", b"one")
    client.poll(0)
    hold.wait_until_held()
    client.produce("orders", b"two")
    assert kafka.records("orders") == []
    hold.release()
    assert client.flush(PATIENCE_S) == 0
    assert [record.value for record in kafka.records("orders")] == [b"one", b"two"]


@pytest.mark.kafka(topics="orders")
def test_a_member_is_slower_than_its_groups_clock(kafka: InProcessBroker) -> None:
    """A heartbeat that is held before it is served does not keep a member in its group."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "readers",
            "session.timeout.ms": 60_000,
            "heartbeat.interval.ms": 500,
        }
    )
    consumer.subscribe(["orders"])
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            consumer.poll(0.1)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        kafka.wait_group_stable("readers", members=1)
        hold = kafka.faults.hold("Heartbeat", served=False)
        hold.wait_until_held()
        kafka.advance(seconds=61)
        kafka.wait_until(lambda: kafka.describe_group("readers").members == [])
        hold.release()
        kafka.wait_group_stable("readers", members=1)
    finally:
        ended.set()
        reader.join()
        consumer.close()


@pytest.mark.kafka(topics="orders")
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_answers_of_a_broker_that_has_ended_are_dropped(kafka: InProcessBroker, end: str) -> None:
    hold = kafka.faults.hold("Produce")
    with producer(kafka) as client:
        client.send("orders", b"one")
        hold.wait_until_held()
        getattr(kafka, end)()
        hold.release()
        assert hold.held == 0
        kafka.start()
        assert [record.value for record in kafka.consume("orders")][:1] == [b"one"]


@pytest.mark.kafka(topics="orders")
def test_answers_that_come_late(kafka: InProcessBroker) -> None:
    with producer(kafka) as client:
        client.send("orders", b"one").get(timeout=PATIENCE_S)
        fault = kafka.faults.delay("Produce", 0.3)
        begun = time.monotonic()
        client.send("orders", b"two").get(timeout=PATIENCE_S)
    assert time.monotonic() - begun >= 0.3
    assert fault.fired == 1


def test_a_group_finds_its_coordinator_again(kafka: InProcessBroker) -> None:
    kafka.create_topic("orders")
    consumer = KafkaConsumer("orders", bootstrap_servers=kafka.bootstrap_servers, group_id="readers")
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            consumer.poll(100)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        kafka.wait_group_stable("readers", members=1)
        looked = kafka.faults.delay("FindCoordinator", 0, group="readers")
        fault = kafka.faults.move_coordinator("readers")
        fault.wait_until_fired()
        looked.wait_until_fired()
        kafka.wait_group_stable("readers", members=1)
    finally:
        ended.set()
        reader.join()
        consumer.close()


def test_a_throttle_time_is_told(kafka: InProcessBroker) -> None:
    kafka.faults.throttle("Metadata", 250)
    metadata = api(ApiKey.METADATA).request_class()
    assert ask(kafka, metadata(), 12).throttle_time_ms == 250
    with pytest.raises(ValueError, match="not an API of this broker"):
        kafka.faults.throttle("ControlledShutdown", 250)
    with pytest.raises(ValueError, match="answers to SaslHandshake have no throttle time"):
        kafka.faults.throttle("SaslHandshake", 250)


def test_a_response_that_a_test_changes(kafka: InProcessBroker) -> None:
    def rename(response: Any) -> None:
        response.cluster_id = "another-cluster"

    kafka.faults.change_response("Metadata", rename, times=1)
    metadata = api(ApiKey.METADATA).request_class()
    assert ask(kafka, metadata(), 12).cluster_id == "another-cluster"
    assert ask(kafka, metadata(), 12).cluster_id != "another-cluster"


def test_a_request_that_a_test_changes(kafka: InProcessBroker) -> None:
    def more(request: Any) -> None:
        for topic in request.topics:
            topic.num_partitions = 7

    with kafka.faults.change_request("CreateTopics", more):
        create = api(ApiKey.CREATE_TOPICS).request_class()
        ask(kafka, create(topics=[create.CreatableTopic("orders", 1, 1)]), 7)
    assert len(kafka.topic("orders").partitions) == 7


def test_faults_end_with_their_block_and_their_count(kafka: InProcessBroker) -> None:
    metadata = api(ApiKey.METADATA).request_class()
    with kafka.faults.disconnect("Metadata", times=None) as fault:
        assert ask(kafka, metadata(), 12) is None
        assert ask(kafka, metadata(), 12) is None
    assert ask(kafka, metadata(), 12) is not None
    assert fault.fired == 2
    assert list(kafka.faults) == []


def test_faults_outlive_a_restart_and_not_a_reset(kafka: InProcessBroker) -> None:
    metadata = api(ApiKey.METADATA).request_class()
    kafka.faults.disconnect("Metadata", times=None)
    kafka.restart()
    assert ask(kafka, metadata(), 12) is None
    kafka.reset()
    assert ask(kafka, metadata(), 12) is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Prduce", "NOT_LEADER_OR_FOLLOWER"), "did you mean Produce"),
        (("Produce", "NOT_LEADER"), "did you mean NOT_LEADER_OR_FOLLOWER"),
        ((4, "UNKNOWN_SERVER_ERROR"), "not an API of this broker"),
        (("Produce", "NONE"), "NONE is not an error"),
    ],
)
def test_a_fault_that_is_misspelled(kafka: InProcessBroker, arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kafka.faults.fail(*arguments)


def test_a_fault_that_could_not_happen(kafka: InProcessBroker) -> None:
    with pytest.raises(ValueError, match="no Heartbeat request names a topic"):
        kafka.faults.fail("Heartbeat", "NOT_COORDINATOR", topic="orders")
    with pytest.raises(ValueError, match="times is 0; it must be at least 1, or None"):
        kafka.faults.disconnect("Produce", times=0)
    with pytest.raises(ValueError, match="seconds is -1"):
        kafka.faults.delay("Produce", -1)
    with pytest.raises(ValueError, match="throttle_time_ms is -1"):
        kafka.faults.throttle("Produce", -1)
    with pytest.raises(TypeError, match="partition must be int, not '1'"):
        kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders", partition="1")
    assert list(kafka.faults) == []


def test_waiting_for_a_fault_that_does_not_happen_says_what_came(kafka: InProcessBroker) -> None:
    fault = kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER")
    with pytest.raises(TimeoutError, match="NOT_LEADER_OR_FOLLOWER for Produce: only 0 of 1 requests arrived"):
        fault.wait_until_fired(timeout_s=0.01)
    other = kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders", partition=1)
    with pytest.raises(TimeoutError, match=r"for Produce \(topic orders, partition 1\): only 0 of 1"):
        other.wait_until_fired(timeout_s=0.01)


def test_clients_take_the_versions_that_are_announced(kafka: InProcessBroker) -> None:
    """Fetch has topic names up to version 12, and topic ids from version 13 on."""
    kafka.create_topic("orders")
    kafka.produce("orders", "one")
    named: list[str] = []

    def look(request: FetchRequest) -> None:
        named.extend(topic.topic for topic in request.topics)

    kafka.faults.change_request("Fetch", look)
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"}
    older: dict[str, int | None] = {"Fetch": 11, "ConsumerGroupHeartbeat": None}
    for limits, sees_name in (({}, False), (older, True)):
        with kafka.faults.announce_versions(limits) as fault:
            consumer = confluent_kafka.Consumer(settings)
            consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
            (message,) = consumer.consume(1, 60)
            consumer.close()
        assert message.value() == b"one"
        assert any(named) is sees_name
        assert fault.fired


def test_versions_that_are_not_served_are_refused(kafka: InProcessBroker) -> None:
    with pytest.raises(ValueError, match="Fetch is served in versions 0 to 18, not in 99"):
        kafka.faults.announce_versions({"Fetch": 99})
    with pytest.raises(ValueError, match=r"did you mean Fetch\?"):
        kafka.faults.announce_versions({"Fetsch": 3})
