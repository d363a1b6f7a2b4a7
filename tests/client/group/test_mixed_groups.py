"""Our consumer and those of other clients in one group: with any leader, partitions are assigned and handed over."""

import asyncio
import threading
from typing import Any

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from odradek.client.consumer import Consumer
from odradek.client.types import ConsumerRecord, TopicPartition
from support.brokers.python_clients import learn_partitions

from ..client_groups import (
    WAIT_S,
    HasPartitions,
    Told,
    create_topic,
    poll_until,
    produce_numbers,
    read,
    shared_out,
)

pytestmark = pytest.mark.ci


class ConfluentMember:
    """A librdkafka consumer that polls in its own thread. It can be used instead of ours in ``shared_out``."""

    def __init__(self, servers: str, group: str, topic: str, settings: dict[str, Any]) -> None:
        self._consumer: Any = ConfluentConsumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": 1_000,
                **settings,
            }
        )
        self._consumer.subscribe([topic])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._owned: set[TopicPartition] = set()
        self.read: list[int] = []
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.05)
            self._owned = {TopicPartition(p.topic, p.partition) for p in self._consumer.assignment()}
            if message is not None and message.error() is None:
                self.read.append(int(message.value()))
        self._consumer.close()

    def assignment(self) -> set[TopicPartition]:
        """The owned partitions."""
        return self._owned

    async def close(self) -> None:
        """Leaves the group."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, WAIT_S)


class KafkaPythonMember:
    """A kafka-python consumer that polls in its own thread."""

    def __init__(self, servers: str, group: str, topic: str, assignor: Any) -> None:
        self._settings: dict[str, Any] = {
            "bootstrap_servers": servers,
            "group_id": group,
            "auto_offset_reset": "earliest",
            "partition_assignment_strategy": [assignor],
            "heartbeat_interval_ms": 100,
            "session_timeout_ms": 10_000,
        }
        self._topic = topic
        self._stop = threading.Event()
        self._owned: set[TopicPartition] = set()
        self.read: list[int] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        consumer: Any = KafkaConsumer(self._topic, **self._settings)
        learn_partitions(consumer, self._topic, self._stop.is_set)
        while not self._stop.is_set():
            for records in consumer.poll(timeout_ms=50).values():
                self.read += [int(record.value) for record in records]
            self._owned = {TopicPartition(p.topic, p.partition) for p in consumer.assignment()}
        consumer.close()

    def assignment(self) -> set[TopicPartition]:
        """The owned partitions."""
        return self._owned

    async def close(self) -> None:
        """Leaves the group."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, WAIT_S)


def settings_of(how: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of our client and librdkafka, for an assignor of the classic protocol or for the consumer protocol."""
    if how == "consumer":
        return {"group_protocol": "consumer"}, {"group.protocol": "consumer"}
    ours = {"partition_assignment_strategy": [how], "heartbeat_interval_ms": 100}
    theirs = {"partition.assignment.strategy": how, "heartbeat.interval.ms": 100, "session.timeout.ms": 10_000}
    return ours, theirs


@pytest.mark.parametrize("how", ["range", "cooperative-sticky", "roundrobin", "consumer"])
async def test_librdkafkas_member_joins_ours(servers: str, name: str, how: str) -> None:
    ours, theirs = settings_of(how)
    partitions = await create_topic(servers, name, 6)
    await produce_numbers(servers, name, 6, range(60))
    told = Told()
    consumer = Consumer(bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest", **ours)
    async with consumer:
        consumer.subscribe([name], told)
        records = await read([consumer], 60)
        other = ConfluentMember(servers, name, name, theirs)
        try:
            records += await poll_until([consumer], lambda: shared_out([consumer, other], partitions, [3, 3]))
            if how in ("cooperative-sticky", "consumer"):
                revoked = [partitions for what, partitions in told.events if what == "revoked"]
                assert [len(some) for some in revoked] == [3], "only what goes is revoked"
            await produce_numbers(servers, name, 6, range(60, 120))
            await poll_until([consumer], lambda: len(set(other.read)) >= 30, records=records)
        finally:
            await other.close()
        await poll_until([consumer], lambda: consumer.assignment() == set(partitions), records=records)
        await produce_numbers(servers, name, 6, range(120, 150))
        await poll_until([consumer], lambda: numbers(records) | set(other.read) == set(range(150)), records=records)


@pytest.mark.parametrize("how", ["range", "cooperative-sticky"])
async def test_ours_joins_librdkafkas_member(servers: str, name: str, how: str) -> None:
    ours, theirs = settings_of(how)
    partitions = await create_topic(servers, name, 6)
    await produce_numbers(servers, name, 6, range(60))
    other = ConfluentMember(servers, name, name, theirs)
    try:
        await poll_until([], lambda: len(set(other.read)) == 60)
        consumer = Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest", **ours)
        async with consumer:
            records = await poll_until([consumer], lambda: shared_out([consumer, other], partitions, [3, 3]))
            await produce_numbers(servers, name, 6, range(60, 120))
            await poll_until([consumer], lambda: numbers(records) | set(other.read) == set(range(120)), records=records)
        await poll_until([], lambda: other.assignment() == set(partitions))
    finally:
        await other.close()


@pytest.mark.parametrize(
    "assignor", [StickyPartitionAssignor, CooperativeStickyAssignor], ids=["sticky", "cooperative-sticky"]
)
async def test_kafka_pythons_member_and_ours_read_each_others_user_data(servers: str, name: str, assignor: Any) -> None:
    ours, _ = settings_of(assignor.name)
    partitions = await create_topic(servers, name, 6)
    await produce_numbers(servers, name, 6, range(60))
    consumer = Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest", **ours)
    async with consumer:
        records = await read([consumer], 60)
        other = KafkaPythonMember(servers, name, name, assignor)
        try:
            await poll_until([consumer], lambda: shared_out([consumer, other], partitions, [3, 3]), records=records)
            kept = consumer.assignment()
            third = Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest", **ours)
            async with third:
                members: list[HasPartitions] = [consumer, other, third]
                await poll_until([consumer, third], lambda: shared_out(members, partitions, [2, 2, 2]), records=records)
                assert consumer.assignment() < kept, "whoever leads knows what everybody had"
            await poll_until([consumer], lambda: shared_out([consumer, other], partitions, [3, 3]), records=records)
            await produce_numbers(servers, name, 6, range(60, 120))
            await poll_until([consumer], lambda: numbers(records) | set(other.read) == set(range(120)), records=records)
        finally:
            await other.close()
        await poll_until([consumer], lambda: consumer.assignment() == set(partitions), records=records)


def numbers(records: list[ConsumerRecord]) -> set[int]:
    return {int(record.value or b"") for record in records}
