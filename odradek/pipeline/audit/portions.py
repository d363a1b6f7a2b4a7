"""Splits an audit into portions. A portion is the work of one task, which audits its replicas one after the other.

Small replicas share a task, which keeps the number of tasks and files small. The task writes the replicas' rows; if
Spark retries it, it writes the same files again. The driver gets what it needs to compare replicas, audit groups and
draw the page: a report for each replica with the first finding of each name, and the sums of each day. Without an
output no rows are written, and the driver gets all findings.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from odradek.protocol.common.lazy_imports import lazy_imports

from ..directories.file_access import is_local
from ..engine.job import TaskError, Tell, task_error, untold, writing
from .causes import folded
from .findings import first_of_each_name
from .known_segments import bytes_to_spare
from .partition_audit import audit_partition
from .run_identity import RunTables
from .tasks import AuditTask, DayVolume, PartitionReport, sum_of_days

with lazy_imports:
    import socket

    from .report import table_files

NOTHING_KEPT = "nothing of this run was kept, and nothing that was there before was changed"
PORTION_BYTES = 16 << 20
PORTION_REPLICAS = 64
MOST_PORTIONS = 1024
"""About the maximum number of tasks, and of files of a table. With more replicas, portions are larger."""
BATCHES_ARE_LIGHTER = 32
"""An audit of batches alone takes 1/32 of the time of one that reads records: it checks 3 GB a second with any codec.
A pool of processes therefore pays off from 2 GiB on."""

REPLICA_BYTES, SEGMENT_BYTES = 256 << 10, 64 << 10


@dataclass(frozen=True, slots=True)
class Portion:
    """Replicas of one log directory. `tables`: where their rows go, None for no output."""

    number: int
    tasks: tuple[AuditTask, ...]
    tables: RunTables | None
    ignored: Collection[str]
    """Names of findings that are left out."""
    work: int
    """The sum of the tasks' `work_of`."""

    @property
    def directory(self) -> Path:
        """The log directory."""
        return self.tasks[0].directory

    @property
    def label(self) -> str:
        """The first replica's path, and how many more there are."""
        more = len(self.tasks) - 1
        return f"{self.tasks[0].replica.path}" + (f" and {more} more" if more else "")


@dataclass(slots=True)
class PortionReport:
    """The result of a portion: a report for each replica in the order of the tasks, and bytes and records by day."""

    partitions: list[PartitionReport] = field(default_factory=list)
    volume: list[DayVolume] = field(default_factory=list)


def size_of(task: AuditTask) -> int:
    """The bytes of a replica's segments."""
    return sum(segment.size for segment in task.replica.segments)


def work_of(task: AuditTask) -> int:
    """The work for a replica, in bytes of log whose records are read in the same time.

    Batches alone are checked BATCHES_ARE_LIGHTER times as fast as records, except in object storage. To open and
    compare the files of a segment takes as long as to read SEGMENT_BYTES, those of a replica REPLICA_BYTES.
    """
    is_light = not task.reads_records and is_local(task.directory)
    size = size_of(task) - bytes_to_spare(task)
    size = size // BATCHES_ARE_LIGHTER if is_light else size
    return size + REPLICA_BYTES + SEGMENT_BYTES * len(task.replica.segments)


def portions_of(
    tasks: Sequence[AuditTask],
    tables: RunTables | None,
    ignored: Collection[str],
    portion_replicas: int = PORTION_REPLICAS,
) -> list[Portion]:
    """Packs neighbouring tasks into portions, the same ones for every engine.

    `portion_replicas`: the most replicas of a portion, unless there would be more than MOST_PORTIONS.
    """
    most_bytes = max(PORTION_BYTES, sum(map(size_of, tasks)) // MOST_PORTIONS)
    most_replicas = max(portion_replicas, len(tasks) // MOST_PORTIONS)
    packed: list[list[AuditTask]] = []
    size = 0
    for task in tasks:
        is_full = size >= most_bytes or (packed and len(packed[-1]) >= most_replicas)
        if not packed or is_full or packed[-1][0].directory != task.directory:
            packed.append([])
            size = 0
        packed[-1].append(task)
        size += size_of(task)
    return [
        Portion(number, tuple(found), tables, ignored, sum(map(work_of, found))) for number, found in enumerate(packed)
    ]


def audit_portion(portion: Portion, tell: Tell = untold) -> PortionReport:
    """Audits the replicas and writes their rows. Raises TaskError, which names the replica; OSError for the output."""
    if portion.tables is not None and not portion.tables.directory.is_dir():
        raise TaskError(_why_out_of_reach(portion.tables.directory.parent))
    found = PortionReport()
    for task in portion.tasks:
        with _named(task.replica.path):
            report = audit_partition(task, tell=tell)
        report.findings = folded([found for found in report.findings if found.name not in portion.ignored])
        found.partitions.append(report)
    found.volume = sum_of_days(day for report in found.partitions for day in report.volume)
    if portion.tables is not None:
        with writing(portion.tables.directory.parent, NOTHING_KEPT):
            table_files.write_partition_rows(portion.tables, portion.number, found.partitions)
        for report in found.partitions:
            report.findings, report.volume = first_of_each_name(report.findings), []
    return found


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Adds the replica's path to an error, because a portion has several replicas."""
    try:
        yield
    except Exception as error:
        raise task_error(str(path), error) from error


def _why_out_of_reach(output: Path) -> str:
    return (
        f"{output} can't be reached from {socket.gethostname()}: executors write their rows there, so each must have "
        "the driver's directory under the same path. Give a shared directory to --output, leave it out to print only "
        "the summary, or use --engine local to run on this machine alone"
    )
