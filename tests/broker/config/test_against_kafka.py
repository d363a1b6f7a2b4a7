"""Our configuration rules give the same results as Apache Kafka's classes."""

import random
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.definition import KeyDefinition, client_metrics_keys, group_keys, server_keys, topic_keys
from odradek.broker.config.dynamic_config import validate_broker_configs
from odradek.broker.config.errors import ConfigError
from odradek.broker.config.foreign_keys import OF_CLIENTS
from odradek.broker.config.group_config import validate_client_metrics, validate_group_configs
from odradek.broker.config.own_keys import OWN_KEYS
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.config.topic_config import validate_topic_configs
from odradek.broker.config.validators import violation
from odradek.broker.config.values import format_value, parse_value
from odradek.protocol.errors import KafkaError
from odradek.protocol.java.properties import parse_properties
from support.kafka.java import java_arguments, java_or_skip

from .config_oracle import ask

pytestmark = pytest.mark.java

CONFIG = Path(__file__).parents[3] / "broker" / "config"
TABLES: dict[str, Mapping[str, KeyDefinition]] = {
    "server": {key: definition for key, definition in server_keys().items() if key not in OWN_KEYS},
    "topic": topic_keys(),
    "group": group_keys(),
    "client-metrics": client_metrics_keys(),
}
TEXTS = [
    *("", " ", "a", "1", " 7 ", "0", "-1", "-2", "+5", "1k", "1_000", "2147483647", "2147483648", "32768", "-32769"),
    *("9223372036854775807", "9223372036854775808", "1.5", ".5", "1e3", "1.0f", "NaN", "-Infinity", "0.05", "1048576"),
    *("true", "TRUE", " false ", "yes", "a,b", "a , b", "a,,b", "a,a", ",", "compact,delete", "compact", "delete"),
    *("producer", "zstd", "gzip", "none", "required", "SSL", "CreateTime", "upgrade", "latest", "by_duration:PT1H"),
    *("by_duration:P1X", "earliest", "read_committed", "broker,controller", "1@localhost:9093", "localhost:9093"),
    *(
        "1@localhost",
        "x@localhost:1",
        "1@2@3:4",
        "*",
        "0:1,1:2",
        "0:1,x",
        "100",
        "1000",
        "524288",
        "10",
        "5",
        "uniform",
    ),
]


def test_keys_of_clients_are_those_of_kafkas_clients() -> None:
    """All keys of its producer, consumer and admin client that its broker does not have."""
    (answer,) = ask([{"ask": "keys", "table": "clients"}])
    assert set(answer["keys"]) - server_keys().keys() == OF_CLIENTS


def test_tables_are_what_kafka_says(tmp_path: Path) -> None:
    java_or_skip()
    program = CONFIG / "extract" / "ExtractConfigKeys.java"
    subprocess.run([*java_arguments(), str(program), str(tmp_path)], check=True, timeout=300)
    for file in sorted((CONFIG / "data").glob("*.json")):
        assert (tmp_path / file.name).read_text() == file.read_text(), f"{file.name}: run `make config-keys`"


def our_value(table: str, key: str, text: str) -> dict[str, Any]:
    definition = TABLES[table][key]
    try:
        value = parse_value(key, definition.type, text)
    except ValueError as unparsable:
        return {"error": str(unparsable)}
    problem = violation(definition, value)
    return {"value": format_value(value)} if problem is None else {"error": problem}


def test_every_key_takes_and_refuses_what_kafka_does() -> None:
    questions = [
        {"ask": "value", "table": table, "key": key, "text": text}
        for table, keys in TABLES.items()
        for key, definition in keys.items()
        for text in [*TEXTS, *_edges(definition.validator or {})]
        if definition.type not in ("CLASS", "PASSWORD")  # classes are not loaded here; Java hides passwords
    ]
    differences = []
    for question, theirs in zip(questions, ask(questions), strict=True):
        ours = our_value(question["table"], question["key"], question["text"])
        if ours != theirs and not _same_refusal(question["key"], ours, theirs):
            differences.append((question, theirs, ours))
    assert not differences[:20]


def _edges(rule: Mapping[str, Any]) -> list[str]:
    """Values just inside and outside the limits of a rule."""
    bounds = [bound for bound in (rule.get("min"), rule.get("max")) if isinstance(bound, int)]
    return [str(bound + step) for bound in bounds for step in (-1, 0, 1)] + [str(one) for one in rule.get("values", [])]


def _same_refusal(key: str, ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    # Java's message has the first list entry or a null from its parser. It is enough that both refuse.
    return "error" in ours and "error" in theirs and key.startswith("controller.quorum.")


def test_properties_are_read_as_java_reads_them() -> None:
    fixed = [
        "a=1\nb : 2\nc 3\n  d\t=\t4\n#x=1\n! y=1\ne\nf=\n=g\n",
        "a=one \\\n   two\\\\\nb=\\\n# not a comment\nc=a\\\r\n b\rd=1",
        'a\\ b=1\na\\:b=2\na\\=b=3\n\\u0041\\t=\\u00e9\\n\\x\\"\n',
        "a=1\na=2\nempty\\\n\n\\\nb=5\n   \\\n   c=6",
        "a==b\nb=:c\nc=\\ d\nd = e = f \ne:f:g",
        "a=\\uD83D\\uDE00\nk=\\\\u0041\nlast=\\",
        "bad=\\u12",
        "bad=\\uzzzz",
    ]
    chance = random.Random(4)
    pieces = ["a", "b", "=", ":", " ", "\t", "\n", "\r", "\r\n", "\\", "\\\n", "#", "!", "\\u0041", "\f", "é", "\\t"]
    # Each ends with an entry: how Java reads a backslash at the very end depends on its buffer.
    made = ["".join(chance.choices(pieces, k=chance.randrange(1, 25))) + "\nz=1\nz=1\n" for _ in range(500)]
    texts = fixed + made
    for text, theirs in zip(texts, ask([{"ask": "properties", "text": text} for text in texts]), strict=True):
        try:
            ours: dict[str, Any] = {"entries": {entry.key: entry.value for entry in parse_properties(text)}}
        except ValueError:
            ours = {"error": ""}
        assert ours == theirs or ("error" in ours and "error" in theirs), repr(text)


TOPICS: list[dict[str, str]] = [
    {},
    {"segment.bytes": "1048576"},
    {"segment.bytes": "1048575"},
    {"internal.segment.bytes": "100"},
    {"unknown.key": "1"},
    {"cleanup.policy": "compact,delete"},
    {"cleanup.policy": "compact,delete,compact"},
    {"cleanup.policy": ""},
    {"cleanup.policy": "compress"},
    {"retention.ms": "-2"},
    {"retention.ms": "soon"},
    {"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"},
    {"min.compaction.lag.ms": "9223372036854775807"},
    {"remote.storage.enable": "true"},
    {"compression.type": "zip"},
    {"compression.gzip.level": "0"},
    {"min.cleanable.dirty.ratio": "1.5"},
    {"leader.replication.throttled.replicas": "0:1,1:2"},
    {"leader.replication.throttled.replicas": "all"},
    {"message.timestamp.type": "createtime"},
    {"max.message.bytes": ""},
    {"max.decompressed.message.bytes": "0"},
    {"max.decompressed.message.bytes": "2147483640"},
    {"errors.deadletterqueue.group.enable": "on"},
    {"remote.copy.lag.ms": "-2"},
    {"remote.copy.lag.bytes": "5", "segment.bytes": "1048576"},
    {"remote.copy.lag.ms": "1000", "retention.ms": "10"},
]


def test_topic_configs_are_judged_as_kafka_judges_them() -> None:
    server = ServerConfig.load()
    for configs, theirs in zip(TOPICS, ask([{"ask": "topic", "configs": one} for one in TOPICS]), strict=True):
        assert _kafka_error(validate_topic_configs, configs, server) == theirs.get("error"), configs


GROUPS: list[dict[str, str]] = [
    {},
    {"consumer.session.timeout.ms": "45000"},
    {"consumer.session.timeout.ms": "44999"},
    {"consumer.session.timeout.ms": "60001"},
    {"consumer.heartbeat.interval.ms": "15001"},
    {"consumer.assignment.interval.ms": "15001"},
    {"share.record.lock.duration.ms": "14999"},
    {"share.delivery.count.limit": "11"},
    {"share.partition.max.record.locks": "5000"},
    {"share.auto.offset.reset": "yesterday"},
    {"share.isolation.level": "read_committed"},
    {"streams.num.standby.replicas": "3"},
    {"streams.session.timeout.ms": "x"},
    {"streams.num.warmup.replicas": "20"},
    {"streams.num.warmup.replicas": "21"},
    {"streams.acceptable.recovery.lag": "-1"},
    {"streams.task.offset.interval.ms": "14999"},
    {"streams.task.offset.interval.ms": "15000"},
    {"streams.assignor.name": "sticky"},
    {"streams.assignor.name": "other"},
    {"streams.rack.aware.assignment.tags": ""},
    {"streams.rack.aware.assignment.tags": "zone, rack"},
    {"streams.rack.aware.assignment.tags": "zone , zone"},
    {"streams.rack.aware.assignment.tags": "zone,,rack"},
    {"consumer.assignor.offload.enable": "false"},
    {"share.assignor.offload.enable": "maybe"},
    {"errors.deadletterqueue.topic.name": ""},
    {"errors.deadletterqueue.topic.name": "dlq.a/b c"},
    {"errors.deadletterqueue.topic.name": "__dlq"},
    {"errors.deadletterqueue.topic.name": " __dlq"},
    {"errors.deadletterqueue.copy.record.enable": "yes"},
    {"consumer.session.timeout.ms": "1", "share.session.timeout.ms": "1"},
    {"share.session.timeout.ms": "1", "consumer.session.timeout.ms": "1"},
    {"consumer.session.timeout.ms": "1", "unknown": "1"},
    {"streams.num.standby.replicas": "3", "share.session.timeout.ms": "x"},
    {"unknown": "1"},
]


def test_group_configs_are_judged_as_kafka_judges_them() -> None:
    server = ServerConfig.load()
    for configs, theirs in zip(GROUPS, ask([{"ask": "group", "configs": one} for one in GROUPS]), strict=True):
        assert _kafka_error(validate_group_configs, configs, server) == theirs.get("error"), configs


METRICS: list[dict[str, str]] = [
    {},
    {"interval.ms": "100", "metrics": "a,b", "match": "client_id=abc.*, client_software_name=x"},
    {"interval.ms": "99"},
    {"interval.ms": "3600001"},
    {"interval.ms": "x"},
    {"match": "client=a"},
    {"match": "client_id"},
    {"match": "client_id=["},
    {"match": "client_id="},
    {"match": "client_id=a="},
    {"match": "client_id=a=b"},
    {"match": "=a"},
    {"metrics": "a,b,a"},
    {"metrics": "a,,b"},
    {"metric": "a"},
]


def test_client_metrics_are_judged_as_kafka_judges_them() -> None:
    asked = ask([{"ask": "client-metrics", "configs": one} for one in METRICS])
    for configs, theirs in zip(METRICS, asked, strict=True):
        assert _kafka_error(validate_client_metrics, "subscription", configs) == theirs.get("error"), configs


DYNAMIC: list[tuple[dict[str, str], bool]] = [
    ({"log.retention.ms": "1000"}, True),
    ({"log.retention.ms": "1000"}, False),
    ({"log.retention.hours": "1"}, True),
    ({"log.segment.bytes": "1"}, False),
    ({"ssl.keystore.location": "/x"}, True),
    ({"listener.name.internal.ssl.keystore.location": "/x"}, True),
    ({"listener.name.internal.ssl.keystore.location": "/x"}, False),
    ({"listener.name.internal.max.connections": "10"}, False),
    ({"listeners": "PLAINTEXT://:1"}, False),
    ({"leader.replication.throttled.rate": "100"}, True),
    ({"leader.replication.throttled.rate": "-1"}, True),
    ({"my.plugin.key": "x"}, False),
    ({"num.io.threads": "x"}, False),
    ({"max.decompressed.message.bytes": "0"}, False),
    ({"max.decompressed.message.bytes": "1"}, False),
    ({"errors.deadletterqueue.topic.name.prefix": "__x"}, False),
    ({"group.streams.assignors": "sticky"}, False),
]


def test_dynamic_configs_are_judged_as_kafka_judges_them() -> None:
    questions = [{"ask": "dynamic", "configs": configs, "per_broker": one} for configs, one in DYNAMIC]
    for (configs, per_broker), theirs in zip(DYNAMIC, ask(questions), strict=True):
        ours = _kafka_error(validate_broker_configs, configs, per_broker=per_broker)
        assert ours == theirs.get("error"), configs


def _kafka_error(check: Callable[..., None], *arguments: Any, **options: Any) -> str | None:
    try:
        check(*arguments, **options)
    except KafkaError as refused:
        return str(refused.message)
    return None


SERVERS: list[dict[str, str]] = [
    {},
    {"log.retention.ms": "0"},
    {"log.retention.ms": "-5"},
    {"log.retention.minutes": "-1"},
    {"log.retention.hours": "0"},
    {"log.roll.ms": "0"},
    {"log.roll.jitter.ms": "-1"},
    {"broker.id": "2"},
    {"log.cleaner.dedupe.buffer.size": "1000"},
    {"log.cleaner.dedupe.buffer.size": "1048576"},
    {"log.cleaner.dedupe.buffer.size": "1048577"},
    {"replica.fetch.wait.max.ms": "30001"},
    {"replica.fetch.wait.max.ms": "600", "replica.lag.time.max.ms": "599"},
    {"group.coordinator.rebalance.protocols": "consumer"},
    {"group.consumer.heartbeat.interval.ms": "4999"},
    {"group.consumer.session.timeout.ms": "60001"},
    {"group.consumer.max.session.timeout.ms": "1"},
    {"group.share.assignors": "a,b"},
    {"group.share.delivery.count.limit": "2", "group.share.min.delivery.count.limit": "3"},
    {"group.streams.num.standby.replicas": "3"},
    {"group.streams.num.warmup.replicas": "21"},
    {"group.streams.task.offset.interval.ms": "14999"},
    {"group.streams.rack.aware.assignment.tags": "a,b"},
    {"group.streams.rack.aware.assignment.tags": "a,a"},
    {"queued.max.request.bytes": "1000"},
    {"max.connections.per.ip": "0"},
    {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"},
    {"max.connections.per.ip.overrides": "127.0.0.1:5, ::1:6"},
    {"max.connections.per.ip.overrides": "127.0.0.1"},
    {"max.connections.per.ip.overrides": "127.0.0.1:x"},
    {"max.connections.per.ip.overrides": "a b:5"},
    {"connections.max.idle.ms": "100"},
    {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
    {"advertised.listeners": "PLAINTEXT://host:0"},
    {"advertised.listeners": "OTHER://host:1"},
    {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://localhost:9093"},
    {"listeners": "PLAINTEXT://localhost:9093,CONTROLLER://localhost:9093"},
    {"listeners": "PLAINTEXT://:0,CONTROLLER://:0"},
    {"listeners": "PLAINTEXT://127.0.0.1:9092,A://[::1]:9092,CONTROLLER://:1", "inter.broker.listener.name": "A"},
    {
        "listeners": "PLAINTEXT://127.0.0.1:9092,A://[::1]:9092,CONTROLLER://:1",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,A:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "A",
    },
    {
        "listeners": "A://127.0.0.1:9092,B://127.0.0.2:9092,CONTROLLER://:1",
        "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "A",
    },
    {
        "listeners": "a://:9092,CONTROLLER://:1",
        "listener.security.protocol.map": "A:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "A",
    },
    {
        "listeners": "A://:9092,CONTROLLER://:1",
        "listener.security.protocol.map": "A:PLAINTEXT,CONTROLLER:PLAINTEXT",
    },
    {"listeners": "PLAINTEXT//localhost:9093"},
    {"listeners": "CONTROLLER://localhost:9093"},
    {"listener.security.protocol.map": "PLAINTEXT:SSH,CONTROLLER:PLAINTEXT"},
    {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
    {"controller.listener.names": "OTHER"},
    {"controller.quorum.voters": "2@localhost:9093"},
    {"controller.quorum.voters": "1@localhost:9093"},
    {"process.roles": "broker,broker"},
]


def test_whole_configurations_are_refused_where_kafka_refuses_them() -> None:
    node = {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "localhost:9093",
        "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    }
    for configs, theirs in zip(SERVERS, ask([{"ask": "server", "configs": one} for one in SERVERS]), strict=True):
        text = "".join(f"{key}={value}\n" for key, value in {**node, **configs}.items())
        try:
            ServerConfig.load(text)
            ours = None
        except ConfigError as refused:
            ours = str(refused)
        assert (ours is None) == ("error" not in theirs), f"{configs}: Kafka says {theirs}, we say {ours}"
