"""Share groups with unmodified clients: Java's share consumer and librdkafka's.

Every record is given to one member at a time; what is released, and what is with a member that ends, comes back with a
higher delivery count; what is accepted or rejected never does, kills of the broker included.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer, ShareConsumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from clients.share_members import FormerShareMembers, ShareMembers
from odradek.testing import InProcessBroker
from support.brokers.our_broker import OurBroker
from support.eventually import PATIENCE_S, eventually

pytestmark = [pytest.mark.java, pytest.mark.ci]

KEYS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.assignment.interval.ms": "0",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
}
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


RELEASES = [ShareMembers, pytest.param(FormerShareMembers, marks=pytest.mark.nightly)]
"""The share consumers of Kafka 4.4.0 and of 4.3.1."""


@pytest.fixture(scope="module", params=RELEASES, ids=["4.4.0", "4.3.1"])
def members(request: pytest.FixtureRequest) -> Iterator[ShareMembers]:
    with request.param() as running:
        yield running


@pytest.fixture(scope="module")
def broker(members: ShareMembers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """A broker for the tests with the share consumers of one release."""
    with OurBroker(tmp_path_factory.mktemp("share"), KEYS) as running:
        yield running


def address(broker: OurBroker) -> dict[str, str | int | float | bool]:
    return {"bootstrap.servers": f"127.0.0.1:{broker.port}"}


def topic_with(broker: OurBroker, name: str, count: int, partitions: int = 1) -> str:
    """A topic with numbered records, in batches of ten."""
    admin = AdminClient(address(broker))
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE_S)
    produce(broker, name, count, partitions)
    return name


def produce(broker: OurBroker, name: str, count: int, partitions: int = 1) -> None:
    producer = Producer(address(broker) | {"linger.ms": 50, "batch.num.messages": 10})
    for number in range(count):
        producer.produce(name, str(number), partition=number % partitions)
    assert not producer.flush(PATIENCE_S)


def configure(broker: OurBroker, group: str, **configs: str) -> None:
    """Sets configs of a group; ``_`` stands for ``.`` in the names."""
    entries = [
        ConfigEntry(key.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for key, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = AdminClient(address(broker))
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def test_each_record_goes_to_one_member(broker: OurBroker, members: ShareMembers) -> None:
    topic = topic_with(broker, "shared", 2_000, 4)
    configure(broker, "many", share_auto_offset_reset="earliest")
    for name in ("a", "b", "c"):
        members.start(name, broker.port, "many", topic)
    got: list[str] = []
    while len(got) < 2_000:
        for name in ("a", "b", "c"):
            got += [record[3] for record in members.poll(name)]
    for name in ("a", "b", "c"):
        members.close(name)
    counts = Counter(got)
    assert set(counts) == {str(number) for number in range(2_000)}
    assert max(counts.values()) == 1


@pytest.mark.parametrize("mode", ["batch_optimized", "record_limit"])
def test_each_way_to_acknowledge(broker: OurBroker, members: ShareMembers, mode: str) -> None:
    group = topic_with(broker, f"ways-{mode.replace('_', '-')}", 6)
    configure(broker, group, share_auto_offset_reset="earliest")
    members.start(group, broker.port, group, group, share_acquire_mode=mode, max_poll_records="6", **EXPLICIT)
    first = members.poll_until(group, 6)
    assert [(offset, count) for _, offset, count, _ in first] == [(offset, 1) for offset in range(6)]
    members.acknowledge(group, ["ACCEPT", "REJECT", "RELEASE", "RELEASE", "ACCEPT", "RELEASE"])
    assert members.commit(group) == {}
    again = members.poll_until(group, 3)
    assert [(offset, count) for _, offset, count, _ in again] == [(2, 2), (3, 2), (5, 2)]
    members.acknowledge(group, ["ACCEPT"] * 3)
    assert members.commit(group) == {}
    assert members.poll(group) == []
    members.close(group)


def test_what_a_member_holds_comes_back_when_it_ends(broker: OurBroker, members: ShareMembers) -> None:
    topic = topic_with(broker, "held", 5)
    configure(broker, "held", share_auto_offset_reset="earliest")
    members.start("first", broker.port, "held", topic, **EXPLICIT)
    members.poll_until("first", 5)
    members.close("first")
    members.start("second", broker.port, "held", topic, **EXPLICIT)
    assert [count for _, _, count, _ in members.poll_until("second", 5)] == [2] * 5
    members.acknowledge("second", ["ACCEPT"] * 5)
    assert members.commit("second") == {}
    members.close("second")


def test_a_lock_ends_unless_it_is_renewed(broker: OurBroker, members: ShareMembers) -> None:
    topic = topic_with(broker, "locked", 1)
    configure(broker, "locked", share_auto_offset_reset="earliest", share_record_lock_duration_ms="1000")
    members.start("owner", broker.port, "locked", topic, **EXPLICIT)
    members.poll_until("owner", 1)
    members.acknowledge("owner", ["RENEW"])
    assert members.commit("owner") == {}
    members.start("other", broker.port, "locked", topic, **EXPLICIT)
    assert [count for _, _, count, _ in members.poll_until("other", 1)] == [2]
    members.close("other")
    members.close("owner")


def test_dead_letters(broker: OurBroker, members: ShareMembers) -> None:
    topic = topic_with(broker, "bad", 3)
    configure(
        broker,
        "bad",
        share_auto_offset_reset="earliest",
        errors_deadletterqueue_topic_name="dlq.bad",
        errors_deadletterqueue_copy_record_enable="true",
    )
    members.start("bad", broker.port, "bad", topic, **EXPLICIT)
    members.poll_until("bad", 3)
    members.acknowledge("bad", ["REJECT", "ACCEPT", "REJECT"])
    assert members.commit("bad") == {}
    members.close("bad")
    configure(broker, "letters", share_auto_offset_reset="earliest")
    members.start("letters", broker.port, "letters", "dlq.bad")
    letters = members.poll_until("letters", 2)
    assert [value for _, _, _, value in letters] == ["0", "2"]
    members.close("letters")


def test_nothing_accepted_comes_back_after_a_kill(tmp_path: Path, members: ShareMembers) -> None:
    with OurBroker(tmp_path, KEYS) as broker:
        topic = topic_with(broker, "killed", 20)
        configure(broker, "killed", share_auto_offset_reset="earliest")
        members.start("before", broker.port, "killed", topic, max_poll_records="10", **EXPLICIT)
        taken = members.poll_until("before", 10)
        members.acknowledge("before", ["ACCEPT"] * 5)
        assert members.commit("before") == {}
        broker.kill()
        broker.start()
        members.start("after", broker.port, "killed", topic, **EXPLICIT)
        left = members.poll_until("after", 15)
        assert {record[3] for record in left} == {str(number) for number in range(20)} - {
            record[3] for record in taken[:5]
        }
        members.close("after")
        members.close("before")


def test_librdkafka(kafka: InProcessBroker) -> None:
    settings: dict[str, str | int | float | bool] = {"bootstrap.servers": kafka.bootstrap_servers}
    admin = AdminClient(settings)
    resource = ConfigResource(
        ResourceType.GROUP,
        "confluent",
        incremental_configs=[
            ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
        ],
    )
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    kafka.create_topic("confluent")
    producer = Producer(settings)
    for number in range(100):
        producer.produce("confluent", str(number))
    assert not producer.flush(PATIENCE_S)
    consumer = ShareConsumer(settings | {"group.id": "confluent"})
    consumer.subscribe(["confluent"])
    got: list[bytes | None] = []

    def has_all() -> bool:
        got.extend(message.value() for message in consumer.poll(1.0) or () if message.error() is None)
        return len(got) >= 100

    eventually("100 records", has_all)
    consumer.close()
    assert sorted(int(value or b"-1") for value in got) == list(range(100))
