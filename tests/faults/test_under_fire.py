"""Writers, readers and transfers between accounts, while broker and clients are killed, stopped and taken over.

Every process keeps a journal. ``support.fire.checks``, which lists the promises to each writer, checks the journals and
the final contents of the topics. ``FIRE_SEED`` sets the schedule of faults.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.fire.checks import anomalies, transfer_anomalies
from support.fire.history import (
    ASKER,
    ASSIGNED_READER,
    GROUP_READER,
    IDEMPOTENT,
    PLAIN,
    TELLER,
    TRANSACTIONAL,
    Place,
    read_journals,
)
from support.fire.nemesis import Nemesis
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
from support.kafka.java import java_arguments, java_class, java_or_skip

TIMEOUT_S = 300.0
CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "auto.create.topics.enable": "false",
    "log.segment.bytes": "1048576",
}
COUNTS = {TOPIC: PARTITIONS, TRANSFERS: TRANSFER_PARTITIONS, POSTINGS: PARTITIONS}
BALANCE = 1_000
WRITERS = ((PLAIN, "plain"), (IDEMPOTENT, "idempotent"), (TRANSACTIONAL, "books-1"), (TRANSACTIONAL, "books-2"))
READERS = ((ASSIGNED_READER, "all"), (GROUP_READER, "member-1"), (GROUP_READER, "member-2"))
PYTHON_TELLERS = ((ASKER, "asker"), (TELLER, "teller-1"), (TELLER, "teller-2"))
JAVA_TELLER = (TELLER, "teller-java")


def read_to_end(servers: str, topic: str) -> dict[Place, bytes]:
    """All committed records of a topic."""
    consumer: Any = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "final",
            "isolation.level": "read_committed",
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


def wait_until_caught_up(servers: str, group: str, topic: str, ends: dict[int, int]) -> None:
    """Waits until the group has committed what stands in the topic."""
    consumer: Any = Consumer({"bootstrap.servers": servers, "group.id": group})

    def committed() -> dict[int, int]:
        asked = [TopicPartition(topic, partition) for partition in ends]
        return {found.partition: found.offset for found in consumer.committed(asked, TIMEOUT_S)}

    def has_caught_up() -> bool:
        offsets = committed()
        return all(offsets[partition] >= end for partition, end in ends.items())

    try:
        eventually(lambda: f"{group} at {ends}, not {committed()}", has_caught_up, patience_s=TIMEOUT_S)
    finally:
        consumer.close()


def ends_of(found: dict[Place, bytes]) -> dict[int, int]:
    """Behind the last record of each partition (which may be followed by markers)."""
    ends: dict[int, int] = {}
    for place in found:
        ends[place.partition] = max(place.offset + 1, ends.get(place.partition, 0))
    return ends


def under_fire(directory: Path, seed: int, *, faults: int | None, seconds: float) -> list[str]:
    """The whole run, with a number of faults or as many as fit a time; returns the schedule."""
    commands = {JAVA_TELLER[1]: [*java_arguments(heap="128m"), java_class("Teller")]}
    with OurBroker(directory, CONFIGS) as broker:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        new = [NewTopic(topic, partitions, 1) for topic, partitions in COUNTS.items()]
        for created in admin.create_topics(new).values():
            created.result(TIMEOUT_S)
        nemesis = Nemesis(broker, directory, seed, commands)
        try:
            for kind, name in (*WRITERS, *READERS, *PYTHON_TELLERS, JAVA_TELLER):
                nemesis.start(kind, name)
            nemesis.wait_for_all()
            began = time.monotonic()
            while len(nemesis.done) < faults if faults is not None else time.monotonic() < began + seconds:
                nemesis.strike()
            nemesis.end((PLAIN, IDEMPOTENT, TRANSACTIONAL, ASKER))
            final = read_to_end(servers, TOPIC)
            wait_until_caught_up(servers, READERS_GROUP, TOPIC, ends_of(final))
            transfers = read_to_end(servers, TRANSFERS)
            wait_until_caught_up(servers, TELLERS_GROUP, TRANSFERS, ends_of(transfers))
            nemesis.end((ASSIGNED_READER, GROUP_READER, TELLER))
            postings = read_to_end(servers, POSTINGS)
        finally:
            nemesis.kill_all()
        history = read_journals(nemesis.journals)
        history.final = {place: int(value) for place, value in final.items()}
        found = anomalies(history)
        asked = {}
        for value in transfers.values():
            number, source, target, amount = json.loads(value)
            asked[number] = source, target, amount
        balances = dict.fromkeys(range(ACCOUNTS), BALANCE)
        found |= transfer_anomalies(asked, [tuple(json.loads(value)) for value in postings.values()], balances)
        broken = {name: lines[:5] for name, lines in found.items()}
        replay = f"FIRE_SEED={seed} python -m pytest tests/faults/test_under_fire.py -k fire"
        assert not broken, f"{broken}\nafter {nemesis.done}\nagain: {replay}"
        assert " ERROR " not in broker.log()
        assert history.promised()
        assert any(transaction.is_committed for transaction in history.transactions.values())
        assert any(poll.records for poll in history.polls)
    return [
        f"{len(nemesis.done)} faults, {len(history.promised())} promised records, "
        f"{sum(one.is_committed for one in history.transactions.values())} transactions, {len(asked)} transfers",
        ", ".join(nemesis.done),
    ]


def given_seed(default: int) -> int:
    return int(os.environ.get("FIRE_SEED", str(default)))


@pytest.mark.ci
@pytest.mark.java
@pytest.mark.timeout(1800)
def test_nothing_promised_is_broken_under_fire(tmp_path: Path) -> None:
    """Each fault once."""
    java_or_skip()
    under_fire(tmp_path, given_seed(30_001), faults=7, seconds=0)


@pytest.mark.long
@pytest.mark.java
def test_ten_minutes_under_fire(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A schedule of faults without an end."""
    java_or_skip()
    lines = under_fire(tmp_path, given_seed(30_002), faults=None, seconds=600)
    with capsys.disabled():
        print("\n" + "\n".join(lines))
