"""Coordinators move from a broker of ours to an Apache Kafka one, and the other way round.

Groups have members, and transactions are open at that time.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from cluster.rolling.places import ADMIN_TIMEOUT_S, Kind, Places
from odradek.protocol.names.topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers

pytestmark = [pytest.mark.java, pytest.mark.ci]

TIMEOUT_S = 60
LOOK_S = 5
"""The timeout of one metadata request, which is then repeated."""
FIRST, SECOND = 1, 2
TOPIC = "t"
COMMITTING, ABORTING, LEAVING = 0, 1, 2
"""The partitions, one for each producer: two end their transactions, the third leaves one open."""
CONFIGS = {
    "default.replication.factor": "2",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


@pytest.fixture(params=[("ours", "kafka"), ("kafka", "ours")], ids="-then-".join)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    """Two brokers. The first leads all partitions, so that it is every coordinator."""
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(tmp_path / "controllers"))
        places = stack.enter_context(Places(tmp_path, controllers, CONFIGS, count=2))
        kinds: tuple[Kind, Kind] = request.param
        for node_id, kind in zip(places.node_ids, kinds, strict=True):
            places[node_id].start(kind)
        compacted = {"cleanup.policy": "compact"}
        new = [
            NewTopic(name, 3, replica_assignment=[[FIRST, SECOND]] * 3, config=config)
            for name, config in ((TOPIC, {}), (OFFSETS_TOPIC, compacted), (TRANSACTION_STATE_TOPIC, compacted))
        ]
        for created in places.admin.create_topics(new).values():
            created.result(ADMIN_TIMEOUT_S)
        places.until_full_isr()
        yield places
        for node_id in places.node_ids:
            if places[node_id].kind == "ours":
                assert " ERROR " not in places[node_id].ours.log()


class Member:
    """A member of a group that reads the topic, and counts its assignments."""

    def __init__(self, places: Places, protocol: str) -> None:
        self.protocol = protocol
        self.assignments = 0
        self._consumer: Any = Consumer(
            {
                "bootstrap.servers": places.bootstrap_servers,
                "group.id": f"group-{protocol}",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._consumer.subscribe([TOPIC], on_assign=self._assigned)

    def _assigned(self, _: Any, partitions: list[TopicPartition]) -> None:
        self.assignments += bool(partitions)

    def read(self, value: str) -> None:
        """Reads until this value is read, and commits."""

        def has_come() -> bool:
            message = self._consumer.poll(0.1)
            return message is not None and message.error() is None and message.value() == value.encode()

        eventually(f"{self.protocol}: {value}", has_come)
        self._consumer.commit(asynchronous=False)

    def committed(self) -> list[int]:
        """The committed offset of each partition."""
        asked = [TopicPartition(TOPIC, index) for index in range(3)]
        return [max(one.offset, 0) for one in self._consumer.committed(asked, TIMEOUT_S)]

    def close(self) -> None:
        """Leaves the group."""
        self._consumer.close()


def producer_at(places: Places, name: str, timeout_ms: int = 60_000) -> Any:
    """A transactional producer that has its producer id."""
    producer = Producer(
        {
            "bootstrap.servers": places.bootstrap_servers,
            "transactional.id": name,
            "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": timeout_ms,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    return producer


def write(producer: Any, partition: int, value: str) -> None:
    """Begins a transaction with one record, and leaves it open."""
    producer.begin_transaction()
    producer.produce(TOPIC, value, partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


def visible(places: Places, partition: int) -> list[str]:
    """The records that readers of committed records see up to the last stable offset."""
    consumer: Any = Consumer(
        {
            "bootstrap.servers": places.bootstrap_servers,
            "group.id": "none",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(TOPIC, partition, 0)])
    found = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error() is None:
            found.append(message.value().decode())
        elif message.error().code() == KafkaError._PARTITION_EOF:
            break
    consumer.close()
    return found


def until_visible_after(places: Places, value: str) -> None:
    """Commits a record after an open transaction, and waits until it is visible."""
    producer = producer_at(places, "after")
    write(producer, LEAVING, value)
    producer.commit_transaction(TIMEOUT_S)
    eventually("the open transaction was aborted", lambda: value in visible(places, LEAVING))


def until_led_by(places: Places, node_id: int) -> None:
    """Waits until a broker leads every partition."""

    def leads() -> bool:
        try:
            topics = places.admin.list_topics(timeout=LOOK_S).topics.values()
        except KafkaException:
            return False  # librdkafka kept the request for the removed broker
        return all(one.leader == node_id for topic in topics for one in topic.partitions.values())

    eventually(f"broker {node_id} leads everything", leads)


def test_groups_and_open_transactions_go_on_at_the_other_kind_of_broker(places: Places) -> None:
    """A broker is killed, then one is stopped. Members keep their assignments, and transactions end by their producers
    or their timeout.
    """
    committing, aborting = producer_at(places, "committing"), producer_at(places, "aborting")
    members = [Member(places, protocol) for protocol in ("classic", "consumer")]
    write(committing, COMMITTING, "0")
    committing.commit_transaction(TIMEOUT_S)
    for member in members:
        member.read("0")
    for round_number, gone in enumerate((FIRST, SECOND), 1):
        until_led_by(places, gone)
        before = [member.committed() for member in members]
        write(committing, COMMITTING, str(round_number))
        write(aborting, ABORTING, str(round_number))
        leaving = producer_at(places, "leaving", timeout_ms=5_000)
        write(leaving, LEAVING, str(round_number))
        place = places[gone]
        if gone == FIRST:
            place.broker.kill()
        else:
            place.stop()
        until_led_by(places, FIRST + SECOND - gone)
        committing.commit_transaction(TIMEOUT_S)
        aborting.abort_transaction(TIMEOUT_S)
        for member, offsets in zip(members, before, strict=True):
            assert all(new >= old for new, old in zip(member.committed(), offsets, strict=True))
            member.read(str(round_number))
            assert member.committed() > offsets
        # The new coordinator aborts the third producer's open transaction, so that a later record becomes visible.
        until_visible_after(places, f"after {round_number}")
        place.start(place.kind)
        places.until_full_isr()
    assert visible(places, COMMITTING) == ["0", "1", "2"]
    assert visible(places, ABORTING) == []
    assert visible(places, LEAVING) == ["after 1", "after 2"]
    assert [member.assignments for member in members] == [1, 1]
    for member in members:
        member.close()
