"""The fetches and searches for leaders that are in flight."""

import asyncio
from collections.abc import Iterable

from odradek.client.cluster.cluster import Cluster
from odradek.client.consumer.fetcher import FetchConfig, Fetcher, FetchRequestLimits
from odradek.client.consumer.offset_reset import parse_offset_reset
from odradek.client.group.subscription import SubscriptionState
from odradek.client.types import TopicPartition

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
