"""A share group in a cluster: its coordinator asks other brokers for the state and the ends of partitions. It moves."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from odradek.broker.network.node_client import NodeClient, NodeUnavailableError
from odradek.protocol.apis.api_keys import api
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareGroupHeartbeatRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.testing.clusters.cluster import KafkaCluster
from odradek.testing.clusters.cluster_broker import ClusterBroker

pytestmark = pytest.mark.ci

TOPIC, GROUP = "shared", "sharing"
PARTITIONS = 6
PATIENCE_S = 60


async def ask(broker: ClusterBroker, request: Message, version: int) -> Any:
    """The answer of one broker; None if it does not answer."""
    client = NodeClient("127.0.0.1", broker.port, "test")
    try:
        return await client.send(request, api(request.API_KEY).response_class(), PATIENCE_S, version)
    except NodeUnavailableError:
        return None
    finally:
        client.close()


async def until(what: str, answer: Callable[[], Awaitable[Any]]) -> Any:
    """Repeats a step until it returns something true."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := await answer()):
        assert time.monotonic() < deadline, what
    return found


async def coordinator(living: list[ClusterBroker]) -> ClusterBroker:
    """The broker that coordinates the group."""

    async def find() -> ClusterBroker | None:
        answer = await ask(living[0], FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]), 6)
        port = answer and answer.coordinators[0].port
        return next((broker for broker in living if broker.port == port), None)

    found: ClusterBroker = await until("the group has a coordinator", find)
    return found


async def join_until_assigned(living: list[ClusterBroker], member_id: str) -> int:
    """Sends heartbeats until the member has all partitions. Returns how many it has sent to the coordinator."""
    sent = 0

    async def beat() -> bool:
        nonlocal sent
        request = ShareGroupHeartbeatRequest(GROUP, member_id, 0, None, [TOPIC])
        answer = await ask(await coordinator(living), request, 1)
        if answer is None or answer.error_code:
            return False
        sent += 1
        return sum(len(topic.partitions) for topic in answer.assignment.topic_partitions) == PARTITIONS

    await until(f"{member_id} has all partitions", beat)
    return sent


async def leave(living: list[ClusterBroker], member_id: str) -> None:
    request = ShareGroupHeartbeatRequest(GROUP, member_id, -1)
    request.subscribed_topic_names = None

    async def left() -> bool:
        answer = await ask(await coordinator(living), request, 1)
        return answer is not None and not answer.error_code

    await until(f"{member_id} has left", left)


async def lags(living: list[ClusterBroker]) -> list[int]:
    asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(GROUP)
    asked.topics = None
    answer = await ask(await coordinator(living), DescribeShareGroupOffsetsRequest([asked]), 1)
    if answer is None or answer.groups[0].error_code:
        return []
    return [one.lag for topic in answer.groups[0].topics for one in topic.partitions]


async def play(cluster: KafkaCluster) -> None:
    brokers = list(cluster.brokers)
    await join_until_assigned(brokers, "a")
    await leave(brokers, "a")
    kind = AlterShareGroupOffsetsRequest
    partitions = [kind.AlterShareGroupOffsetsRequestPartition(index, 0) for index in range(PARTITIONS)]
    altered = await ask(
        await coordinator(brokers), kind(GROUP, [kind.AlterShareGroupOffsetsRequestTopic(TOPIC, partitions)]), 0
    )
    assert [one.error_code for one in altered.responses[0].partitions] == [0] * PARTITIONS
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for index in range(PARTITIONS):
        for _ in range(index + 1):
            producer.produce(TOPIC, b"x", partition=index)
    producer.flush(PATIENCE_S)
    expected = list(range(1, PARTITIONS + 1))

    async def are_known() -> bool:
        return sorted(await lags(brokers)) == expected

    await until("the lag of each partition is known", are_known)
    dead = await coordinator(brokers)
    dead.kill()
    living = [broker for broker in brokers if broker is not dead]

    async def are_known_again() -> bool:
        return sorted(await lags(living)) == expected

    await until("another broker coordinates the group", are_known_again)
    assert await join_until_assigned(living, "b") == 1, "the state is there, so the first heartbeat brings partitions"


def test_a_share_group_over_brokers(tmp_path: Path) -> None:
    with KafkaCluster(tmp_path, 3) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS)
        asyncio.run(play(cluster))
