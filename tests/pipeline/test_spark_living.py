"""A Spark job over the directory of a broker that writes, deletes and compacts: no duplicate, no loss, no error.

A read ends at the log end offset of its planning. If a later record replaced one, and the cleaner has removed the older
one before its segment is read, the read has neither of them, as a consumer that stops at the same offset. Keys that are
written once can't be replaced: each read must have all of them.
"""

from pathlib import Path
from threading import Event, Thread

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.sql import SparkSession

from support.brokers.our_broker import OurBroker

READS = 4
KEYS = 40
PAUSE_S = 0.02
"""The pause between two rounds of the writer, so that a read does not have thousands of segments."""
BROKER = {"log.retention.check.interval.ms": "50", "log.cleaner.backoff.ms": "1000"}
SMALL = {"internal.segment.bytes": "4000", "file.delete.delay.ms": "0"}
TOPICS = {
    "aged": SMALL | {"retention.bytes": "20000"},
    "kept": SMALL | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "1"},
}


class Writer(Thread):
    """Produces to both topics until it is stopped. `acked`: the last offset of each topic and key on disk."""

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(daemon=True)
        self.acked: dict[tuple[str, bytes], int] = {}
        self.is_stopped = Event()
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "batch.num.messages": 5})

    def run(self) -> None:
        number = 0
        while not self.is_stopped.wait(PAUSE_S):
            for topic in TOPICS:
                for _ in range(10):
                    number += 1
                    key = b"key %d" % (number % KEYS)
                    self._producer.produce(topic, b"value %d" % number, key, on_delivery=self._note)
            self._producer.produce("kept", b"once", b"once %d" % number, on_delivery=self._note)
            assert self._producer.flush(60) == 0

    def _note(self, error: object, message: Message) -> None:
        assert error is None
        topic, key, offset = message.topic(), message.key(), message.offset()
        assert topic is not None
        assert key is not None
        assert offset is not None
        self.acked[topic, bytes(key)] = offset


def log_start(broker: OurBroker, topic: str) -> int:
    return min(int(path.stem) for path in (broker.log_dir / f"{topic}-0").glob("*.log"))


@pytest.mark.long
def test_reads_beside_retention_and_compaction(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    with OurBroker(tmp_path / "broker", BROKER) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for name, config in TOPICS.items():
            topic = NewTopic(name, num_partitions=1, replication_factor=1, config=config)
            admin.create_topics([topic])[name].result(60)
        writer = Writer(broker.bootstrap_servers)
        writer.start()
        starts = []
        try:
            for _ in range(READS):
                acked = dict(writer.acked)
                reader = spark.read.format("kafkalog").option("subscribe", ",".join(TOPICS))
                reader = reader.option("maxPartitionBytes", 20000)
                frame = reader.load(str(broker.log_dir))
                rows = frame.select("topic", "offset", "key", "_corrupt_record").collect()
                starts.append(log_start(broker, "aged"))
                assert [row._corrupt_record for row in rows if row._corrupt_record is not None] == []
                places = [(row.topic, row.offset) for row in rows]
                assert len(places) == len(set(places))
                aged = {offset for topic, offset in places if topic == "aged"}
                last = max((offset for (topic, _), offset in acked.items() if topic == "aged"), default=-1)
                assert set(range(starts[-1], last + 1)) <= aged
                kept = {(row.topic, bytes(row.key)): row.offset for row in sorted(rows, key=lambda row: row.offset)}
                end = max((offset for topic, offset in places if topic == "kept"), default=-1)
                now = dict(writer.acked)
                for (name, key), offset in acked.items():
                    if name == "kept" and kept.get((name, key), -1) < offset:
                        assert now[name, key] > end, f"{key!r} at {offset} is lost in a read up to {end}"
        finally:
            writer.is_stopped.set()
            writer.join()
    assert starts[-1] > starts[0], "retention took segments between the reads"
