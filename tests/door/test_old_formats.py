"""A directory of Kafka 2.8.2 with message formats 0, 1 and 2: ours serves what Apache Kafka 4 serves from it.

Formats x codecs x timestamp types x (clean stop, kill), through confluent-kafka, kafka-python and Kafka's own consumer,
compared by checksum; offsets by time, too. `test_old_formats_made_anew` takes a directory that a Kafka 2.8.2 has just
written in place of the archive.
"""

import hashlib
import shutil
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as Assigned
from confluent_kafka.admin import AdminClient

from odradek.storage.files.meta_properties import CLEAN_SHUTDOWN_FILE
from support.brokers.our_broker import OurBroker
from support.data.old_formats import MIXED_RECORDS, RECORDS, START_MS, TOPICS, unpack
from support.door.rescue import adopt
from support.door.rescued_reading import read_with_kafka_python
from support.kafka.java import java_class, run_class
from support.kafka.real_kafka import RealKafka

from .old_kafka import make_directory
from .snapshot import SPEC, PartitionSeen, Snapshot, take_snapshot

pytestmark = pytest.mark.java

KEPT = {"log.retention.ms": "-1", "log.cleaner.enable": "false", "node.id": "0"}
TIMES = [0, *(START_MS + shift for shift in (-1, 0, 30_500, 60_000, 119_000, 119_001)), 1_795_906_424_500]


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive as a KRaft directory, after a clean stop."""
    return ready(unpack(tmp_path_factory.mktemp("kafka") / "logs"))


def ready(log_dir: Path) -> Path:
    """Gives the directory of a ZooKeeper cluster the metadata of KRaft."""
    result = adopt("--no-serve", log_dir)
    assert result.returncode == 0, result.stderr
    return log_dir.parent


def copied(home: Path, target: Path, *, is_clean: bool) -> Path:
    """A copy; not clean: every log is recovered from its first record on."""
    shutil.copytree(home, target)
    marker = target / "logs" / CLEAN_SHUTDOWN_FILE
    if not is_clean:
        marker.unlink(missing_ok=True)
        checkpoint = target / "logs" / "recovery-point-offset-checkpoint"
        lines = checkpoint.read_text().splitlines()
        points = [f"{line.rpartition(' ')[0]} 0" for line in lines[2:]]
        checkpoint.write_text("\n".join([*lines[:2], *points, ""]))
    return target


def logs_of(home: Path) -> dict[str, str]:
    """The checksum of every log file of the topics."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for topic in TOPICS
        for path in (home / "logs" / f"{topic}-0").glob("*.log*")
    }


def seen(servers: str) -> dict[str, object]:
    """The records and offsets that each client reads from a broker."""
    found = take_snapshot(servers)
    read = read_with_kafka_python(servers, TOPICS)
    return {
        "confluent": {name: partition.records for (name, _), partition in partitions(found).items()},
        "kafka-python": read,
        "java": run_class(java_class("TopicDigests"), servers, *TOPICS).stdout.splitlines(),
        "by time": {topic: by_time(servers, topic) for topic in TOPICS},
    }


def partitions(snapshot: Snapshot) -> dict[tuple[str, int], PartitionSeen]:
    return {
        (name, index): partition
        for name, topic in snapshot.topics.items()
        if name in TOPICS
        for index, partition in topic.partitions.items()
    }


def by_time(servers: str, topic: str) -> list[tuple[int, int]]:
    admin = AdminClient({"bootstrap.servers": servers})
    found = []
    for spec in (
        SPEC.earliest(),
        SPEC.latest(),
        SPEC.max_timestamp(),
        *map(SPEC.for_timestamp, TIMES),
    ):
        [answer] = admin.list_offsets({Assigned(topic, 0): spec}).values()
        result = answer.result(60)
        found.append((result.offset, result.timestamp))
    return found


def compare(home: Path, tmp_path: Path, *, is_clean: bool) -> None:
    kafkas = copied(home, tmp_path / "kafkas", is_clean=is_clean)
    ours = copied(home, tmp_path / "ours", is_clean=is_clean)
    before = logs_of(ours)
    with RealKafka(kafkas, KEPT, node_id=0) as kafka:
        expected = seen(kafka.bootstrap_servers)
    with OurBroker(ours, KEPT) as broker:
        found = seen(broker.bootstrap_servers)
        assert broker.stop() == 0
    for client, view in expected.items():
        assert found[client] == view, client
    counts = [int(line.split()[1]) for line in found["java"]]  # type: ignore[attr-defined]
    assert counts == [3 * MIXED_RECORDS if topic.startswith("mixed") else RECORDS for topic in TOPICS]
    assert logs_of(ours) == before


@pytest.mark.ci
@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "killed"])
def test_old_formats(adopted: Path, tmp_path: Path, is_clean: bool) -> None:
    compare(adopted, tmp_path, is_clean=is_clean)


@pytest.mark.long
@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "killed"])
def test_old_formats_made_anew(tmp_path: Path, is_clean: bool) -> None:
    compare(ready(make_directory(tmp_path / "old")), tmp_path, is_clean=is_clean)
