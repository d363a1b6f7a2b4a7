"""A broker is killed after many transactions: `kafkalog` reads what consumers get after the restart."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql.types import StructType

from odradek.pipeline.spark.source import KafkaLogDataSource
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking

TIMEOUT_S = 60
TRANSACTIONS = 60
TOPIC = "t"
SEEDS = 2


def write(servers: str, chance: Random) -> None:
    """Transactions of three producers, of which one in two is aborted and some overlap; the last one stays open."""
    producers = [Producer({"bootstrap.servers": servers, "transactional.id": f"{number}"}) for number in range(3)]
    for producer in producers:
        producer.init_transactions(TIMEOUT_S)
    is_open = [False] * len(producers)
    for number in range(TRANSACTIONS):
        index = chance.randrange(len(producers))
        producer = producers[index]
        if not is_open[index]:
            producer.begin_transaction()
        for _ in range(chance.randrange(1, 4)):
            producer.produce(TOPIC, b"%d" % number + b"x" * chance.randrange(400), partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        is_open[index] = chance.random() < 0.3
        if not is_open[index] and number != TRANSACTIONS - 1:
            producer.commit_transaction(TIMEOUT_S) if chance.random() < 0.5 else producer.abort_transaction(TIMEOUT_S)


def in_files(log_dir: Path) -> list[tuple[int, bytes]]:
    """The committed records of the directory."""
    source = KafkaLogDataSource({"path": str(log_dir), "topics": TOPIC, "isolation": "read_committed"})
    reader: Any = source.reader(StructType([source.schema()[name] for name in ("offset", "value", "_corrupt_record")]))
    rows = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
    assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"]] == []
    return [(row["offset"], row["value"]) for row in rows]


def consumed(servers: str) -> list[tuple[int, bytes]]:
    """The committed records that a consumer gets."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "g", "enable.partition.eof": True, "auto.offset.reset": "earliest"}
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found = []
    while (message := consumer.poll(TIMEOUT_S)) is not None and message.error() is None:
        found.append((int(message.offset() or 0), bytes(message.value() or b"")))
    consumer.close()
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_read_of_the_files_is_that_of_a_consumer_after_the_restart(tmp_path: Path, seed: int) -> None:
    broker = InProcessBroker(tmp_path, {"log.segment.bytes": 1 << 20, "log.flush.interval.messages": 7 + 20 * seed})
    broker.start()
    assert Asking(broker.port).create(TOPIC, 1, internal_segment_bytes="4000") == 0
    write(broker.bootstrap_servers, Random(seed))
    [log_dir] = {path.parent.parent for path in tmp_path.rglob(f"{TOPIC}-0/*.log")}
    live = in_files(log_dir)
    broker.kill()
    killed = in_files(log_dir)
    with InProcessBroker(tmp_path) as restarted:
        assert live == killed == consumed(restarted.bootstrap_servers)
        assert in_files(log_dir) == killed
    assert len(killed) > 20
