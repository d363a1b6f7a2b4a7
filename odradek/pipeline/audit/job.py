"""The audit of log directories: plans, runs a task for each portion of replicas, compares replicas, audits groups.

Never writes to log directories and takes no lock: it reads a running broker's files as they are. Source: docs/audit.md.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.meta_properties import read_partition_metadata
from odradek.storage.files.regular_files import fault_text

from ..directories.background_reading import READING, read_in_background
from ..directories.file_access import PathFiles
from ..engine.engines import AUTO, LOCAL, EngineChoice, available_cores, choose_engine, run_tasks, started
from ..engine.job import Job
from .assignment import confirmed
from .findings import Finding
from .last_run import LastRun, changes_since, growing_lags, path_of_last, read_last, write_last
from .plan import AuditOptions, Plan, plan_audit
from .portions import PORTION_REPLICAS, Portion, PortionReport, audit_portion, portions_of, size_of
from .progress import AuditProgress
from .result import AuditResult
from .run_identity import RunTables, broker_of
from .state_run import end_run
from .tasks import GROUP_TOPICS, RECORDS, AuditTask, PartitionReport, StateOptions, sum_of_days

with lazy_imports:
    from ..engine import spark_tasks
    from . import replicas as audit_replicas
    from .groups import audit, recheck

NAME = "odradek audit"
_SKEW_PARTITIONS, _SKEW_BYTES = 3, 1 << 20


def audit_directories(
    directories: Sequence[Path],
    engine: str,
    *,
    topics: Sequence[str] | None = None,
    now_ms: int | None = None,
    at_ms: int | None = None,
    level: str = RECORDS,
    ignored: Collection[str] = (),
    tables: RunTables | None = None,
    state: StateOptions | None = None,
    progress: AuditProgress | None = None,
    portion_replicas: int = PORTION_REPLICAS,
) -> AuditResult:
    """Audits log directories.

    `now_ms`: the clock; by default the last use of each directory. `at_ms`: shows groups as of this moment. `level`:
    one of LEVELS. `ignored`: names of findings to leave out. `tables`: where workers write their rows. `state`: where
    the sums of closed segments are read and kept. `progress` hears of finished replicas and of bytes.
    `portion_replicas`: as for `portions_of`. Raises LogDirectoryError, EngineError, OSError.
    """
    plan = plan_audit(directories, AuditOptions(topics, now_ms, at_ms, level, state))
    portions = portions_of(plan.tasks, tables, frozenset(ignored), portion_replicas)
    result = AuditResult(stops=plan.stops, portions=len(portions))
    if engine == AUTO:
        engine, reason = _chosen(portions)
        result.notes.append(reason)
    if progress is not None:
        progress.begin(sum(map(size_of, plan.tasks)))
    with started(engine if portions else LOCAL, NAME):
        reports = list(run_tasks(engine, _job(portions, progress)))
        result.partitions = [report for found in reports for report in found.partitions]
        result.volume = sum_of_days(day for found in reports for day in found.volume)
        whole = plan.findings
        for assignment, doubtful in plan.doubtful:
            whole += confirmed(assignment, doubtful)
        if len(directories) > 1:
            whole += _compared(plan.tasks, result, engine)
        whole += _skewed(result.partitions)
        whole += _audited_groups(plan, result, engine, now_ms, at_ms)
    last_path = None if state is None else path_of_last(state, directories, topics, level)
    last = None if last_path is None else _last(last_path, result)
    whole += growing_lags(last, result.groups, whole)
    result.overall_findings = [finding for finding in whole if finding.name not in ignored]
    result.findings = [finding for report in result.partitions for finding in report.findings]
    result.findings += result.overall_findings
    result.readings = [report.reading for report in result.partitions if report.reading is not None]
    result.notes += [note for reading in result.readings for note in reading.notes]
    if state is not None and last_path is not None:
        result.changes = changes_since(last, result.findings)
        _end_run(state, plan, () if topics else directories, result, last_path)
    return result


def _last(path: Path, result: AuditResult) -> LastRun | None:
    """The last audit; None if there is none, which a note explains if it should be there."""
    try:
        last, wrong = read_last(path)
    except OSError as error:
        last, wrong = None, f"{path} can't be read: {fault_text(error)}: every finding counts as new"
    result.notes += [wrong] if wrong else []
    return last


def _job(portions: Sequence[Portion], progress: AuditProgress | None) -> Job[Portion, PortionReport]:
    return Job(
        portions,
        audit_portion,
        NAME,
        place=_place,
        sizes=[portion.work for portion in portions],
        weights=[len(portion.tasks) for portion in portions],
        label=_label,
        progress=None if progress is None else progress.finished,
        tell=None if progress is None else progress.tell,
        begin=begin_of_workers(),
    )


def _audited_groups(
    plan: Plan, result: AuditResult, engine: str, now_ms: int | None, at_ms: int | None
) -> list[Finding]:
    """Adds the groups to the result. Returns the findings about them."""
    if not any(task.replica.topic in GROUP_TOPICS for task in plan.tasks):
        return []
    groups = audit.audit_groups(result.partitions, plan.tasks, plan.metadata, engine, now_ms=now_ms, at_ms=at_ms)
    result.groups, result.growth, result.shares = groups.rows, groups.growth, groups.shares
    if not any(task.is_live for task in plan.tasks):
        return groups.findings
    return recheck.confirmed(
        groups.findings, result.partitions, plan.tasks, plan.metadata, engine, now_ms=now_ms, at_ms=at_ms
    )


def _end_run(
    state: StateOptions, plan: Plan, directories: Sequence[Path], result: AuditResult, last_path: Path
) -> None:
    """Counts the run. `directories`: those that were audited whole. A fault is a note: the results are complete."""
    try:
        write_last(last_path, state.started_ms, result.findings, result.groups)
        end_run(state, directories, [task.replica for task in plan.tasks])
    except OSError as error:
        result.notes.append(f"the state {state.root} can't be written: {fault_text(error)}")


def _chosen(portions: Sequence[Portion]) -> EngineChoice:
    return choose_engine(sum(portion.work for portion in portions), available_cores(), spark_tasks.missing_for_spark)


def _place(portion: Portion) -> Path:
    return portion.directory


def _label(portion: Portion) -> str:
    return portion.label


def _compared(tasks: Sequence[AuditTask], result: AuditResult, engine: str) -> list[Finding]:
    """Compares each partition's longest replica with its other replicas.

    Replicas are compared only if cluster id and topic id are the same: a topic that was created again has another id.
    """
    brokers = {directory: broker_of(directory) for directory in {task.directory for task in tasks}}
    replicas: defaultdict[tuple[str, int, str | None, bytes | None], list[audit_replicas.AuditedReplica]] = defaultdict(
        list
    )
    for task, report in zip(tasks, result.partitions, strict=True):
        if report.is_known:
            broker = brokers[task.directory]
            key = report.topic, report.partition, broker.cluster_id, topic_id_of(task.replica.path) or task.topic_id
            replicas[key].append(audit_replicas.AuditedReplica(task, report, broker.node_id))
    pairs, sizes = [], []
    for found in replicas.values():
        longest = max(found, key=lambda item: item.report.log_end_offset)
        for other in found:
            if other is not longest:
                pairs.append(audit_replicas.ReplicaTask.of(longest, other))
                sizes.append(audit_replicas.bytes_to_read(longest, other))
    job = Job(pairs, audit_replicas.compare_replicas, f"{NAME}: replicas", sizes=sizes, begin=begin_of_workers())
    compared = list(run_tasks(engine, job))
    result.compared_bytes = sum(comparison.reading.bytes_read for comparison in compared)
    return [finding for comparison in compared for finding in comparison.findings]


def _skewed(reports: Sequence[PartitionReport]) -> list[Finding]:
    """Findings for topics with a partition that has at least three times the median size."""
    largest: dict[str, dict[int, PartitionReport]] = defaultdict(dict)
    for report in (report for report in reports if report.is_known):
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
        path = f"{report.directory}/{topic}-{report.partition}"
        detail = f"{report.size} bytes, half of the topic's {len(sizes)} partitions have {median} or less"
        found.append(Finding("partition-skew", topic, report.partition, path, -1, -1, detail))
    return found


def topic_id_of(partition: Path) -> bytes | None:
    """The topic id in `partition.metadata`."""
    try:
        return read_partition_metadata(PathFiles(), partition)
    except (CorruptCheckpointError, OSError):
        return None


def begin_of_workers() -> Callable[[], None] | None:
    """What a worker calls first, so that all together keep the pace of this process (`--throttle`); None at full
    speed."""
    reading = READING.get()
    return None if reading is None else partial(read_in_background, reading.bytes_per_second / available_cores())
