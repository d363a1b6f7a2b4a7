"""DescribeConfigs answers as a real Kafka with the same settings, entry by entry."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.config.describe import (
    WIRE_TYPES,
    DescribedConfig,
    describe_broker,
    describe_client_metrics,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from odradek.broker.config.own_keys import OWN_KEYS
from odradek.broker.config.security import is_security
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.config.stored import READ_AT_START
from support.kafka.real_kafka import RealKafka

from .config_oracle import ask

pytestmark = pytest.mark.java

STATIC = {
    "log.retention.hours": "24",
    "log.segment.bytes": "2000000",
    "log.cleaner.min.cleanable.ratio": "0.0005",
    "ssl.keystore.password": "static-secret",
    "listener.name.internal.ssl.keystore.password": "secret",
    "listener.name.internal.max.connections": "7",
    "custom.plugin.key": "a value",
    "num.partitions": " 3 ",
    "unstable.api.versions.enable": "true",
    "metric.reporters": "",
    "group.streams.acceptable.recovery.lag": "9",  # internal: groups list their key for it only then
}
CLUSTER = {
    "log.retention.ms": "7200000",
    "message.max.bytes": "2000000",
    "max.decompressed.message.bytes": "4000000",
    "errors.deadletterqueue.topic.name.prefix": "",
    "group.consumer.assignor.offload.enable": "false",
    "leader.replication.throttled.rate": "5",
    # Kafka sets this one itself if the feature eligible.leader.replicas.version is enabled (KIP-966).
    "min.insync.replicas": "1",
}
BROKER = {
    "message.max.bytes": "3000000",
    "log.cleaner.io.max.bytes.per.second": "1e10",
    "listener.name.x.sasl.login.class": "y",
}
TOPIC = {
    "segment.bytes": "3000000",
    "retention.bytes": "5",
    "cleanup.policy": "compact, delete",
    "errors.deadletterqueue.group.enable": "true",
    "internal.segment.bytes": "99",
}
CHANGED = {
    "TOPIC:set": "DYNAMIC_TOPIC_CONFIG",
    "BROKER:1": "DYNAMIC_BROKER_CONFIG",
    "BROKER:": "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "GROUP:set": "DYNAMIC_GROUP_CONFIG",
    "CLIENT_METRICS:set": "DYNAMIC_CLIENT_METRICS_CONFIG",
}
"""Resource -> the configs that it shows once its change has reached the broker."""
GROUP = {
    "consumer.session.timeout.ms": "50000",
    "share.auto.offset.reset": "earliest",
    "errors.deadletterqueue.topic.name": "dlq.orders",
    "streams.num.warmup.replicas": "3",  # listed only if it is set
}
METRICS = {"interval.ms": "1000", "match": "client_id=a"}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    with RealKafka(tmp_path_factory.mktemp("kafka"), STATIC) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def theirs(kafka: RealKafka) -> dict[str, list[dict[str, Any]]]:
    """Kafka's entries by resource, once all changes have reached the broker."""
    at = {"bootstrap": kafka.bootstrap_servers}
    changes = [
        {"ask": "create-topic", "name": "set", "configs": TOPIC, **at},
        {"ask": "create-topic", "name": "plain", "configs": {}, **at},
        {"ask": "alter", "type": "BROKER", "name": "", "configs": CLUSTER, **at},
        {"ask": "alter", "type": "BROKER", "name": "1", "configs": BROKER, **at},
        {"ask": "alter", "type": "GROUP", "name": "set", "configs": GROUP, **at},
        {"ask": "alter", "type": "CLIENT_METRICS", "name": "set", "configs": METRICS, **at},
    ]
    assert ask(changes) == [{}] * len(changes)
    resources = [
        ("TOPIC", "set"), ("TOPIC", "plain"), ("BROKER", "1"), ("BROKER", ""), ("GROUP", "set"), ("GROUP", "plain"),
        ("CLIENT_METRICS", "set"),
    ]  # fmt: skip
    questions = [{"ask": "describe", "type": kind, "name": name, **at} for kind, name in resources]
    deadline = time.monotonic() + 60
    while True:
        answers = ask(questions)
        found = {
            f"{kind}:{name}": answer.get("entries", []) for (kind, name), answer in zip(resources, answers, strict=True)
        }
        sources = {entry["source"] for name in CHANGED for entry in found[name]}
        if sources >= set(CHANGED.values()):
            return found
        assert time.monotonic() < deadline, f"the changes never reached the broker: {sources}"


@pytest.fixture(scope="module")
def server(kafka: RealKafka) -> ServerConfig:
    known = {key: value for key, value in kafka.properties().items() if key != "custom.plugin.key"}
    config = ServerConfig.load("".join(f"{key}={value}\n" for key, value in known.items()))
    # Ours refuses a key that Kafka does not know. Kafka's description of one is still compared.
    return ServerConfig({**config.originals, "custom.plugin.key": "a value"}, dict(config._values), config._listeners)


def plain(entries: list[DescribedConfig]) -> dict[str, dict[str, Any]]:
    types = {number: name for name, number in WIRE_TYPES.items()}
    assert all(entry.documentation for entry in entries)
    return {
        entry.name: {
            "name": entry.name,
            "value": entry.value,
            "source": entry.source.name,
            "type": types[entry.config_type],
            "read_only": entry.read_only,
            "sensitive": entry.is_sensitive,
            "synonyms": [[synonym.name, synonym.value, synonym.source.name] for synonym in entry.synonyms],
        }
        for entry in entries
        if entry.name not in OWN_KEYS
    }


def by_name(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Kafka's entries by name; keys that can't be altered here are marked read-only."""
    for entry in entries:
        entry["read_only"] |= entry["name"] in READ_AT_START or is_security(entry["name"])
    return {entry["name"]: entry for entry in entries}


def assert_equal(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> None:
    assert sorted(ours) == sorted(theirs)
    differences = [f"theirs {theirs[name]}\nours   {ours[name]}" for name in ours if ours[name] != theirs[name]]
    assert not differences, "\n".join(differences)


def test_topics(theirs: dict[str, Any], server: ServerConfig) -> None:
    assert_equal(plain(describe_topic(server, TOPIC, CLUSTER, BROKER)), by_name(theirs["TOPIC:set"]))
    assert_equal(plain(describe_topic(server, {}, CLUSTER, BROKER)), by_name(theirs["TOPIC:plain"]))


def test_broker(theirs: dict[str, Any], server: ServerConfig) -> None:
    assert_equal(plain(describe_broker(server, CLUSTER, BROKER)), by_name(theirs["BROKER:1"]))


def test_what_is_left_out_is_as_in_the_file_of_a_kafka(theirs: dict[str, Any], kafka: RealKafka) -> None:
    """A Kafka needs these keys in its file, ours does not. Sources and synonyms are still equal."""
    left_out = ("node.id", "process.roles", "offsets.topic.replication.factor", "transaction.state.log.min.isr")
    also_out = ("share.coordinator.state.topic.min.isr", "share.coordinator.state.topic.replication.factor")
    given = {
        key: value
        for key, value in kafka.properties().items()
        if key in STATIC and key != "custom.plugin.key" and key not in (*left_out, *also_out)
    }
    server = ServerConfig.load("".join(f"{key}={value}\n" for key, value in given.items()))
    ours = plain(describe_broker(server, CLUSTER, BROKER, "PLAINTEXT://127.0.0.1:1234"))
    for key in (*left_out, *also_out, "broker.id", "transaction.state.log.replication.factor"):
        assert ours[key] == by_name(theirs["BROKER:1"])[key]
    advertised = ours["advertised.listeners"]
    assert advertised["value"] == "PLAINTEXT://127.0.0.1:1234"
    assert advertised["source"] == "STATIC_BROKER_CONFIG"
    assert ours["log.dir"]["value"] == "./data"


def test_cluster_defaults(theirs: dict[str, Any]) -> None:
    assert_equal(plain(describe_cluster_defaults(CLUSTER)), by_name(theirs["BROKER:"]))


def test_groups(theirs: dict[str, Any], server: ServerConfig) -> None:
    assert_equal(plain(describe_group(server, GROUP, CLUSTER, BROKER)), by_name(theirs["GROUP:set"]))
    assert_equal(plain(describe_group(server, {}, CLUSTER, BROKER)), by_name(theirs["GROUP:plain"]))


def test_client_metrics(theirs: dict[str, Any]) -> None:
    assert_equal(plain(describe_client_metrics(METRICS)), by_name(theirs["CLIENT_METRICS:set"]))
