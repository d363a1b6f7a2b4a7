"""Brokers of ours in their own processes under the embedded controller. Clients notice no difference to a single
broker.
"""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
)

from odradek.broker.metadata.image.image import NO_LEADER, ResourceType
from support.brokers.our_cluster import OurCluster
from support.eventually import eventually

TIMEOUT_S = 60


def consume(cluster: OurCluster, topic: str, count: int) -> set[str]:
    """Reads a topic in a new group; returns the values."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found = [one for one in consumer.consume(count, TIMEOUT_S) if one.error() is None]
    consumer.close()
    return {bytes(one.value() or b"").decode() for one in found}


def test_one_broker_serves_topics_and_a_group(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=1) as cluster:
        assert not cluster.image.brokers[1].fenced
        cluster.create("orders", [[1], [1]])
        cluster.produce("orders", ["a", "b"])
        cluster.produce("orders", ["c"], partition=1)
        assert consume(cluster, "orders", 3) == {"a", "b", "c"}


def test_two_brokers_lead_what_they_are_given(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[1], [2]])
        assert [cluster.partition("orders", index).leader for index in (0, 1)] == [1, 2]
        cluster.produce("orders", ["a"])
        cluster.produce("orders", ["b"], partition=1)
        assert consume(cluster, "orders", 2) == {"a", "b"}


def test_clients_change_topics_and_configs(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=1) as cluster:
        cluster.create("orders", [[1]])
        cluster.create("invoices", [[1]])
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_partitions([NewPartitions("orders", 2)])["orders"].result(TIMEOUT_S)
        admin.delete_topics(["invoices"])["invoices"].result(TIMEOUT_S)
        change = ConfigEntry("retention.ms", "1234", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, "orders", incremental_configs=[change])
        admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
        assert set(cluster.image.topics_by_name) == {"orders"}
        assert len(cluster.image.topics_by_name["orders"].partitions) == 2
        assert cluster.image.config_of(ResourceType.TOPIC, "orders") == {"retention.ms": "1234"}


@pytest.mark.ci
def test_producers_of_two_brokers_get_ids_of_their_own(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[1], [2]])
        for node_id in (1, 2):
            producer = Producer(
                {"bootstrap.servers": cluster[node_id].bootstrap_servers, "enable.idempotence": True, "acks": "all"}
            )
            producer.produce("orders", str(node_id), partition=node_id - 1)
            assert producer.flush(TIMEOUT_S) == 0
        assert cluster.image.next_producer_id >= 2000
        assert consume(cluster, "orders", 2) == {"1", "2"}


@pytest.mark.ci
def test_killed_broker_is_fenced_and_leads_again_after_a_start(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[2]])
        cluster.produce("orders", ["a"])
        before = cluster.partition("orders")
        cluster[2].kill()
        cluster.until_fenced(2)
        fenced = cluster.partition("orders")
        assert (fenced.leader, fenced.isr, fenced.leader_epoch) == (NO_LEADER, (2,), before.leader_epoch + 1)
        cluster[2].start()
        back = cluster.partition("orders")
        assert (back.leader, back.isr) == (2, (2,))
        assert back.leader_epoch >= before.leader_epoch + 2  # on a busy machine it may be fenced once more
        assert consume(cluster, "orders", 1) == {"a"}


@pytest.mark.ci
def test_paused_broker_is_fenced_and_comes_back_by_itself(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[1]])
        epoch = cluster.image.brokers[1].epoch
        with cluster.paused(1):
            cluster.until_fenced(1)
            assert cluster.partition("orders").leader == NO_LEADER
        cluster.until_unfenced(1)
        assert cluster.image.brokers[1].epoch == epoch
        assert cluster.partition("orders").leader == 1


def test_controlled_shutdown_is_granted(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=2) as cluster:
        cluster.create("orders", [[1], [2]])
        assert cluster[2].stop() == 0
        assert "the controllers moved the leaders" in cluster[2].log()
        assert cluster.image.brokers[2].fenced
        assert cluster.partition("orders", 0).leader == 1
        assert cluster.partition("orders", 1).leader == NO_LEADER
        cluster[2].start()
        assert cluster.partition("orders", 1).leader == 2


def test_controller_that_restarts_knows_everything(tmp_path: Path) -> None:
    with OurCluster(tmp_path, brokers=1) as cluster:
        cluster.create("orders", [[1]])
        before = cluster.image
        cluster.controller.stop()
        cluster.produce("orders", ["a"])
        cluster.controller.start()
        assert cluster.image.brokers == before.brokers
        assert cluster.image.topics_by_name == before.topics_by_name
        cluster.create("invoices", [[1]])
        eventually("the new topic is served", lambda: "invoices" in topics(cluster))


def topics(cluster: OurCluster) -> list[str]:
    """The topic names that the brokers return."""
    found = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(timeout=TIMEOUT_S).topics
    return list(found)


@pytest.mark.ci
def test_new_broker_starts_from_a_snapshot(tmp_path: Path) -> None:
    configs = {
        "metadata.log.max.record.bytes.between.snapshots": "500",
        "metadata.max.retention.bytes": "1000",
        "internal.metadata.log.segment.bytes": "1000",
    }
    with OurCluster(tmp_path, brokers=1, controller_configs=configs) as cluster:
        log = tmp_path / "controller" / "__cluster_metadata-0"
        names = [f"topic-{number}" for number in range(20)]
        for name in names:
            cluster.create(name, [[1]])
        eventually("the log begins after offset 0", lambda: not (log / f"{0:020}.log").exists())
        cluster.add(2).start()
        assert "loading the metadata snapshot" in cluster[2].log()
        assert set(topics(cluster)) >= set(names)
