"""Helpers of a broker for tests that show records, offsets and groups, and wait for them."""

import threading

import confluent_kafka
import pytest

from odradek.client.admin import Admin
from odradek.client.errors import AdminError
from odradek.client.share import ShareConsumer
from odradek.client.types import TopicPartition
from odradek.protocol.errors import KafkaError
from odradek.testing import InProcessBroker, KafkaCluster
from support.groups.streams_application import StreamsApplication


@pytest.mark.kafka(topics="orders:2")
def test_records_are_written_and_read(kafka: InProcessBroker) -> None:
    written = kafka.produce("orders", "one", None, b"three", key="k", partition=1, headers={"h": b"1"}, timestamp_ms=7)
    assert [(place.partition, place.offset, place.timestamp) for place in written] == [(1, 0, 7), (1, 1, 7), (1, 2, 7)]
    records = kafka.records("orders")
    assert [(record.key, record.value) for record in records] == [(b"k", b"one"), (b"k", None), (b"k", b"three")]
    assert records[0].headers == [("h", b"1")]
    assert kafka.records("orders", partition=0) == []
    with pytest.raises(KafkaError, match="partition 2 of 'orders': the topic has partitions 0 to 1"):
        kafka.records("orders", partition=2)


@pytest.mark.kafka(topics="orders")
def test_what_is_written_has_the_types_of_the_client(kafka: InProcessBroker) -> None:
    kafka.produce("orders", "one", headers={"h": "text"})
    (one,) = kafka.records("orders")
    kafka.produce("orders", "two", headers=[*one.headers, ("h", None)])
    assert kafka.records("orders")[1].headers == [("h", b"text"), ("h", None)]
    for wrong in (1, {"order": 1}, ["one", "two"]):
        with pytest.raises(TypeError, match=rf"str, bytes or None, not {type(wrong).__name__}: write json\.dumps"):
            kafka.produce("orders", wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="str, bytes or None, not int"):
        kafka.produce("orders", "one", key=1)  # type: ignore[arg-type]
    assert len(kafka.records("orders")) == 2


@pytest.mark.kafka(topics="orders", configs={"message.max.bytes": 40_000_000})
def test_the_broker_decides_how_large_a_record_may_be(kafka: InProcessBroker) -> None:
    kafka.produce("orders", bytes(35_000_000))  # more than a producer's buffer.memory
    (one,) = kafka.records("orders")
    assert one.value == bytes(35_000_000)
    with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
        kafka.produce("orders", bytes(40_000_001))


def test_a_topic_that_is_not_there(kafka: InProcessBroker) -> None:
    with pytest.raises(KafkaError, match="the topic 'orders' does not exist"):
        kafka.records("orders")
    with pytest.raises(AdminError):
        kafka.topic("orders")
    assert kafka.topics() == []


@pytest.mark.kafka(topics="orders")
def test_waiting_for_records(kafka: InProcessBroker) -> None:
    later = threading.Thread(target=lambda: kafka.produce("orders", "two"))
    kafka.produce("orders", "one")
    later.start()
    assert [record.value for record in kafka.consume("orders", 2)] == [b"one", b"two"]
    later.join()
    with pytest.raises(TimeoutError, match=r"orders has 2 of 3 records after 0.1 s: b'one', b'two'"):
        kafka.consume("orders", 3, timeout_s=0.1)


@pytest.mark.kafka(topics=["orders", "others"])
def test_a_group_that_has_read_everything(kafka: InProcessBroker) -> None:
    orders = TopicPartition("orders", 0)
    kafka.produce("orders", "one", "two")
    assert kafka.lag("readers") == {}
    assert kafka.lag("readers", ["orders"]) == {orders: 2}
    with pytest.raises(TimeoutError, match="group readers has committed nothing"):
        kafka.wait_until_consumed("readers", timeout_s=0.1)
    with pytest.raises(TimeoutError, match="the group readers does not exist"):
        kafka.wait_group_stable("readers", timeout_s=0.1)
    ended = threading.Event()
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "readers",
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 100,
        }
    )
    consumer.subscribe(["orders"])

    def read() -> None:
        while not ended.is_set():
            consumer.poll(0.1)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        kafka.wait_group_stable("readers", members=1)
        kafka.wait_until_consumed("readers", "orders")
        assert kafka.committed("readers") == {orders: 2}
        assert kafka.lag("readers") == {orders: 0}
        with pytest.raises(TimeoutError, match=r"group readers is Stable, with members: reader"):
            kafka.wait_group_stable("readers", members=2, timeout_s=0.1)
    finally:
        ended.set()
        reader.join()
        consumer.close()
    kafka.produce("orders", "three")
    with pytest.raises(TimeoutError, match="group readers lags behind by orders-0: 1"):
        kafka.wait_until_consumed("readers", timeout_s=0.1)


@pytest.mark.kafka(topics=["orders"])
async def test_a_share_group_that_has_read_everything(kafka: InProcessBroker) -> None:
    orders = TopicPartition("orders", 0)
    kafka.produce("orders", "one", "two")
    async with Admin(kafka.bootstrap_servers) as admin:
        await admin.alter_share_group_offsets("workers", {orders: 0})
    assert kafka.lag("workers") == kafka.lag("workers", ["orders"]) == {orders: 2}
    assert kafka.describe_group("workers").state == "Empty"
    with pytest.raises(TimeoutError, match="group workers lags behind by orders-0: 2"):
        kafka.wait_until_consumed("workers", timeout_s=0.1)
    async with ShareConsumer("orders", group_id="workers", bootstrap_servers=kafka.bootstrap_servers) as consumer:
        records = 0
        while records < 2:
            records += len(await consumer.poll(1_000))
        assert len(kafka.wait_group_stable("workers", members=1).members) == 1
    kafka.wait_until_consumed("workers", "orders")
    kafka.wait_until_consumed("workers")


@pytest.mark.kafka(topics="orders:2")
def test_a_streams_group(kafka: InProcessBroker) -> None:
    application = StreamsApplication(kafka.bootstrap_servers, "counts", "orders")
    application.start()
    group = kafka.wait_group_stable("counts", members=1)
    owned = [TopicPartition(topic, number) for topic in (application.repartition, "orders") for number in (0, 1)]
    assert [(member.client_id, sorted(member.assignment)) for member in group.members] == [("asking", owned)]
    application.stop()
    described = kafka.describe_group("counts")
    assert (described.state, described.group_type, described.members) == ("Empty", "Streams", [])
    kafka.produce("orders", "one", "two", partition=1)
    application.commit({1: 1})
    assert kafka.lag("counts") == {TopicPartition("orders", 1): 1}
    with pytest.raises(TimeoutError, match="group counts lags behind by orders-1: 1"):
        kafka.wait_until_consumed("counts", timeout_s=0.1)
    application.commit({1: 2})
    kafka.wait_until_consumed("counts")


async def test_the_helpers_work_beside_an_event_loop(kafka: InProcessBroker) -> None:
    kafka.produce("orders", "one")
    assert [record.value for record in kafka.records("orders")] == [b"one"]


@pytest.mark.kafka(topics="orders")
def test_the_helpers_meet_no_faults(kafka: InProcessBroker) -> None:
    fault = kafka.faults.fail(["Produce", "Metadata", "ListOffsets"], "UNKNOWN_SERVER_ERROR", times=None)
    kafka.produce("orders", "one")
    assert len(kafka.records("orders")) == 1
    assert fault.fired == 0


def test_a_cluster_has_the_helpers_too(kafka_cluster: KafkaCluster) -> None:
    kafka_cluster.create_topic("orders")
    kafka_cluster.produce("orders", "one")
    assert [record.value for record in kafka_cluster.consume("orders")] == [b"one"]
