"""A broker under load while snapshots are taken of it: an exactly-once copier, a compacted topic, deleted records.

The copier writes one record to `out` for each of `in` and commits its offset in the same transaction. So at each
instant the group's committed offset is the number of committed records in `out`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.testing.broker.in_process import InProcessBroker

GROUP = "copier"
COMPACTED = "latest"
DELETED = "erased"
KEPT_FROM = 30
CONFIGS = {"log.cleaner.min.cleanable.ratio": "0.01", "log.segment.delete.delay.ms": "0"}
SMALL_SEGMENTS = {"internal.segment.bytes": "4096"}
BATCH = 7
MOST_AHEAD = 20
"""How many records the writer may be ahead of the copier: without a limit it fills thousands of small segments."""


class Load:
    """The clients of the load, on threads."""

    def __init__(self, broker: InProcessBroker) -> None:
        self._broker = broker
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=run) for run in (self._write, self._copy)]
        self.acknowledged = 0
        """The records of `in` that were acknowledged."""
        self._goes_on = threading.Event()
        self.copied = 0
        """The records that were copied."""
        self.copies = 0
        """The transactions of the copier that have ended."""
        self.failures: list[BaseException] = []

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.set()
        self._goes_on.set()
        for thread in self._threads:
            thread.join()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of each client."""
        return {"bootstrap.servers": self._broker.bootstrap_servers}

    def _write(self) -> None:
        """Writes numbers to `in`, and each to a key of the compacted topic."""
        producer = Producer({**self.settings, "linger.ms": 0, "acks": "all"})
        number = 0
        while not self._ends.is_set():
            for _ in range(BATCH):
                producer.produce("in", str(number), partition=0)
                producer.produce(COMPACTED, str(number) * 20, key=str(number % 10), partition=0)
                number += 1
            if producer.flush(60):
                break
            self.acknowledged = number
            while number - self.copied > MOST_AHEAD and not self._ends.is_set():
                self._goes_on.wait()
                self._goes_on.clear()

    def _copy(self) -> None:
        """Copies `in` to `out`, exactly once."""
        consumer = Consumer({**self.settings, "group.id": GROUP, "enable.auto.commit": False})
        consumer.assign([TopicPartition("in", 0, 0)])
        producer = Producer({**self.settings, "transactional.id": "copier", "linger.ms": 0})
        producer.init_transactions()
        try:
            while not self._ends.is_set():
                records = consumer.consume(BATCH, timeout=1)
                if records:
                    self._transfer(consumer, producer, records)
        except KafkaException as error:
            if self._broker.is_running:
                self.failures.append(error)
        consumer.close()

    def _transfer(self, consumer: Consumer, producer: Producer, records: list[Any]) -> None:
        producer.begin_transaction()
        for record in records:
            producer.produce("out", record.value(), partition=0)
        ends = [TopicPartition("in", 0, records[-1].offset() + 1)]
        producer.send_offsets_to_transaction(ends, consumer.consumer_group_metadata())
        producer.commit_transaction()
        self.copied += len(records)
        self.copies += 1
        self._goes_on.set()


@contextmanager
def busy_broker(broker: InProcessBroker) -> Iterator[Load]:
    """Creates the topics and runs the load."""
    for topic in ("in", "out", DELETED):
        broker.create_topic(topic, configs=SMALL_SEGMENTS)
    broker.create_topic(COMPACTED, configs={"cleanup.policy": "compact", "delete.retention.ms": "0", **SMALL_SEGMENTS})
    broker.produce(DELETED, *map(str, range(KEPT_FROM * 2)))
    delete_records(broker, KEPT_FROM)
    with Load(broker) as load:
        yield load


def delete_records(broker: InProcessBroker, before: int) -> None:
    """Deletes the first records of a topic."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.delete_records([TopicPartition(DELETED, 0, before)]).values():
        future.result()
