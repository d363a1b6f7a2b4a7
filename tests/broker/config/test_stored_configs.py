"""Configs in the metadata that no request could have written: the start logs them and uses the defaults."""

import logging
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from kafka import KafkaProducer

from odradek.broker.config.definition import group_keys, topic_keys
from odradek.broker.config.stored import problem
from odradek.broker.metadata.image.image import ResourceType
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.configs import DescribeConfigsRequest
from odradek.protocol.messages.metadata_records import ConfigRecord
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking

GROUP = "readers"
BAD = [
    (ResourceType.TOPIC, "orders", "retention.ms", "evil", "604800000"),
    (ResourceType.TOPIC, "orders", "segment.bytes", "-5", "1073741824"),
    (ResourceType.TOPIC, "orders", "cleanup.policy", "compress", "delete"),
    (ResourceType.TOPIC, "orders", "compression.type", "snoppy", "producer"),
    (ResourceType.TOPIC, "orders", "max.message.bytes", "9" * 5000, "1048588"),
    (ResourceType.BROKER, "", "message.max.bytes", "lots", "1048588"),
    (ResourceType.BROKER, "1", "log.cleaner.threads", "-1", "1"),
    (ResourceType.BROKER, "1", "node.id", "7", "1"),
    (ResourceType.BROKER, "1", "replica.alter.log.dirs.io.max.bytes.per.second", "x", None),
    (ResourceType.GROUP, GROUP, "consumer.session.timeout.ms", "a minute", "45000"),
    (ResourceType.GROUP, GROUP, "consumer.heartbeat.interval.ms", "", "5000"),
    (ResourceType.CLIENT_METRICS, "all", "interval.ms", "never", "300000"),
]
"""Resource, key, stored value, and what DescribeConfigs shows instead (None: not shown)."""


def store(broker: InProcessBroker) -> None:
    """Writes the invalid configs into the metadata log without checks."""
    assert broker._running is not None
    metadata = broker._running.server.broker.own_metadata

    async def commit() -> None:
        records = [ConfigRecord(int(kind), name, key, value) for kind, name, key, value, _ in BAD]
        metadata.commit(records, clock_ms())

    broker._running._await(commit())


def described(broker: InProcessBroker, kind: ResourceType, name: str) -> dict[str, str | None]:
    resource = DescribeConfigsRequest.DescribeConfigsResource(int(kind), name, None)
    result = Asking(broker.port).ask(DescribeConfigsRequest([resource]), 4).results[0]
    assert result.error_code == 0, result.error_message
    return {config.name: config.value for config in result.configs}


def test_a_start_names_bad_configs_and_serves_the_defaults(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broker = InProcessBroker(tmp_path)
    broker.start()
    assert Asking(broker.port).create("orders", 1) == 0
    store(broker)
    broker.kill()
    caplog.clear()
    with broker:
        errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        assert len(errors) == len(BAD)
        for _, name, key, value, _ in BAD:
            line = next(line for line in errors if f"{name!r}: {key}=" in line)
            assert repr(value)[:100] in line
            assert len(line) < 600
        for kind, name, key, _, default in BAD:
            if default is not None and name:
                assert described(broker, kind, name)[key] == default, key
        with KafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            assert producer.send("orders", b"one").get(timeout=60).offset == 0
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": GROUP,
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["orders"])
        [message] = consumer.consume(1, timeout=60)
        assert message.value() == b"one"
        consumer.close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("segment.bytes", "14"),
        ("cleanup.policy", "delete,delete"),
        ("cleanup.policy", "compact , delete"),
        ("retention.ms", "-1"),
        ("min.cleanable.dirty.ratio", "0"),
    ],
)
def test_what_an_older_kafka_allowed_is_served(key: str, value: str) -> None:
    assert problem(topic_keys()[key], value) is None


def test_a_value_below_every_bound_is_not_served() -> None:
    assert "segment.bytes" in str(problem(topic_keys()["segment.bytes"], "13"))
    assert "share.session.timeout.ms" in str(problem(group_keys()["share.session.timeout.ms"], "soon"))
