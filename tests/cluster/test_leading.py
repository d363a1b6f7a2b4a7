"""Our brokers lead partitions with several replicas: followers are ours and a real Kafka broker."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from cluster.plain_clients import create_topic
from cluster.reassignment import reassign
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

OURS, KAFKA, OTHER = 1, 2, 3
RATE_BYTES_S = 2_000_000
MOST_AT_ONCE_BYTES = 1 << 20
"""The bytes of one fetch, after which the rate is checked again."""
QUICK = {
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.backoff.ms": "100",
    "broker.session.timeout.ms": "3000",
    "offsets.topic.replication.factor": "3",
}
Cluster = tuple[OurBroker, RealKafka, OurBroker]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A controller, two brokers of ours and a real one."""
    place = tmp_path_factory.mktemp("cluster")
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(place / "controllers"))
        ours = stack.enter_context(controllers.broker(place / "ours", OURS, QUICK))
        kafka = stack.enter_context(controllers.kafka_broker(place / "kafka", KAFKA, QUICK))
        other = stack.enter_context(controllers.broker(place / "other", OTHER, QUICK))
        yield ours, kafka, other


def bootstrap(cluster: Cluster) -> str:
    return ",".join(broker.bootstrap_servers for broker in cluster)


def create(cluster: Cluster, topic: str, replicas: list[int], **config: str) -> None:
    create_topic(bootstrap(cluster), topic, [replicas], **config)


def produce(cluster: Cluster, topic: str, values: list[bytes], **settings: object) -> list[bytes]:
    """Produces; returns the acknowledged values."""
    producer = Producer({"bootstrap.servers": bootstrap(cluster), "acks": "all", "linger.ms": 1, **settings})
    acknowledged: list[bytes] = []

    def delivered(error: KafkaError | None, message: object) -> None:
        if error is None:
            acknowledged.append(message.value())  # type: ignore[attr-defined]

    for value in values:
        producer.produce(topic, value, on_delivery=delivered)
        producer.poll(0)
    producer.flush(120)
    return acknowledged


def consume(cluster: Cluster, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap(cluster), "group.id": "none", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []

    def have_come() -> bool:
        found.extend(message.value() or b"" for message in consumer.consume(count, 1.0))
        return len(found) >= count

    try:
        eventually(f"{count} records", have_come)
    finally:
        consumer.close()
    return found


def state(cluster: Cluster, topic: str) -> tuple[int, set[int]]:
    """The leader and the ISR in the answer of any broker."""
    admin = AdminClient({"bootstrap.servers": bootstrap(cluster)})
    partition = admin.list_topics(topic, timeout=30).topics[topic].partitions[0]
    return partition.leader, set(partition.isrs)


def log_of(broker: OurBroker | RealKafka, topic: str) -> bytes:
    return (broker.log_dir / f"{topic}-0" / f"{0:020}.log").read_bytes()


def logs(cluster: Cluster, topic: str) -> list[bytes]:
    return [log_of(broker, topic) for broker in cluster]


def is_whole(cluster: Cluster, topic: str) -> bool:
    """Whether all three are in sync, and have the same bytes."""
    return len(state(cluster, topic)[1]) == 3 and len(set(logs(cluster, topic))) == 1


def numbers(count: int, first: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def test_acknowledged_by_all_is_in_each_log(cluster: Cluster) -> None:
    create(cluster, "three", [OURS, KAFKA, OTHER], **{"min.insync.replicas": "2"})
    assert sorted(produce(cluster, "three", numbers(5_000))) == sorted(numbers(5_000))
    assert consume(cluster, "three", 5_000) == numbers(5_000)
    assert state(cluster, "three") == (OURS, {OURS, KAFKA, OTHER})
    eventually("equal bytes", lambda: is_whole(cluster, "three"))


@pytest.mark.parametrize("replicas", [[OURS, OTHER, KAFKA], [OURS, KAFKA, OTHER]])
def test_killed_leader_loses_nothing_that_was_acknowledged(cluster: Cluster, replicas: list[int]) -> None:
    topic = f"killed-{replicas[1]}"
    create(cluster, topic, replicas, **{"min.insync.replicas": "2"})
    first = produce(cluster, topic, numbers(2_000), **{"enable.idempotence": True})
    ours = cluster[0]
    ours.kill()
    second = produce(cluster, topic, numbers(2_000, 2_000), **{"enable.idempotence": True})
    assert len(first) == len(second) == 2_000
    assert state(cluster, topic) == (replicas[1], set(replicas[1:]))
    ours.start()
    eventually("all in sync again", lambda: is_whole(cluster, topic))
    assert consume(cluster, topic, 4_000) == numbers(4_000)


def test_stopped_leader_hands_over(cluster: Cluster) -> None:
    create(cluster, "stopped", [OTHER, OURS, KAFKA], **{"min.insync.replicas": "2"})
    produce(cluster, "stopped", numbers(500))
    other = cluster[2]
    assert other.stop() == 0
    assert state(cluster, "stopped") == (OURS, {OURS, KAFKA})
    produce(cluster, "stopped", numbers(500, 500))
    other.start()
    eventually("all in sync again", lambda: is_whole(cluster, "stopped"))
    assert consume(cluster, "stopped", 1_000) == numbers(1_000)


def test_too_few_in_sync_refuse_acks_all(cluster: Cluster) -> None:
    create(cluster, "few", [OURS, OTHER], **{"min.insync.replicas": "2"})
    assert produce(cluster, "few", numbers(10)) == numbers(10)
    other = cluster[2]
    other.kill()
    eventually("out of the ISR", lambda: state(cluster, "few")[1] == {OURS})
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap(cluster), "acks": "all", "retries": 0})
    producer.produce("few", b"refused", on_delivery=lambda error, _: errors.append(error))
    producer.flush(60)
    assert [error and error.code() for error in errors] == [KafkaError.NOT_ENOUGH_REPLICAS]
    assert produce(cluster, "few", [b"of the leader alone"], acks="1") == [b"of the leader alone"]
    other.start()
    eventually("back in the ISR", lambda: state(cluster, "few")[1] == {OURS, OTHER})
    assert consume(cluster, "few", 11) == [*numbers(10), b"of the leader alone"]


def test_frozen_follower_leaves_the_isr_and_comes_back(cluster: Cluster) -> None:
    """The session timeout is longer than the replica lag time, so the leader removes it from the ISR, not the
    controller.
    """
    create(cluster, "frozen", [OURS, KAFKA, OTHER])
    produce(cluster, "frozen", numbers(100))
    other = cluster[2]
    os.kill(other.pid, signal.SIGSTOP)
    try:
        assert len(produce(cluster, "frozen", numbers(100, 100))) == 100
        assert state(cluster, "frozen")[1] == {OURS, KAFKA}
    finally:
        os.kill(other.pid, signal.SIGCONT)
    eventually("all in sync again", lambda: is_whole(cluster, "frozen"))


def test_single_replica_leaves_and_comes_back(cluster: Cluster, tmp_path: Path) -> None:
    create(cluster, "moved", [OURS])
    produce(cluster, "moved", numbers(1_000))
    reassign(bootstrap(cluster), "moved", [OTHER], tmp_path)
    assert state(cluster, "moved") == (OTHER, {OTHER})
    eventually("its directory is renamed", lambda: not (cluster[0].log_dir / "moved-0").exists())
    produce(cluster, "moved", numbers(1_000, 1_000))
    reassign(bootstrap(cluster), "moved", [KAFKA, OURS], tmp_path)
    assert state(cluster, "moved") == (KAFKA, {KAFKA, OURS})
    produce(cluster, "moved", numbers(1_000, 2_000))
    reassign(bootstrap(cluster), "moved", [OURS], tmp_path)
    assert state(cluster, "moved") == (OURS, {OURS})
    produce(cluster, "moved", numbers(1_000, 3_000))
    assert consume(cluster, "moved", 4_000) == numbers(4_000)


def test_leader_throttles_a_real_follower_out_of_sync(cluster: Cluster, tmp_path: Path) -> None:
    """Only our leader has a rate. The real follower does not throttle."""
    admin = AdminClient({"bootstrap.servers": bootstrap(cluster)})
    rate = ConfigEntry(
        "leader.replication.throttled.rate", str(RATE_BYTES_S), incremental_operation=AlterConfigOpType.SET
    )
    broker = ConfigResource(ConfigResource.Type.BROKER, str(OURS), incremental_configs=[rate])
    for future in admin.incremental_alter_configs([broker]).values():
        future.result(60)
    create(cluster, "throttled", [OURS], **{"leader.replication.throttled.replicas": f"0:{OURS}"})
    produce(cluster, "throttled", [b"%0100d" % number for number in range(80_000)])
    copied_bytes = len(log_of(cluster[0], "throttled"))
    began_s = time.monotonic()
    reassign(bootstrap(cluster), "throttled", [OURS, KAFKA], tmp_path)
    took_s = time.monotonic() - began_s
    assert log_of(cluster[0], "throttled") == log_of(cluster[1], "throttled")
    assert took_s > (copied_bytes - MOST_AT_ONCE_BYTES) / RATE_BYTES_S > 3


def test_preferred_leader_is_elected_by_kafkas_tool(cluster: Cluster) -> None:
    create(cluster, "preferred", [KAFKA, OURS, OTHER])
    produce(cluster, "preferred", numbers(200))
    _, kafka, _ = cluster
    kafka.stop()
    eventually("ours leads", lambda: state(cluster, "preferred")[0] == OURS)
    produce(cluster, "preferred", numbers(200, 200))
    kafka.start()
    eventually("all in sync again", lambda: is_whole(cluster, "preferred"))
    command = "org.apache.kafka.tools.LeaderElectionCommand"
    arguments = ("--election-type", "preferred", "--topic", "preferred", "--partition", "0")
    done = run_class(command, "--bootstrap-server", bootstrap(cluster), *arguments, timeout_s=120)
    assert done.returncode == 0, done.stdout + done.stderr
    eventually("the preferred one leads", lambda: state(cluster, "preferred")[0] == KAFKA)
    produce(cluster, "preferred", numbers(200, 400))
    assert consume(cluster, "preferred", 600) == numbers(600)
    eventually("equal bytes", lambda: is_whole(cluster, "preferred"))


def test_deleted_records_are_gone_on_all_replicas(cluster: Cluster) -> None:
    create(cluster, "trimmed", [OURS, KAFKA, OTHER])
    produce(cluster, "trimmed", numbers(100))
    admin = AdminClient({"bootstrap.servers": bootstrap(cluster)})
    for future in admin.delete_records([TopicPartition("trimmed", 0, 40)]).values():
        assert future.result(60).low_watermark == 40
    cluster[0].kill()  # the next leader starts there, too
    eventually("another leads", lambda: state(cluster, "trimmed")[0] == KAFKA)
    assert consume(cluster, "trimmed", 60) == numbers(60, 40)
    cluster[0].start()
    eventually("all in sync again", lambda: state(cluster, "trimmed")[1] == {OURS, KAFKA, OTHER})


def test_group_commits_on_a_replicated_offsets_topic(cluster: Cluster) -> None:
    """The offsets topic is created with three replicas. A commit is answered once they have it."""
    create(cluster, "read", [OURS, KAFKA, OTHER])
    produce(cluster, "read", numbers(100))
    settings = {"bootstrap.servers": bootstrap(cluster), "group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe(["read"])
    found: list[bytes] = []

    def have_come() -> bool:
        found.extend(message.value() or b"" for message in consumer.consume(100, 1.0))
        return len(found) >= 100

    eventually("100 records", have_come)
    consumer.commit(asynchronous=False)
    assert consumer.committed([TopicPartition("read", 0)])[0].offset == 100
    consumer.close()
