"""The clients of a simulated cluster: Odradek's own client, each in its own process.

Owns: the actions of each client. Never does: checks, except those in the history. A failed client is created again.
"""

import random
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

from cluster.simulator.history import History, Transaction
from cluster.simulator.loop import pass_time
from cluster.simulator.network import port_of
from odradek.client.admin import Admin
from odradek.client.admin.elections import ElectionType
from odradek.client.admin.topics import NewTopic
from odradek.client.consumer import Consumer
from odradek.client.errors import ClientError
from odradek.client.producer import Producer
from odradek.client.types import TopicPartition
from odradek.protocol.errors import KafkaError

BOOTSTRAP = [f"127.0.0.1:{port_of(node_id)}" for node_id in (1, 2, 3)]
PLAIN, TRANSACTIONAL = "plain", "transactional"
TOPICS = (PLAIN, TRANSACTIONAL)
PARTITIONS = 2
GROUP = "readers"
ERRORS = (KafkaError, ClientError, OSError, TimeoutError)
QUICK = {"request_timeout_ms": 2_000, "connection_timeout_ms": 1_500, "metadata_max_age_ms": 5_000}

Client = Callable[[str], Coroutine[Any, Any, None]]
"""Runs one action of a client."""


class Workload:
    """All clients of one life, until ``is_over``."""

    def __init__(self, history: History, chance: random.Random) -> None:
        self.history = history
        self.chance = chance
        self.is_over = False
        self._numbers = count(1)

    def clients(self) -> dict[str, Client]:
        """Name -> its action."""
        return {
            "producer-1": self._produce,
            "producer-2": self._produce,
            "transactions-1": self._transactions,
            "transactions-2": self._transactions,
            "committed": self._read_committed,
            "uncommitted": self._read_uncommitted,
            "member-1": self._member,
            "member-2": self._member,
            "offsets": self._watch_offsets,
            "operator": self._operate,
        }

    async def run(self, name: str, once: Client) -> None:
        """Repeats the action of a client."""
        while not self.is_over:
            try:
                await once(name)
            except ERRORS as error:
                self.history.failed(name, error)
            await pass_time(self.chance.uniform(0.1, 1.0))

    async def create_topics(self) -> None:
        async with Admin(BOOTSTRAP) as admin:
            await admin.create_topics([NewTopic(name, PARTITIONS, 3) for name in TOPICS])

    async def _pause(self) -> None:
        await pass_time(self.chance.choice((0.005, 0.03, 0.1, 0.6)))

    # The operator ------------------------------------------------------------

    async def _operate(self, _: str) -> None:
        """Changes leaders and the order of replicas."""
        partition = TopicPartition(self.chance.choice(TOPICS), self.chance.randrange(PARTITIONS))
        async with Admin(BOOTSTRAP, default_api_timeout_ms=10_000, request_timeout_ms=2_000) as admin:
            while not self.is_over:
                await pass_time(self.chance.uniform(1, 8))
                if self.chance.random() < 0.5:
                    await admin.elect_leaders(ElectionType.PREFERRED, None)
                else:
                    replicas = self.chance.sample((1, 2, 3), 3)
                    await admin.alter_partition_reassignments({partition: replicas})

    # Producers ---------------------------------------------------------------

    async def _produce(self, name: str) -> None:
        history = self.history
        async with Producer(BOOTSTRAP, delivery_timeout_ms=20_000, linger_ms=2, **QUICK) as producer:  # type: ignore[arg-type]
            for burst in range(self.chance.randint(5, 60)):
                if self.is_over:
                    return
                futures = {}
                for number in range(self.chance.randint(1, 5)):
                    value = f"{name}-{next(self._numbers)}-{burst}-{number}".encode()
                    futures[value] = await producer.send(PLAIN, value, partition=self.chance.randrange(PARTITIONS))
                for value, future in futures.items():
                    place = await future
                    history.was_acknowledged(value, (PLAIN, place.partition, place.offset))
                await self._pause()

    async def _transactions(self, name: str) -> None:
        settings = {"delivery_timeout_ms": 15_000, "max_block_ms": 20_000, "transaction_timeout_ms": 10_000, **QUICK}
        async with Producer(BOOTSTRAP, transactional_id=name, linger_ms=2, **settings) as producer:  # type: ignore[arg-type]
            await producer.init_transactions()
            for _ in range(self.chance.randint(3, 30)):
                if self.is_over:
                    return
                transaction = Transaction()
                key = f"{name}-{next(self._numbers)}"
                self.history.transactions[key] = transaction
                await self._one_transaction(producer, key, transaction)
                await self._pause()

    async def _one_transaction(self, producer: Producer, key: str, transaction: Transaction) -> None:
        history = self.history
        await producer.begin_transaction()
        futures = {}
        for number in range(self.chance.randint(1, 4)):
            value = f"{key}-{number}".encode()
            transaction.values.append(value)
            history.transaction_of[value] = key
            topic = self.chance.choice(TOPICS)
            futures[value] = topic, await producer.send(topic, value, partition=self.chance.randrange(PARTITIONS))
            if self.chance.random() < 0.3:
                await self._pause()
        for value, (topic, future) in futures.items():
            place = await future
            history.was_acknowledged(value, (topic, place.partition, place.offset))
        if self.chance.random() < 0.3:
            await producer.abort_transaction()
            transaction.outcome = "aborted"
            return
        transaction.was_commit_asked = True
        await producer.commit_transaction()
        transaction.outcome = "committed"

    # Consumers ---------------------------------------------------------------

    async def _read_committed(self, name: str) -> None:
        await self._read(f"{name}-{next(self._numbers)}", "read_committed")

    async def _read_uncommitted(self, name: str) -> None:
        await self._read(f"{name}-{next(self._numbers)}", "read_uncommitted")

    async def _read(self, name: str, isolation_level: str) -> None:
        committed_only = isolation_level == "read_committed"
        settings = {"isolation_level": isolation_level, "auto_offset_reset": "earliest", **QUICK}
        async with Consumer(bootstrap_servers=BOOTSTRAP, **settings) as consumer:  # type: ignore[arg-type]
            consumer.assign([TopicPartition(topic, index) for topic in TOPICS for index in range(PARTITIONS)])
            for _ in range(self.chance.randint(20, 200)):
                if self.is_over:
                    return
                for partition, records in (await consumer.poll(500)).items():
                    for record in records:
                        place = partition.topic, partition.partition, record.offset
                        self.history.saw(name, place, record.value or b"", committed_only=committed_only)
                await self._pause()

    async def _member(self, name: str) -> None:
        settings = {
            "group_id": GROUP,
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            "session_timeout_ms": 6_000,
            "heartbeat_interval_ms": 1_000,
            "default_api_timeout_ms": 15_000,
            **QUICK,
        }
        async with Consumer(*TOPICS, bootstrap_servers=BOOTSTRAP, **settings) as consumer:  # type: ignore[arg-type]
            for _ in range(self.chance.randint(5, 60)):
                if self.is_over:
                    return
                polled = await consumer.poll(500, self.chance.randint(1, 20))
                offsets = {}
                for partition, records in polled.items():
                    for record in records:
                        place = partition.topic, partition.partition, record.offset
                        self.history.saw(name, place, record.value or b"", committed_only=False)
                    offsets[partition] = records[-1].offset + 1
                if offsets:
                    await consumer.commit(offsets)
                    for partition, offset in offsets.items():
                        self.history.offset_is_committed((partition.topic, partition.partition), offset)
                await self._pause()

    async def _watch_offsets(self, _: str) -> None:
        settings = {"group_id": GROUP, "enable_auto_commit": False, "default_api_timeout_ms": 15_000, **QUICK}
        async with Consumer(bootstrap_servers=BOOTSTRAP, **settings) as consumer:  # type: ignore[arg-type]
            while not self.is_over:
                await self.read_offsets(consumer)
                await self._pause()

    async def read_offsets(self, consumer: Consumer) -> None:
        """Reads the group's committed offsets, and compares them with the known ones."""
        before = dict(self.history.committed_offsets)
        partitions = [TopicPartition(topic, index) for topic in TOPICS for index in range(PARTITIONS)]
        found = await consumer.committed(*partitions)
        for partition in partitions:
            offset = found[partition].offset if partition in found else 0
            key = partition.topic, partition.partition
            self.history.offset_was_read(key, offset, before.get(key, 0))
