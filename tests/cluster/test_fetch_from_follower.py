"""Consumers read from a replica in their rack (KIP-392): ours and a real Kafka, each as leader and as follower."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.client.consumer import Consumer as OurConsumer
from odradek.client.types import TopicPartition as OurPartition
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.structure import ZERO_UUID
from support.brokers.asking import Asking
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

OURS, KAFKA, GONE = 1, 2, 3
RACKS = {OURS: "ours", KAFKA: "kafka", GONE: "gone"}
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RECORDS = 20
OUR_TOPIC, THEIR_TOPIC = "led-by-ours", "led-by-kafka"


class Cluster(NamedTuple):
    """A broker of ours and a real one. A third one led both topics in epoch 0 and was stopped."""

    ours: OurBroker
    kafka: RealKafka

    @property
    def bootstrap_servers(self) -> str:
        return f"{self.ours.bootstrap_servers},{self.kafka.bootstrap_servers}"

    def port(self, broker: int) -> int:
        return {OURS: self.ours.port, KAFKA: self.kafka.port}[broker]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    place = tmp_path_factory.mktemp("cluster")
    configs = {node: {"broker.rack": rack, "replica.selector.class": SELECTOR} for node, rack in RACKS.items()}
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(place / "controllers"))
        ours = stack.enter_context(controllers.broker(place / "ours", OURS, configs[OURS]))
        kafka = stack.enter_context(controllers.kafka_broker(place / "kafka", KAFKA, configs[KAFKA]))
        gone = stack.enter_context(controllers.broker(place / "gone", GONE, configs[GONE]))
        cluster = Cluster(ours, kafka)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        topics = [
            NewTopic(OUR_TOPIC, 1, replica_assignment=[[GONE, OURS, KAFKA]]),
            NewTopic(THEIR_TOPIC, 1, replica_assignment=[[GONE, KAFKA, OURS]]),
        ]
        for future in admin.create_topics(topics).values():
            future.result(60)
        gone.stop()
        fill(cluster, OUR_TOPIC, OURS)
        fill(cluster, THEIR_TOPIC, KAFKA)
        yield cluster


def fill(cluster: Cluster, topic: str, leader: int) -> None:
    """Writes the records, and waits until consumers can read them from both replicas."""
    asking = Asking(cluster.port(leader))
    eventually(f"{topic} takes records", lambda: asking.produce(topic, 0, *[b"value"] * 5) == 0)
    for _ in range(RECORDS // 5 - 1):
        assert asking.produce(topic, 0, *[b"value"] * 5) == 0

    def all_see_them() -> bool:
        return all(answer(cluster, broker, topic, 0).high_watermark == RECORDS for broker in (OURS, KAFKA))

    eventually(f"both have all of {topic}", all_see_them)


def answer(
    cluster: Cluster,
    broker: int,
    topic: str,
    offset: int,
    *,
    version: int = 12,
    rack: str = "",
    epoch: int = -1,
    last_epoch: int = -1,
    isolation: int = 0,
    topic_id: bytes = ZERO_UUID,
) -> FetchResponse.PartitionData:
    partition = FetchRequest.FetchPartition(
        partition=0,
        fetch_offset=offset,
        partition_max_bytes=1 << 20,
        current_leader_epoch=epoch,
        last_fetched_epoch=last_epoch,
    )
    request = FetchRequest(
        topics=[FetchRequest.FetchTopic(topic if version < 13 else "", topic_id, [partition])],
        rack_id=rack,
        isolation_level=isolation,
        session_epoch=-1,
    )
    found: FetchResponse.PartitionData = Asking(cluster.port(broker)).ask(request, version).responses[0].partitions[0]
    return found


QUESTIONS: dict[str, dict[str, Any]] = {
    "old client": {"offset": 0, "version": 10},
    "no rack": {"offset": 0, "version": 11},
    "rack of the leader": {"offset": 0, "rack": "LEADER"},
    "rack of the follower": {"offset": 0, "rack": "FOLLOWER"},
    "rack of the follower, at the end": {"offset": RECORDS, "rack": "FOLLOWER"},
    "rack of the follower, beyond the end": {"offset": RECORDS + 1, "rack": "FOLLOWER"},
    "rack of the follower, another epoch": {"offset": 0, "rack": "FOLLOWER", "epoch": 0},
    "rack of the follower, diverging": {"offset": 5, "rack": "FOLLOWER", "last_epoch": 0},
    "rack of a broker that is gone": {"offset": 0, "rack": RACKS[GONE]},
    "another rack": {"offset": 0, "rack": "nowhere"},
    "at the end": {"offset": RECORDS},
    "beyond the end": {"offset": RECORDS + 1},
    "in the middle of a batch": {"offset": 7, "epoch": 1},
    "earlier epoch": {"offset": 0, "epoch": 0},
    "later epoch": {"offset": 0, "epoch": 2},
    "diverging": {"offset": 5, "last_epoch": 0},
    "last epoch of the future": {"offset": 5, "last_epoch": 9},
    "read_committed": {"offset": 0, "isolation": 1},
}


@pytest.mark.parametrize("asked", ["leader", "follower"])
def test_answers_are_those_of_a_real_kafka(cluster: Cluster, asked: str) -> None:
    """Each side is once the leader of a partition that the other one follows, with equal records."""
    found: dict[str, dict[str, Any]] = {OUR_TOPIC: {}, THEIR_TOPIC: {}}
    for topic, leader, follower in ((OUR_TOPIC, OURS, KAFKA), (THEIR_TOPIC, KAFKA, OURS)):
        names = {leader: "leader", follower: "follower", -1: "none"}
        racks = {"LEADER": RACKS[leader], "FOLLOWER": RACKS[follower]}
        for what, question in QUESTIONS.items():
            rack = question.get("rack", "")
            data = answer(
                cluster,
                leader if asked == "leader" else follower,
                topic,
                **{**question, "rack": racks.get(rack, rack)},
            )
            found[topic][what] = (
                data.error_code,
                data.high_watermark,
                data.last_stable_offset,
                data.log_start_offset,
                names[data.preferred_read_replica],
                (data.diverging_epoch.epoch, data.diverging_epoch.end_offset),
                data.aborted_transactions,
                bytes(data.records or b""),
            )
    ours_asked, kafka_asked = (OUR_TOPIC, THEIR_TOPIC) if asked == "leader" else (THEIR_TOPIC, OUR_TOPIC)
    assert found[ours_asked] == found[kafka_asked]
    preferred = found[ours_asked]["rack of the follower"][4]
    assert preferred == ("follower" if asked == "leader" else "none")


def sources(consumer_stats: list[str], topic: str) -> set[int]:
    """The brokers that librdkafka has fetched the partition from, by its statistics."""
    parsed = (json.loads(one) for one in consumer_stats)
    return {one["topics"][topic]["partitions"]["0"]["broker"] for one in parsed if topic in one["topics"]}


@pytest.mark.parametrize(("leader", "follower"), [(OURS, KAFKA), (KAFKA, OURS)])
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_consumer_reads_from_the_replica_in_its_rack(
    cluster: Cluster, leader: int, follower: int, isolation: str
) -> None:
    topic = f"read-from-{follower}-{isolation}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, replica_assignment=[[leader, follower]])])[topic].result(60)
    fill(cluster, topic, leader)
    stats: list[str] = []
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "unused",
            "client.rack": RACKS[follower],
            "isolation.level": isolation,
            "statistics.interval.ms": 100,
            "stats_cb": stats.append,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[int] = []

    def reads_from_the_follower() -> bool:
        found.extend(one.offset() or 0 for one in consumer.consume(100, 0.2) if one.error() is None)
        return follower in sources(stats, topic)

    eventually(f"it reads from {follower}", reads_from_the_follower)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    producer.produce(topic, b"later", partition=0)
    assert producer.flush(60) == 0
    last = eventually_reads(consumer, found, b"later")
    assert sources(stats[-1:], topic) == {follower}
    assert [*found, last] == list(range(last + 1)), "every record once, in order"
    consumer.close()


@pytest.mark.parametrize(("leader", "follower"), [(OURS, KAFKA), (KAFKA, OURS)])
async def test_our_client_reads_from_the_replica_in_its_rack(cluster: Cluster, leader: int, follower: int) -> None:
    topic = f"our-client-reads-from-{follower}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, replica_assignment=[[leader, follower]])])[topic].result(60)
    fill(cluster, topic, leader)
    partition = OurPartition(topic, 0)
    async with OurConsumer(
        bootstrap_servers=cluster.bootstrap_servers, client_rack=RACKS[follower], auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([partition])
        found: list[int] = []
        while len(found) < RECORDS:
            batches = await consumer.poll(1_000)
            found += [record.offset for records in batches.values() for record in records]
        assert found == list(range(RECORDS))
        assert consumer._subscription.assigned[partition].preferred_read_replica == follower


def eventually_reads(consumer: Consumer, found: list[int], value: bytes) -> int:
    """Reads until a record with this value; returns its offset. Earlier ones are added to ``found``."""
    newest: list[tuple[int, bytes]] = []

    def has_come() -> bool:
        newest.extend((one.offset() or 0, one.value() or b"") for one in consumer.consume(100, 0.2) if not one.error())
        return bool(newest) and newest[-1][1] == value

    eventually("the last record", has_come)
    found.extend(offset for offset, _ in newest[:-1])
    return newest[-1][0]
