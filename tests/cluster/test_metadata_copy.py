"""The copy of the metadata log: snapshots from a real controller, equal bytes, and a real Kafka that uses the copy."""

import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from cluster.plain_clients import produce_numbers
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage
from odradek.broker.metadata.image.replay import replay
from odradek.broker.metadata.log.observer_log import ObserverLog
from odradek.protocol.records.batch import iterate_headers
from odradek.storage.directory.log_directory import LogDirectory
from support.brokers.metadata_service import NOW_MS
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import java_class, java_or_skip, run_class
from support.kafka.log import complaints
from support.kafka.real_controllers import FIRST_NODE_ID, RealControllers
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

COMPACT = {
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.max.retention.bytes": "4000",
    "internal.metadata.log.segment.bytes": "4000",
    "internal.metadata.delete.delay.millis": "1000",
}
"""Configs for snapshots after 2 KB of records, and for short segments."""
METADATA = "__cluster_metadata-0"
FIRST_SEGMENT = f"{0:020d}.log"
RECORDS = 200


def create(broker: OurBroker, names: list[str], replica: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    topics = [NewTopic(name, 1, replica_assignment=[[replica]], config={"retention.ms": "-1"}) for name in names]
    for future in admin.create_topics(topics).values():
        future.result(60)


def produce(server: OurBroker | RealKafka) -> None:
    produce_numbers(server.bootstrap_servers, "kept", RECORDS)


def assert_serves(server: OurBroker | RealKafka, rounds: int) -> None:
    """Asserts that the records of ``rounds`` calls of :func:`produce` can be read in order."""
    consumer = Consumer({"bootstrap.servers": server.bootstrap_servers, "group.id": "none"})
    consumer.assign([TopicPartition("kept", 0, 0)])
    values: list[int] = []
    while len(values) < rounds * RECORDS:
        message = consumer.poll(60)
        assert message is not None, f"{len(values)} records"
        assert message.error() is None, message.error()
        values.append(int(message.value() or b""))
    assert values == list(range(RECORDS)) * rounds
    consumer.close()


def batches(log_dir: Path) -> dict[int, bytes]:
    """Base offset -> bytes of each batch of a metadata log."""
    found: dict[int, bytes] = {}
    for path in sorted((log_dir / METADATA).glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_headers(data):
            found[header.base_offset] = data[position : position + header.size_in_bytes]
    return found


def assert_equal_batches(ours: Path, theirs: Path, at_least: int = 1) -> None:
    """Asserts that batches in both copies are equal. A late copy may have few, because it begins at a snapshot."""
    own, leaders = batches(ours), batches(theirs)
    low, high = max(min(own), min(leaders)), min(max(own), max(leaders))
    common = {offset: batch for offset, batch in own.items() if low <= offset <= high}
    assert len(common) >= at_least
    assert common == {offset: batch for offset, batch in leaders.items() if low <= offset <= high}


def image_of(log_dir: Path, node_id: int) -> MetadataImage:
    """The image of the latest snapshot and the records after it."""
    directory = LogDirectory.open(log_dir)
    try:
        config = ServerConfig.load(None, [f"node.id={node_id}"], {})
        log = ObserverLog.open(directory, node_id, None, config, NOW_MS)
        image = MetadataImage()
        for record in log.load():
            replay(image, record.message, MetadataDelta(), record.version)
        return image
    finally:
        directory.abort()


def assert_kafka_reads(paths: list[Path]) -> None:
    """Asserts that Kafka's tool reads all files, in one JVM."""
    names = ",".join(map(str, paths))
    result = run_class("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", names)
    assert result.returncode == 0, result.stdout + result.stderr
    assert not re.search("(?i)could not|corrupt|invalid|mismatch|exception", result.stdout), result.stdout
    dumps = result.stdout.split("Dumping ")[1:]
    assert len(dumps) == len(paths)
    for dump in dumps:
        assert "payload" in dump


def test_snapshot_is_fetched_and_kafka_takes_the_directory_over_and_back(tmp_path: Path) -> None:
    java_or_skip()
    quorum = RealControllers(tmp_path / "controllers", configs=COMPACT)
    (controller,) = quorum.nodes
    controller.main_class = java_class("QuickCleaning")
    with (
        quorum as controllers,
        controllers.broker(tmp_path / "b1", 1) as broker,
        controllers.broker(tmp_path / "b2", 2) as other,
    ):
        create(broker, ["kept"], 1)
        produce(broker)
        assert broker.stop() == 0
        for number in range(30):
            create(other, [f"t{number}"], 2)
        first = controller.log_dir / METADATA / FIRST_SEGMENT
        eventually("the controller deletes its oldest segment", lambda: not first.exists())
        broker.start()
        assert "loading the metadata snapshot" in broker.log()
        assert_serves(broker, 1)
        produce(broker)
        assert broker.stop() == 0
        assert_equal_batches(broker.log_dir, controller.log_dir, at_least=6)
        kafka = controllers.kafka_broker(tmp_path / "kafka", 1)
        kafka.log_dir = broker.log_dir
        kafka.start()
        try:
            assert_serves(kafka, 2)
            produce(kafka)
        finally:
            assert kafka.stop() in (0, 143)
        assert complaints(kafka.output) == []
        assert other.stop() == 0
        broker.start()
        assert_serves(broker, 3)
        with controllers.broker(tmp_path / "b3", 3) as late:
            assert "loading the metadata snapshot" in late.log()
            names = AdminClient({"bootstrap.servers": late.bootstrap_servers}).list_topics(timeout=60).topics
            assert {"kept", "t29"} <= names.keys()
            controller.stop()  # first, so that its last committed change is in both copies
        broker.kill()
        for one in (broker, late, other):
            assert " ERROR " not in one.log()
    leaders = image_of(controller.log_dir, FIRST_NODE_ID)
    for node_id, one in ((1, broker), (3, late)):
        assert_equal_batches(one.log_dir, controller.log_dir)
        own = image_of(one.log_dir, node_id)
        assert own.topics_by_id == leaders.topics_by_id
        assert own.configs == leaders.configs
        assert own.features == leaders.features
        assert own.brokers == leaders.brokers
        copy = one.log_dir / METADATA
        assert_kafka_reads([*sorted(copy.glob("*.log")), *sorted(copy.glob("*.checkpoint"))])
