"""A streams group in a cluster of ours, ours and Apache Kafka's: each broker is its coordinator once, and is killed.

A word count of Kafka Streams goes on beside that, with two instances, standby tasks and exactly_once_v2.
"""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from cluster.reassignment import reassign
from cluster.three_brokers import KAFKA, NODE_IDS, ThreeBrokers
from odradek.protocol.names.topics import OFFSETS_TOPIC
from support.eventually import eventually
from support.kafka.java import java_or_skip
from support.kafka.word_count import PARTITIONS, STREAMS_KEYS, TOPICS, Counts, Instance, write_lines

pytestmark = [pytest.mark.java, pytest.mark.ci]

CONFIGS = {
    **STREAMS_KEYS,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "3",
    "leader.imbalance.check.interval.seconds": "1",  # so that a partition's first replica soon leads it
}
RING = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
assert len(RING) == PARTITIONS


def lead(cluster: ThreeBrokers, node_id: int, place: Path) -> None:
    """Makes a broker the coordinator of all groups."""
    others = [other for other in NODE_IDS if other != node_id]
    reassign(cluster.bootstrap_servers, OFFSETS_TOPIC, [node_id, *others], place)
    eventually(f"{node_id} coordinates", lambda: cluster.state(OFFSETS_TOPIC)[0] == node_id)


@pytest.mark.nightly
def test_words_are_counted_exactly_once_while_coordinators_are_killed(tmp_path: Path) -> None:
    java_or_skip()
    chance, expected = Random(4711), Counter[str]()
    instances: list[Instance] = []
    with ThreeBrokers(tmp_path, mixed=True, configs=CONFIGS) as cluster:
        servers = cluster.bootstrap_servers
        for topic in TOPICS:
            cluster.create(topic, RING)
        cluster.create(OFFSETS_TOPIC, RING[:1], cleanup_policy="compact")
        counts = Counts(servers)
        try:
            instances += [Instance(name, servers, tmp_path, "streams", replicas=3) for name in ("first", "second")]
            for instance in instances:
                instance.wait_until_running()
            for node_id in NODE_IDS:
                lead(cluster, node_id, tmp_path)
                write_lines(servers, chance, expected)
                cluster.brokers[node_id].kill()
                write_lines(servers, chance, expected)
                counts.wait_for(expected, instances)
                cluster.brokers[node_id].start()
                cluster.until_in_sync(OFFSETS_TOPIC, set(NODE_IDS))
            for instance in instances:
                instance.stop()
        finally:
            for instance in instances:
                instance.kill()
            counts.close()
        for node_id in set(NODE_IDS) - {KAFKA}:
            assert " ERROR " not in cluster.brokers[node_id].log()  # type: ignore[union-attr]
