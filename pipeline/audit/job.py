"""The audit of log directories: plan, one task for each replica, what only the whole can say, tables and report.

Reads only, and needs no lock: of a running broker it sees the files as they are. Source: docs/pipeline.md.
"""

import time
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
from .groups.lag import GroupLag, group_lags
from .partition_audit import audit_partition
from .tasks import AuditTask, PartitionReport

CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)
ALWAYS_COMPACTED = ("__consumer_offsets", "__transaction_state")
DEFAULT_INDEX_INTERVAL_BYTES = 4096


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
    now_ms: int | None = None,
    at_ms: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Audits log directories; `progress` gets (replicas done, replicas in all).

    `now_ms` is the clock (by default the real one); `at_ms` the moment as of which groups are told.

    Raises LogDirectoryError, EngineMissingError, OSError.
    """
    result = AuditResult()
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    tasks: list[AuditTask] = []
    known = ClusterMetadata()
    for directory in directories:
        metadata = read_cluster_metadata(directory)
        known = metadata if metadata.is_known else known
        tasks += _plan(directory, metadata, topics, result.findings, now_ms, at_ms)
    for done, report in enumerate(run_tasks(engine, tasks, audit_partition, "odradek audit")):
        result.partitions.append(report)
        result.findings += report.findings
        if progress is not None:
            progress(done + 1, len(tasks))
    result.groups = group_lags(result.partitions, known, result.findings)
    return result


def _plan(
    directory: Path,
    metadata: ClusterMetadata,
    topics: Sequence[str] | None,
    findings: list[Finding],
    now_ms: int,
    at_ms: int | None,
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
                now_ms,
                at_ms,
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
