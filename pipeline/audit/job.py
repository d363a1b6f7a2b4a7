"""The audit of log directories: plan, one task for each replica, what only the whole can say, tables and report.

Reads only, and needs no lock: of a running broker it sees the files as they are. Source: docs/pipeline.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    TopicPartition,
    read_offset_checkpoint,
)
from ...storage.errors import CorruptCheckpointError
from ...storage.files import Files
from ...storage.meta_properties import CLEAN_SHUTDOWN_FILE
from ..cluster_metadata import ClusterMetadata, read_cluster_metadata
from ..engines import run_tasks
from ..log_directories import find_partitions
from .findings import Finding
from .partition_audit import audit_partition
from .tasks import AuditTask, GroupFacts, PartitionReport

CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)
ALWAYS_COMPACTED = ("__consumer_offsets", "__transaction_state")
DEFAULT_INDEX_INTERVAL_BYTES = 4096


@dataclass(slots=True)
class GroupLag:
    """One group's position in one partition; -1 where the partition is in no directory that was read."""

    group: str
    topic: str
    partition: int
    committed_offset: int
    log_start_offset: int
    log_end_offset: int
    lag: int
    members: int
    metadata: str
    commit_timestamp: int


@dataclass(slots=True)
class AuditResult:
    """Everything that an audit found."""

    partitions: list[PartitionReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    groups: list[GroupLag] = field(default_factory=list)


def audit_directories(
    directories: Sequence[Path],
    engine: str,
    *,
    topics: Sequence[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Audits log directories; `progress` gets (replicas done, replicas in all).

    Raises LogDirectoryError, EngineMissingError, OSError.
    """
    result = AuditResult()
    tasks: list[AuditTask] = []
    known = ClusterMetadata()
    for directory in directories:
        metadata = read_cluster_metadata(directory)
        known = metadata if metadata.is_known else known
        tasks += _plan(directory, metadata, topics, result.findings)
    for done, report in enumerate(run_tasks(engine, tasks, audit_partition, "odradek audit")):
        result.partitions.append(report)
        result.findings += report.findings
        if progress is not None:
            progress(done + 1, len(tasks))
    result.groups = _lags(result.partitions, known, result.findings)
    return result


def _plan(
    directory: Path, metadata: ClusterMetadata, topics: Sequence[str] | None, findings: list[Finding]
) -> list[AuditTask]:
    offsets: dict[str, dict[TopicPartition, int]] = {}
    for name in CHECKPOINTS:
        try:
            offsets[name] = read_offset_checkpoint(Files(), directory / name)
        except CorruptCheckpointError as error:
            findings.append(Finding("checkpoint-unreadable", "", -1, str(directory / name), -1, -1, str(error)))
    is_clean = (directory / CLEAN_SHUTDOWN_FILE).exists()
    tasks = []
    for replica in find_partitions(directory, topics):
        configs = metadata.topic_configs.get(replica.topic, {})
        topic = metadata.topics.get(replica.topic)
        interval = configs.get("index.interval.bytes") or metadata.broker_configs.get("log.index.interval.bytes")
        key = (replica.topic, replica.partition)
        tasks.append(
            AuditTask(
                directory,
                replica,
                is_clean,
                _is_compacted(replica.topic, metadata),
                int(interval) if interval else DEFAULT_INDEX_INTERVAL_BYTES,
                None if topic is None else topic.topic_id,
                {name: found[key] for name, found in offsets.items() if key in found},
            )
        )
    return tasks


def _is_compacted(topic: str, metadata: ClusterMetadata) -> bool | None:
    if topic in ALWAYS_COMPACTED:
        return True
    policy = metadata.topic_configs.get(topic, {}).get("cleanup.policy") or metadata.broker_configs.get(
        "log.cleanup.policy"
    )
    if policy is not None:
        return "compact" in policy
    return False if topic in metadata.topics else None


def _lags(partitions: Sequence[PartitionReport], metadata: ClusterMetadata, findings: list[Finding]) -> list[GroupLag]:
    """Each group's lag where the partition was read, and what is wrong with its offsets."""
    ends: dict[TopicPartition, tuple[int, int]] = {}
    members: dict[str, GroupFacts] = {}
    for report in partitions:
        start, end = ends.get((report.topic, report.partition), (1 << 62, -1))
        ends[report.topic, report.partition] = min(start, report.log_start_offset), max(end, report.log_end_offset)
        members |= {group.group: group for group in report.groups}
    lags = {}
    for report in partitions:
        for commit in report.commits:
            start, end = ends.get((commit.topic, commit.partition), (-1, -1))
            lag = max(end - commit.offset, 0) if end >= 0 else -1
            group = members.get(commit.group)
            count = 0 if group is None else group.members
            lags[commit.group, commit.topic, commit.partition] = GroupLag(
                commit.group,
                commit.topic,
                commit.partition,
                commit.offset,
                start,
                end,
                lag,
                count,
                commit.metadata,
                commit.commit_timestamp,
            )
            found = _wrong_commit(commit.offset, start, end, is_missing=_is_missing(commit.topic, metadata))
            if found is not None:
                name, detail = found
                place = f"{report.directory}/{report.topic}-{report.partition}"
                text = f"group {commit.group}: {detail}"
                findings.append(Finding(name, commit.topic, commit.partition, place, -1, commit.record_offset, text))
    return [lags[key] for key in sorted(lags)]


def _is_missing(topic: str, metadata: ClusterMetadata) -> bool:
    return metadata.is_known and topic not in metadata.topics


def _wrong_commit(offset: int, start: int, end: int, *, is_missing: bool) -> tuple[str, str] | None:
    """(name of the check, detail) for a committed offset that the log contradicts."""
    if end < 0:
        return ("commit-to-missing-topic", f"offset {offset}") if is_missing else None
    if offset > end:
        return "committed-offset-beyond-log", f"offset {offset}, the log ends at {end}"
    if offset < start:
        return "committed-offset-before-log-start", f"offset {offset}, the log begins at {start}"
    return None
