"""The audit of the directories of three brokers of one cluster, two of ours and a real Kafka: equal, shorter, or
different."""

import shutil
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from cluster.three_brokers import KAFKA, NODE_IDS, ThreeBrokers
from odradek.pipeline.audit.findings import Finding
from odradek.pipeline.audit.job import audit_directories
from odradek.protocol.records.batch import CRC_POSITION, PARTITION_LEADER_EPOCH_POSITION, crc_of, iterate_headers

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC, RECORDS = "replicated", 900
OURS = 3
REPLICA_FINDINGS = ("replicas-diverge", "replica-tail-differs", "replica-behind", "replica-keys-missing")


class Stopped(NamedTuple):
    """The log directories of the stopped brokers. Broker 3 does not have the last records of every partition."""

    directories: dict[int, list[Path]]


def fill(cluster: ThreeBrokers, first: int) -> None:
    """Writes plain and transactional records to every partition, some of them aborted."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "linger.ms": 0}
    producer = Producer({**settings, "transactional.id": "writer", "batch.num.messages": 20})
    producer.init_transactions(120)
    for is_committed in (True, False):
        producer.begin_transaction()
        for number in range(RECORDS // 3):
            producer.produce(TOPIC, b"%d" % (first + number), b"k%d" % (number % 7), partition=number % 3)
        if is_committed:
            producer.commit_transaction(120)
        else:
            producer.abort_transaction(120)
    plain = Producer({**settings, "batch.num.messages": 20})
    for number in range(RECORDS // 3):
        plain.produce(TOPIC, b"%d" % (first + number), partition=number % 3)
    assert plain.flush(120) == 0


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    place = tmp_path_factory.mktemp("audited")
    with ThreeBrokers(place, mixed=True) as cluster:
        cluster.create(TOPIC, [[1, 2, 3], [2, 3, 1], [3, 1, 2]], min_insync_replicas="2")
        fill(cluster, 0)
        for index in range(3):
            cluster.until_in_sync(TOPIC, set(NODE_IDS), index)
        cluster.brokers[OURS].stop()
        for index in range(3):
            cluster.until_in_sync(TOPIC, {1, KAFKA}, index)
        fill(cluster, RECORDS)
        cluster.brokers[1].stop()
        cluster.brokers[KAFKA].stop()
        yield Stopped({node_id: cluster.log_dirs(node_id) for node_id in NODE_IDS})


def audited(directories: Sequence[Path]) -> list[Finding]:
    """The audit's findings about replicas."""
    found = audit_directories(directories, "local").findings
    return [one for one in found if one.name in REPLICA_FINDINGS]


def copied(stopped: Stopped, place: Path) -> dict[int, list[Path]]:
    """A copy of all directories, which a test may change."""
    result = {}
    for node_id, paths in stopped.directories.items():
        result[node_id] = [place / str(node_id) / path.name for path in paths]
        for path, copy in zip(paths, result[node_id], strict=True):
            shutil.copytree(path, copy)
    return result


def all_of(directories: dict[int, list[Path]]) -> list[Path]:
    return [path for paths in directories.values() for path in paths]


def segment(directories: dict[int, list[Path]], node_id: int, index: int) -> Path:
    """The only segment of a replica."""
    [found] = [path for one in directories[node_id] for path in (one / f"{TOPIC}-{index}").glob("*.log")]
    return found


def test_replica_that_is_behind_is_no_damage(stopped: Stopped) -> None:
    """Below the high watermarks all replicas are equal, the internal topics and the metadata log too."""
    found = audited(all_of(stopped.directories))
    assert {one.name for one in found} <= {"replica-behind"}, found
    behind = [one for one in found if one.topic == TOPIC]
    assert sorted(one.partition for one in behind) == [0, 1, 2]
    assert all(f"of broker {OURS} ends at {one.offset}" in one.detail for one in behind)
    result = audit_directories(all_of(stopped.directories), "local")
    assert [one for one in result.findings if one.check.severity.name == "ERROR"] == []


@pytest.mark.parametrize("kind", ["record", "epoch", "missing"])
@pytest.mark.parametrize("node_id", [KAFKA, OURS])
def test_planted_difference_is_found(stopped: Stopped, tmp_path: Path, node_id: int, kind: str) -> None:
    """The difference is a byte of a record, a leader epoch, or a missing batch. The finding has topic, offset and
    brokers.
    """
    directories = copied(stopped, tmp_path)
    path = segment(directories, node_id, 1)
    data = bytearray(path.read_bytes())
    position, header = [one for one in iterate_headers(bytes(data)) if not one[1].is_control][5]
    if kind == "record":
        # The value's last digit, with a valid CRC, so that only the comparison shows it.
        data[position + header.size_in_bytes - 2] ^= 1
        struct.pack_into(">I", data, position + CRC_POSITION, crc_of(data, position, header))
    elif kind == "epoch":
        at = position + PARTITION_LEADER_EPOCH_POSITION
        struct.pack_into(">i", data, at, header.partition_leader_epoch + 1)
    else:
        del data[position : position + header.size_in_bytes]
    path.write_bytes(data)
    found = [one for one in audited(all_of(directories)) if one.name == "replicas-diverge"]
    assert found, "the difference is not found"
    assert {(one.topic, one.partition, one.offset) for one in found} == {(TOPIC, 1, header.base_offset)}
    assert all(f"of broker {node_id}" in one.detail for one in found)
