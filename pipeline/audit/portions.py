"""Portions of an audit: the replicas that one task reads, one after the other, and whose rows it writes.

Small replicas share a task, so that ten thousand partitions are neither ten thousand tasks nor ten thousand files. A
task that runs again (Spark retries) writes the same files again. What goes back to the driver is what it needs to set
replicas against each other, tell groups and draw the page: a line for each replica, of each name of a finding the
first, the sum of each day. Without an output nothing is written, and the reports go back whole.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..directories.file_access import is_local
from ..engine.job import TaskError, task_error
from .findings import first_of_each_name
from .partition_audit import audit_partition
from .tasks import AuditTask, DayVolume, PartitionReport, sum_of_days

PORTION_BYTES = 16 << 20
PORTION_REPLICAS = 64
MOST_PORTIONS = 1024
"""About as many tasks, and files of a table, at most: beyond that portions grow."""
BATCHES_ARE_LIGHTER = 32
"""Headers and CRCs are read at 3 GB a second with any codec: a pool is worth its start from 2 GiB on, not 64 MiB."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Replicas of one log directory; `tables` is where their rows go (report/table_files.py), None: nowhere."""

    number: int
    tasks: tuple[AuditTask, ...]
    tables: Path | None
    ignored: Collection[str]
    """Names of findings that are left out."""

    @property
    def directory(self) -> Path:
        """The log directory."""
        return self.tasks[0].directory

    @property
    def work(self) -> int:
        """The amount of work, as bytes of logs whose records could be read in the same time."""
        return sum(map(work_of, self.tasks))


@dataclass(slots=True)
class PortionReport:
    """What comes back from a portion: a report for each replica, in their order, and its bytes and records by day."""

    partitions: list[PartitionReport] = field(default_factory=list)
    volume: list[DayVolume] = field(default_factory=list)


def size_of(task: AuditTask) -> int:
    """Bytes of a replica's logs."""
    return sum(segment.size for segment in task.replica.segments)


def work_of(task: AuditTask) -> int:
    """The bytes whose records could be read while a replica is; out of object storage bytes come no faster."""
    is_light = not task.reads_records and is_local(task.directory)
    return size_of(task) // BATCHES_ARE_LIGHTER if is_light else size_of(task)


def portions_of(tasks: Sequence[AuditTask], tables: Path | None, ignored: Collection[str]) -> list[Portion]:
    """Neighbouring tasks packed together, whichever engine will run them."""
    most_bytes = max(PORTION_BYTES, sum(map(size_of, tasks)) // MOST_PORTIONS)
    most_replicas = max(PORTION_REPLICAS, len(tasks) // MOST_PORTIONS)
    packed: list[list[AuditTask]] = []
    size = 0
    for task in tasks:
        is_full = size >= most_bytes or (packed and len(packed[-1]) >= most_replicas)
        if not packed or is_full or packed[-1][0].directory != task.directory:
            packed.append([])
            size = 0
        packed[-1].append(task)
        size += size_of(task)
    return [Portion(number, tuple(found), tables, ignored) for number, found in enumerate(packed)]


def audit_portion(portion: Portion) -> PortionReport:
    """Audits the replicas and writes their rows. Raises TaskError, which names the replica; OSError for the output."""
    if portion.tables is not None and not portion.tables.is_dir():
        raise TaskError(_why_out_of_reach(portion.tables.parent))
    found = PortionReport()
    for task in portion.tasks:
        with _named(task.replica.path):
            report = audit_partition(task)
        report.findings = [finding for finding in report.findings if finding.name not in portion.ignored]
        found.partitions.append(report)
    found.volume = sum_of_days(day for report in found.partitions for day in report.volume)
    if portion.tables is not None:
        from .report.table_files import write_partition_rows  # Arrow, which an audit without an output does without

        write_partition_rows(portion.tables, portion.number, found.partitions)
        for report in found.partitions:
            report.findings, report.volume = first_of_each_name(report.findings), []
    return found


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """An error in there names the replica: a portion has several."""
    try:
        yield
    except Exception as error:
        raise task_error(str(path), error) from error


def _why_out_of_reach(output: Path) -> str:
    import socket  # for this one sentence

    return (
        f"{output} can't be reached from {socket.gethostname()}: executors write their rows there, so every one must "
        "have the driver's directory under the same path. --output takes a shared one; without it only the summary is "
        "printed; --engine local runs on this machine alone"
    )
