"""Compacts topics in one log directory: takes the lock, plans, runs tasks on an engine, writes the checkpoint.

Holds the broker's own lock (.lock) while it may write, so that neither Odradek nor Kafka can start on the directory.
Source: Kafka's LogCleanerManager (cleaner-offset-checkpoint, written after a partition's last swap).
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from odradek.storage.directory.directory_lock import LOCK_FILE, DirectoryLock
from odradek.storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT, read_offset_checkpoint, write_offset_checkpoint
from odradek.storage.files.files import Files

from ..directories.log_directories import LogDirectoryError
from ..engine.engines import SPARK, finished_tasks, run_tasks, started
from ..engine.job import Job
from .partition_job import CompactionTask, PartitionOutcome, compact_partition
from .plan import CompactionOrder, CompactionPlan, CompactionProgress, plan_compaction

NAME = "odradek compact"


def compact_directory(order: CompactionOrder, files: Files | None = None) -> Iterator[PartitionOutcome]:
    """Compacts the partitions and yields the outcome of each one when it is done.

    `files`: runs all tasks in this process, with these files. Raises DirectoryLockedError if a broker runs,
    LogDirectoryError, ConfigValueError or CorruptCheckpointError, all before anything is changed; EngineError, OSError.
    """
    layer = files or Files()
    if not order.directory.is_dir():
        raise LogDirectoryError(f"{order.directory} is not a directory")
    with _locked(order.directory):
        plan = plan_compaction(order, layer)
        yield from plan.refused
        for outcome in _counted(order, plan, _outcomes(order, plan, files)):
            if outcome.cleaned_up_to is not None and not order.is_dry_run and outcome.refusal is None:
                _checkpoint(layer, order.directory, outcome, outcome.cleaned_up_to)
            yield outcome


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    lock = DirectoryLock(directory)
    try:
        yield
    finally:
        lock.close()


def _counted(
    order: CompactionOrder, plan: CompactionPlan, finished: Iterator[tuple[int, PartitionOutcome]]
) -> Iterator[PartitionOutcome]:
    """Yields the outcomes, and calls the order's `progress` after each one."""
    report_progress = order.progress or (lambda _: None)
    bytes_in_all = sum(plan.sizes)
    bytes_done = 0
    report_progress(CompactionProgress(0, len(plan.tasks), 0, bytes_in_all))
    for done, (index, outcome) in enumerate(finished, 1):
        bytes_done += plan.sizes[index]
        report_progress(CompactionProgress(done, len(plan.tasks), bytes_done, bytes_in_all))
        yield outcome


def _outcomes(
    order: CompactionOrder, plan: CompactionPlan, files: Files | None
) -> Iterator[tuple[int, PartitionOutcome]]:
    """Yields (index of the task, its outcome) when a task is done."""
    if files is not None:
        yield from ((index, compact_partition(task, files)) for index, task in enumerate(plan.tasks))
    elif plan.tasks:
        with started(order.engine, NAME):
            if order.engine == SPARK:
                _refuse_unreachable(order, plan)
            yield from finished_tasks(order.engine, _job(order, plan))


def _refuse_unreachable(order: CompactionOrder, plan: CompactionPlan) -> None:
    """Raises LogDirectoryError if an executor does not see the log directory."""
    unreachable = sorted({reason for reason in _probe(order, plan) if reason})
    if unreachable:
        raise LogDirectoryError(unreachable[0])


def _job(order: CompactionOrder, plan: CompactionPlan) -> Job[CompactionTask, PartitionOutcome]:
    return Job(
        plan.tasks,
        compact_on_executor if order.engine == SPARK else compact_partition,
        NAME,
        place=lambda task: task.directory,
        sizes=plan.sizes,
        max_workers=None if order.bytes_per_second == float("inf") else 1,  # the limit holds for the whole run
    )


def _probe(order: CompactionOrder, plan: CompactionPlan) -> Iterator[str]:
    """Asks executors before any change whether they see the log directory. Yields their reasons; "" if they do.

    Runs one probe for each task, so that Spark is likely to ask every executor.
    """
    directories = [order.directory.resolve()] * len(plan.tasks)
    return run_tasks(SPARK, Job(directories, why_out_of_reach, f"{NAME}: can executors see the directory?"))


def compact_on_executor(task: CompactionTask) -> PartitionOutcome:
    """Runs `compact_partition` on an executor, if the driver's lock of the log directory is seen there.

    If Spark retries a task, the new attempt first completes the segment swap that the previous one had begun.
    """
    reason = why_out_of_reach(task.directory.parent)
    if reason:
        return PartitionOutcome(task.topic, task.partition, reason)
    return compact_partition(task)


def _checkpoint(files: Files, directory: Path, outcome: PartitionOutcome, cleaned_up_to: int) -> None:
    path = directory / CLEANER_OFFSET_CHECKPOINT
    offsets = read_offset_checkpoint(files, path)
    offsets[outcome.topic, outcome.partition] = cleaned_up_to
    write_offset_checkpoint(files, path, offsets)


def why_out_of_reach(directory: Path) -> str:
    """Why this process can't work on the log directory that the driver has locked; "" if it can.

    The same path may be another directory on another host. This process tries to lock the directory's lock file. If
    that fails, the driver holds the lock, so it is the same directory. If it succeeds, it is another one.
    Source: fcntl's record locks, which NFS 4 carries between hosts.
    """
    host = socket.gethostname()
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR)
    except OSError as error:
        return f"{directory} cannot be opened on {host} ({error.strerror}): every executor needs it under this path"
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return ""  # it is held: by the driver
    finally:
        os.close(descriptor)
    return (
        f"{directory} on {host} is not the directory that was locked here, or its file system does not share locks "
        "between hosts: use --engine local on the broker's host"
    )
