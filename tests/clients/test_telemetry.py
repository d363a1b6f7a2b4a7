"""Unmodified clients push their metrics (KIP-714), and the metrics endpoint shows them."""

from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from support.brokers.our_broker import OurBroker
from support.eventually import PATIENCE_S, eventually
from support.kafka.java import java_arguments, run_class
from support.kafka.mbeans import METRICS, Metrics, metrics_of

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOOLS = "org.apache.kafka.tools"
RECORDS = 500
INTERVAL_MS = 200


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """A broker with telemetry and a subscription for all clients, which Kafka's tool has made."""
    keys = {**METRICS, "odradek.telemetry.enable": "true", "group.initial.rebalance.delay.ms": "0"}
    with OurBroker(tmp_path_factory.mktemp("telemetry"), keys) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
        admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(PATIENCE_S)
        server = "--bootstrap-server", running.bootstrap_servers
        what = "--name", "all", "--metrics", "*", "--interval", str(INTERVAL_MS)
        run(f"{TOOLS}.ClientMetricsCommand", *server, "--alter", *what)
        yield running
        assert " ERROR " not in running.log()


def run(name: str, *arguments: str | Path) -> str:
    """Runs a tool of Kafka, which must exit with 0; returns its output."""
    result = run_class(name, *arguments, timeout_s=180)
    assert result.returncode == 0, f"{name} ended with {result.returncode}:\n{result.stdout}\n{result.stderr}"
    return result.stdout


def pushed(broker: OurBroker, client_id: str) -> Metrics:
    """The series of a client."""
    return {
        key: value
        for key, value in metrics_of(broker).items()
        if key[0].startswith("kafka_client_") and ("client_id", client_id) in key[1]
    }


def value_of(metrics: Metrics, name: str, **labels: str) -> float:
    """The sum of the series with this name and these labels."""
    return sum(value for (found, tags), value in metrics.items() if found == name and set(labels.items()) <= tags)


def test_javas_producer_and_consumer(broker: OurBroker) -> None:
    server = "--bootstrap-server", broker.bootstrap_servers
    writing = [f"{TOOLS}.ConsoleProducer", *server, "--topic", "orders", "--command-property", "client.id=java"]
    # It runs until all is shown: Java's producer may end without a last push, if no request is in flight at its close.
    with Popen([*java_arguments(), *writing], stdin=PIPE, text=True) as producer:
        assert producer.stdin is not None
        producer.stdin.write("order\n" * RECORDS)
        producer.stdin.flush()
        sent = "kafka_client_producer_record_send_total"
        eventually("all records are in its metrics", lambda: value_of(pushed(broker, "java"), sent) == RECORDS)
    assert producer.returncode == 0
    seen = pushed(broker, "java")
    assert value_of(seen, "kafka_client_producer_topic_record_send_total", topic="orders") == RECORDS
    (instance,) = {dict(labels)["client_instance_id"] for _, labels in seen}
    assert len(instance) == 22
    reading = "--topic", "orders", "--from-beginning", "--timeout-ms", "3000", "--group", "readers"
    named = "--command-property", "client.id=java-reader"
    run(f"{TOOLS}.consumer.ConsoleConsumer", *server, *reading, *named)
    seen = pushed(broker, "java-reader")
    consumed = "kafka_client_consumer_fetch_manager_records_consumed_total"
    assert value_of(seen, consumed, group_id="readers", topic="orders") == RECORDS


def test_librdkafkas_producer_and_consumer(broker: OurBroker) -> None:
    address: dict[str, Any] = {"bootstrap.servers": broker.bootstrap_servers}
    producer = Producer({**address, "client.id": "rdkafka"})
    for number in range(RECORDS):
        producer.produce("orders", str(number))
    assert not producer.flush(PATIENCE_S)
    latency = "kafka_client_producer_request_latency_avg"

    def from_producer() -> bool:
        producer.poll(0)
        return latency in {name for name, _ in pushed(broker, "rdkafka")}

    eventually("the producer's metrics are shown", from_producer, every_s=0.1)
    consumer = Consumer(
        {**address, "client.id": "rdkafka-reader", "group.id": "rdkafka", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])

    def from_consumer() -> bool:
        consumer.poll(0.1)
        seen = pushed(broker, "rdkafka-reader")
        return value_of(seen, "kafka_client_consumer_coordinator_assigned_partitions", group_id="rdkafka") == 2

    eventually("the consumer's metrics are shown", from_consumer)
    consumer.close()


def test_a_client_pushes_what_is_subscribed(broker: OurBroker) -> None:
    server = "--bootstrap-server", broker.bootstrap_servers
    match = "client_id=chosen.*,client_software_name=librdkafka|confluent-kafka-python"
    configs = f"metrics=org.apache.kafka.producer.request.,match=[{match}]"
    entity = "--entity-type", "client-metrics", "--entity-name", "all"
    run(f"{TOOLS}.ConfigCommand", *server, *entity, "--alter", "--add-config", configs)
    assert f"match={match}" in run(f"{TOOLS}.ConfigCommand", *server, *entity, "--describe")
    chosen, other = (
        Producer({"bootstrap.servers": broker.bootstrap_servers, "client.id": name}) for name in ("chosen-1", "other")
    )

    def shown() -> set[str]:
        for producer in (chosen, other):
            producer.produce("orders", "x")
            producer.poll(0)
        return {name for name, _ in pushed(broker, "chosen-1")}

    names = eventually("the metrics are shown", shown, every_s=0.1)
    assert all(name.startswith("kafka_client_producer_request_") for name in names)
    assert pushed(broker, "other") == {}
