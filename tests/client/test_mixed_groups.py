"""Our consumer and librdkafka's in one group: whoever leads, partitions are shared and handed over, nothing is lost."""

import asyncio
import threading
from typing import Any

import pytest
from confluent_kafka import Consumer as ConfluentConsumer

from odradek.client.consumer import Consumer
from odradek.client.types import ConsumerRecord, TopicPartition
from support.client_groups import WAIT_S, Told, create_topic, poll_until, produce_numbers, read, shared_out


class ConfluentMember:
    """A librdkafka consumer that polls in a thread of its own; may stand in for one of ours in ``shared_out``."""

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
        """What it has."""
        return self._owned

    async def close(self) -> None:
        """Leaves the group."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, WAIT_S)


def settings_of(how: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ours and librdkafka's, for an assignor of the classic protocol or for the consumer protocol."""
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


def numbers(records: list[ConsumerRecord]) -> set[int]:
    return {int(record.value or b"") for record in records}
