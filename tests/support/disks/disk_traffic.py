"""Writers and a consumer for a broker whose disk becomes full. They note acknowledged records and check that none is
lost.
"""

import os
import threading
import time
from array import array
from pathlib import Path

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from support.eventually import eventually

PATIENCE_S = 60.0
NUMBER_BYTES = 8
CHUNK = 1 << 20
TRANSIENT = (
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._WAIT_COORD,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
"""Errors that a commit may get while the broker restarts, or while a topic of the group is deleted."""


class Writer:
    """Writes numbered records to one partition as fast as the broker accepts them, until it must end."""

    def __init__(self, servers: str, topic: str, partition: int, size: int, settings: dict[str, object]) -> None:
        self.topic, self.partition = topic, partition
        self.offsets = array("q")
        self.numbers = array("q")
        """The offset and the number of each acknowledged record."""
        self.errors: list[str] = []
        self._padding = os.urandom(size - NUMBER_BYTES)
        self._ends = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "log_level": 0,
                "message.timeout.ms": 300_000,
                "queue.buffering.max.kbytes": 8192,
                **settings,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._ends.is_set():
            value = number.to_bytes(NUMBER_BYTES, "big") + self._padding
            try:
                self._producer.produce(self.topic, value, partition=self.partition, on_delivery=self._delivered)
                number += 1
            except BufferError:
                self._producer.poll(0.05)
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))
            return
        value, offset = message.value(), message.offset()
        assert value is not None
        assert offset is not None
        self.offsets.append(offset)
        self.numbers.append(int.from_bytes(value[:NUMBER_BYTES], "big"))

    def end(self) -> None:
        """Sends no more records; returns when all sent records are acknowledged."""
        self._ends.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0, "records are neither acknowledged nor refused"
        assert not self.errors, self.errors[:3]

    def give_up(self) -> None:
        """Sends no more records, and drops unacknowledged ones (the topic is deleted)."""
        self._ends.set()
        self._thread.join()
        self._producer.purge()
        self._producer.flush(PATIENCE_S)


class Reader:
    """A member of a group that reads and commits until it must end."""

    def __init__(self, servers: str, group: str, topics: list[str]) -> None:
        self.records_count = 0
        self.commits_count = 0
        self.problems: list[str] = []
        self._servers, self._group, self._topics = servers, group, topics
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "log_level": 0,
                "group.id": self._group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "check.crcs": True,
                "topic.metadata.refresh.interval.ms": 1000,
            }
        )
        consumer.subscribe(self._topics)
        next_offsets: dict[tuple[str, int], int] = {}
        while not self._ends.is_set():
            for message in consumer.consume(500, 0.1):
                if message.error() is not None:
                    continue
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                assert topic is not None and partition is not None and offset is not None  # noqa: PT018
                if offset < next_offsets.get((topic, partition), 0) - 1_000_000:
                    self.problems.append(f"{topic}-{partition}: {offset} again")
                next_offsets[topic, partition] = offset + 1
                self.records_count += 1
            try:
                # With explicit offsets, because librdkafka sends no commit if they have not changed.
                places = [place for place in consumer.position(consumer.assignment()) if place.offset >= 0]
                if places:
                    consumer.commit(offsets=places, asynchronous=False)
                    self.commits_count += 1
            except KafkaException as failure:
                error = failure.args[0]
                if error.code() not in TRANSIENT:
                    self.problems.append(str(error))
        consumer.close()

    def end(self) -> None:
        """Leaves the group, and asserts that no error occurred."""
        self._ends.set()
        self._thread.join()
        assert not self.problems, self.problems[:3]

    def goes_on(self) -> None:
        """Waits until it has committed several more times."""
        before = self.commits_count
        eventually("commits to go on", lambda: self.commits_count >= before + 3)


def check_nothing_is_lost(servers: str, writer: Writer) -> tuple[int, int]:
    """Checks that every acknowledged record from the log start offset on is there with its number.

    Returns (log start offset, log end offset). If the writer still runs, records that are acknowledged after the log
    end offset was read are not checked.
    """
    acknowledged = len(writer.numbers)
    # Retention may delete the record before it is read.
    settings = {"auto.offset.reset": "earliest", "check.crcs": True}
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "check", **settings})
    place = TopicPartition(writer.topic, writer.partition, OFFSET_BEGINNING)
    low, high = consumer.get_watermark_offsets(place, timeout=PATIENCE_S)
    stored: dict[int, int] = {}
    consumer.assign([place])
    next_offset = low
    deadline = time.monotonic() + PATIENCE_S
    while next_offset < high:
        assert time.monotonic() < deadline, f"read up to {next_offset} of {high}"
        for message in consumer.consume(10_000, 1.0):
            value, offset = message.value(), message.offset()
            assert message.error() is None, message.error()
            assert value is not None
            assert offset is not None
            stored[offset] = int.from_bytes(value[:NUMBER_BYTES], "big")
            next_offset = offset + 1
    low, _ = consumer.get_watermark_offsets(place, timeout=PATIENCE_S)
    consumer.close()
    for offset, number in zip(writer.offsets[:acknowledged], writer.numbers[:acknowledged], strict=True):
        if offset >= low:
            assert stored.get(offset) == number, f"{writer.topic}-{writer.partition}: offset {offset} was acknowledged"
    return low, high


def fill(file: Path) -> None:
    """Appends to a file until the file system is full."""
    with file.open("ab", buffering=0) as filler:
        for chunk in (bytes(CHUNK), bytes(4096)):
            try:
                while filler.write(chunk) == len(chunk):
                    pass
            except OSError as error:
                assert error.errno == 28, error  # noqa: PT017
