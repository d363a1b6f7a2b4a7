"""Metrics of requests and topics: with real clients, and the meters alone."""

import http.client
import random
import time
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, OffsetOutOfRangeError

from odradek.broker.metrics.error_plan import COUNTED_ITEMS, error_plan
from odradek.broker.metrics.request_meters import BUCKETS, cumulative
from odradek.broker.metrics.topic_meters import TopicMeters
from odradek.broker.metrics.waits import Times
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import FindCoordinatorResponse, HeartbeatResponse
from odradek.protocol.messages.metadata import MetadataResponse
from odradek.testing import InProcessBroker

from .metric_samples import samples_of

METRICS = {"odradek.metrics.listener": "127.0.0.1:0"}
TOPICS = "kafka_server_brokertopicmetrics_"
PATIENCE_S = 60


@pytest.mark.kafka(topics=["orders", "others"], configs=METRICS)
def test_what_clients_do_is_counted(kafka: InProcessBroker) -> None:
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, linger_ms=1_000) as producer:
        for number in range(5):
            producer.send("orders", b"%d" % number)
        producer.flush(PATIENCE_S)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
    consumer.assign([TopicPartition("orders", 0)])
    seen = 0
    while seen < 5:
        seen += sum(map(len, consumer.poll(1_000).values()))
    consumer.close()
    samples = samples_of(kafka)
    topics = "kafka_server_brokertopicmetrics_"
    assert samples[f"{topics}messagesin_total", "orders"] == 5
    assert samples[f"{topics}bytesin_total", "orders"] == samples[f"{topics}bytesout_total", "orders"] > 5 * 70 / 5
    assert samples[f"{topics}totalproducerequests_total", "orders"] >= 1
    assert samples[f"{topics}totalfetchrequests_total", "orders"] >= 1
    assert (f"{topics}messagesin_total", "others") not in samples
    requests = "kafka_network_requestmetrics_"
    produced = sum(value for key, value in samples.items() if key[:2] == (f"{requests}requests_total", "Produce"))
    assert produced == samples[f"{requests}totaltimems_count", "Produce"] >= 1
    assert samples[f"{requests}errors_total", "NONE", "Produce"] == produced
    assert samples[f"{requests}requestbytes_total", "Produce"] > samples[f"{topics}bytesin_total", "orders"]
    assert samples[f"{requests}responsebytes_total", "Fetch"] > samples[f"{topics}bytesout_total", "orders"]
    assert samples[("process_resident_memory_bytes",)] > 1e6


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_errors_are_counted_by_code(kafka: InProcessBroker) -> None:
    kafka.faults.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", topic="orders")
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer, pytest.raises(KafkaError):
        producer.send("orders", b"one").get(timeout=PATIENCE_S)
    counted = samples_of(kafka)
    assert counted["kafka_network_requestmetrics_errors_total", "TOPIC_AUTHORIZATION_FAILED", "Produce"] == 1
    assert counted["kafka_network_requestmetrics_errors_total", "NONE", "ApiVersions"] >= 1


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_a_deleted_topic_has_no_metrics(kafka: InProcessBroker) -> None:
    kafka.produce("orders", "one")
    assert ("kafka_server_brokertopicmetrics_bytesin_total", "orders") in samples_of(kafka)
    kafka.delete_topic("orders")
    assert ("kafka_server_brokertopicmetrics_bytesin_total", "orders") not in samples_of(kafka)


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_records_without_acknowledgement_are_counted_as_requests(kafka: InProcessBroker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": 0})
    producer.produce("orders", b"one")
    producer.flush(PATIENCE_S)
    kafka.consume("orders", 1)
    counted = samples_of(kafka)
    assert counted["kafka_network_requestmetrics_totaltimems_count", "Produce"] == 1
    assert (
        counted[f"{TOPICS}messagesin_total", "orders"] == counted[f"{TOPICS}totalproducerequests_total", "orders"] == 1
    )


@pytest.mark.kafka(topics="orders:2", configs=METRICS)
def test_each_partition_of_a_request_is_counted(kafka: InProcessBroker) -> None:
    delivered: list[str] = []

    def note(error: Any, _: object) -> None:
        delivered.append("" if error is None else error.name())

    settings = {"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 500, "message.max.bytes": 4_000_000}
    producer = Producer(settings)
    for number in range(7):
        producer.produce("orders", b"%d" % number, partition=number % 2, on_delivery=note)
    producer.produce("orders", bytes(2_000_000), partition=0, on_delivery=note)
    producer.flush(PATIENCE_S)
    assert sorted(delivered) == [""] * 7 + ["MSG_SIZE_TOO_LARGE"]
    samples = samples_of(kafka)
    assert samples[f"{TOPICS}messagesin_total", "orders"] == 7
    assert samples[f"{TOPICS}totalproducerequests_total", "orders"] == 3
    assert samples[f"{TOPICS}failedproducerequests_total", "orders"] == 0  # as in Kafka: it was the client's mistake
    sizes = [value for (name, *labels), value in samples.items() if name == "kafka_log_log_size" and "orders" in labels]
    assert samples[f"{TOPICS}bytesin_total", "orders"] == sum(sizes) > 0


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_a_batch_that_a_thread_appends_is_counted(kafka: InProcessBroker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 500, "batch.size": 1_000_000})
    for _ in range(90):
        producer.produce("orders", bytes(10_000))
    producer.flush(PATIENCE_S)
    samples = samples_of(kafka)
    assert samples[f"{TOPICS}messagesin_total", "orders"] == 90
    assert 900_000 < samples[f"{TOPICS}bytesin_total", "orders"] < 910_000


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_an_offset_out_of_range_is_counted_but_no_failure(kafka: InProcessBroker) -> None:
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="none")
    consumer.assign([TopicPartition("orders", 0)])
    consumer.seek(TopicPartition("orders", 0), 1_000)
    with pytest.raises(OffsetOutOfRangeError):
        consumer.poll(PATIENCE_S * 1_000)
    consumer.close()
    samples = samples_of(kafka)
    assert samples[f"{TOPICS}totalfetchrequests_total", "orders"] >= 1
    assert samples[f"{TOPICS}failedfetchrequests_total", "orders"] == 0
    assert samples["kafka_network_requestmetrics_errors_total", "OFFSET_OUT_OF_RANGE", "Fetch"] >= 1


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_health_and_readiness(kafka: InProcessBroker) -> None:
    assert page_of(kafka, "/health") == (200, "ok\n")
    assert page_of(kafka, "/ready") == (200, "ok\n")
    kafka.disk_is_full = True
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, retries=0) as producer, pytest.raises(KafkaError):
        producer.send("orders", b"one").get(timeout=PATIENCE_S)
    kafka.advance(minutes=1)
    kafka.wait_until(lambda: page_of(kafka, "/ready")[0] == 503)
    assert "0 bytes of" in page_of(kafka, "/ready")[1]
    assert page_of(kafka, "/health") == (200, "ok\n")
    assert page_of(kafka, "/nowhere")[0] == 404


def page_of(kafka: InProcessBroker, path: str) -> tuple[int, str]:
    (port,) = kafka.ports() - {kafka.port}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_times_fall_into_buckets_of_powers_of_two() -> None:
    generator = random.Random(20)
    times_of = Times()
    times = [generator.choice([0, 1e-6, 0.0005, 0.5, 3_000]) * generator.random() for _ in range(1_000)]
    for seconds in times:
        times_of.note(int(seconds * 1_000_000_000))
    buckets = list(cumulative(times_of.buckets))
    assert len(buckets) == BUCKETS + 1
    for limit, count in buckets:
        assert count == sum(int(one * 1_000_000) < float(limit) * 1000 for one in times), limit
    assert times_of.ns == pytest.approx(sum(times) * 1_000_000_000)


def errors_in(response: Message, version: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    successes = error_plan(response.NAME, version).count(response, counts)
    assert 0 not in counts
    return {0: successes, **counts} if successes else counts


def test_errors_of_an_answer() -> None:
    assert errors_in(HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR), 4) == {ErrorCode.NOT_COORDINATOR: 1}
    assert errors_in(FindCoordinatorResponse(coordinators=[FindCoordinatorResponse.Coordinator()]), 6) == {0: 1}
    assert errors_in(FindCoordinatorResponse(), 3) == {0: 1}
    topic = MetadataResponse.MetadataResponseTopic
    partitions = [
        MetadataResponse.MetadataResponsePartition(error_code=5),
        MetadataResponse.MetadataResponsePartition(),
    ]
    topics = [topic(error_code=3, name="a"), topic(name="b", partitions=partitions)]
    assert errors_in(MetadataResponse(topics=topics), 12) == {3: 1, 0: 2, 5: 1}
    many = [topic(name=str(number)) for number in range(100_000)]
    assert errors_in(MetadataResponse(topics=many), 12) == {0: COUNTED_ITEMS}


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_a_timestamp_in_the_future_is_a_failure(kafka: InProcessBroker) -> None:
    now_ms = int(time.time() * 1000)
    failed: list[str] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    in_a_day_ms = now_ms + 24 * 3_600_000
    producer.produce(
        "orders",
        b"one",
        timestamp=in_a_day_ms,
        on_delivery=lambda error, _: failed.append("" if error is None else error.name()),
    )
    producer.flush(PATIENCE_S)
    assert failed == ["INVALID_TIMESTAMP"]
    assert samples_of(kafka)[f"{TOPICS}failedproducerequests_total", "orders"] == 1


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_records_of_coordinators_are_counted(kafka: InProcessBroker) -> None:
    settings = {"bootstrap.servers": kafka.bootstrap_servers}
    producer = Producer(settings | {"transactional.id": "clerk"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("orders", b"one")
    producer.commit_transaction(PATIENCE_S)
    consumer = Consumer(settings | {"group.id": "readers"})
    consumer.commit(offsets=[Position("orders", 0, 1)], asynchronous=False)
    consumer.close()
    samples = samples_of(kafka)
    assert samples[f"{TOPICS}messagesin_total", "orders"] == 2  # the record and the marker
    for topic in ("orders", "__consumer_offsets", "__transaction_state"):
        ends = [value for (name, *of), value in samples.items() if name == "kafka_log_log_logendoffset" and topic in of]
        sizes = [value for (name, *of), value in samples.items() if name == "kafka_log_log_size" and topic in of]
        assert samples[f"{TOPICS}messagesin_total", topic] == sum(ends) > 0
        assert samples[f"{TOPICS}bytesin_total", topic] == sum(sizes)


def test_only_unexpected_errors_of_the_log_are_failures() -> None:
    meters = TopicMeters(lambda name: name == "orders")
    meters.refused("evil", ErrorCode.INVALID_RECORD)
    meters.refused("", ErrorCode.UNKNOWN_TOPIC_ID)
    assert list(meters) == []
    meters.refused("orders", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    meters.refused("orders", ErrorCode.MESSAGE_TOO_LARGE)
    meters.refused("orders", ErrorCode.NOT_ENOUGH_REPLICAS)
    [(name, meter)] = meters
    assert (name, meter.produces, meter.failed_produces) == ("orders", 2, 1)
