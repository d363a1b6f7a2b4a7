"""Clients that continue after the broker is replaced: an idempotent producer, and groups with committed offsets."""

import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Producer

from door.snapshot import Snapshot
from door.topics import LIVING
from door.workload import LONGEST_SESSION_MS, TIMEOUT_S
from odradek.storage.dump.segment_scan import Batch, LogFile
from support.eventually import eventually

LIVING_BATCH = 10


class LivingProducer:
    """An idempotent producer that continues its sequence while brokers replace each other on one port.

    Between :meth:`begin` and :meth:`pause` a broker may be killed. Batches without an answer are sent to the next
    broker, which must know from the log if they were appended.
    """

    def __init__(self, servers: str) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "compression.type": "lz4",
            "linger.ms": 2,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "message.timeout.ms": int(TIMEOUT_S * 1000),
            "log_level": 2,
        }
        self._producer: Any = Producer(settings)
        self._failed: list[str] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._acknowledged = 0
        self.sent = 0

    def send(self, batches: int = 3) -> None:
        """Sends the next numbers in batches of ten. Each batch is acknowledged before the next is sent."""
        for _ in range(batches):
            for number in range(self.sent, self.sent + LIVING_BATCH):
                self._producer.produce(LIVING, b"%d" % number, partition=0, on_delivery=self._delivered)
            assert self._producer.flush(TIMEOUT_S) == 0, "not acknowledged in time"
            assert not self._failed, self._failed
            self.sent += LIVING_BATCH

    def begin(self) -> None:
        """Starts sending on a thread. Returns after the first acknowledgements, while more batches are in flight."""
        assert self._thread is None
        self._stop.clear()
        start = self._acknowledged
        self._thread = threading.Thread(target=self._send_on, daemon=True)
        self._thread.start()
        enough = start + 20 * LIVING_BATCH
        eventually("acknowledged records", lambda: self._acknowledged >= enough, every_s=0.001)

    def _send_on(self) -> None:
        while not self._stop.is_set():
            for number in range(self.sent, self.sent + LIVING_BATCH):
                self._producer.produce(LIVING, b"%d" % number, partition=0, on_delivery=self._delivered)
            self.sent += LIVING_BATCH
            self._producer.poll(0.001)

    def pause(self) -> None:
        """Stops producing new records. Unacknowledged records wait for the next broker."""
        assert self._thread is not None
        self._stop.set()
        self._thread.join()
        self._thread = None

    def finish(self) -> None:
        """Waits until the current broker has acknowledged all records."""
        assert self._producer.flush(TIMEOUT_S) == 0, "not acknowledged in time"
        assert not self._failed, self._failed

    def _delivered(self, error: Any, _: Any) -> None:
        self._acknowledged += 1
        if error is not None:
            self._failed.append(str(error))

    def assert_all_there(self, snapshot: Snapshot) -> None:
        """Asserts that clients read every number once and in order."""
        values = [record.value for record in snapshot.topics[LIVING].partitions[0].records]
        assert values == [b"%d" % number for number in range(self.sent)]


class Sequenced(NamedTuple):
    """The producer fields of a batch."""

    producer_id: int
    producer_epoch: int
    first: int
    last: int


def sequences(log_dir: Path, topic: str, partition: int) -> list[Sequenced]:
    """The producer fields of a partition's batches on the disk of a stopped broker."""
    found = []
    for path in sorted((log_dir / f"{topic}-{partition}").glob("*.log")):
        with LogFile(path) as log:
            for batch in log.batches():
                assert isinstance(batch, Batch), batch
                header = batch.header
                last = header.base_sequence + header.last_offset_delta
                found.append(Sequenced(header.producer_id, header.producer_epoch, header.base_sequence, last))
    return found


def assert_one_sequence(log_dir: Path) -> None:
    """Asserts that the producer kept its id and epoch, and that its sequence has no gap and no repetition."""
    found = sequences(log_dir, LIVING, 0)
    assert {(one.producer_id, one.producer_epoch) for one in found} == {(found[0].producer_id, 0)}, found
    assert [one.first for one in found] == [0, *(one.last + 1 for one in found[:-1])], found


def assert_groups_go_on(servers: str, snapshot: Snapshot) -> None:
    """Asserts that a returning static member and a new dynamic one each continue at the committed offsets."""
    for group in ("static-2", "dynamic-1"):
        offsets = {key: offset for key, (offset, _, _) in snapshot.groups[group].offsets.items()}
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "error",
            "enable.auto.commit": False,
        }
        if group.startswith("static"):
            settings |= {
                "group.instance.id": f"{group}-member-0",
                "session.timeout.ms": LONGEST_SESSION_MS,
                "max.poll.interval.ms": LONGEST_SESSION_MS,
                "partition.assignment.strategy": "cooperative-sticky",
            }
        consumer: Any = Consumer(settings)
        try:
            consumer.subscribe(sorted({topic for topic, _ in offsets}))
            _assert_first_offsets(consumer, offsets, group)
        finally:
            consumer.close()


def _assert_first_offsets(consumer: Any, offsets: dict[tuple[str, int], int], group: str) -> None:
    waiting = dict(offsets)
    deadline = time.monotonic() + TIMEOUT_S
    while waiting:
        assert time.monotonic() < deadline, f"{group} gets nothing from {sorted(waiting)}"
        for message in consumer.consume(100, 0.1):
            key = message.topic(), message.partition()
            if message.error() is not None:
                # auto.offset.reset "error" gives an error for a partition without a committed offset.
                assert key not in offsets, f"{group}: {key}: {message.error()}"
            elif key in waiting:
                assert message.offset() == waiting.pop(key), f"{group}: {key} went on at {message.offset()}"
