"""A follower's fetch on the leader's side: what it replicates, and when it is answered."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from odradek.broker.fetch.session import FetchSessionCache
from odradek.broker.metadata.image import BrokerRegistration, PartitionImage
from odradek.broker.replicas.isr import InSyncReplicas
from odradek.broker.replicas.leading import Leading
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.storage.log.log_config import LogConfig
from support.brokers.append_path import NOW, TOPIC, AppendPath, batch, turns
from support.brokers.leading_common import leading_common

LEADER, FOLLOWER, BROKER_EPOCH = 1, 2, 7
TOPIC_ID = b"t" * 16
VERSION = 17


def registration(broker_id: int) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id, BROKER_EPOCH, bytes(16), {}, {}, None, fenced=False, in_controlled_shutdown=False, directories=()
    )


def lead(path: AppendPath, index: int) -> None:
    """Broker 1 leads the partition, broker 2 follows it in the ISR."""
    partition = path.partition(index)
    partition.log.offsets.set_high_watermark(0)
    partition.leading = Leading(
        TOPIC,
        TOPIC_ID,
        index,
        partition.log,
        InSyncReplicas(LEADER, 30_000, registration),
        partition.notify,
        leading_common(LEADER, lambda: NOW),
    )
    replicas = (LEADER, FOLLOWER)
    partition.leading.lead(PartitionImage(replicas, (bytes(16),) * 2, replicas, LEADER, 0, 0), 1)


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[AppendPath]:
    path = AppendPath(tmp_path, LogConfig(), partitions=2)
    path.broker.fetch_sessions = FetchSessionCache(10, 120_000, Random(1))
    for index in range(2):
        lead(path, index)
    yield path
    await path.close()


def fetch(offsets: dict[int, int]) -> FetchRequest:
    """The follower has everything below these offsets, and waits for ten minutes."""
    partitions = [
        FetchRequest.FetchPartition(index, current_leader_epoch=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        for index, offset in offsets.items()
    ]
    return FetchRequest(
        replica_state=FetchRequest.ReplicaState(FOLLOWER, BROKER_EPOCH),
        max_wait_ms=600_000,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchRequest.FetchTopic(topic_id=TOPIC_ID, partitions=partitions)],
    )


def sizes(response: FetchResponse) -> dict[int, int]:
    """Partition -> bytes of records."""
    return {one.partition_index: len(one.records or b"") for topic in response.responses for one in topic.partitions}


async def test_waiting_fetch_is_answered_by_an_append(path: AppendPath) -> None:
    """The answer has the new batch as soon as the leader has it; the producer waits until the follower asks on."""
    waiting = path.send(ApiKey.FETCH, VERSION, fetch({0: 0, 1: 0}))
    await turns()
    assert not waiting.done()
    produced = path.produce({0: batch()})
    await turns()
    assert sizes(waiting.result()) == {0: len(batch()), 1: 0}
    assert not produced.done()
    path.send(ApiKey.FETCH, VERSION, fetch({0: 1, 1: 0}))
    await turns()
    assert produced.done()


async def test_append_during_the_read_of_a_fetch_answers_it(path: AppendPath) -> None:
    """A fetch completes a write to partition 1; the producer's next write goes to partition 0, which was read before.

    Producers pipeline their requests, and the next one is served as soon as one is answered.
    """

    def next_request(_: KafkaError | None) -> None:
        path.produce({0: batch()})

    await path.produce({1: batch()}, acks=1)
    leading = path.partition(1).leading
    assert leading is not None
    leading.when_replicated(1, next_request)
    fetched = path.send(ApiKey.FETCH, VERSION, fetch({0: 0, 1: 1}))
    await turns()
    assert fetched.done()
    assert sizes(fetched.result()) == {0: len(batch()), 1: 0}
