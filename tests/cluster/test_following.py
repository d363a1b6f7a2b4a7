"""Our broker follows partitions that a real Kafka broker leads. Its log equals the leader's byte for byte."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from cluster.plain_clients import create_topic
from cluster.reassignment import reassign
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers, RealMember

pytestmark = [pytest.mark.java, pytest.mark.ci]

KAFKA, OURS = 2, 1
RATE_BYTES_S = 2_000_000
MOST_AT_ONCE_BYTES = 1 << 20
"""The bytes of one fetch, after which the rate is checked again."""
QUICK = {"replica.lag.time.max.ms": "3000", "replica.fetch.backoff.ms": "100"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealMember, OurBroker]]:
    """A controller, a real broker and one of ours.

    The real broker coordinates transactions, because ours joins after the partitions of the internal topic have
    leaders.
    """
    place = tmp_path_factory.mktemp("cluster")
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(place / "controllers"))
        kafka = controllers.kafka_broker(place / "kafka", KAFKA, QUICK)
        stack.enter_context(kafka)
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "first"})
        producer.init_transactions(60)
        ours = stack.enter_context(controllers.broker(place / "ours", OURS, QUICK))
        yield kafka, ours


def create(kafka: RealMember, topic: str, **config: str) -> None:
    """A topic of one partition that the real broker leads and ours follows."""
    create_topic(kafka.bootstrap_servers, topic, [[KAFKA, OURS]], **config)


def produce(kafka: RealMember, topic: str, count: int, **settings: object) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, **settings})
    for number in range(count):
        while True:
            try:
                producer.produce(topic, f"{topic} {number}".encode() * 10)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


def in_sync(kafka: RealMember, topic: str) -> set[int]:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    return set(admin.list_topics(topic, timeout=30).topics[topic].partitions[0].isrs)


def log_bytes(log_dir: Path, topic: str) -> dict[str, bytes]:
    """The segments of a partition, and the index of aborted transactions, by name."""
    found = sorted((log_dir / f"{topic}-0").iterdir())
    return {path.name: path.read_bytes() for path in found if path.suffix in (".log", ".txnindex")}


def are_equal(cluster: tuple[RealMember, OurBroker], topic: str) -> bool:
    kafka, ours = cluster
    theirs, copy = log_bytes(kafka.log_dir, topic), log_bytes(ours.log_dir, topic)
    used = {name: data for name, data in theirs.items() if data}
    return used == {name: data for name, data in copy.items() if data}


def test_acknowledged_by_all_in_sync_replicas_means_that_our_copy_has_it(
    cluster: tuple[RealMember, OurBroker],
) -> None:
    kafka, ours = cluster
    create(kafka, "copied", **{"min.insync.replicas": "2"})
    produce(kafka, "copied", 5_000, acks="all")
    assert in_sync(kafka, "copied") == {KAFKA, OURS}
    eventually("equal bytes", lambda: are_equal(cluster, "copied"))
    assert " ERROR " not in ours.log()


def test_segments_roll_as_the_leaders(cluster: tuple[RealMember, OurBroker]) -> None:
    kafka, _ = cluster
    create(kafka, "rolled", **{"segment.bytes": "1048576"})
    produce(kafka, "rolled", 20_000, acks="all")
    eventually("equal bytes", lambda: are_equal(cluster, "rolled"))
    assert len(log_bytes(kafka.log_dir, "rolled")) > 1


def test_transactions_and_their_index(cluster: tuple[RealMember, OurBroker]) -> None:
    kafka, _ = cluster
    create(kafka, "transfers")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "follow"})
    producer.init_transactions(60)
    for commits in (True, False, True, False):
        producer.begin_transaction()
        for number in range(50):
            producer.produce("transfers", f"value {number}")
        if commits:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    eventually("equal bytes", lambda: are_equal(cluster, "transfers"))


def test_killed_follower_catches_up_and_comes_back_into_the_isr(cluster: tuple[RealMember, OurBroker]) -> None:
    kafka, ours = cluster
    create(kafka, "caught-up")
    produce(kafka, "caught-up", 2_000, acks="all")
    ours.kill()
    eventually("out of the ISR", lambda: in_sync(kafka, "caught-up") == {KAFKA})
    produce(kafka, "caught-up", 2_000, acks="all")
    ours.start()
    eventually("back in the ISR", lambda: in_sync(kafka, "caught-up") == {KAFKA, OURS})
    eventually("equal bytes", lambda: are_equal(cluster, "caught-up"))


def test_stopped_follower_leaves_the_isr_and_comes_back(cluster: tuple[RealMember, OurBroker]) -> None:
    kafka, ours = cluster
    create(kafka, "restarted")
    produce(kafka, "restarted", 500, acks="all")
    assert ours.stop() == 0
    assert in_sync(kafka, "restarted") == {KAFKA}
    produce(kafka, "restarted", 500, acks="all")
    ours.start()
    eventually("back in the ISR", lambda: in_sync(kafka, "restarted") == {KAFKA, OURS})
    eventually("equal bytes", lambda: are_equal(cluster, "restarted"))


def test_deleted_topic_goes_here_too(cluster: tuple[RealMember, OurBroker]) -> None:
    kafka, ours = cluster
    create(kafka, "gone")
    produce(kafka, "gone", 100, acks="all")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for future in admin.delete_topics(["gone"]).values():
        future.result(60)
    eventually("its directory is renamed", lambda: not (ours.log_dir / "gone-0").exists())


def test_replica_that_is_added_and_taken_away(cluster: tuple[RealMember, OurBroker], tmp_path: Path) -> None:
    kafka, ours = cluster
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for future in admin.create_topics([NewTopic("moved", 1, replica_assignment=[[KAFKA]])]).values():
        future.result(60)
    produce(kafka, "moved", 3_000, acks="all")
    reassign(kafka.bootstrap_servers, "moved", [KAFKA, OURS], tmp_path)
    assert in_sync(kafka, "moved") == {KAFKA, OURS}
    eventually("equal bytes", lambda: are_equal(cluster, "moved"))
    reassign(kafka.bootstrap_servers, "moved", [KAFKA], tmp_path)
    eventually("its directory is renamed", lambda: not (ours.log_dir / "moved-0").exists())


def test_throttled_replica_is_not_copied_faster_than_the_rate(
    cluster: tuple[RealMember, OurBroker], tmp_path: Path
) -> None:
    """Only our broker has a rate. The real leader does not throttle."""
    kafka, _ = cluster
    command = ("--bootstrap-server", kafka.bootstrap_servers, "--alter", "--entity-type", "brokers")
    rate = f"follower.replication.throttled.rate={RATE_BYTES_S}"
    changed = run_class(
        "org.apache.kafka.tools.ConfigCommand", *command, "--entity-name", str(OURS), "--add-config", rate
    )
    assert changed.returncode == 0, changed.stdout + changed.stderr
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    config = {"follower.replication.throttled.replicas": f"0:{OURS}"}
    new = NewTopic("throttled", 1, replica_assignment=[[KAFKA]], config=config)
    for future in admin.create_topics([new]).values():
        future.result(60)
    produce(kafka, "throttled", 80_000, acks="all")
    copied_bytes = sum(map(len, log_bytes(kafka.log_dir, "throttled").values()))
    began_s = time.monotonic()
    reassign(kafka.bootstrap_servers, "throttled", [KAFKA, OURS], tmp_path)
    took_s = time.monotonic() - began_s
    assert are_equal(cluster, "throttled")
    assert took_s > (copied_bytes - MOST_AT_ONCE_BYTES) / RATE_BYTES_S > 5
