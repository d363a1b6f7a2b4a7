"""The end of a run under fire: writers end, readers catch up, and the checks read the journals and the topics."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.eventually import eventually
from support.fire.checks import anomalies, transfer_anomalies
from support.fire.crew import FireCrew
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
    History,
    Place,
    read_journals,
)
from support.fire.worker import (
    ACCOUNTS,
    PARTITIONS,
    POSTINGS,
    READERS_GROUP,
    TELLERS_GROUP,
    TOPIC,
    TRANSFER_PARTITIONS,
    TRANSFERS,
)

TIMEOUT_S = 300.0
COUNTS = {TOPIC: PARTITIONS, TRANSFERS: TRANSFER_PARTITIONS, POSTINGS: PARTITIONS}
BALANCE = 1_000


def create_topics(servers: str, replication_factor: int) -> None:
    """Creates the topics of the workers."""
    admin = AdminClient({"bootstrap.servers": servers})
    new = [NewTopic(topic, partitions, replication_factor) for topic, partitions in COUNTS.items()]
    for created in admin.create_topics(new).values():
        created.result(TIMEOUT_S)


def strike_until(done: list[str], strike: Callable[[], None], *, faults: int | None, seconds: float) -> None:
    """Injects a number of faults, or as many as fit into a time."""
    began = time.monotonic()
    while len(done) < faults if faults is not None else time.monotonic() < began + seconds:
        strike()


def read_to_end(servers: str, topic: str, isolation: str = "read_committed") -> dict[Place, bytes]:
    """All records of a topic up to its last stable offset or its high watermark."""
    consumer: Any = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "final",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(COUNTS[topic])])
    found: dict[Place, bytes] = {}
    ended: set[int] = set()
    while len(ended) < COUNTS[topic]:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "nothing more comes, and it is not the end: a transaction hangs"
        error = message.error()
        if error is None:
            found[Place(message.partition(), message.offset())] = message.value()
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition())
    consumer.close()
    return found


MOVING = {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}
"""The errors of a coordinator that another broker takes over. librdkafka gives them to the caller at the first one."""


def committed_offsets(servers: str, group: str, topic: str) -> dict[int, int]:
    """The offset that a group has committed for each partition."""
    consumer: Any = Consumer({"bootstrap.servers": servers, "group.id": group})
    try:
        asked = [TopicPartition(topic, partition) for partition in range(COUNTS[topic])]
        return {found.partition: found.offset for found in consumer.committed(asked, TIMEOUT_S)}
    finally:
        consumer.close()


def wait_until_caught_up(servers: str, group: str, topic: str, ends: dict[int, int]) -> None:
    """Waits until the group has committed all records of the topic."""

    def behind() -> dict[int, int]:
        try:
            offsets = committed_offsets(servers, group, topic)
        except KafkaException as error:
            if error.args[0].code() not in MOVING:
                raise
            return ends
        return {partition: offsets[partition] for partition, end in ends.items() if offsets[partition] < end}

    eventually(lambda: f"{group} at {ends}, not {behind()}", lambda: not behind(), patience_s=TIMEOUT_S, every_s=0.2)


def ends_of(found: dict[Place, bytes]) -> dict[int, int]:
    """The offset after the last record of each partition. Markers may follow it."""
    ends: dict[int, int] = {}
    for place in found:
        ends[place.partition] = max(place.offset + 1, ends.get(place.partition, 0))
    return ends


@dataclass
class Outcome:
    """The result of a run, with the anomalies that the checks found."""

    history: History
    transfers: int
    broken: dict[str, list[str]]
    """Name of each anomaly -> its first cases."""

    def __str__(self) -> str:
        committed = sum(one.is_committed for one in self.history.transactions.values())
        return (
            f"{len(self.history.promised())} promised records, {committed} transactions, {self.transfers} transfers, "
            f"{sum(len(poll.records) for poll in self.history.polls)} records read"
        )

    def assert_something_happened(self) -> None:
        """Raises AssertionError if the workers did nothing, so that the absence of anomalies would prove nothing."""
        assert self.history.promised()
        assert any(transaction.is_committed for transaction in self.history.transactions.values())
        assert any(poll.records for poll in self.history.polls)


def requests_of(transfers: dict[Place, bytes]) -> dict[Place, tuple[int, int, int, int]]:
    """The requested transfers, see :func:`transfer_anomalies`."""
    return {place: tuple(json.loads(value)) for place, value in transfers.items()}


def unknown_writers(_: str) -> dict[Place, tuple[int, int]]:
    """The writers of a topic whose logs are not looked at."""
    return {}


def conclude(
    servers: str, crew: FireCrew, writers: Callable[[str], dict[Place, tuple[int, int]]] = unknown_writers
) -> Outcome:
    """Ends the crew cleanly, and checks what it has written. ``writers``: producer id and epoch of each record of a
    topic.
    """
    crew.end((PLAIN, IDEMPOTENT, TRANSACTIONAL, ASKER))
    crew.mark("the writers have ended")
    final = read_to_end(servers, TOPIC)
    everything = read_to_end(servers, TOPIC, "read_uncommitted")
    wait_until_caught_up(servers, READERS_GROUP, TOPIC, ends_of(final))
    crew.mark("the readers have caught up")
    transfers = read_to_end(servers, TRANSFERS)
    wait_until_caught_up(servers, TELLERS_GROUP, TRANSFERS, ends_of(transfers))
    crew.mark("the tellers have caught up")
    crew.end((ASSIGNED_READER, UNCOMMITTED_READER, GROUP_READER, TELLER, WATCHER))
    postings = read_to_end(servers, POSTINGS)
    history = read_journals(crew.journals)
    history.final = {place: int(value) for place, value in final.items()}
    history.everything = {place: int(value) for place, value in everything.items()}
    history.writers = writers(TOPIC)
    history.committed[READERS_GROUP] = committed_offsets(servers, READERS_GROUP, TOPIC)
    history.committed[TELLERS_GROUP] = committed_offsets(servers, TELLERS_GROUP, TRANSFERS)
    found = anomalies(history)
    asked = requests_of(transfers)
    balances = dict.fromkeys(range(ACCOUNTS), BALANCE)
    posted = [tuple(json.loads(value)) for value in postings.values()]
    found |= transfer_anomalies(asked, posted, balances, writers(TRANSFERS))
    return Outcome(history, len(asked), {name: lines[:5] for name, lines in found.items()})
