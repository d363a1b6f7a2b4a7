"""A broker that was its own controller becomes a cluster: Apache Kafka takes over its directory, and brokers of ours
join.
"""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]

from cluster.plain_clients import produce_numbers
from cluster.reassignment import reassign
from odradek.protocol.names.topics import OFFSETS_TOPIC
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import MEMBER, format_member
from support.kafka.real_kafka import CLUSTER_ID, RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

TIMEOUT_S = 60
TOPIC = "orders"


def produce(server: OurBroker | RealKafka, count: int) -> None:
    produce_numbers(server.bootstrap_servers, TOPIC, count)


def consumer_of(server: OurBroker | RealKafka) -> Consumer:
    return Consumer(
        {"bootstrap.servers": server.bootstrap_servers, "group.id": "readers", "auto.offset.reset": "earliest"}
    )


def test_directory_of_the_embedded_mode_becomes_the_controller_of_a_cluster(tmp_path: Path) -> None:
    """Topics, records, configs and committed offsets move from it to brokers of ours that join."""
    keys = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
    place = tmp_path / "b1"
    place.mkdir()
    alone = OurBroker(place, {**keys, "node.id": "1"})
    alone.program = (*alone.program, "--cluster-id", CLUSTER_ID)
    with alone:
        admin = AdminClient({"bootstrap.servers": alone.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 1, 1, config={"retention.ms": "-1"})])[TOPIC].result(TIMEOUT_S)
        produce(alone, 100)
        consumer = consumer_of(alone)
        consumer.subscribe([TOPIC])
        assert len(consumer.consume(100, TIMEOUT_S)) == 100
        consumer.commit(asynchronous=False)
        consumer.close()
        assert alone.stop() == 0
    kafka = RealKafka(place, keys)
    join = {"node.id": "2", "controller.quorum.bootstrap.servers": f"127.0.0.1:{kafka.controller_port}"}
    second = OurBroker(tmp_path / "b2", {**MEMBER, **keys, **join})
    format_member(second.log_dir, 2)
    with kafka, second:
        for topic in (TOPIC, OFFSETS_TOPIC):
            reassign(kafka.bootstrap_servers, topic, [2], tmp_path)
        admin = AdminClient({"bootstrap.servers": second.bootstrap_servers})
        topics = admin.list_topics(timeout=TIMEOUT_S).topics
        assert [topics[topic].partitions[0].replicas for topic in (TOPIC, OFFSETS_TOPIC)] == [[2], [2]]

        def leader() -> int:
            return int(admin.list_topics(TOPIC, timeout=TIMEOUT_S).topics[TOPIC].partitions[0].leader)

        eventually("broker 2 leads", lambda: leader() == 2)
        produce(second, 50)
        consumer = consumer_of(second)
        [committed] = consumer.committed([TopicPartition(TOPIC, 0)], TIMEOUT_S)
        assert committed.offset == 100
        consumer.subscribe([TOPIC])
        assert [int(one.value() or b"") for one in consumer.consume(50, TIMEOUT_S)] == list(range(50))
        consumer.close()
        resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC)
        described = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
        assert described["retention.ms"].value == "-1"
        assert " ERROR " not in second.log()
