"""Brokers of ours, in processes of their own, under the embedded controller; clients notice no difference."""

from pathlib import Path

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.metadata.image import NO_LEADER
from support.brokers.our_cluster import OurCluster
from support.eventually import eventually

TIMEOUT_S = 60


def create(cluster: OurCluster, topic: str, replicas: list[list[int]]) -> None:
    """Creates a topic with these replicas of each partition."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    created = admin.create_topics([NewTopic(topic, len(replicas), replica_assignment=replicas)])
    created[topic].result(TIMEOUT_S)


def produce(cluster: OurCluster, topic: str, values: list[str], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


def consume(cluster: OurCluster, topic: str, count: int) -> set[str]:
    """The values that a new group reads."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found = [one for one in consumer.consume(count, TIMEOUT_S) if one.error() is None]
    consumer.close()
    return {bytes(one.value() or b"").decode() for one in found}


def test_one_broker_serves_topics_and_a_group(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=1) as cluster:
        assert not cluster.image.brokers[1].fenced
        create(cluster, "orders", [[1], [1]])
        produce(cluster, "orders", ["a", "b"])
        produce(cluster, "orders", ["c"], partition=1)
        assert consume(cluster, "orders", 3) == {"a", "b", "c"}


def test_two_brokers_lead_what_they_are_given(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        create(cluster, "orders", [[1], [2]])
        assert [cluster.partition("orders", index).leader for index in (0, 1)] == [1, 2]
        produce(cluster, "orders", ["a"])
        produce(cluster, "orders", ["b"], partition=1)
        assert consume(cluster, "orders", 2) == {"a", "b"}


def test_killed_broker_is_fenced_and_leads_again_after_a_start(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        create(cluster, "orders", [[2]])
        produce(cluster, "orders", ["a"])
        before = cluster.partition("orders")
        cluster[2].kill()
        cluster.until_fenced(2)
        fenced = cluster.partition("orders")
        assert (fenced.leader, fenced.isr, fenced.leader_epoch) == (NO_LEADER, (2,), before.leader_epoch + 1)
        cluster[2].start()
        back = cluster.partition("orders")
        assert (back.leader, back.isr, back.leader_epoch) == (2, (2,), before.leader_epoch + 2)
        assert consume(cluster, "orders", 1) == {"a"}


def test_paused_broker_is_fenced_and_comes_back_by_itself(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        create(cluster, "orders", [[1]])
        epoch = cluster.image.brokers[1].epoch
        with cluster.paused(1):
            cluster.until_fenced(1)
            assert cluster.partition("orders").leader == NO_LEADER
        cluster.until_unfenced(1)
        assert cluster.image.brokers[1].epoch == epoch
        assert cluster.partition("orders").leader == 1


def test_controlled_shutdown_is_granted(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        create(cluster, "orders", [[1], [2]])
        assert cluster[2].stop() == 0
        assert "the controllers have taken over" in cluster[2].log()
        assert cluster.image.brokers[2].fenced
        assert cluster.partition("orders", 0).leader == 1
        assert cluster.partition("orders", 1).leader == NO_LEADER
        cluster[2].start()
        assert cluster.partition("orders", 1).leader == 2


def test_controller_that_restarts_knows_everything(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=1) as cluster:
        create(cluster, "orders", [[1]])
        before = cluster.image
        cluster.controller.stop()
        produce(cluster, "orders", ["a"])
        cluster.controller.start()
        assert cluster.image.brokers == before.brokers
        assert cluster.image.topics_by_name == before.topics_by_name
        create(cluster, "invoices", [[1]])
        eventually("the new topic is served", lambda: "invoices" in topics(cluster))


def topics(cluster: OurCluster) -> list[str]:
    """The names that the brokers show."""
    found = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(timeout=TIMEOUT_S).topics
    return list(found)
