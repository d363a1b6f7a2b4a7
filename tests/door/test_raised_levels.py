"""A directory of Kafka 3.3's levels is raised while Odradek serves it, by Kafka's own tool, and moves on to Kafka."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from door.rules import violations
from door.topics import Plan
from door.workload import create
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import java_or_skip
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
LEVELS = {"eligible.leader.replicas.version": 1, "group.version": 1, "transaction.version": 2}
TOPIC = "t"


def test_levels_are_raised_while_the_broker_serves(tmp_path: Path) -> None:
    java_or_skip()
    ours, kafka = OurBroker(tmp_path, {"node.id": "1"}), RealKafka(tmp_path)
    format_as_3_3(ours)
    with ours:
        create(AdminClient({"bootstrap.servers": ours.bootstrap_servers}), [Plan(TOPIC)])
        send(ours.bootstrap_servers)
        features(kafka, ours, "upgrade", "--metadata", "4.3-IV0")
        send(ours.bootstrap_servers)
        features(kafka, ours, "upgrade", *[f"--feature={name}={level}" for name, level in LEVELS.items()])
        send(ours.bootstrap_servers, transactional_id="of-the-new-protocol")
        consume(ours.bootstrap_servers, 3)
        refused = features(kafka, ours, "downgrade", "--metadata", "4.2-IV1", is_accepted=False)
        assert "it might delete metadata information" in refused
        assert ours.stop() == 0
        ours.start()
        send(ours.bootstrap_servers)
        consume(ours.bootstrap_servers, 4)
        described = features(kafka, ours, "describe")
        assert re.search(r"metadata\.version .*FinalizedVersionLevel: 4\.3-IV0", described), described
        assert ours.stop() == 0
    assert violations(ours.log_dir, clean=True) == []
    with kafka:
        send(kafka.bootstrap_servers)
        consume(kafka.bootstrap_servers, 5)


def format_as_3_3(broker: OurBroker) -> None:
    """Formats the directory with the feature levels of Kafka 3.3."""
    file = broker.directory / "format.properties"
    file.write_text(f"node.id=1\nlog.dirs={broker.log_dir}\n")
    arguments = ["storage", "format", "-c", str(file), "-t", CLUSTER_ID, "-r", "3.3-IV3"]
    subprocess.run([sys.executable, "-m", "odradek", *arguments], check=True, capture_output=True)


def features(kafka: RealKafka, broker: OurBroker, *arguments: str, is_accepted: bool = True) -> str:
    """The output of Kafka's tool."""
    server = ("--bootstrap-server", broker.bootstrap_servers)
    result = kafka.run_tool("org.apache.kafka.tools.FeatureCommand", *server, *arguments)
    output = result.stdout + result.stderr
    assert (result.returncode == 0) is is_accepted, output
    return output


def send(servers: str, transactional_id: str | None = None) -> None:
    """Sends one record, in a transaction if there is an id, and waits until it is acknowledged."""
    producer = Producer(
        {"bootstrap.servers": servers, **({"transactional.id": transactional_id} if transactional_id else {})}
    )
    if transactional_id:
        producer.init_transactions(60)
        producer.begin_transaction()
    failed: list[str] = []
    producer.produce(TOPIC, b"v", on_delivery=lambda error, _: failed.append(str(error)) if error else None)
    assert producer.flush(60) == 0
    assert not failed
    if transactional_id:
        producer.commit_transaction(60)


def consume(servers: str, count: int) -> None:
    """Reads all records with a new group of the new protocol."""
    group = {"group.id": f"reads-{count}", "group.protocol": "consumer", "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": servers, **group})
    consumer.subscribe([TOPIC])
    found: list[object] = []

    def has_all() -> bool:
        found.extend(record for record in consumer.consume(10, 0.1) if record.error() is None)
        return len(found) >= count

    try:
        eventually(lambda: f"{count} records, found {len(found)}", has_all, patience_s=60)
        assert len(found) == count
    finally:
        consumer.close()
