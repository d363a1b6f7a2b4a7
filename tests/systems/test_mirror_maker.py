"""MirrorMaker 2, unmodified, copies topics and the offsets of groups from Apache Kafka to our broker.

The dedicated program of Kafka 4.4.0 with ``exactly.once.source.support`` at our broker: it creates topics of the same
partitions and configuration there, keeps its own state in compacted topics, writes in transactions, and commits the
translated offsets of a group that has no members there (``sync.group.offsets.enabled``).
"""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]

from support.brokers.our_broker import OurBroker
from support.kafka.java import java_or_skip
from support.kafka.real_kafka import RealKafka
from systems.connect import connect_program

PARTITIONS = (0, 1)
RECORDS, MORE = 300, 10
PATIENCE_S = 120.0

pytestmark = [pytest.mark.nightly, pytest.mark.java]


def settings(source: str, target: str) -> dict[str, str]:
    once_a_second = ("emit.checkpoints", "sync.group.offsets", "refresh.topics", "refresh.groups", "sync.topic.configs")
    return {
        "clusters": "kafka, odradek",
        "kafka.bootstrap.servers": source,
        "odradek.bootstrap.servers": target,
        "odradek.exactly.once.source.support": "enabled",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": "http://127.0.0.1:0",
        "kafka->odradek.enabled": "true",
        "odradek->kafka.enabled": "false",
        "kafka->odradek.topics": "orders",
        "kafka->odradek.groups": "billing",
        "kafka->odradek.sync.group.offsets.enabled": "true",
        "kafka->odradek.emit.heartbeats.enabled": "false",
        **{f"kafka->odradek.{name}.interval.seconds": "1" for name in once_a_second},
        "offset.lag.max": "0",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "plugin.discovery": "service_load",
        "replication.factor": "1",
        **{f"{name}.replication.factor": "1" for name in ("checkpoints.topic", "heartbeats.topic")},
        **{f"{name}.storage.replication.factor": "1" for name in ("config", "offset", "status")},
        "offset-syncs.topic.replication.factor": "1",
    }


def produce(servers: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in numbers:
        for partition in PARTITIONS:
            producer.produce("orders", b"%d" % number, b"%d" % number, partition, headers=[("from", b"kafka")])
    assert producer.flush(PATIENCE_S) == 0


def read_to(servers: str, topic: str, last: int) -> dict[int, list[int]]:
    """Reads in the group ``billing`` up to ``last`` in each partition and commits; returns records by partition."""
    settings = {"bootstrap.servers": servers, "group.id": "billing", "enable.auto.commit": "false"}
    settings |= {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found: dict[int, list[int]] = {partition: [-1] for partition in PARTITIONS}
    while any(values[-1] != last for values in found.values()):
        message = consumer.poll(PATIENCE_S)
        assert message is not None, found
        assert message.error() is None, message.error()
        assert message.headers() == [("from", b"kafka")]
        partition, value = message.partition(), message.value()
        assert partition is not None
        assert value is not None
        found[partition].append(int(value))
    consumer.commit(asynchronous=False)
    consumer.close()
    return {partition: values[1:] for partition, values in found.items()}


def translated(admin: AdminClient) -> set[int | None]:
    """The partitions for which the group has offsets at the target."""
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("billing")])["billing"].result(PATIENCE_S)
    return {one.partition for one in asked.topic_partitions or [] if one.topic == "kafka.orders" and one.offset > 0}


def test_a_group_moves_to_our_broker(tmp_path: Path) -> None:
    """The group has consumed all records at Kafka, and misses none at our broker.

    MirrorMaker translates its offset to an earlier one while it does not know the place of the exact record.
    """
    java_or_skip()
    (tmp_path / "ours").mkdir()
    kafka = RealKafka(tmp_path / "kafka")
    with kafka, OurBroker(tmp_path / "ours", {"group.initial.rebalance.delay.ms": "0"}) as broker:
        source, target = kafka.bootstrap_servers, broker.bootstrap_servers
        topic = NewTopic("orders", len(PARTITIONS), 1, config={"cleanup.policy": "compact", "retention.ms": "-1"})
        at_source, at_target = (AdminClient({"bootstrap.servers": servers}) for servers in (source, target))
        at_source.create_topics([topic])["orders"].result(PATIENCE_S)
        produce(source, range(RECORDS))
        assert read_to(source, "orders", RECORDS - 1) == {partition: list(range(RECORDS)) for partition in PARTITIONS}
        program = "org.apache.kafka.connect.mirror.MirrorMaker"
        with connect_program("mirror", program, tmp_path, settings(source, target)) as mirror:
            mirror.wait_for("the group's offsets are there", lambda: translated(at_target) == set(PARTITIONS))
            produce(source, range(RECORDS, RECORDS + MORE))
            for values in read_to(target, "kafka.orders", RECORDS + MORE - 1).values():
                assert values == list(range(values[0], RECORDS + MORE)), "no record is missing or comes twice"
                assert 0 < values[0] <= RECORDS
            resource = ConfigResource(ConfigResource.Type.TOPIC, "kafka.orders")
            config = at_target.describe_configs([resource])[resource].result(PATIENCE_S)
            assert config["cleanup.policy"].value == "compact"
        assert " ERROR " not in broker.log()
