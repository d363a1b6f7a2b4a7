"""`make bench-share`: share groups of ours and of a real Kafka in turn, with the same unmodified clients.

Throughput with Kafka's own tool (``kafka-share-consumer-perf-test``: Java's share consumer with 1, 4 and 16 consumers),
the rest with confluent-kafka. Memory is measured with raw requests: one member holds 2,000 records of each of 100
partitions. Prints one table; ratios above 1 are in favour of Odradek.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, ShareConsumer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from one_connection import OneConnection
from rich.progress import Progress

import brokers
import workloads
from brokers import Running
from comparison_table import Samples, show
from installed_wheel import install_wheel
from interpreters import describe
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.share_groups import ShareFetchRequest, ShareGroupHeartbeatRequest
from support.kafka.java import java_command, kafka_libs

CONSUMERS = (1, 4, 16)
SIZE = 100
HELD_PARTITIONS, HELD_RECORDS = 100, 2_000
Starter = Callable[[Path], AbstractContextManager[Running]]


def from_the_beginning(bootstrap: str, group: str) -> None:
    """Lets a share group begin with the first record."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(30)


def throughput(bootstrap: str, libs: Path, topic: str, consumers: int, count: int) -> float:
    """Records a second that Java's share consumers get and acknowledge, as Kafka's tool measures it."""
    group = f"perf-{consumers}"
    from_the_beginning(bootstrap, group)
    java = [java_command(), "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{libs}/*"]
    flags = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(count), "--group", group]
    run = [*java, "org.apache.kafka.tools.ShareConsumerPerformance", *flags, "--threads", str(consumers)]
    ended = subprocess.run([*run, "--timeout", "60000"], capture_output=True, text=True, check=True)
    header, figures = ([field.strip() for field in line.split(",")] for line in ended.stdout.strip().splitlines()[-2:])
    return float(dict(zip(header, figures, strict=True))["nMsg.sec"])


def first_record(bootstrap: str, topic: str, group: str) -> float:
    """Seconds from subscribe to the first record, of a new group."""
    from_the_beginning(bootstrap, group)
    consumer = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group})
    begin = time.perf_counter()
    consumer.subscribe([topic])
    while not any(message.error() is None for message in consumer.poll(0.05) or ()):
        assert time.perf_counter() - begin < 60, "no record"
    seconds = time.perf_counter() - begin
    consumer.close()
    return seconds


def acknowledging(bootstrap: str, topic: str, group: str, count: int) -> dict[str, float]:
    """Milliseconds of a commit of one acknowledged record: p50 and p99."""
    from_the_beginning(bootstrap, group)
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "max.poll.records": 1}
    consumer = ShareConsumer({**settings, "share.acknowledgement.mode": "explicit"})
    consumer.subscribe([topic])
    samples: list[float] = []
    while len(samples) < count:
        for message in consumer.poll(1.0) or ():
            assert message.error() is None, message.error()
            consumer.acknowledge(message)
            begin = time.perf_counter()
            consumer.commit_sync()
            samples.append(time.perf_counter() - begin)
    consumer.close()
    return workloads.percentiles(samples)


def memory_of_records_in_flight(running: Running) -> dict[str, float]:
    """The broker's memory while one member holds HELD_RECORDS of each of HELD_PARTITIONS, and what it grew by, in MB.

    A JVM may have reserved what it grows by before.
    """
    topic, group, member = "held", "holders", "AAAAAAAAAAAAAAAAAAAAAA"
    workloads.create_topic(running.bootstrap, topic, HELD_PARTITIONS)
    from_the_beginning(running.bootstrap, group)
    producer = Producer(
        {"bootstrap.servers": running.bootstrap, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    )
    for index in range(HELD_PARTITIONS):
        for _ in range(HELD_RECORDS):
            producer.produce(topic, bytes(10), partition=index)
            producer.poll(0)
    producer.flush(60)
    asking = OneConnection(int(running.bootstrap.rpartition(":")[2]))
    topic_id = asking.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic)]), 12).topics[0].topic_id
    epoch = 0
    before = running.memory_mb()
    deadline = time.monotonic() + 60
    held: dict[int, int] = {}
    session = 0
    while sum(held.values()) < HELD_PARTITIONS * HELD_RECORDS:
        assert time.monotonic() < deadline, f"{sum(held.values())} records are held"
        names = [topic] if epoch == 0 else None
        beat = asking.ask(ShareGroupHeartbeatRequest(group, member, epoch, None, names), 1)
        epoch = beat.member_epoch
        kind = ShareFetchRequest
        wanted = [kind.FetchPartition(index) for index in range(HELD_PARTITIONS)] if session == 0 else []
        request = kind(group, member, session, 100, 1, 1 << 26, 200_000, 500)
        request.topics = [kind.FetchTopic(topic_id, wanted)] if wanted else []
        answer = asking.ask(request, 1)
        session = 0 if answer.error_code else session + 1
        for one in answer.responses:
            for partition in one.partitions:
                got = sum(each.last_offset - each.first_offset + 1 for each in partition.acquired_records)
                held[partition.partition_index] = held.get(partition.partition_index, 0) + got
    after = running.memory_mb()
    return {
        "memory that 200,000 records in flight take MB": after - before,
        "memory of the broker with 200,000 records in flight MB": after,
    }


def measure(running: Running, libs: Path, scale: float) -> dict[str, float]:
    """All figures of one running broker."""
    bootstrap, figures = running.bootstrap, {}
    workloads.create_topic(bootstrap, "few")
    workloads.produce(bootstrap, "few", 5_000, SIZE, "all")
    figures["share group: subscribe to first record s"] = first_record(bootstrap, "few", "first")
    for name, value in acknowledging(bootstrap, "few", "acknowledging", int(1_000 * scale)).items():
        figures[f"acknowledge one record, {name}"] = value
    for consumers in CONSUMERS:
        topic, count = f"for-{consumers}", int(1_000_000 * scale)
        workloads.create_topic(bootstrap, topic, max(CONSUMERS))
        produce_everywhere(bootstrap, topic, count)
        figures[f"{consumers} share consumers, records/s"] = throughput(bootstrap, libs, topic, consumers, count)
    return figures | memory_of_records_in_flight(running)


def produce_everywhere(bootstrap: str, topic: str, count: int) -> None:
    """Produces records to all partitions of a topic in turn."""
    producer: Any = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000, "acks": "1"}
    )
    partitions = max(CONSUMERS)
    for number in range(count):
        while True:
            try:
                producer.produce(topic, bytes(SIZE), partition=number // 100 % partitions)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    assert producer.flush(120) == 0


def main() -> int:
    """Measures both brokers in turn and prints the table; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the numbers of records")
    arguments = parser.parse_args()
    libs = Path(kafka_libs())
    results: dict[str, Samples] = {"odradek": {}, "kafka": {}}
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place, Progress() as progress:
        scratch = Path(place)
        task = progress.add_task("build and install the wheel", total=1 + 2 * arguments.rounds)
        executable = install_wheel(scratch / "wheel")
        progress.console.print(describe(str(executable.parent / "python")))
        starters: dict[str, Starter] = {
            "odradek": lambda directory: brokers.odradek(executable, directory),
            "kafka": lambda directory: brokers.kafka(libs, directory),
        }
        progress.advance(task)
        for number in range(arguments.rounds):
            for name, start in starters.items():
                progress.update(task, description=f"round {number + 1}: {name}")
                directory = scratch / f"{name}-{number}"
                directory.mkdir()
                with start(directory) as running:
                    for figure, value in measure(running, libs, arguments.scale).items():
                        results[name].setdefault(figure, []).append(value)
                progress.advance(task)
    show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
