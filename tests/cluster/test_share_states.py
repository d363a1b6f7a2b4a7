"""The state of share partitions in a cluster: each broker stores and reads it at any coordinator, and deaths lose
nothing."""

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.share_state.persister import Persister, ReadState
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.testing.clusters.cluster import KafkaCluster
from odradek.testing.clusters.cluster_broker import ClusterBroker
from support.eventually import eventually

pytestmark = pytest.mark.ci

TOPIC = "shared"
PARTITIONS = 4
WAIT_S = 60.0


def asked(broker: ClusterBroker, ask: Callable[[Persister, Callable[..., None]], None]) -> tuple[Any, ...]:
    """Asks a broker's persister, in its event loop, and waits for the answer."""
    running = broker._running
    assert running is not None
    answers: list[tuple[Any, ...]] = []
    is_answered = threading.Event()

    def done(*answer: Any) -> None:
        answers.append(answer)
        is_answered.set()

    running.call_soon(lambda: ask(running.server.broker.persister, done))
    assert is_answered.wait(WAIT_S)
    [answer] = answers
    return answer


def write(broker: ClusterBroker, key: SharePartitionKey, offset: int) -> ErrorCode:
    def ask(persister: Persister, done: Callable[..., None]) -> None:
        persister.write(
            key,
            state_epoch=1,
            leader_epoch=0,
            start_offset=-1,
            delivery_complete_count=0,
            batches=[StateBatch(offset, offset, 2, 1)],
            done=done,
        )

    error: ErrorCode = asked(broker, ask)[0]
    return error


def stored(broker: ClusterBroker, key: SharePartitionKey) -> list[int]:
    error, state = asked(broker, lambda persister, done: persister.read(key, 0, done))
    assert error is ErrorCode.NONE
    assert isinstance(state, ReadState)
    return [offset for one in state.batches for offset in range(one.first_offset, one.last_offset + 1)]


def test_states_survive_brokers(tmp_path: Path) -> None:
    rng = random.Random(1)
    with KafkaCluster(tmp_path, 3) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS)
        image = cluster.brokers[0].image
        assert image is not None
        topic_id = image.topics_by_name[TOPIC].topic_id
        keys = [SharePartitionKey(group, topic_id, index) for group in "abcdef" for index in range(PARTITIONS)]
        for key in keys:
            broker = rng.choice(cluster.brokers)
            begun = asked(broker, lambda persister, done, key=key: persister.initialize(key, 1, 0, done))  # type: ignore[misc]
            assert begun == (ErrorCode.NONE,)
        written: dict[SharePartitionKey, list[int]] = {key: [] for key in keys}
        number = 0
        for victim in (*cluster.brokers, None):
            living = [broker for broker in cluster.brokers if broker is not victim]
            if victim is not None:
                victim.kill()
            for _ in range(60):
                key, number = rng.choice(keys), number + 2
                assert write(rng.choice(living), key, number) is ErrorCode.NONE
                written[key].append(number)
            if victim is not None:
                victim.start()
                cluster.wait_until_in_sync("__share_group_state")
        for broker in cluster.brokers:
            assert {key: stored(broker, key) for key in keys} == written


def test_a_partition_that_does_not_exist_is_no_wait(tmp_path: Path) -> None:
    with KafkaCluster(tmp_path, 2) as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        image = cluster.brokers[0].image
        assert image is not None
        topic_id = image.topics_by_name[TOPIC].topic_id
        for broker in cluster.brokers:
            eventually("it knows the topic", lambda: TOPIC in broker.image.topics_by_name)  # type: ignore[union-attr]  # noqa: B023
            for partition in range(1, 4):
                key = SharePartitionKey("g", topic_id, partition)
                answer = asked(broker, lambda persister, done, key=key: persister.initialize(key, 1, 0, done))  # type: ignore[misc]
                assert answer == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)
