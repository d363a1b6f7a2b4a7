"""The output of `odradek import` is served by our broker and by a real Kafka, with other topics, and after a crash."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from support.brokers.our_broker import OurBroker
from support.data.dump_log import kafka_dump
from support.kafka.real_kafka import RealKafka

from ..imported_rows import Found, in_order, records_in, row, write_parquet

pytestmark = pytest.mark.ci
TIMEOUT_S = 120


def run_import(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "odradek", "import", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def consume(servers: str, partitions: dict[tuple[str, int], int]) -> Found:
    """Reads the partitions to their ends with librdkafka; returns the rows."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False,
                         "auto.offset.reset": "earliest", "enable.partition.eof": True})  # fmt: skip
    rows: Found = []
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in partitions])
        left = dict(partitions)
        while left:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"nothing for {TIMEOUT_S} s; {left} is missing"
            place = message.topic() or "", message.partition() or 0
            error = message.error()
            if error is not None:
                assert error.name() == "_PARTITION_EOF", error
                assert message.offset() == left.pop(place)
                continue
            kind, timestamp = message.timestamp()
            rows.append(
                {
                    "key": message.key(),
                    "value": message.value(),
                    "topic": place[0],
                    "partition": place[1],
                    "offset": message.offset(),
                    "timestamp": timestamp * 1000,
                    "timestampType": kind - 1,
                    "headers": [{"key": key, "value": value} for key, value in list(message.headers() or [])] or None,
                }
            )
    finally:
        consumer.close()
    return rows


def rows_with_gaps() -> Found:
    """Three partitions, of which the middle one is empty: offsets with gaps, nulls, headers, both timestamp types."""
    usual: dict[str, Any] = {"headers": [{"key": "h", "value": b"1"}, {"key": "empty", "value": b""}]}
    rows = [row(offset, **usual) for offset in range(100, 4000, 3)]
    rows += [row(offset, partition=2, timestampType=1, value=None) for offset in range(0, 50, 7)]
    return rows


ENDS = {("orders", 0): 3998, ("orders", 1): 0, ("orders", 2): 50}


def imported(directory: Path, codec: str) -> Path:
    source = write_parquet(directory / "rows.parquet", rows_with_gaps())
    result = run_import(source, "--into", directory / "logs", "--codec", codec, "--segment-bytes", "30000",
                        "--batch-bytes", "2000", "--config", "orders:max.message.bytes=2000000")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "added topic orders with 3 partitions" in result.stdout
    return directory / "logs"


def test_our_broker_serves_it(tmp_path: Path) -> None:
    logs = imported(tmp_path, "zstd")
    assert in_order(records_in(logs)) == in_order(rows_with_gaps())
    assert {found.name for found in audit_directories([logs], LOCAL).findings} == {"offset-gap"}, "as they were"
    with OurBroker(tmp_path) as broker:
        assert in_order(consume(broker.bootstrap_servers, ENDS)) == in_order(rows_with_gaps())
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("orders", b"new", partition=1)
        assert producer.flush(TIMEOUT_S) == 0
        broker.stop()
        assert "read 0 MiB after the recovery points" in broker.log(), "what is durable is not checked again"


def test_a_topic_comes_to_others(tmp_path: Path) -> None:
    """Imports into the directory of a stopped broker. Its topics stay, and an existing one is refused."""
    with OurBroker(tmp_path) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("before", b"value")
        assert producer.flush(TIMEOUT_S) == 0
        refused = run_import(write_parquet(tmp_path / "one.parquet", [row(0)]), "--into", broker.log_dir)
        assert refused.returncode == 1
        assert "has this log directory open" in refused.stderr
        broker.stop()
        again = run_import(tmp_path / "one.parquet", "--into", broker.log_dir, "--topic", "before")
        assert again.returncode == 1
        assert "already has topic before" in again.stderr
        imported(tmp_path, "lz4")
        broker.start()
        assert in_order(consume(broker.bootstrap_servers, ENDS)) == in_order(rows_with_gaps())
        [old] = consume(broker.bootstrap_servers, {("before", 0): 1})
        assert old["value"] == b"value"


@pytest.mark.java
def test_kafka_serves_it(tmp_path: Path) -> None:
    logs = imported(tmp_path, "lz4")
    dumped = kafka_dump("--deep-iteration", "--files", ",".join(map(str, sorted(logs.glob("orders-*/*.log")))))
    batches = [line for line in dumped.out if line.startswith("baseOffset")]
    assert batches
    assert all("isvalid: true" in line for line in batches)
    indexes = kafka_dump("--files", ",".join(map(str, sorted(logs.glob("orders-*/*index")))))
    assert not [line for line in indexes.out if "mismatch" in line.lower() or "found" in line.lower()]
    with RealKafka(tmp_path) as kafka:
        assert in_order(consume(kafka.bootstrap_servers, ENDS)) == in_order(rows_with_gaps())
        kafka.stop()
    assert not [name for name in os.listdir(logs) if name.endswith("-stray")]


@pytest.mark.java
def test_a_topic_comes_into_kafkas_own_directory(tmp_path: Path) -> None:
    """Our records follow Kafka's in its metadata log, and Kafka continues with both."""
    with RealKafka(tmp_path) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        producer.produce("before", b"value")
        assert producer.flush(TIMEOUT_S) == 0
        kafka.stop()
        imported(tmp_path, "snappy")
        kafka.start()
        assert in_order(consume(kafka.bootstrap_servers, ENDS)) == in_order(rows_with_gaps())
        [old] = consume(kafka.bootstrap_servers, {("before", 0): 1})
        assert old["value"] == b"value"
        producer.produce("orders", b"new", partition=1)
        assert producer.flush(TIMEOUT_S) == 0
    assert not [name for name in os.listdir(kafka.log_dir) if name.endswith("-stray")]


def test_killed_in_the_middle_nothing_is_served(tmp_path: Path) -> None:
    """After a kill during the import, the directory only has files that a broker removes. It can be repeated."""
    source = write_parquet(tmp_path / "rows.parquet", rows_with_gaps())
    stopped = (
        "import os, signal, sys\n"
        "from odradek.storage.files.files import Files\n"
        "rename = Files.rename\n"
        "def stop(self, source, target):\n"
        "    if str(target).endswith('orders-0'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    rename(self, source, target)\n"
        "Files.rename = stop\n"
        "from odradek.pipeline.importing.command import import_topics\n"
        "import_topics(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", stopped, str(source), "--into", str(tmp_path / "logs"), "--workers", "1"]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = [name for name in os.listdir(tmp_path / "logs") if (tmp_path / "logs" / name).is_dir()]
    assert len(left) == 3
    assert all(name.endswith("-delete") for name in left)
    assert run_import(source, "--into", tmp_path / "logs").returncode == 0
    with OurBroker(tmp_path) as broker:
        assert in_order(consume(broker.bootstrap_servers, ENDS)) == in_order(rows_with_gaps())
