"""Spark's Kafka connector, unmodified: batches written and read, and a stream that continues from its checkpoint.

The program runs in a process of its own: a process has one Spark session, and this one has the connector's jars.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from odradek.testing import InProcessBroker
from support.kafka.java import java_or_skip, spark_kafka_jars

PROGRAM = Path(__file__).parent / "programs" / "spark_kafka.py"
ROWS = 60
PARTITIONS = 3

pytestmark = [pytest.mark.nightly, pytest.mark.java]


def spark(kafka: InProcessBroker, *arguments: str | Path) -> dict[str, Any]:
    """Runs a job of the program; what it prints."""
    java_or_skip()
    jars = spark_kafka_jars()[0].parent
    command = [sys.executable, str(PROGRAM), str(jars), kafka.bootstrap_servers, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


@pytest.mark.kafka(topics="orders:3")
def test_batches_are_written_and_read(kafka: InProcessBroker) -> None:
    printed = spark(kafka, "batch")
    written: list[list[Any]] = [
        [one.partition, one.offset, (one.key or b"").decode(), (one.value or b"").decode(), [["from", "spark"]]]
        for one in kafka.records("orders")
        if one.headers == [("from", b"spark")]
    ]
    assert sorted(int(row[3]) for row in written) == list(range(ROWS))
    assert all(
        int(value) % PARTITIONS == partition and key == f"key-{value}" for partition, _, key, value, _ in written
    )
    assert printed["whole"] == written
    wanted = {0: range(5, 10), 1: range(ROWS), 2: range(0)}
    assert printed["part"] == [row for row in written if row[1] in wanted[row[0]]]


@pytest.mark.kafka(topics=["orders:3", "copies:2"])
def test_a_stream_continues_from_its_checkpoint(kafka: InProcessBroker, tmp_path: Path) -> None:
    """The topic has an aborted transaction and the markers of a committed one, which take offsets but are no records.

    Spark's sink promises at least once. Without a failure each record is there once.
    """
    expected: list[bytes] = []
    for run in range(2):
        with_key = [(b"%d" % number, b"order %d" % number) for number in range(run * ROWS, (run + 1) * ROWS)]
        write_in_transactions(kafka, with_key, f"run {run}")
        expected += [value for _, value in with_key]
        batches = spark(kafka, "stream", tmp_path / "checkpoint")["batches"]
        assert sum(batches) == ROWS, "this run reads what is new"
        assert len(batches) > 1
        copies = [(one.value or b"") for one in kafka.records("copies")]
        assert sorted(copies) == sorted(expected)


def write_in_transactions(kafka: InProcessBroker, records: list[tuple[bytes, bytes]], transactional_id: str) -> None:
    """Writes the records in a transaction, after one that is aborted."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": transactional_id})
    producer.init_transactions()
    producer.begin_transaction()
    for _, value in records:
        producer.produce("orders", b"aborted " + value)
    producer.flush()
    producer.abort_transaction()
    producer.begin_transaction()
    for key, value in records:
        producer.produce("orders", value, key)
    producer.commit_transaction()
