"""A writer, a reader or a teller under fire, as a process of its own, so that it can be killed and stopped.

    python -m support.fire.worker SERVERS JOURNAL SPECIFICATION-AS-JSON

SIGTERM ends it cleanly. All but the plain and the idempotent writer restart with a new client after an error.
librdkafka may wait for a group's coordinator for ever after that broker was away for a while, regardless of the timeout
(:data:`KNOWN_DEFECTS`): a teller and a member therefore give up a step after a time, and restart, too.
SIGUSR1 writes where each thread is into the worker's log.
"""

import faulthandler
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from support.fire.history import (
    ASKER,
    ASSIGNED_READER,
    GROUP_READER,
    IDEMPOTENT,
    PLAIN,
    TELLER,
    TRANSACTIONAL,
    UNCOMMITTED_READER,
    WATCHER,
    FireJournal,
)

TOPIC, TRANSFERS, POSTINGS = "numbers", "transfers", "postings"
PARTITIONS = 3
TRANSFER_PARTITIONS = 6
"""More partitions than tellers at any time, so that each has some, and notices when it was fenced."""
READERS_GROUP, TELLERS_GROUP = "readers", "tellers"
GROUPS = {READERS_GROUP: (TOPIC, PARTITIONS), TELLERS_GROUP: (TRANSFERS, TRANSFER_PARTITIONS)}
"""The topics of the transfers."""
REQUEST_S = 6.0
"""How long a step of a transaction may take before the worker restarts."""
MESSAGE_TIMEOUT_MS = 120_000
SESSION_TIMEOUT_MS = 6_000
POLL_INTERVAL_MS = 30_000
"""When a client that was given up, and polls no more, leaves its group, so that others get its partitions."""
TRANSACTION_TIMEOUT_MS = 6_000
TELLER_BATCH = 10
ACCOUNTS = 12
PAUSE_S = 0.01
"""The pause between two actions of a worker, because the processes share the machine with the broker."""
BACKLOG, SLOW_PAUSE_S = 200, 0.5
"""Above this number of open transfers, new ones are requested slowly, because the end of the test waits for all."""
POLL_S = 0.2
END_TIMEOUT_S = 120.0
GIVEN_UP = "given up"
"""The start of the reason in a journal if a step did not return."""
UNDER_WAY = 100
"""The number of unacknowledged records at which a writer waits."""


class Specification(NamedTuple):
    """The specification of a worker. ``number`` makes its values unique; ``name``: its role and transactional id."""

    kind: str
    name: str
    number: int

    @property
    def client_id(self) -> str:
        """The client id in its requests."""
        return f"{self.name}-{self.number}"


KNOWN_DEFECTS = {
    "send_offsets_to_transaction": "librdkafka#5511, #5456",
    "commit": "librdkafka#5511, #5456",
}
"""A step that never returns -> the issues of the client library: the coordinator of a group was cached, its broker was
decommissioned or away, and the client never looks it up again."""


class StepTimeoutError(Exception):
    """A call of the client library did not return in time. Its text names the step, and a known defect."""


def in_time(step: str, call: Callable[[], object], patience_s: float = REQUEST_S) -> None:
    """Makes a call that may never return. Raises its error, or StepTimeoutError and leaves the call alone."""
    raised: list[KafkaException] = []

    def make() -> None:
        try:
            call()
        except KafkaException as exception:
            raised.append(exception)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    thread.join(patience_s)
    if thread.is_alive():
        raise StepTimeoutError(f"{GIVEN_UP}: {step} (perhaps {KNOWN_DEFECTS.get(step, 'a new defect')})")
    if raised:
        raise raised[0]


class Worker:
    """The base of all kinds of workers."""

    def __init__(
        self, servers: str, journal: FireJournal, specification: Specification, leave: threading.Event
    ) -> None:
        self.servers = servers
        self.journal = journal
        self.specification = specification
        self.leave = leave
        self.chance = Random(specification.number)
        self._next_value = specification.number * 10_000_000

    def next_value(self) -> int:
        """A value that no other process writes."""
        self._next_value += 1
        return self._next_value

    def producer(self, **settings: Any) -> Any:
        """A producer with the common settings."""
        shared: dict[str, Any] = {
            "bootstrap.servers": self.servers,
            "client.id": self.specification.client_id,
            "message.timeout.ms": MESSAGE_TIMEOUT_MS,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "linger.ms": 1,
            "log_level": 2,
        }
        return Producer(shared | settings)

    def consumer(self, group: str, **settings: Any) -> Any:
        """A consumer of committed records that commits itself."""
        shared: dict[str, Any] = {
            "bootstrap.servers": self.servers,
            "client.id": self.specification.client_id,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "max.poll.interval.ms": POLL_INTERVAL_MS,
            "heartbeat.interval.ms": 1000,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "partition.assignment.strategy": "range",
            "log_level": 2,
        }
        return Consumer(shared | settings)

    def send(self, producer: Any, transaction: str | None) -> None:
        """Sends one value to a random partition, and notes when it is acknowledged."""
        value, partition = self.next_value(), self.chance.randrange(PARTITIONS)
        self.journal.write("send", value, partition, transaction)

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self.journal.write("acked", value, message.partition(), message.offset())

        producer.produce(TOPIC, str(value), partition=partition, on_delivery=delivered)

    def begin_anew(self, session: Any) -> None:
        """Runs sessions until the worker must leave, or was fenced."""
        while not self.leave.is_set():
            try:
                session()
            except StepTimeoutError as given_up:
                self.journal.write("again", str(given_up))
            except KafkaException as exception:
                error = exception.args[0]
                if error.code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH):
                    self.journal.write("fenced")
                    return
                self.journal.write("again", str(error))
                self.leave.wait(POLL_S)

    def start_transactions(self) -> Any:
        """A producer that has taken over the transactional id. Raises KafkaException."""
        kind, name, _ = self.specification
        timeouts = dict.fromkeys(("transaction.timeout.ms", "message.timeout.ms"), TRANSACTION_TIMEOUT_MS)
        producer = self.producer(**{"transactional.id": name, **timeouts})
        self.journal.write("starting", kind, name)
        producer.init_transactions(END_TIMEOUT_S)
        self.journal.write("started", kind, name)
        return producer


def write_singly(worker: Worker) -> None:
    """The plain and the idempotent writer, with a few unacknowledged records at a time."""
    idempotent = worker.specification.kind == IDEMPOTENT
    producer = worker.producer(**{"enable.idempotence": idempotent, "acks": "all" if idempotent else "1"})
    worker.journal.write("started", worker.specification.kind, None)
    while not worker.leave.is_set():
        for _ in range(worker.chance.randint(1, 5) if len(producer) < UNDER_WAY else 0):
            worker.send(producer, None)
        producer.poll(PAUSE_S)
        worker.leave.wait(PAUSE_S)
    assert producer.flush(END_TIMEOUT_S) == 0


def write_transactions(worker: Worker) -> None:
    """Transactions of some records; every fourth is aborted."""
    numbers = iter(range(10**9))

    def session() -> None:
        producer = worker.start_transactions()
        while not worker.leave.is_set():
            name = f"{worker.specification.name}/{worker.specification.number}/{next(numbers)}"
            producer.begin_transaction()
            worker.journal.write("begin", name)
            for _ in range(worker.chance.randint(1, 6)):
                worker.send(producer, name)
            if worker.chance.random() < 0.25:
                producer.flush(worker.chance.random() * 0.05)
                worker.journal.write("aborting", name)
                producer.abort_transaction(REQUEST_S)
                worker.journal.write("aborted", name)
            else:
                producer.flush(REQUEST_S)
                worker.journal.write("committing", name)
                producer.commit_transaction(REQUEST_S)
                worker.journal.write("committed", name)
            worker.leave.wait(PAUSE_S)

    worker.begin_anew(session)


def _note(worker: Worker, messages: list[Any], event: str = "poll") -> None:
    records = [[m.partition(), m.offset(), int(m.value())] for m in messages if m.error() is None]
    if records:
        worker.journal.write(event, records)


def read_assigned(worker: Worker) -> None:
    """All partitions from the beginning, without a group."""
    consumer = worker.consumer("nobody")
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    worker.journal.write("started", ASSIGNED_READER, None)
    while not worker.leave.is_set():
        _note(worker, consumer.consume(200, POLL_S))
    consumer.close()


def read_uncommitted(worker: Worker) -> None:
    """All partitions from the beginning, aborted transactions included."""
    consumer = worker.consumer("nobody", **{"isolation.level": "read_uncommitted"})
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    worker.journal.write("started", UNCOMMITTED_READER, None)
    while not worker.leave.is_set():
        _note(worker, consumer.consume(200, POLL_S), "glimpse")
    consumer.close()


def _refresh(worker: Worker, consumer: Any) -> None:
    """Requests metadata: without an assignment, librdkafka would keep an old leader for minutes."""
    try:
        consumer.list_topics(TOPIC, REQUEST_S)
    except KafkaException as exception:
        worker.journal.write("again", str(exception.args[0]))


def watch(worker: Worker) -> None:
    """Reads the high watermarks and the committed offsets of the groups."""
    consumers = {group: worker.consumer(group, **{"isolation.level": "read_uncommitted"}) for group in GROUPS}
    worker.journal.write("started", WATCHER, None)
    while not worker.leave.is_set():
        for group, (topic, count) in GROUPS.items():
            partitions = [TopicPartition(topic, index) for index in range(count)]
            try:
                if topic == TOPIC:
                    ends = [(one, consumers[group].get_watermark_offsets(one, REQUEST_S)) for one in partitions]
                    worker.journal.write("ends", [[one.partition, end] for one, (_, end) in ends])
                found = consumers[group].committed(partitions, REQUEST_S)
                worker.journal.write("offsets", group, [[p.partition, p.offset] for p in found if p.offset >= 0])
            except KafkaException as exception:
                worker.journal.write("again", str(exception.args[0]))
                _refresh(worker, consumers[group])
        worker.leave.wait(POLL_S)
    for consumer in consumers.values():
        consumer.close()


def read_as_member(worker: Worker) -> None:
    """Reads as a member of a group, and commits the offsets of the records that it has noted."""

    def session() -> None:
        consumer = worker.consumer(READERS_GROUP)
        worker.journal.write("started", GROUP_READER, None)
        try:
            consumer.subscribe(
                [TOPIC],
                on_assign=lambda _, partitions: worker.journal.write("assigned", [p.partition for p in partitions]),
            )
            while not worker.leave.is_set():
                _read_some(worker, consumer)
        finally:
            in_time("close", consumer.close)

    worker.begin_anew(session)


def _read_some(worker: Worker, consumer: Any) -> None:
    messages = consumer.consume(200, POLL_S)
    _note(worker, messages)
    if all(message.error() is not None for message in messages):
        return
    done: list[TopicPartition] = []
    try:
        in_time("commit", lambda: done.extend(consumer.commit(asynchronous=False)))
    except KafkaException as exception:
        # This or another member reads the records again.
        worker.journal.write("again", str(exception.args[0]))
    else:
        worker.journal.write("offsets", READERS_GROUP, [[p.partition, p.offset] for p in done if not p.error])


def ask(worker: Worker) -> None:
    """Requests transfers between accounts, each of them once."""
    producer = worker.producer(**{"enable.idempotence": True})
    worker.journal.write("started", ASKER, None)
    asked, pause_s = 0, PAUSE_S
    while not worker.leave.is_set():
        for partition in range(TRANSFER_PARTITIONS if len(producer) < UNDER_WAY else 0):
            transfer = [asked, *worker.chance.sample(range(ACCOUNTS), 2), worker.chance.randint(1, 50)]
            producer.produce(TRANSFERS, json.dumps(transfer), partition=partition)
            asked += 1
        if asked % (BACKLOG // 4) == 0:  # on a busy machine the tellers fall behind
            pause_s = SLOW_PAUSE_S if asked - worker.journal.transfers_told() > BACKLOG else PAUSE_S
        producer.poll(PAUSE_S)
        worker.leave.wait(pause_s)
    assert producer.flush(END_TIMEOUT_S) == 0


def tell(worker: Worker) -> None:
    """Consumes transfers, and writes both postings of each and the consumed offsets in one transaction."""

    def session() -> None:
        producer = worker.start_transactions()
        consumer = worker.consumer(TELLERS_GROUP)
        try:
            consumer.subscribe([TRANSFERS])
            while not worker.leave.is_set():
                _tell_some(worker, producer, consumer)
        finally:
            in_time("close", consumer.close)

    worker.begin_anew(session)


def _tell_some(worker: Worker, producer: Any, consumer: Any) -> None:
    messages = [m for m in consumer.consume(TELLER_BATCH, POLL_S) if m.error() is None]
    if not messages:
        return
    producer.begin_transaction()
    ends: dict[int, int] = {}
    for message in messages:
        number, source, target, amount = json.loads(message.value())
        for account, change in ((source, -amount), (target, amount)):
            producer.produce(POSTINGS, json.dumps([number, account, change]), partition=account % PARTITIONS)
        ends[message.partition()] = message.offset() + 1
    offsets = [TopicPartition(TRANSFERS, partition, end) for partition, end in ends.items()]
    metadata = consumer.consumer_group_metadata()
    in_time("send_offsets_to_transaction", lambda: producer.send_offsets_to_transaction(offsets, metadata, REQUEST_S))
    producer.commit_transaction(REQUEST_S)
    worker.journal.write("told", len(messages))
    worker.leave.wait(PAUSE_S)


KINDS = {
    PLAIN: write_singly,
    IDEMPOTENT: write_singly,
    TRANSACTIONAL: write_transactions,
    ASSIGNED_READER: read_assigned,
    GROUP_READER: read_as_member,
    ASKER: ask,
    TELLER: tell,
    UNCOMMITTED_READER: read_uncommitted,
    WATCHER: watch,
}


def main() -> None:
    """The process."""
    servers, journal, specification = sys.argv[1:]
    leave = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leave.set())
    faulthandler.register(signal.SIGUSR1)  # the state of the client, for the log of the run
    worker = Worker(servers, FireJournal(Path(journal)), Specification(*json.loads(specification)), leave)
    KINDS[worker.specification.kind](worker)
    # Abandoned producers may still wait: the process exits without waiting for them.
    os._exit(0)


if __name__ == "__main__":
    main()
