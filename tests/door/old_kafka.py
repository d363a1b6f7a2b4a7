"""A Kafka 2.8.2 with its ZooKeeper, which still writes message formats 0 and 1: makes a directory of them.

    make_directory(tmp_path)    returns the log directory, after a clean stop
    with running(tmp_path, {}) as servers: ...

It wrote the archive of tests/support/data/old_formats.py. A start takes 10 s.
"""

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from support.brokers.free_ports import free_ports
from support.data.old_formats import FORMAT_VERSIONS, MIXED, MIXED_RECORDS, TOPICS, sent
from support.eventually import eventually
from support.kafka.java import fetched, java_command

VERSION = "2.8.2"
TIMEOUT_S = 60.0
RECORDS_A_BATCH = 7
LOGGING = ("org.slf4j", "slf4j-simple", "1.7.30")
LOG_LEVEL = "-Dorg.slf4j.simpleLogger.log.kafka.server.DynamicConfigManager=info"


def make_directory(directory: Path) -> Path:
    """Fills every topic of ``old_formats``; returns the log directory. Raises JavaMissingError."""
    with running(directory, {"log.cleaner.enable": "false"}) as servers:
        _fill(servers, directory / "server.log")
    return directory / "logs"


@contextmanager
def running(directory: Path, configs: dict[str, str]) -> Iterator[str]:
    """Kafka and its ZooKeeper until the end of the block; then they have stopped cleanly. The logs are in ``logs``.

    Yields the bootstrap servers. Raises JavaMissingError.
    """
    zookeeper_port, port = free_ports(2)
    directory.mkdir(parents=True, exist_ok=True)
    libs = fetched(f"kafka-{VERSION}", [("org.apache.kafka", "kafka_2.13", VERSION), LOGGING])
    zookeeper = {
        "dataDir": str(directory / "zookeeper"),
        "clientPort": str(zookeeper_port),
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
    }
    kafka = {
        "broker.id": "0",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(directory / "logs"),
        "zookeeper.connect": f"127.0.0.1:{zookeeper_port}",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "log.retention.ms": "-1",
        **configs,
    }
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    with (
        _running(libs, main, directory / "zookeeper.properties", zookeeper, zookeeper_port),
        _running(libs, "kafka.Kafka", directory / "server.properties", kafka, port),
    ):
        yield f"127.0.0.1:{port}"


@contextmanager
def _running(libs: Path, main: str, path: Path, configs: dict[str, str], port: int) -> Iterator[None]:
    """A JVM until the end of the block; it has then stopped cleanly."""
    path.write_text("".join(f"{key}={value}\n" for key, value in configs.items()))
    with path.with_suffix(".log").open("wb") as out:
        process = subprocess.Popen(
            [java_command(), "-Xmx512m", LOG_LEVEL, "-cp", f"{libs}/*", main, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def serves() -> bool:
        if process.poll() is not None:
            raise RuntimeError(
                f"{main} ended with {process.returncode}: {path.with_suffix('.log').read_text()[-3000:]}"
            )
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    try:
        eventually(f"{main} listens", serves, patience_s=TIMEOUT_S)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT_S)


def _fill(servers: str, log: Path) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for topic in TOPICS:
        magics = MIXED.get(topic) or (int(topic[1]),)
        codec = "gzip" if topic == "mixed-up" else "none" if topic in MIXED else topic.split("-")[1]
        configs = {
            "segment.bytes": "4000" if topic in MIXED else "6000",
            "index.interval.bytes": "400",
            "message.format.version": FORMAT_VERSIONS[magics[0]],
            "message.timestamp.type": "LogAppendTime" if topic.endswith("append") else "CreateTime",
        }
        for created in admin.create_topics([NewTopic(topic, 1, 1, config=configs)]).values():
            created.result(TIMEOUT_S)
        records = sent(topic)
        for number, magic in enumerate(magics):
            if number:
                _change_format(admin, topic, magic, log)
            part = records[number * MIXED_RECORDS :][:MIXED_RECORDS] if topic in MIXED else records
            producer = Producer(
                {
                    "bootstrap.servers": servers,
                    "compression.type": codec,
                    "linger.ms": 20,
                    "batch.num.messages": RECORDS_A_BATCH,
                }
            )
            for record in part:
                producer.produce(topic, record.value, record.key, timestamp=record.timestamp)
                if record.offset % 20 == 19:
                    producer.flush()
            assert producer.flush(TIMEOUT_S) == 0


def _change_format(admin: AdminClient, topic: str, magic: int, log: Path) -> None:
    """Changes ``message.format.version``; returns when the broker logs that it has read the change."""
    key = "message.format.version"
    operation = ConfigEntry(key, FORMAT_VERSIONS[magic], incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[operation])
    for changed in admin.incremental_alter_configs([resource]).values():
        changed.result(TIMEOUT_S)
    value = f"{key} -> {FORMAT_VERSIONS[magic]}"

    def is_noticed() -> bool:
        return any(
            "Processing override" in line and topic in line and value in line for line in log.read_text().splitlines()
        )

    eventually(f"{topic} has {value}", is_noticed, patience_s=TIMEOUT_S)
