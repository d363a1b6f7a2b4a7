"""A load on a broker that makes its log directory change in every way while a job reads it.

    with LiveLoad(bootstrap_servers, seed=7, bytes_per_second=12 << 20) as load:
        ...
    load.check()        # raises the error of a thread

Threads: records are written to a topic whose retention deletes segments all the time and to one that the cleaner
compacts, a transactional producer aborts some transactions, a group reads and commits, and topics are created, written
to, deleted and created again with the same name.
"""

import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

BROKER_CONFIGS = {
    "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "200",
    "log.segment.delete.delay.ms": "100",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "internal.log.segment.bytes": str(1 << 20),
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "auto.create.topics.enable": "false",
}
RETAINED, COMPACTED = "retained", "compacted"
_SEGMENT = {"internal.segment.bytes": str(1 << 20), "file.delete.delay.ms": "100"}
_TOPICS = (
    (RETAINED, 4, {**_SEGMENT, "retention.bytes": str(16 << 20), "cleanup.policy": "delete"}),
    (
        COMPACTED,
        2,
        {**_SEGMENT, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "100"},
    ),
)
VALUE_BYTES = 4096


class LiveLoad:
    """See the module. `bytes_written` counts values that the broker has acknowledged."""

    def __init__(self, bootstrap_servers: str, *, seed: int, bytes_per_second: int) -> None:
        self._servers: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap_servers}
        self._seed = seed
        self._rate = bytes_per_second
        self._end = threading.Event()
        self._enough = threading.Event()
        self._wanted = 1 << 62
        self.bytes_written = 0
        self.topics_deleted = 0
        self.producers_replaced = 0
        self._threads = ThreadPoolExecutor(4)
        self._working: list[Future[None]] = []

    def __enter__(self) -> "LiveLoad":
        admin = AdminClient(self._servers)
        topics = [NewTopic(name, count, 1, config=configs) for name, count, configs in _TOPICS]
        for done in admin.create_topics(topics).values():
            done.result()
        for work in (self._write, self._transact, self._read, self._make_and_delete):
            self._working.append(self._threads.submit(work, random.Random(f"{self._seed} {work.__name__}")))
            self._working[-1].add_done_callback(lambda _: self._enough.set())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._threads.shutdown()

    def wait_for(self, size: int) -> None:
        """Waits until this many bytes are acknowledged. Raises the first failure of a thread."""
        self._wanted = size
        self._enough.wait()
        self.check()

    def check(self) -> None:
        """Raises the first failure of a thread."""
        for work in self._working:
            if work.done():
                work.result()

    def _acknowledged(self, error: KafkaError | None, message: object) -> None:
        if error is None:
            self.bytes_written += VALUE_BYTES
            if self.bytes_written >= self._wanted:
                self._enough.set()

    def _write(self, chance: random.Random) -> None:
        while not self._end.is_set():
            producer = Producer({**self._servers, "linger.ms": 5, "enable.idempotence": True})
            try:
                self._write_with(producer, chance)
            except KafkaException as error:  # a sequence that a slow broker refuses is fatal for the producer only
                if error.args[0].code() != KafkaError._FATAL:
                    raise
                self.producers_replaced += 1

    def _write_with(self, producer: Producer, chance: random.Random) -> None:
        started, sent = time.monotonic(), 0
        value = chance.randbytes(VALUE_BYTES)
        while not self._end.is_set():
            for _ in range(64):
                topic = COMPACTED if chance.random() < 0.3 else RETAINED
                key = str(chance.randrange(300)).encode()
                try:
                    producer.produce(topic, key=key, value=value, on_delivery=self._acknowledged)
                except BufferError:  # the broker is slower than the rate
                    producer.poll(0.1)
                    continue
                sent += VALUE_BYTES
            producer.poll(0)
            ahead = sent / self._rate - (time.monotonic() - started)
            if ahead > 0:
                producer.poll(min(ahead, 0.1))
            elif ahead < -1:  # records that were due while the broker was slow are not sent all at once
                started, sent = time.monotonic(), 0
        producer.flush()

    def _transact(self, chance: random.Random) -> None:
        while not self._end.is_set():
            producer = Producer({**self._servers, "transactional.id": "live", "linger.ms": 0})
            try:
                producer.init_transactions()
                self._transactions(producer, chance)
            except (
                KafkaException
            ) as error:  # a retried EndTxn with a slow broker is fatal for the producer, not for the log
                if error.args[0].code() != KafkaError.INVALID_TXN_STATE:
                    raise

    def _transactions(self, producer: Producer, chance: random.Random) -> None:
        while not self._end.is_set():
            producer.begin_transaction()
            for _ in range(chance.randrange(1, 20)):
                topic = chance.choice((RETAINED, COMPACTED))
                producer.produce(topic, key=str(chance.randrange(300)).encode(), value=chance.randbytes(200))
            if chance.random() < 0.3:
                producer.abort_transaction()
            else:
                producer.commit_transaction()

    def _read(self, chance: random.Random) -> None:
        configs = {"group.id": "live", "auto.offset.reset": "latest", "auto.commit.interval.ms": 1500}
        consumer = Consumer({**self._servers, **configs})
        consumer.subscribe([RETAINED, COMPACTED])
        while not self._end.is_set():
            consumer.consume(2000, 0.1)
        consumer.close()

    def _make_and_delete(self, chance: random.Random) -> None:
        admin = AdminClient(self._servers)
        while not self._end.is_set():
            name = f"short-{chance.randrange(3)}"
            policy = chance.choice(("compact", "delete"))
            topic = NewTopic(name, 2, 1, config={**_SEGMENT, "cleanup.policy": policy})
            admin.create_topics([topic])[name].result()
            # a new producer: one that knew the old topic would learn of the new one late
            producer = Producer({**self._servers, "linger.ms": 0, "message.timeout.ms": 3000})
            for _ in range(chance.randrange(500)):
                producer.produce(name, key=str(chance.randrange(50)).encode(), value=chance.randbytes(1000))
            producer.flush()
            self._delete(admin, name)
            self.topics_deleted += 1

    def _delete(self, admin: AdminClient, name: str) -> None:
        try:
            admin.delete_topics([name])[name].result()
        except KafkaException as error:  # a first try may have deleted it though its answer was late
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
