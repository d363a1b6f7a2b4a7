"""The audit of log directories: plan, one task for each replica, replicas against each other, what only the whole says.

Reads only, and needs no lock: of a running broker it sees the files as they are. Source: docs/audit.md.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..engines import run_tasks
from .findings import Finding
from .groups.audit import audit_groups
from .groups.facts import GroupGrowth
from .groups.rows import GroupLag
from .partition_audit import audit_partition
from .plan import AuditOptions, plan_audit
from .replicas import ReplicaTask, compare_replicas
from .tasks import RECORDS, AuditTask, PartitionReport

_SKEW_PARTITIONS, _SKEW_BYTES = 3, 1 << 20


@dataclass(slots=True)
class AuditResult:
    """Everything that an audit found."""

    partitions: list[PartitionReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    groups: list[GroupLag] = field(default_factory=list)
    growth: list[GroupGrowth] = field(default_factory=list)
    """Who writes the offsets topic."""


def audit_directories(
    directories: Sequence[Path],
    engine: str,
    *,
    topics: Sequence[str] | None = None,
    now_ms: int | None = None,
    at_ms: int | None = None,
    level: str = RECORDS,
    progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Audits log directories; `progress` gets (replicas done, replicas in all).

    `now_ms` is the clock (by default when each directory was last in use), `at_ms` the moment as of which groups are
    told, `level` one of LEVELS. Raises LogDirectoryError, EngineError, OSError.
    """
    plan = plan_audit(directories, AuditOptions(topics, now_ms, at_ms, level))
    result = AuditResult(findings=plan.findings)
    sizes = [sum(segment.size for segment in task.replica.segments) for task in plan.tasks]
    reports = run_tasks(
        engine, plan.tasks, audit_partition, "odradek audit", place=_place, sizes=sizes, progress=progress
    )
    for report in reports:
        result.partitions.append(report)
        result.findings += report.findings
    pairs = _pairs(plan.tasks, result.partitions)
    sizes = [sum(segment.size for segment in pair.other.segments) for pair in pairs]
    for found in run_tasks(engine, pairs, compare_replicas, "odradek audit: replicas", sizes=sizes):
        result.findings += found
    result.findings += _skewed(result.partitions)
    groups = audit_groups(result.partitions, plan.tasks, plan.metadata, engine, now_ms=now_ms, at_ms=at_ms)
    result.groups, result.growth = groups.rows, groups.growth
    result.findings += groups.findings
    return result


def _place(task: AuditTask) -> Path:
    return task.replica.path


def _pairs(tasks: Sequence[AuditTask], reports: Sequence[PartitionReport]) -> list[ReplicaTask]:
    """Each partition's longest replica with every other one of it."""
    replicas: defaultdict[tuple[str, int], list[tuple[AuditTask, PartitionReport]]] = defaultdict(list)
    for task, report in zip(tasks, reports, strict=True):
        replicas[report.topic, report.partition].append((task, report))
    pairs = []
    for found in replicas.values():
        longest = max(found, key=lambda item: item[1].log_end_offset)
        pairs += [ReplicaTask.of(longest, other) for other in found if other is not longest]
    return pairs


def _skewed(reports: Sequence[PartitionReport]) -> list[Finding]:
    """Topics one of whose partitions is several times as large as the usual one."""
    largest: dict[str, dict[int, PartitionReport]] = defaultdict(dict)
    for report in reports:
        known = largest[report.topic].get(report.partition)
        if known is None or report.size > known.size:
            largest[report.topic][report.partition] = report
    found = []
    for topic, partitions in largest.items():
        sizes = sorted(report.size for report in partitions.values())
        median = sizes[len(sizes) // 2]
        if topic.startswith("__") or len(sizes) < _SKEW_PARTITIONS or sizes[-1] < max(_SKEW_BYTES, 3 * median):
            continue
        report = max(partitions.values(), key=lambda report: report.size)
        path = str(Path(report.directory) / f"{topic}-{report.partition}")
        detail = f"{report.size} bytes, half of the topic's {len(sizes)} partitions have {median} or less"
        found.append(Finding("partition-skew", topic, report.partition, path, -1, -1, detail))
    return found
