"""The clients of :mod:`cluster.rolling.load`. Each runs until its event `leave` is set.

Each runs in a thread and writes a journal (support/fire/history.py). Errors that a retry does not hide are in
:class:`Findings`.
"""

import functools
import json
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from support.fire.history import (
    ASKER,
    ASSIGNED_READER,
    CONSUMER_READER,
    GROUP_READER,
    IDEMPOTENT,
    TELLER,
    TRANSACTIONAL,
    FireJournal,
)
from support.fire.worker import (
    ACCOUNTS,
    PARTITIONS,
    PAUSE_S,
    POLL_S,
    POSTINGS,
    READERS_GROUP,
    TELLER_BATCH,
    TELLERS_GROUP,
    TOPIC,
    TRANSFER_PARTITIONS,
    TRANSFERS,
    UNDER_WAY,
    Specification,
    StepTimeoutError,
    Worker,
    in_time,
)

CONSUMERS_GROUP = "readers-848"
WATCHER = "watcher"
BACKLOG = 200
"""The number of open transfers above which no new ones are requested."""
PATIENCE_S = 180.0
STEP_TIMEOUT_S = 60.0
GIVEN_UP_AFTER_S = 30.0
RETRIABLE = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_COORDINATOR,
        KafkaError.REQUEST_TIMED_OUT,
    }
)
"""Errors after which the same call is repeated: Kafka's retriable ones of requests to coordinators, and librdkafka's
of connections."""
PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
"""The error of records that were not sent before their transaction was aborted."""
REBALANCING = (
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.STALE_MEMBER_EPOCH,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError._ASSIGNMENT_LOST,
)
Answer = TypeVar("Answer")


class Findings:
    """The errors and retries of the clients."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        """The errors that a retry does not hide."""
        self.retries: list[str] = []
        """The calls that had to be repeated."""
        self.refused: list[str] = []
        """The commits that a group refused because it rebalanced."""
        self.given_up = 0
        """The number of times that a teller restarted because the client library did not return."""
        self.told = 0
        """The number of completed transfers."""
        self.offsets: dict[str, dict[int, int]] = defaultdict(dict)
        """Group -> partition -> the highest offset that was certainly committed."""

    def committed(self, group: str, offsets: list[TopicPartition]) -> None:
        """Notes offsets that were committed."""
        known = self.offsets[group]
        for one in offsets:
            known[one.partition] = max(one.offset, known.get(one.partition, -1001))


class Client(Worker):
    """One client: a worker that records its errors."""

    def __init__(
        self,
        servers: str,
        journal: FireJournal,
        specification: Specification,
        leave: threading.Event,
        findings: Findings,
    ) -> None:
        super().__init__(servers, journal, specification, leave)
        self.findings = findings
        self.steps = 0
        """Counts completed actions."""

    def failed(self, what: str, error: object) -> None:
        """Notes an error that the application sees."""
        self.journal.write("again", f"{what}: {error}")
        self.findings.errors.append(f"{self.specification.name}: {what}: {error}")

    def shared(self) -> dict[str, Any]:
        """Settings of all clients: the defaults, except for no output and quick reconnects."""
        return {
            "bootstrap.servers": self.servers,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
            "error_cb": lambda error: self.failed("fatal", error) if error.fatal() else None,
        }

    def producer(self, **settings: Any) -> Any:
        """A producer with librdkafka's own timeouts."""
        return Producer({**self.shared(), "linger.ms": 1, **settings})

    def consumer(self, group: str, **settings: Any) -> Any:
        """A consumer of committed records that commits itself, with librdkafka's own timeouts."""
        shared = {
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        return Consumer({**self.shared(), **shared, **settings})

    def retried(self, what: str, call: Callable[[], Answer]) -> Answer:
        """Makes a call until it succeeds. Raises KafkaException with an error that is not retriable."""
        while True:
            try:
                return call()
            except KafkaException as exception:
                error = exception.args[0]
                if not (error.retriable() or error.code() in RETRIABLE):
                    raise
                self.findings.retries.append(f"{self.specification.name}: {what}: {error}")
                self.leave.wait(PAUSE_S)

    def sent(self, producer: Any, topic: str, value: str, partition: int, acked: Callable[[Any], None]) -> None:
        """Sends one record, and records an error of its delivery."""

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                acked(message)
                self.steps += 1
            elif error.code() not in PURGED:
                self.failed("delivery", error)

        try:
            producer.produce(topic, value, partition=partition, on_delivery=delivered)
        except KafkaException:
            producer.poll(STEP_TIMEOUT_S)  # calls error_cb with the cause
            raise

    def number(self, producer: Any, transaction: str | None) -> None:
        """Sends one number to a random partition."""
        value, partition = self.next_value(), self.chance.randrange(PARTITIONS)
        self.journal.write("send", value, partition, transaction)
        self.sent(
            producer,
            TOPIC,
            str(value),
            partition,
            lambda message: self.journal.write("acked", value, message.partition(), message.offset()),
        )


def write(client: Client) -> None:
    """The idempotent writer."""
    producer = client.producer(**{"enable.idempotence": True})
    client.journal.write("started", IDEMPOTENT, None)
    while not client.leave.is_set():
        for _ in range(client.chance.randint(1, 5) if len(producer) < UNDER_WAY else 0):
            client.number(producer, None)
        producer.poll(PAUSE_S)
        client.leave.wait(PAUSE_S)
    assert producer.flush(PATIENCE_S) == 0


def transacting(client: Client) -> Any:
    """A transactional producer that has taken over its id."""
    kind, name, _ = client.specification
    producer = client.producer(**{"transactional.id": name, "transaction.timeout.ms": 60_000})
    client.journal.write("starting", kind, name)
    client.retried("init", lambda: producer.init_transactions(STEP_TIMEOUT_S))
    client.journal.write("started", kind, name)
    return producer


def write_transactions(client: Client) -> None:
    """Transactions of some records; every fourth is aborted."""
    producer = transacting(client)
    number = 0
    while not client.leave.is_set():
        number += 1
        name = f"{client.specification.name}/{number}"
        producer.begin_transaction()
        client.journal.write("begin", name)
        for _ in range(client.chance.randint(1, 6)):
            client.number(producer, name)
        if client.chance.random() < 0.25:
            # librdkafka may end a transaction before its partitions were added, which is fatal: INVALID_TXN_STATE.
            producer.flush(STEP_TIMEOUT_S)
            client.journal.write("aborting", name)
            client.retried("abort", lambda: producer.abort_transaction(STEP_TIMEOUT_S))
            client.journal.write("aborted", name)
        else:
            client.journal.write("committing", name)
            client.retried("commit", lambda: producer.commit_transaction(STEP_TIMEOUT_S))
            client.journal.write("committed", name)
        client.leave.wait(PAUSE_S)


def _messages(client: Client, consumer: Any, count: int) -> list[Any]:
    messages = consumer.consume(count, POLL_S)
    for message in messages:
        error = message.error()
        if error is not None and error.code() not in RETRIABLE:
            client.failed("poll", error)
    return [message for message in messages if message.error() is None]


def _note(client: Client, messages: list[Any]) -> None:
    if messages:
        client.journal.write("poll", [[m.partition(), m.offset(), int(m.value())] for m in messages])
        client.steps += 1


def read_assigned(client: Client) -> None:
    """Reads all partitions from the beginning, without a group. An offset out of range is an error."""
    consumer = client.consumer("nobody", **{"auto.offset.reset": "error"})
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    client.journal.write("started", ASSIGNED_READER, None)
    while not client.leave.is_set():
        _note(client, _messages(client, consumer, 200))
    consumer.close()


def read_as_member(client: Client) -> None:
    """Reads as a member of a group of either protocol, and commits the offsets of noted records."""
    kind = client.specification.kind
    group = READERS_GROUP if kind == GROUP_READER else CONSUMERS_GROUP
    protocol = "classic" if kind == GROUP_READER else "consumer"
    consumer = client.consumer(group, **{"group.protocol": protocol})
    client.journal.write("started", kind, None)

    def assigned(_: Any, partitions: list[TopicPartition]) -> None:
        client.journal.write("assigned", [one.partition for one in partitions])

    consumer.subscribe([TOPIC], on_assign=assigned)
    while not client.leave.is_set():
        messages = _messages(client, consumer, 200)
        _note(client, messages)
        if messages:
            _commit(client, group, consumer)
    consumer.close()


def _commit(client: Client, group: str, consumer: Any) -> None:
    """Commits the positions. During a rebalance the commit is refused; then another member reads the records again."""
    try:
        positions = client.retried("commit offsets", lambda: consumer.commit(asynchronous=False))
    except KafkaException as exception:
        error = exception.args[0]
        if error.code() not in REBALANCING:
            client.failed("commit offsets", error)
        client.findings.refused.append(f"{client.specification.name}: {error}")
    else:
        client.findings.committed(group, positions)


def ask(client: Client) -> None:
    """Requests transfers between accounts, each of them once."""
    producer = client.producer(**{"enable.idempotence": True})
    client.journal.write("started", ASKER, None)
    asked = 0
    while not client.leave.is_set():
        is_behind = asked - client.findings.told > BACKLOG
        for partition in range(0 if is_behind else TRANSFER_PARTITIONS):
            transfer = [asked, *client.chance.sample(range(ACCOUNTS), 2), client.chance.randint(1, 50)]
            client.sent(producer, TRANSFERS, json.dumps(transfer), partition, lambda _: None)
            asked += 1
        producer.poll(PAUSE_S)
        client.leave.wait(PAUSE_S)
    assert producer.flush(PATIENCE_S) == 0


def tell(client: Client) -> None:
    """Consumes transfers, and writes both postings of each and the consumed offsets in one transaction.

    librdkafka may wait for a group's coordinator for ever (support/fire/worker.py has the issues). Then the teller
    restarts, and its transaction is aborted.
    """
    while not client.leave.is_set():
        producer = transacting(client)
        consumer = client.consumer(TELLERS_GROUP)
        consumer.subscribe([TRANSFERS])
        try:
            while not client.leave.is_set():
                messages = _messages(client, consumer, TELLER_BATCH)
                if messages:
                    _tell(client, producer, consumer, messages)
        except StepTimeoutError:
            client.findings.given_up += 1
        finally:
            consumer.close()


def _tell(client: Client, producer: Any, consumer: Any, messages: list[Any]) -> None:
    producer.begin_transaction()
    ends: dict[int, int] = {}
    for message in messages:
        number, source, target, amount = json.loads(message.value())
        for account, change in ((source, -amount), (target, amount)):
            client.sent(producer, POSTINGS, json.dumps([number, account, change]), account % PARTITIONS, lambda _: None)
        ends[message.partition()] = message.offset() + 1
    offsets = [TopicPartition(TRANSFERS, partition, end) for partition, end in ends.items()]
    metadata = consumer.consumer_group_metadata()
    send = functools.partial(producer.send_offsets_to_transaction, offsets, metadata, STEP_TIMEOUT_S)
    in_time("send_offsets_to_transaction", lambda: client.retried("send offsets", send), GIVEN_UP_AFTER_S)
    client.retried("commit", lambda: producer.commit_transaction(STEP_TIMEOUT_S))
    client.findings.told += len(messages)
    client.findings.committed(TELLERS_GROUP, offsets)
    client.journal.write("told", len(messages))
    client.leave.wait(PAUSE_S)


def watch_offsets(client: Client) -> None:
    """Reads the committed offsets repeatedly. None may decrease."""
    findings = client.findings
    asked = {
        READERS_GROUP: [TopicPartition(TOPIC, index) for index in range(PARTITIONS)],
        CONSUMERS_GROUP: [TopicPartition(TOPIC, index) for index in range(PARTITIONS)],
        TELLERS_GROUP: [TopicPartition(TRANSFERS, index) for index in range(TRANSFER_PARTITIONS)],
    }
    consumers = {group: client.consumer(group) for group in asked}
    while not client.leave.is_set():
        for group, partitions in asked.items():
            floor = dict(findings.offsets[group])
            read = functools.partial(_committed, consumers[group], partitions)
            found = client.retried("read offsets", read)
            for one in found:
                if one.offset < floor.get(one.partition, -1001):
                    client.failed("offset", f"{group} {one.partition} went from {floor[one.partition]} to {one.offset}")
            findings.committed(group, found)
            client.steps += 1
        client.leave.wait(POLL_S)
    for consumer in consumers.values():
        consumer.close()


def _committed(consumer: Any, partitions: list[TopicPartition]) -> list[TopicPartition]:
    found: list[TopicPartition] = consumer.committed(partitions, STEP_TIMEOUT_S)
    for one in found:
        if one.error is not None:
            raise KafkaException(one.error)
    return found


KINDS = {
    IDEMPOTENT: write,
    TRANSACTIONAL: write_transactions,
    ASSIGNED_READER: read_assigned,
    GROUP_READER: read_as_member,
    CONSUMER_READER: read_as_member,
    ASKER: ask,
    TELLER: tell,
    WATCHER: watch_offsets,
}
