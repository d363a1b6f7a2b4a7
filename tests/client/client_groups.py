"""Groups of our consumers for tests: topics, records, polling until a condition is true, and listeners."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Protocol, TypeVar

from odradek.client.admin import Admin, NewTopic
from odradek.client.consumer import Consumer, RebalanceListener
from odradek.client.producer import Producer
from odradek.client.types import ConsumerRecord, TopicPartition
from support.eventually import eventually_in_loop

WAIT_S = 60
Answer = TypeVar("Answer")


async def until(ask: Callable[[], Awaitable[Answer]], holds: Callable[[Answer], bool]) -> Answer:
    """Calls until the result is as expected: a real Kafka's broker learns of changes after its controller's answer."""
    async with asyncio.timeout(WAIT_S):
        while not holds(answer := await ask()):
            pass
    return answer


async def create_topic(
    servers: str, topic: str, partitions: int = 1, configs: dict[str, str] | None = None
) -> list[TopicPartition]:
    """Creates a topic; returns its partitions."""
    async with Admin(servers) as admin:
        await admin.create_topics([NewTopic(topic, partitions, 1, configs=configs or {})])
        await until(admin.list_topics, lambda names: topic in names)
    return [TopicPartition(topic, number) for number in range(partitions)]


async def produce_numbers(servers: str, topic: str, partitions: int, numbers: Iterable[int]) -> None:
    """Produces number n as a record of partition n % partitions."""
    async with Producer(servers) as producer:
        for n in numbers:
            await producer.send(topic, str(n).encode(), partition=n % partitions)


class Told(RebalanceListener):
    """A listener that records its calls, with partitions but without topics."""

    def __init__(self) -> None:
        self.events: list[tuple[str, list[int]]] = []

    async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Records the call."""
        self.events.append(("revoked", sorted(p.partition for p in partitions)))

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Records the call."""
        self.events.append(("assigned", sorted(p.partition for p in partitions)))

    async def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> None:
        """Records the call."""
        self.events.append(("lost", sorted(p.partition for p in partitions)))


async def poll_until(
    consumers: Sequence[Consumer], holds: Callable[[], bool], *, records: list[ConsumerRecord] | None = None
) -> list[ConsumerRecord]:
    """Polls all consumers repeatedly until a condition holds; adds the records that they read to ``records``."""
    found = [] if records is None else records
    if not consumers:  # lets other tasks run
        await eventually_in_loop("what others do", holds, patience_s=WAIT_S)
    async with asyncio.timeout(WAIT_S):
        while not holds():
            for polled in await asyncio.gather(*(consumer.poll(100) for consumer in consumers)):
                for some in polled.values():
                    found += some
    return found


async def read(consumers: Sequence[Consumer], count: int) -> list[ConsumerRecord]:
    """Polls all until ``count`` records were read."""
    records: list[ConsumerRecord] = []
    async with asyncio.timeout(WAIT_S):
        while len(records) < count:
            for polled in await asyncio.gather(*(consumer.poll(100) for consumer in consumers)):
                for some in polled.values():
                    records += some
    return records


class HasPartitions(Protocol):
    """A consumer of any client library."""

    def assignment(self) -> set[TopicPartition]:
        """The owned partitions."""


def shared_out(
    consumers: Sequence[HasPartitions], partitions: Collection[TopicPartition], sizes: Sequence[int]
) -> bool:
    """Whether the consumers together own all partitions, each the given number."""
    owned = [partition for consumer in consumers for partition in consumer.assignment()]
    return [len(c.assignment()) for c in consumers] == list(sizes) and sorted(owned) == sorted(partitions)
