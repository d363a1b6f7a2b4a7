"""Apache Kafka's rules for ``meta.properties``, the clean-shutdown marker and ``__cluster_metadata-0``.

The rules for partitions are in rules.py. This module has its own short replay of the metadata records, so it does not
test Odradek's replay with itself.
"""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.record import iterate_records
from odradek.storage.dump.decoders import Typed, metadata_record
from odradek.storage.dump.segment_scan import Batch, LogFile

METADATA_TOPIC_ID = bytes(15) + b"\x01"
FIRST_CHECKPOINT = "00000000000000000000-0000000000.checkpoint"
CHECKPOINT = re.compile(r"(?P<end>\d{20})-(?P<epoch>\d{10})\.checkpoint")
LEVELS = {
    "metadata.version": (7, 33),
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "share.version": (0, 2),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}
"""Feature -> the lowest and highest level that Kafka 4.4.0 supports."""
ELR_NEEDS_METADATA_VERSION = 23
RESERVED_IDS = 100
"""Kafka reserves the directory ids below this number: MIGRATING is 0, UNASSIGNED 1, LOST 2."""


ANYWHERE = (bytes(16), bytes(15) + b"\x01")
"""MIGRATING and UNASSIGNED: the partition may be in any directory."""


@dataclass(slots=True)
class MetadataSeen:
    """The state that the metadata records describe. ``directory_ids``: the ids of the broker's log directories."""

    directory_ids: list[bytes]
    topics: dict[str, bytes] = field(default_factory=dict)
    removed: set[bytes] = field(default_factory=set)
    """Ids of deleted topics whose deletion is still in the log."""
    leader_epochs: dict[tuple[bytes, int], int] = field(default_factory=dict)
    replicas: dict[tuple[bytes, int], list[int]] = field(default_factory=dict)
    directories: dict[tuple[bytes, int], bytes] = field(default_factory=dict)
    """(topic id, partition) -> the id of the directory of this broker's replica."""
    features: dict[str, int] = field(default_factory=dict)
    broker_epoch: int = -1
    fenced: bool = True
    log_dirs: list[bytes] | None = None
    """The directory ids of the last registration; None if its record version has none."""
    first_control: list[ControlRecordType] = field(default_factory=list)
    voters: bool = False
    end: int = 0
    epoch: int = 0


def read_uuid(text: str) -> bytes:
    """Decodes 16 bytes from base64url without padding. Raises ValueError."""
    return base64.b64decode(text + "==", b"-_", validate=True)


def read_properties(log_dir: Path) -> dict[str, str]:
    """The keys and values of meta.properties."""
    path = log_dir / "meta.properties"
    lines = path.read_text().splitlines() if path.is_file() else []
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def read_directory_id(log_dir: Path) -> bytes:
    """The ``directory.id`` of meta.properties; empty if it is missing."""
    text = read_properties(log_dir).get("directory.id", "")
    return read_uuid(text) if re.fullmatch(r"[\w-]{22}", text) else b""


def metadata_violations(log_dir: Path, seen: MetadataSeen, *, clean: bool) -> list[str]:
    """The violations in the metadata log. Fills ``seen``."""
    found: list[str] = []
    directory = log_dir / "__cluster_metadata-0"
    if not directory.is_dir():
        return ["__cluster_metadata-0 is missing"]
    node_id = int(read_properties(log_dir).get("node.id", "-1"))
    found += [f"{directory.name}/{line}" for line in _replay(directory, node_id, seen)]
    found += [f"{directory.name}: {line}" for line in _voters(directory, seen.directory_ids[0], node_id, seen)]
    found += [f"{directory.name}/{line}" for line in _state(directory, node_id, seen)]
    found += _features(seen)
    if seen.log_dirs is not None and sorted(seen.log_dirs) != sorted(seen.directory_ids):
        found.append(f"the broker registered with {seen.log_dirs}, meta.properties has {seen.directory_ids}")
    found += _stop(log_dir, seen, clean)
    return found


def identity_violations(log_dir: Path, first: Path) -> Iterator[str]:
    """The violations in a directory's meta.properties. ``first``: the directory with the metadata log."""
    properties = read_properties(log_dir)
    directory_id = read_directory_id(log_dir)
    if any(properties.get(key) != read_properties(first).get(key) for key in ("cluster.id", "node.id")):
        yield f"{log_dir.name}/meta.properties: another node or cluster than {first.name}'s"
    if properties.get("version") != "1":
        yield f"meta.properties: version {properties.get('version')}"
    if not properties.get("node.id", "").isdigit() or not properties.get("cluster.id"):
        yield "meta.properties: no node.id or no cluster.id"
    if int.from_bytes(directory_id, "big") < RESERVED_IDS:
        yield "meta.properties: no directory.id, or a reserved one: Kafka starts and serves nothing"


# The records -----------------------------------------------------------------


def _files(directory: Path) -> list[Path]:
    """The latest snapshot, followed by the segments. The records of the first checkpoint don't count: the first leader
    writes them into the log.
    """
    checkpoints = sorted(path for path in directory.iterdir() if CHECKPOINT.fullmatch(path.name))
    checkpoints = [path for path in checkpoints if path.name != FIRST_CHECKPOINT]
    return [*checkpoints[-1:], *sorted(directory.glob("*.log"))]


def _replay(directory: Path, node_id: int, seen: MetadataSeen) -> Iterator[str]:
    for path in _files(directory):
        snapshot = CHECKPOINT.fullmatch(path.name)
        if snapshot:
            seen.end, seen.epoch = int(snapshot["end"]), int(snapshot["epoch"])
        with LogFile(path) as log:
            for batch in log.batches():
                if not isinstance(batch, Batch) or not batch.is_valid:
                    yield f"{path.name}: no sound batch: {batch}"
                    return
                for line in _replay_batch(batch, node_id, seen, in_snapshot=snapshot is not None):
                    yield f"{path.name}: {line}"
    if ControlRecordType.LEADER_CHANGE not in seen.first_control and (directory / f"{0:020d}.log").exists():
        yield "the log does not begin with a LeaderChange record"


def _replay_batch(batch: Batch, node_id: int, seen: MetadataSeen, *, in_snapshot: bool) -> Iterator[str]:
    header = batch.header
    if not in_snapshot:
        # The snapshot is read first. The log may still contain the same records.
        if header.last_offset >= seen.end and header.partition_leader_epoch < seen.epoch:
            yield f"batch {header.base_offset}: epoch {header.partition_leader_epoch} after {seen.epoch}"
        if header.base_offset < seen.end and header.last_offset >= seen.end:
            yield f"batch {header.base_offset} lies across the snapshot's end {seen.end}"
        seen.epoch = max(seen.epoch, header.partition_leader_epoch)
    for record in iterate_records(batch.data, header, 0):
        if header.is_control:
            kind = control_record_type(record.key)
            if header.base_offset == 0 and not in_snapshot:
                seen.first_control.append(kind)
            seen.voters |= kind is ControlRecordType.KRAFT_VOTERS
            continue
        if not in_snapshot and record.offset < seen.end:
            continue  # already in the snapshot
        decoded = metadata_record(record)
        if not isinstance(decoded.value, Typed) or record.key is not None:
            yield f"record {record.offset}: {decoded.fault or 'it has a key'}"
            continue
        for line in _take(decoded.value, record.offset, node_id, seen, in_snapshot):
            yield f"record {record.offset}: {line}"
    if not in_snapshot:
        seen.end = max(seen.end, header.last_offset + 1)


def _take(typed: Typed, offset: int, node_id: int, seen: MetadataSeen, in_snapshot: bool) -> Iterator[str]:
    message: Any = typed.message
    level = seen.features.get("metadata.version", 0)
    match message:
        case FeatureLevelRecord():
            seen.features[message.name] = message.feature_level
        case TopicRecord():
            seen.topics[message.name] = message.topic_id
        case RemoveTopicRecord():
            seen.removed.add(message.topic_id)
            seen.topics = {name: its for name, its in seen.topics.items() if its != message.topic_id}
        case PartitionRecord() | PartitionChangeRecord():
            wanted = 2 if level >= 23 else 1 if level >= 17 else 0
            if typed.version != wanted:
                yield f"a partition's record of version {typed.version} under metadata.version {level}"
            yield from _take_partition(message, node_id, seen)
        case RegisterBrokerRecord() if message.broker_id == node_id:
            wanted = 4 if level >= 30 else 3 if level >= 17 else 2 if level >= 8 else 1
            if typed.version != wanted:
                yield f"RegisterBroker of version {typed.version} under metadata.version {level}"
            if not in_snapshot and not seen.broker_epoch <= message.broker_epoch <= offset:
                yield f"broker epoch {message.broker_epoch} after {seen.broker_epoch}"
            seen.log_dirs = message.log_dirs if level >= 17 else None
            seen.broker_epoch, seen.fenced = message.broker_epoch, message.fenced
        case BrokerRegistrationChangeRecord() if message.broker_id == node_id and message.fenced:
            seen.fenced = message.fenced == 1


def _take_partition(message: Any, node_id: int, seen: MetadataSeen) -> Iterator[str]:
    key = message.topic_id, message.partition_id
    if isinstance(message, PartitionRecord):
        seen.leader_epochs[key] = message.leader_epoch
    elif message.leader != -2:  # -2: no change
        seen.leader_epochs[key] = seen.leader_epochs.get(key, 0) + 1
    if message.replicas is not None and (message.replicas or isinstance(message, PartitionRecord)):
        seen.replicas[key] = message.replicas
    for replica, directory in zip(seen.replicas.get(key, []), message.directories or (), strict=False):
        if replica == node_id:
            seen.directories[key] = directory
        if replica == node_id and directory not in (*seen.directory_ids, *ANYWHERE):
            yield f"partition {message.partition_id} lies in directory {directory!r}: Kafka would not serve it"


# Voters, quorum-state, features, stop ----------------------------------------


def _voters(directory: Path, directory_id: bytes, node_id: int, seen: MetadataSeen) -> Iterator[str]:
    """The first checkpoint, the latest checkpoint or the log must name this broker as voter, with its directory id."""
    voter = b"\x02" + node_id.to_bytes(4, "big") + directory_id
    named = False
    for path in directory.glob("*.checkpoint"):
        if path.stat().st_mode & 0o222:
            yield f"{path.name}: its mode is {path.stat().st_mode & 0o777:o}, a snapshot must be read-only"
        with LogFile(path) as log:
            batches = [batch for batch in log.batches() if isinstance(batch, Batch)]
        records = [
            record
            for batch in batches
            if batch.header.is_control
            for record in iterate_records(batch.data, batch.header, 0)
        ]
        kinds = [control_record_type(record.key) for record in records]
        if (
            not kinds
            or kinds[0] is not ControlRecordType.SNAPSHOT_HEADER
            or kinds[-1] is not ControlRecordType.SNAPSHOT_FOOTER
        ):
            yield f"{path.name}: no header first, or no footer last: {kinds}"
        named |= ControlRecordType.KRAFT_VERSION in kinds and any(voter in (record.value or b"") for record in records)
    if not named and not seen.voters:
        yield "no checkpoint and no record names the voter: a dynamic quorum never has a leader"


def _state(directory: Path, node_id: int, seen: MetadataSeen) -> Iterator[str]:
    path = directory / "quorum-state"
    if not path.is_file():
        yield "quorum-state is missing"
        return
    state = json.loads(path.read_text())
    expected: dict[str, object] = {"leaderId": node_id, "votedId": -1, "data_version": 1}
    expected |= {"votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA", "leaderEpoch": state.get("leaderEpoch")}
    if state.get("data_version") == 0:
        voters = [{"voterId": node_id}]
        expected = {"clusterId": "", "leaderId": node_id, "leaderEpoch": state.get("leaderEpoch"), "votedId": -1}
        expected |= {"appliedOffset": 0, "currentVoters": voters, "data_version": 0}
    if state != expected:
        yield f"quorum-state: {state}, expected {expected}"
    elif state["leaderEpoch"] < seen.epoch:
        yield f"quorum-state: epoch {state['leaderEpoch']} is behind the log's {seen.epoch}"
    metadata = directory / "partition.metadata"
    if metadata.is_file() and read_uuid(metadata.read_text().rpartition(" ")[2]) != METADATA_TOPIC_ID:
        yield "partition.metadata: another topic id than __cluster_metadata's"


def _features(seen: MetadataSeen) -> Iterator[str]:
    if "metadata.version" not in seen.features:
        yield "no metadata.version is finalised: Kafka exits"
    for name, level in seen.features.items():
        lowest, highest = LEVELS.get(name, (0, 0))
        if not lowest <= level <= highest:
            yield f"feature {name}: level {level}, Kafka 4.4.0 knows {lowest} to {highest}"
    elr = seen.features.get("eligible.leader.replicas.version", 0)
    if elr and seen.features.get("metadata.version", 0) < ELR_NEEDS_METADATA_VERSION:
        yield "eligible.leader.replicas.version does not fit metadata.version: Kafka does not start"


def _stop(log_dir: Path, seen: MetadataSeen, clean: bool) -> Iterator[str]:
    marker = log_dir / ".kafka_cleanshutdown"
    if not clean or not marker.is_file():
        return
    if not seen.fenced:
        yield "the broker is not fenced: a Kafka that starts next waits for its session to end"
    expected = json.dumps({"version": 0, "brokerEpoch": seen.broker_epoch}, separators=(",", ":"))
    if marker.read_text() != expected:
        yield f".kafka_cleanshutdown: {marker.read_text()}, expected {expected}"
