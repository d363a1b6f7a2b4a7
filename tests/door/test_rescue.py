"""Three clients read the disks of a dead Kafka, without its metadata, after `odradek storage adopt --read-only`.

Real clients fill a real Kafka, which is killed while a transaction is open. Then `__cluster_metadata-0` and
`meta.properties` are removed. Records, offsets and committed offsets must be the same as before, and no byte of the
directory may change. Another Kafka then serves the directory that `adopt` has written.

Directories of Kafka 3.9 are adopted too, in KRaft mode and in ZooKeeper mode.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest

from door.snapshot import Seen, Snapshot, take_snapshot
from door.transactions import GROUP, MIXED, OPEN, fill_with_transactions
from door.workload import CONFIGS, fill
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.metadata_records import FeatureLevelRecord
from support.door.metadata import metadata_records
from support.door.rescue import Adopted, adopt, fingerprint, lose_metadata
from support.door.rescued_reading import (
    committed_of_aiokafka,
    committed_of_kafka_python,
    read_with_aiokafka,
    read_with_kafka_python,
)
from support.kafka.java import OLD_KAFKA_VERSION, java_or_skip
from support.kafka.log import SERVING, complaints
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

ISOLATION_LEVELS = ("read_uncommitted", "read_committed")


class View:
    """The records and offsets that three clients read from a broker."""

    def __init__(self, servers: str) -> None:
        self.confluent = {level: facts(take_snapshot(servers, isolation_level=level)) for level in ISOLATION_LEVELS}
        [topics, groups] = self.confluent["read_committed"]
        names = sorted({name for name, _ in topics if not name.startswith("__")})
        self.kafka_python = read_with_kafka_python(servers, names)
        self.aiokafka = read_with_aiokafka(servers, names)
        partitions = sorted({partition for offsets in groups.values() for partition in offsets})
        self.offsets_of_kafka_python = {one: committed_of_kafka_python(servers, one, partitions) for one in groups}
        self.offsets_of_aiokafka = {one: committed_of_aiokafka(servers, one, partitions) for one in groups}


Facts = tuple[dict[tuple[str, int], tuple[int, int, list[Seen]]], dict[str, dict[tuple[str, int], Any]]]
"""Partitions with (start, end, records), and groups with committed offsets."""


def facts(snapshot: Snapshot) -> Facts:
    """The facts that must not change. Configs and members are lost with the metadata and the broker."""
    partitions = {
        (name, index): (partition.start, partition.end, partition.records)
        for name, topic in snapshot.topics.items()
        for index, partition in topic.partitions.items()
    }
    return partitions, {name: group.offsets for name, group in snapshot.groups.items() if group.offsets}


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, View]:
    """The log directory of a killed Kafka, without its metadata, and the view of clients before the kill."""
    java_or_skip()
    kafka = RealKafka(tmp_path_factory.mktemp("kafka"), CONFIGS)
    with kafka:
        fill(kafka.bootstrap_servers, seed=9, now_ms=clock_ms())
        fill_with_transactions(kafka.bootstrap_servers)
        view = View(kafka.bootstrap_servers)
        kafka.kill()
    lose_metadata(kafka.log_dir)
    return kafka.log_dir, view


def same(before: View, after: View) -> None:
    """Asserts that each of the three clients sees the same as before."""
    for level in ISOLATION_LEVELS:
        partitions, groups = before.confluent[level]
        found_partitions, found_groups = after.confluent[level]
        assert found_partitions.keys() == partitions.keys()
        wrong = [partition for partition, seen in partitions.items() if found_partitions[partition] != seen]
        assert not wrong, (wrong, partitions[wrong[0]], found_partitions[wrong[0]])
        assert found_groups == groups
    assert after.kafka_python == before.kafka_python
    assert after.aiokafka == before.aiokafka
    assert after.offsets_of_kafka_python == before.offsets_of_kafka_python
    assert after.offsets_of_aiokafka == before.offsets_of_aiokafka


def test_three_clients_read_everything_and_not_a_byte_changes(dead: tuple[Path, View], tmp_path: Path) -> None:
    directory, before = dead
    unchanged = fingerprint(directory)
    with Adopted(tmp_path, "--read-only", directory) as adopted:
        after = View(adopted.bootstrap_servers)
    same(before, after)
    assert fingerprint(directory) == unchanged
    assert before.kafka_python[OPEN, 0] != [], "what lies before the open transaction"
    assert len(before.confluent["read_uncommitted"][0][MIXED, 0][2]) > len(before.kafka_python[MIXED, 0]), "aborted"
    assert len(before.offsets_of_kafka_python) >= 20
    assert GROUP in before.offsets_of_kafka_python


def test_another_kafka_serves_what_was_adopted(dead: tuple[Path, View]) -> None:
    directory, before = dead
    written = adopt(directory, "--no-serve")
    assert written.returncode == 0, written.stderr
    kafka = RealKafka(directory.parent, CONFIGS)
    logged = len(kafka.output)
    with kafka:
        after = View(kafka.bootstrap_servers)
        found = complaints(kafka.output[logged:], *SERVING)
        kafka.kill()
    assert not found, found
    same(before, after)
    strays = [path.name for path in directory.iterdir() if path.name.endswith("-stray")]
    assert not strays, "Kafka found every partition's topic"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Facts]]:
    """The log directory of a killed Kafka 3.9, and the facts that a client saw before the kill."""
    java_or_skip(OLD_KAFKA_VERSION)
    kafka = RealKafka(tmp_path_factory.mktemp("old"), CONFIGS, version=OLD_KAFKA_VERSION)
    with kafka:
        fill_with_transactions(kafka.bootstrap_servers, {"segment.bytes": "3000"})
        seen = [facts(take_snapshot(kafka.bootstrap_servers, isolation_level=level)) for level in ISOLATION_LEVELS]
        kafka.kill()
    return kafka.log_dir, seen


def test_a_kraft_directory_of_39(old: tuple[Path, list[Facts]], tmp_path: Path) -> None:
    directory, before = old
    shutil.copytree(directory, tmp_path / "logs")
    assert "has its cluster metadata" in adopt(tmp_path / "logs", "--no-serve").stderr
    with Adopted(tmp_path, tmp_path / "logs", "--set-metadata-aside") as adopted:
        after = [facts(take_snapshot(adopted.bootstrap_servers, isolation_level=level)) for level in ISOLATION_LEVELS]
    assert after == before
    assert before[0][0][MIXED, 0] != before[1][0][MIXED, 0], "aborted transactions"
    levels = [one for one, _ in metadata_records(tmp_path / "logs") if isinstance(one, FeatureLevelRecord)]
    assert {(one.name, one.feature_level) for one in levels} == {("metadata.version", 21)}
    with RealKafka(tmp_path, CONFIGS, version=OLD_KAFKA_VERSION) as kafka:
        again = [facts(take_snapshot(kafka.bootstrap_servers, isolation_level=level)) for level in ISOLATION_LEVELS]
    assert again == before, "3.9 takes it back"


def test_a_zookeeper_directory_of_39(old: tuple[Path, list[Facts]], tmp_path: Path) -> None:
    """A directory of ZooKeeper mode is adopted: version 0, no metadata log, no topic ids, and one stray partition."""
    directory, before = old
    shutil.copytree(directory, tmp_path / "logs")
    lose_metadata(tmp_path / "logs")
    (tmp_path / "logs" / "meta.properties").write_text("#\nversion=0\nbroker.id=5\ncluster.id=of-zookeeper-days\n")
    for path in (tmp_path / "logs").glob("*-*/partition.metadata"):
        path.unlink()
    stray = tmp_path / "logs" / f"{MIXED}-0.{'0a' * 16}-stray"
    (tmp_path / "logs" / f"{MIXED}-0").rename(stray)
    unchanged = fingerprint(tmp_path / "logs")
    with Adopted(tmp_path, tmp_path / "logs", "--read-only", "--adopt-strays") as adopted:
        after = [facts(take_snapshot(adopted.bootstrap_servers, isolation_level=level)) for level in ISOLATION_LEVELS]
        assert "meta.properties is of a ZooKeeper cluster" in adopted.output
        assert f"{stray}: a stray; it is served as {MIXED}-0" in adopted.output
        assert "as node 5 of cluster of-zookeeper-days" in adopted.output
    assert after == before
    assert fingerprint(tmp_path / "logs") == unchanged
