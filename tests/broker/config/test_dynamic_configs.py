"""Every broker key that a request may set takes effect, now and after a restart, or is refused, or is listed as unused.

One table for all keys that Kafka calls dynamic. An effect is checked in the part of the broker that uses the key, not
in the stored config.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.definition import dynamic_only_keys, server_keys, topic_keys
from odradek.broker.config.describe import describe_broker
from odradek.broker.config.effective import DYNAMIC_EFFECTIVE, EFFECTIVE
from odradek.broker.config.security import is_reloadable, is_security
from odradek.broker.config.stored import ADVERTISED, READ_AT_START
from odradek.broker.metadata.controller.elections import allows_unclean
from odradek.broker.metadata.image.image import ResourceType
from odradek.broker.replicas.replication_throttle import FOLLOWER_KEYS, LEADER_KEYS, dynamic_rate
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.server.metadata_publisher import move_throttle
from odradek.protocol.errors import ErrorCode
from support.eventually import eventually_in_loop

from .config_changes import alter, create, replace, run


def of_log(field: str) -> Callable[[BrokerServer], object]:
    """Reads a field from the log config of a topic without configs of its own."""
    return lambda server: getattr(server.broker.partitions.get("t", 0).log.config, field)


def of_cleaner(field: str) -> Callable[[BrokerServer], object]:
    """Reads a field from the limits of the cleaner's next round."""

    def limit(server: BrokerServer) -> object:
        cleaner = server.running.background.cleaner
        assert cleaner is not None
        return getattr(cleaner._limits(), field)

    return limit


def of_config(key: str) -> Callable[[BrokerServer], object]:
    """Reads a key that the broker takes from its current configuration at each use."""
    return lambda server: server.broker.config[key]


def of_connections(field: str) -> Callable[[BrokerServer], object]:
    return lambda server: getattr(server.broker.connections.quotas, field)


def cordoned(server: BrokerServer) -> object:
    return {path.name for path in server.broker.log_dirs.cordoned}


def throttle(server: BrokerServer) -> object:
    metadata = server.broker.own_metadata
    return move_throttle(metadata.image, metadata.node_id)


def replication_rate(key: str) -> Callable[[BrokerServer], object]:
    """The rate of a throttle of a broker in a cluster."""

    def rate(server: BrokerServer) -> object:
        metadata = server.broker.own_metadata
        return dynamic_rate(metadata.image, metadata.node_id, key)

    return rate


def unclean(server: BrokerServer) -> object:
    metadata = server.broker.own_metadata
    return allows_unclean(metadata.image, "t", server.broker.controller)


def assignment_interval(server: BrokerServer) -> object:
    return server.broker.group_coordinator.config.group_consumer_assignment_interval_ms


EFFECTS: dict[str, tuple[str, Callable[[BrokerServer], object], object]] = {
    "compression.gzip.level": ("5", of_log("compression_gzip_level"), 5),
    "compression.lz4.level": ("5", of_log("compression_lz4_level"), 5),
    "compression.type": ("zstd", of_log("compression_type"), "zstd"),
    "compression.zstd.level": ("5", of_log("compression_zstd_level"), 5),
    "cordoned.log.dirs": ("*", cordoned, {"logs"}),
    "errors.deadletterqueue.auto.create.topics.enable": (
        "true",
        of_config("errors.deadletterqueue.auto.create.topics.enable"),
        True,
    ),
    "errors.deadletterqueue.topic.name.prefix": (
        "lost.",
        of_config("errors.deadletterqueue.topic.name.prefix"),
        "lost.",
    ),
    "group.consumer.assignment.interval.ms": ("77", assignment_interval, 77),
    "group.streams.assignment.interval.ms": (
        "79",
        lambda server: server.broker.group_coordinator.config.group_streams_assignment_interval_ms,
        79,
    ),
    "group.share.assignment.interval.ms": (
        "78",
        lambda server: server.broker.group_coordinator.config.group_share_assignment_interval_ms,
        78,
    ),
    "log.cleaner.backoff.ms": ("7777", of_config("log.cleaner.backoff.ms"), 7777),
    "log.cleaner.dedupe.buffer.size": ("48000000", of_cleaner("max_map_entries"), 48_000_000 // 2 // 24 // 2),
    "log.cleaner.delete.retention.ms": ("77", of_log("delete_retention_ms"), 77),
    "log.cleaner.io.buffer.load.factor": ("0.5", of_config("log.cleaner.io.buffer.load.factor"), 0.5),
    "log.cleaner.io.buffer.size": ("400000", of_cleaner("buffer_bytes"), 100_000),
    "log.cleaner.io.max.bytes.per.second": ("7000000", of_cleaner("bytes_per_second"), 3_500_000.0),
    "log.cleaner.max.compaction.lag.ms": ("777777", of_log("max_compaction_lag_ms"), 777_777),
    "log.cleaner.min.cleanable.ratio": ("0.25", of_log("min_cleanable_dirty_ratio"), 0.25),
    "log.cleaner.min.compaction.lag.ms": ("77", of_log("min_compaction_lag_ms"), 77),
    "log.cleaner.threads": ("2", of_config("log.cleaner.threads"), 2),
    "log.cleanup.policy": ("compact,delete", of_log("cleanup_policy"), frozenset({"compact", "delete"})),
    "log.flush.interval.messages": ("7777", of_log("flush_messages"), 7777),
    "log.flush.interval.ms": ("7777", of_log("flush_ms"), 7777),
    "log.index.interval.bytes": ("777", of_log("index_interval_bytes"), 777),
    "log.index.size.max.bytes": ("77777", of_log("segment_index_bytes"), 77_777),
    "log.message.timestamp.after.max.ms": ("777", of_log("message_timestamp_after_max_ms"), 777),
    "log.message.timestamp.before.max.ms": ("777", of_log("message_timestamp_before_max_ms"), 777),
    "log.message.timestamp.type": ("LogAppendTime", of_log("message_timestamp_type"), "LogAppendTime"),
    "log.preallocate": ("true", of_log("preallocate"), True),
    "log.retention.bytes": ("7777777", of_log("retention_bytes"), 7_777_777),
    "log.retention.ms": ("7777777", of_log("retention_ms"), 7_777_777),
    "log.roll.jitter.ms": ("777", of_log("segment_jitter_ms"), 777),
    "log.roll.ms": ("7777777", of_log("segment_ms"), 7_777_777),
    "log.segment.bytes": ("7777777", of_log("segment_bytes"), 7_777_777),
    "log.segment.delete.delay.ms": ("777", of_log("file_delete_delay_ms"), 777),
    "max.connections": ("777", of_connections("max_connections"), 777),
    "max.connection.creation.rate": (
        "777777",
        lambda server: server.broker.connections.quotas._broker.max_rate,
        777_777,
    ),
    "max.connections.per.ip": ("77", of_connections("_max_per_ip"), 77),
    "max.connections.per.ip.overrides": ("10.0.0.9:7", of_connections("_max_per_ip_overrides"), {"10.0.0.9": 7}),
    "max.decompressed.message.bytes": ("777777", of_log("max_decompressed_message_bytes"), 777_777),
    "message.max.bytes": ("777777", of_log("max_message_bytes"), 777_777),
    # Limited to the number of replicas, which is one, as in Kafka. A higher value would not fail a Produce here.
    "min.insync.replicas": ("2", of_log("min_insync_replicas"), 2),
    "num.recovery.threads.per.data.dir": ("4", of_config("num.recovery.threads.per.data.dir"), 4),
    "leader.replication.throttled.rate": ("77777", replication_rate(LEADER_KEYS.rate), 77_777),
    "producer.id.expiration.ms": ("7777777", of_log("producer_id_expiration_ms"), 7_777_777),
    "follower.replication.throttled.rate": ("77777", replication_rate(FOLLOWER_KEYS.rate), 77_777),
    "replica.alter.log.dirs.io.max.bytes.per.second": ("77777", throttle, 77_777),
    "transaction.partition.verification.enable": (
        "false",
        of_config("transaction.partition.verification.enable"),
        False,
    ),
    "unclean.leader.election.enable": ("true", unclean, True),
}
"""Key -> a value, the function that reads it where the broker uses it, and the expected result."""

DYNAMIC = {key for key, definition in server_keys().items() if definition.update_mode != "read-only"}
DYNAMIC |= set(dynamic_only_keys())
REFUSED = {key for key in DYNAMIC if key in READ_AT_START or is_security(key)}
"""Keys that are read only at the start, or not served."""
IDLE = DYNAMIC - REFUSED - EFFECTS.keys()
"""Keys of parts that this broker does not have: threads, tiered storage, replication."""


async def cleaner_looks(server: BrokerServer) -> None:
    """Waits until the cleaner has begun to look for work."""
    await eventually_in_loop("a timer starts the cleaner", lambda: server.running.background.cleaner is not None)


def seen(server: BrokerServer) -> dict[str, object]:
    return {key: probe(server) for key, (_, probe, _) in EFFECTS.items()}


def test_what_is_called_dynamic_is_in_the_table() -> None:
    at_start = {key for key in EFFECTIVE if is_security(key)}
    assert (EFFECTIVE.keys() & DYNAMIC) - at_start | DYNAMIC_EFFECTIVE.keys() == EFFECTS.keys() | READ_AT_START
    assert REFUSED.isdisjoint(EFFECTS)


@pytest.mark.parametrize(
    "broker", [pytest.param("1", id="this broker"), pytest.param("", id="all brokers", marks=pytest.mark.ci)]
)
def test_every_key_with_effect_has_it_at_once_and_after_a_restart(tmp_path: Path, broker: str) -> None:
    texts = {key: text for key, (text, _, _) in EFFECTS.items()}
    if broker:
        texts.pop("min.insync.replicas")  # with eligible leader replicas, Kafka allows it only for all brokers
    else:
        texts.pop("cordoned.log.dirs")  # only for one broker
    expected = {key: EFFECTS[key][2] for key in texts}

    async def change(server: BrokerServer) -> None:
        await create(server)
        await cleaner_looks(server)
        before = seen(server)
        assert not [key for key in texts if before[key] == expected[key]], "the table must name other values"
        assert alter(server, texts, broker) == (ErrorCode.NONE, None)
        await asyncio.sleep(0)  # cordoned directories are written to the metadata in the next turn
        now = seen(server)
        assert {key: now[key] for key in texts} == expected

    async def look(server: BrokerServer) -> None:
        await cleaner_looks(server)
        now = seen(server)
        assert {key: now[key] for key in texts} == expected

    run(tmp_path, change, look)


TOPIC_EFFECTS = {
    "cleanup.policy": ("compact,delete", "cleanup_policy", frozenset({"compact", "delete"})),
    "compression.gzip.level": ("5", "compression_gzip_level", 5),
    "compression.lz4.level": ("5", "compression_lz4_level", 5),
    "compression.type": ("zstd", "compression_type", "zstd"),
    "compression.zstd.level": ("5", "compression_zstd_level", 5),
    "delete.retention.ms": ("77", "delete_retention_ms", 77),
    "file.delete.delay.ms": ("777", "file_delete_delay_ms", 777),
    "flush.messages": ("7777", "flush_messages", 7777),
    "flush.ms": ("7777", "flush_ms", 7777),
    "index.interval.bytes": ("777", "index_interval_bytes", 777),
    "max.compaction.lag.ms": ("777777", "max_compaction_lag_ms", 777_777),
    "max.decompressed.message.bytes": ("777777", "max_decompressed_message_bytes", 777_777),
    "max.message.bytes": ("777777", "max_message_bytes", 777_777),
    "message.timestamp.after.max.ms": ("777", "message_timestamp_after_max_ms", 777),
    "message.timestamp.before.max.ms": ("777", "message_timestamp_before_max_ms", 777),
    "message.timestamp.type": ("LogAppendTime", "message_timestamp_type", "LogAppendTime"),
    "min.cleanable.dirty.ratio": ("0.25", "min_cleanable_dirty_ratio", 0.25),
    "min.compaction.lag.ms": ("77", "min_compaction_lag_ms", 77),
    "min.insync.replicas": ("2", "min_insync_replicas", 2),
    "preallocate": ("true", "preallocate", True),
    "retention.bytes": ("7777777", "retention_bytes", 7_777_777),
    "retention.ms": ("7777777", "retention_ms", 7_777_777),
    "segment.bytes": ("7777777", "segment_bytes", 7_777_777),
    "segment.index.bytes": ("77777", "segment_index_bytes", 77_777),
    "segment.jitter.ms": ("777", "segment_jitter_ms", 777),
    "segment.ms": ("7777777", "segment_ms", 7_777_777),
    "unclean.leader.election.enable": ("true", "unclean_leader_election_enable", True),
}
"""Key -> a value, the field of the topic's log config, and the expected value there."""
TOPIC_KEYS_OF_OTHER_PARTS = {
    "errors.deadletterqueue.group.enable",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
}
"""A single Kafka without tiered storage and share groups accepts these, too, and they have no effect on a log. It
refuses the last one."""


def test_every_topic_key_has_its_effect_at_once_and_after_a_restart(tmp_path: Path) -> None:
    visible = {key for key, definition in topic_keys().items() if not definition.internal}
    assert visible == TOPIC_EFFECTS.keys() | TOPIC_KEYS_OF_OTHER_PARTS
    expected = {key: value for key, (_, _, value) in TOPIC_EFFECTS.items()}

    def fields(server: BrokerServer) -> dict[str, object]:
        config = server.broker.partitions.get("t", 0).log.config
        return {key: getattr(config, field) for key, (_, field, _) in TOPIC_EFFECTS.items()}

    async def change(server: BrokerServer) -> None:
        await create(server)
        before = fields(server)
        assert not [key for key in expected if before[key] == expected[key]], "the table must name other values"
        texts = {key: text for key, (text, _, _) in TOPIC_EFFECTS.items()}
        assert alter(server, texts, "t", ResourceType.TOPIC) == (ErrorCode.NONE, None)
        assert fields(server) == expected

    async def look(server: BrokerServer) -> None:
        assert fields(server) == expected

    run(tmp_path, change, look)


def test_recovery_uses_the_threads_that_were_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    async def change(server: BrokerServer) -> None:
        await create(server)
        assert server.broker.partitions.get("t", 0).log.config
        assert alter(server, {"num.recovery.threads.per.data.dir": "4"}) == (ErrorCode.NONE, None)

    run(tmp_path, change, kill=True)
    from odradek.broker.replicas.directories import recovery as recovery_progress

    real = recovery_progress.RecoveryProgress.recover

    def recover(self: Any, *arguments: Any) -> None:
        used.append(arguments[-1])
        real(self, *arguments)

    monkeypatch.setattr(recovery_progress.RecoveryProgress, "recover", recover)

    async def nothing(server: BrokerServer) -> None:
        pass

    run(tmp_path, nothing)
    assert used == [4]


def test_max_connections_is_kept_from_the_next_connection_on(tmp_path: Path) -> None:
    async def work(server: BrokerServer) -> None:
        address = ("127.0.0.1", server.listeners[0].port)
        loop = asyncio.get_running_loop()

        async def is_open(one: socket.socket) -> bool:
            """Whether the broker answers ApiVersions there."""
            await loop.sock_sendall(one, b"\0\0\0\x0a\0\x12\0\0\0\0\0\7\xff\xff")
            try:
                return await loop.sock_recv(one, 1) != b""
            except ConnectionError:
                return False

        with socket.socket() as first, socket.socket() as second:
            for one in (first, second):
                one.setblocking(False)
            await loop.sock_connect(first, address)
            assert await is_open(first)
            assert alter(server, {"max.connections": "1"}) == (ErrorCode.NONE, None)
            await loop.sock_connect(second, address)
            waiting = asyncio.create_task(is_open(second))
            assert await is_open(first)
            assert not waiting.done(), "it waits in the backlog, as in Kafka"
            first.close()
            assert await waiting

    run(tmp_path, work)


def test_what_cannot_be_taken_over_is_refused_by_name(tmp_path: Path) -> None:
    async def work(server: BrokerServer) -> None:
        before = dict(server.broker.metadata.image.configs)
        for key in sorted(REFUSED):
            definition = server_keys()[key]
            text = {"INT": "7", "LONG": "7", "SHORT": "7", "DOUBLE": "0.7"}.get(definition.type, "changed")
            if key == "listeners":
                text = "PLAINTEXT://127.0.0.1:1"
            text = {"ssl.client.auth": "required", "ssl.endpoint.identification.algorithm": "none"}.get(key, text)
            for answer in (alter(server, {key: text}), replace(server, {key: text})):
                assert answer[0] is ErrorCode.INVALID_REQUEST, key
                assert key in (answer[1] or ""), answer
            if key not in READ_AT_START and not is_reloadable(f"listener.name.plaintext.{key}"):
                code, said = alter(server, {f"listener.name.plaintext.{key}": text})
                assert (code, key in (said or "")) == (ErrorCode.INVALID_REQUEST, True), (key, said)
        code, said = alter(server, {"listener.name.x.scram-sha-256.sasl.jaas.config": "a"})
        assert code is ErrorCode.INVALID_REQUEST
        assert server.broker.metadata.image.configs == before
        assert server.broker.config["listeners"] == ("PLAINTEXT://127.0.0.1:0",)

    run(tmp_path, work)


def test_read_only_keys_are_refused_in_kafkas_words(tmp_path: Path) -> None:
    async def work(server: BrokerServer) -> None:
        for key, definition in server_keys().items():
            if definition.update_mode == "read-only" and key != ADVERTISED:
                expected = ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{key}]"
                assert alter(server, {key: definition.default or "1"}) == expected

    run(tmp_path, work)


def test_keys_without_effect_are_accepted_as_by_kafka_and_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    definitions = {**dynamic_only_keys(), **server_keys()}
    texts = {key: definitions[key].default or "x" for key in IDLE}
    texts.pop("config.providers", None)

    async def change(server: BrokerServer) -> None:
        assert alter(server, texts) == (ErrorCode.NONE, None)
        (line,) = (record.getMessage() for record in caplog.records if "have no effect" in record.getMessage())
        assert line.rpartition(": ")[2].split(", ") == sorted(texts)
        caplog.clear()
        shown = {entry.name: entry for entry in describe_broker(server.broker.config, {}, texts)}
        assert all("no effect" in (shown[key].documentation or "") for key in texts)

    async def look(server: BrokerServer) -> None:
        assert any("have no effect" in record.getMessage() for record in caplog.records)

    run(tmp_path, change, look)
