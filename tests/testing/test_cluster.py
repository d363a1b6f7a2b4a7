"""A cluster in one process serves real clients through kills, pauses and cuts of its network."""

import threading
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition

import odradek.testing
from odradek.testing.clusters.cluster import KafkaCluster
from odradek.testing.clusters.cluster_broker import ClusterBroker

TIMEOUT_S = 60


def create(cluster: KafkaCluster, topic: str, *replicas: list[int]) -> None:
    """Creates a topic with these replicas of each partition. The first replica is the leader."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    wanted = NewTopic(topic, len(replicas), replica_assignment=list(replicas))
    admin.create_topics([wanted])[topic].result(TIMEOUT_S)
    cluster.wait_until_in_sync(topic)


def produce(cluster: KafkaCluster | ClusterBroker, topic: str, *values: str) -> None:
    """Writes to partition 0 with acks=all, and waits until every value is acknowledged."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(TIMEOUT_S) == 0


def read(cluster: KafkaCluster, topic: str, count: int) -> list[bytes]:
    """The first values of partition 0."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "unused"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = [bytes(one.value() or b"") for one in consumer.consume(count, TIMEOUT_S) if one.error() is None]
    consumer.close()
    return found


@pytest.fixture
def cluster(kafka_cluster: KafkaCluster) -> KafkaCluster:
    create(kafka_cluster, "t", [0, 1, 2])
    return kafka_cluster


def test_clients_find_all_brokers_at_once(kafka_cluster: KafkaCluster) -> None:
    for broker in kafka_cluster.brokers:
        listed = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=TIMEOUT_S)
        assert {one.id: one.port for one in listed.brokers.values()} == {
            node_id: other.port for node_id, other in enumerate(kafka_cluster.brokers)
        }


def test_topics_are_replicated_without_being_told(kafka_cluster: KafkaCluster) -> None:
    """kafka-python creates the topic by writing to it, and reads it as a group."""
    servers = kafka_cluster.bootstrap_servers.split(",")
    with KafkaProducer(bootstrap_servers=servers, acks="all") as producer:
        assert producer.send("orders", b"one").get(timeout=TIMEOUT_S).offset == 0
    kafka_cluster.wait_until_in_sync("orders")
    assert kafka_cluster.in_sync_replicas_of("orders") == list(kafka_cluster.brokers)
    with KafkaConsumer("orders", bootstrap_servers=servers, group_id="g", auto_offset_reset="earliest") as consumer:
        assert next(consumer).value == b"one"
        consumer.commit()
    kafka_cluster.wait_until_in_sync("__consumer_offsets")
    with KafkaConsumer(bootstrap_servers=servers, group_id="g") as consumer:
        assert consumer.committed(KafkaTopicPartition("orders", 0)) == 1


def test_followers_ask_for_as_many_bytes_of_a_partition_as_configured() -> None:
    """A batch that is larger is copied all the same."""
    large = "x" * 20_000
    with KafkaCluster(configs={"replica.fetch.max.bytes": 2_000}) as cluster:
        create(cluster, "t", [0, 1, 2])
        with cluster.brokers[0].record() as traffic:
            produce(cluster, "t", large, "small", large)
        asked = {
            partition["partitionMaxBytes"]
            for fetch in traffic.requests("Fetch")
            for topic in fetch.request["topics"]
            for partition in topic["partitions"]
        }
        assert asked == {2_000}
        assert read(cluster, "t", 3) == [large.encode(), b"small", large.encode()]


async def test_aiokafka_writes_and_reads_beside_the_cluster(kafka_cluster: KafkaCluster) -> None:
    servers = kafka_cluster.bootstrap_servers
    async with (
        AIOKafkaProducer(bootstrap_servers=servers, transactional_id="x") as producer,
        producer.transaction(),
    ):
        await producer.send_and_wait("orders", b"one")
    async with AIOKafkaConsumer(
        "orders", bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as consumer:
        assert (await consumer.getone()).value == b"one"


def test_what_was_acknowledged_survives_the_leader(cluster: KafkaCluster) -> None:
    produce(cluster, "t", "a")
    old = cluster.wait_for_leader("t")
    assert old is cluster.brokers[0] is cluster.leader_of("t")
    old.kill()
    new = cluster.wait_for_leader("t", other_than=old)
    assert new is cluster.brokers[1]
    produce(cluster, "t", "b")
    assert read(cluster, "t", 2) == [b"a", b"b"]
    old.start()
    cluster.wait_until_in_sync("t")
    logs = [(broker.log_dir / "t-0" / f"{0:020}.log").read_bytes() for broker in cluster.brokers]
    assert logs[0] == logs[1] == logs[2]


def test_paused_broker_is_fenced_and_catches_up_when_it_continues(cluster: KafkaCluster) -> None:
    leader = cluster.brokers[0]
    leader.pause()
    leader.pause()
    assert leader.is_paused
    assert leader.is_running
    cluster.wait_until_fenced(leader)
    assert cluster.wait_for_leader("t", other_than=leader) is cluster.brokers[1]
    produce(cluster, "t", "a")
    leader.resume()
    leader.resume()
    cluster.wait_until_in_sync("t")
    assert cluster.leader_of("t") is cluster.brokers[1]


@pytest.mark.parametrize("end", [ClusterBroker.kill, ClusterBroker.stop])
def test_paused_broker_can_be_ended(cluster: KafkaCluster, end: Callable[[ClusterBroker], None]) -> None:
    broker = cluster.brokers[2]
    broker.pause()
    end(broker)
    assert not broker.is_running
    broker.start()
    cluster.wait_until_in_sync("t")


def test_stop_hands_over_and_restart_is_back_at_once(cluster: KafkaCluster) -> None:
    broker = cluster.brokers[0]
    broker.stop()
    assert cluster.leader_of("t") is cluster.brokers[1]
    assert cluster.in_sync_replicas_of("t") == [cluster.brokers[1], cluster.brokers[2]]
    broker.start()
    cluster.wait_until_in_sync("t")
    cluster.brokers[1].restart()
    cluster.wait_until_in_sync("t")
    assert cluster.leader_of("t") is not cluster.brokers[1]


def test_follower_that_is_cut_off_from_the_leader_leaves_the_isr_only(cluster: KafkaCluster) -> None:
    """As in Kafka, a follower without a missing record stays in the ISR: the write waits until it has left the ISR."""
    first, second, third = cluster.brokers
    cluster.partition(first, second)
    produce(cluster, "t", "a")
    assert cluster.in_sync_replicas_of("t") == [first, third]
    assert cluster.leader_of("t") is first
    assert first.is_running
    cluster.heal()
    cluster.wait_until_in_sync("t")
    assert read(cluster, "t", 1) == [b"a"]


def test_leader_that_is_cut_off_from_everyone_loses_nothing_that_was_acknowledged(cluster: KafkaCluster) -> None:
    """It accepts writes until it is fenced, acknowledges none with acks=all, and truncates them when it is back."""
    first, second, third = cluster.brokers
    produce(cluster, "t", "a")
    cluster.partition(first, [second, third, cluster.controller])
    lonely = Producer({"bootstrap.servers": first.bootstrap_servers, "acks": "1", "allow.auto.create.topics": False})
    lonely.produce("t", "lost", partition=0)
    lonely.flush(TIMEOUT_S)
    cluster.wait_until_fenced(first)
    assert cluster.wait_for_leader("t", other_than=first) is second
    produce(second, "t", "b")
    cluster.heal()
    cluster.wait_until_in_sync("t")
    assert read(cluster, "t", 2) == [b"a", b"b"]
    logs = [(broker.log_dir / "t-0" / f"{0:020}.log").read_bytes() for broker in cluster.brokers]
    assert logs[0] == logs[1] == logs[2]


def test_cluster_goes_on_without_its_controller_and_with_it_again(cluster: KafkaCluster) -> None:
    cluster.controller.stop()
    produce(cluster, "t", "a")
    cluster.controller.start()
    create(cluster, "later", [1, 2])
    assert read(cluster, "t", 1) == [b"a"]


def test_racks_and_configs_are_the_brokers(kafka_cluster_factory: Callable[..., KafkaCluster]) -> None:
    cluster = kafka_cluster_factory(brokers=2, configs={"num.partitions": 4}, racks=["a", "b"])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    described = admin.describe_cluster().result(TIMEOUT_S)
    assert {node.id: node.rack for node in described.nodes} == {0: "a", 1: "b"}
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers.split(",")) as producer:
        producer.send("orders", b"one").get(timeout=TIMEOUT_S)
        assert producer.partitions_for("orders") == {0, 1, 2, 3}
    cluster.wait_until_in_sync("orders")


def test_data_is_kept_over_a_stop_of_the_whole_cluster(cluster: KafkaCluster) -> None:
    produce(cluster, "t", "a")
    cluster.stop()
    cluster.stop()
    cluster.start()
    cluster.wait_until_in_sync("t")
    assert read(cluster, "t", 1) == [b"a"]


def test_nothing_is_left_of_a_cluster_without_a_directory() -> None:
    before = set(threading.enumerate())
    with KafkaCluster(brokers=2) as cluster:
        directory = cluster.brokers[0].log_dir.parent.parent
        assert (directory / "controller").exists()
    assert not directory.exists()
    assert set(threading.enumerate()) <= before


def test_waiting_for_what_does_not_come_names_what_is_there(cluster: KafkaCluster) -> None:
    cluster.partition(cluster.brokers[0], cluster.brokers[1:])
    with pytest.raises(
        TimeoutError, match=r"not true after 0\.01 s: .*no-such-topic.*t-0: leader 0, replicas \[0, 1, 2\]"
    ):
        cluster.wait_until_in_sync("no-such-topic", timeout_s=0.01)
    with pytest.raises(KeyError, match="no-such-topic-0: the topic does not exist"):
        cluster.leader_of("no-such-topic")
    with pytest.raises(KeyError, match=r"t-7: the partitions are \[0"):
        cluster.leader_of("t", 7)


def test_the_cluster_is_exported_where_users_look() -> None:
    assert odradek.testing.KafkaCluster is KafkaCluster
