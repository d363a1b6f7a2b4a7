"""The fetches and searches for leaders that are in flight, and which partitions the next fetch is for."""

import asyncio
import random
from collections.abc import Iterable
from typing import Any

from odradek.client.cluster.cluster import Cluster
from odradek.client.cluster.metadata import BrokerAddress, PartitionMetadata, TopicMetadata
from odradek.client.consumer.epoch_validation import EpochValidation
from odradek.client.consumer.fetcher import FetchConfig, Fetcher, FetchRequestLimits
from odradek.client.consumer.offset_reset import parse_offset_reset
from odradek.client.group.subscription import SubscriptionState
from odradek.client.types import TopicPartition
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.records.builder import BatchBuilder
from support.each import each

CONFIG = FetchConfig(FetchRequestLimits(1, 500, 1 << 20, 1 << 20), 0, True, parse_offset_reset("earliest"))


class LeaderlessCluster(Cluster):
    """Knows no leader. Each refresh waits until the test releases it."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1:1", client_id="test")
        self.refreshes: list[asyncio.Future[None]] = []

    async def refresh(self, topics: Iterable[str] | None = None, *, auto_create: bool = False) -> None:
        self.refreshes.append(asyncio.get_running_loop().create_future())
        await self.refreshes[-1]

    def backoff_s(self, attempt: int) -> float:
        return 0.0


async def test_searches_for_several_leaders_end_in_any_order() -> None:
    """A search that begins after an earlier one has ended is tracked separately, and each partition is tried again."""
    subscription = SubscriptionState()
    partitions = [TopicPartition("t", index) for index in range(3)]
    subscription.assign_manually(partitions)
    cluster, arrived = LeaderlessCluster(), asyncio.Event()
    fetcher = Fetcher(cluster, subscription, CONFIG, arrived.set)

    async def end_search(index: int) -> None:
        arrived.clear()
        cluster.refreshes[index].set_result(None)
        await arrived.wait()

    for partition in partitions[:2]:
        subscription.seek(partition, 0)
    fetcher.send_fetches()
    await asyncio.sleep(0)
    await end_search(0)
    subscription.seek(partitions[2], 0)
    fetcher.send_fetches()  # the second search is still in progress
    await asyncio.sleep(0)
    for index in (1, 2, 3):
        await end_search(index)
    fetcher.send_fetches()
    await asyncio.sleep(0)
    assert len(cluster.refreshes) == 7, "all three are looked for again"
    await fetcher.close()


class FetchedByHand:
    """A consumer's fetcher, and brokers whose answers the test gives."""

    def __init__(self, partitions: int) -> None:
        self.cluster = HandCluster(partitions)
        self.subscription = SubscriptionState()
        self.subscription.assign_manually(TopicPartition("t", number) for number in range(partitions))
        self.fetcher = Fetcher(self.cluster, self.subscription, CONFIG, lambda: None)
        self.validation = EpochValidation(self.cluster, self.subscription, has_reset=True)

    def validate(self) -> None:
        for partition in self.validation.pending():
            leader = self.cluster.metadata.leader(*partition)
            assert leader is not None
            self.subscription.validated(partition, (leader.leader, leader.leader_epoch))

    async def poll(self, most: int) -> set[TopicPartition]:
        """Takes records and sends fetches. Returns the partitions that had records."""
        records = self.fetcher.collect(most)
        self.fetcher.send_fetches()
        await self.run()
        return set(records)

    async def run(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


class HandCluster(Cluster):
    """Two brokers. Fetches wait in ``fetches`` until the test answers them."""

    def __init__(self, partitions: int) -> None:
        super().__init__("127.0.0.1:1", client_id="test")
        self.fetches: list[tuple[FetchRequest, asyncio.Future[FetchResponse]]] = []
        self.epoch = 0
        for node_id in (1, 2):
            self.learn_broker(node_id, "127.0.0.1", node_id)
        self.lead([1] * partitions)

    def lead(self, leaders: list[int]) -> None:
        """Makes these brokers the leaders, in a new epoch, as new metadata does."""
        self.epoch += 1
        known = {n: PartitionMetadata(n, leader, self.epoch, (1, 2), (1, 2)) for n, leader in enumerate(leaders)}
        self.metadata.topics = {"t": TopicMetadata("t", bytes(16), False, known)}
        self.metadata.generation += 1
        self.metadata.brokers = {n: BrokerAddress(n, "127.0.0.1", n) for n in (1, 2)}

    async def connection(self, node_id: int, purpose: str = "") -> Any:
        return self

    async def call(self, request: FetchRequest, _: type[FetchResponse], *, max_version: int | None) -> FetchResponse:
        self.fetches.append((request, asyncio.get_running_loop().create_future()))
        return await self.fetches[-1][1]

    async def refresh(self, topics: Iterable[str] | None = (), *, auto_create: bool = False) -> None:
        await asyncio.sleep(0)

    def backoff_s(self, attempts: int) -> float:
        return 0.0

    def asked(self) -> set[TopicPartition]:
        """The partitions of the fetches in flight."""
        return {TopicPartition("t", p.partition) for request, _ in self.fetches for p in request.topics[0].partitions}

    def answer(self, rng: random.Random, *, well: bool = False) -> set[TopicPartition]:
        """Answers the oldest fetch: with records, none or an error. ``well``: with a record of each partition."""
        request, future = self.fetches.pop(0)
        answers = []
        for asked in request.topics[0].partitions:
            answer = FetchResponse.PartitionData(partition_index=asked.partition)
            kind = "records" if well else rng.choice(("records", "none", "none", "moved", "out of range"))
            if kind == "records":
                batch = BatchBuilder(base_offset=asked.fetch_offset, partition_leader_epoch=self.epoch)
                batch.append(0, None, b"value")
                answer.records = memoryview(batch.build())
            elif kind == "moved":
                answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif kind == "out of range":
                answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            answers.append(answer)
        future.set_result(
            FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=answers)])
        )
        return {TopicPartition("t", asked.partition) for asked in request.topics[0].partitions}


@each("seed", range(100))
def test_no_partition_is_forgotten(seed: int) -> None:
    """Seeded: whatever a partition waited for, and however the waits overlapped, it is fetched again afterwards."""
    asyncio.run(many_waits(random.Random(seed)))


async def many_waits(rng: random.Random) -> None:
    """Random events, then an end of all waits. New metadata would hide what is forgotten: it comes only if needed."""
    partitions = [TopicPartition("t", number) for number in range(rng.choice((1, 2, 8)))]
    hand = FetchedByHand(len(partitions))
    subscription, cluster = hand.subscription, hand.cluster
    possible_leaders = rng.choice(((1,), (1, 2), (-1, 1, 2)))
    for _ in range(60):
        partition = rng.choice(partitions)
        match rng.randrange(10):
            case 0 | 1:
                subscription.seek(partition, rng.randrange(50), rng.choice((-1, 0)))
            case 2:
                subscription.reset(partition, -1)
            case 3:
                subscription.state(partition).paused = True
            case 4:
                subscription.resume(partition)
            case 5:
                cluster.lead([rng.choice(possible_leaders) for _ in partitions])
            case 6:
                hand.validate()
            case 7 if cluster.fetches:
                cluster.answer(rng)
                await hand.run()
            case _:
                await hand.poll(rng.randint(1, 4))
    if any(cluster.metadata.leader(*partition) is None for partition in partitions):
        cluster.lead([1] * len(partitions))
    for partition, state in subscription.assigned.items():
        if state.paused:
            subscription.resume(partition)
    for partition in subscription.without_position():
        subscription.seek(partition, 7)
    assert all(state.position is not None for state in subscription.assigned.values())
    fetched: set[TopicPartition] = set()
    for _ in range(12):
        hand.validate()
        await hand.poll(100)
        while cluster.fetches:
            fetched |= cluster.answer(rng, well=True)
            await hand.run()
    assert fetched == set(partitions)
    await hand.fetcher.close()


async def test_a_poll_looks_only_at_partitions_of_which_something_has_changed() -> None:
    hand = FetchedByHand(1_000)
    rng, fifth = random.Random(0), TopicPartition("t", 5)
    for partition in hand.subscription.assigned:
        hand.subscription.seek(partition, 0)
    await hand.poll(500)
    assert hand.validation.pending() == {}
    assert len(hand.cluster.asked()) == 1_000
    assert hand.subscription.to_fetch == hand.subscription.to_validate == {}
    hand.subscription.seek(fifth, 3)
    assert list(hand.subscription.to_fetch) == [fifth]
    await hand.poll(500)
    assert hand.subscription.to_fetch == {}, "it waits for the fetch in flight"
    hand.cluster.answer(rng, well=True)
    await hand.run()
    assert len(await hand.poll(500)) == 500
    assert len(hand.cluster.asked()) == 501, "those taken, and the one whose answer was for the old position"
    assert len(await hand.poll(500)) == 499
    assert len(hand.cluster.asked()) == 501, "the others wait for the fetch in flight"
    hand.cluster.answer(rng, well=True)
    await hand.run()
    await hand.poll(0)
    assert len(hand.cluster.asked()) == 499
    await hand.fetcher.close()


async def test_new_metadata_ends_the_wait_for_the_old_leader() -> None:
    hand = FetchedByHand(2)
    first, second = hand.subscription.assigned
    hand.subscription.seek(first, 0)
    await hand.poll(1)
    hand.subscription.seek(second, 0)
    await hand.poll(1)
    assert hand.cluster.asked() == {first}, "its leader answers one fetch at a time"
    hand.cluster.lead([1, 2])
    await hand.poll(1)
    assert hand.cluster.asked() == {first, second}
    await hand.fetcher.close()


async def test_a_partition_in_backoff_is_looked_at_until_it_ends() -> None:
    hand = FetchedByHand(1)
    (partition,) = hand.subscription.assigned
    hand.subscription.seek(partition, 0)
    state = hand.subscription.state(partition)
    state.not_before = asyncio.get_running_loop().time() + 1_000
    for _ in range(2):
        assert (hand.fetcher.send_fetches() or 0) > 900
    state.not_before = 0
    await hand.poll(1)
    assert hand.cluster.asked() == {partition}
    await hand.fetcher.close()
