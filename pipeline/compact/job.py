"""The compaction of topics in one log directory: lock, plan, run on an engine, checkpoint.

Holds the broker's own lock while anything may be written, so that neither ours nor a real Kafka runs on the directory.
Source: Kafka's LogCleanerManager (cleaner-offset-checkpoint, written after a partition's last swap).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...storage.directory.directory_lock import DirectoryLock
from ...storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT, read_offset_checkpoint, write_offset_checkpoint
from ...storage.files.files import Files
from ..directories.log_directories import LogDirectoryError
from ..engine.engines import SPARK, finished_tasks, run_tasks
from ..engine.job import Job
from .partition_job import CompactionTask, PartitionOutcome, compact_partition
from .plan import CompactionOrder, CompactionPlan, CompactionProgress, plan_compaction
from .reach import why_out_of_reach

NAME = "odradek compact"


def compact_directory(order: CompactionOrder, files: Files | None = None) -> Iterator[PartitionOutcome]:
    """Compacts and yields what became of each partition, as they finish. `files`: run here, through these.

    Raises DirectoryLockedError while a broker runs, LogDirectoryError, ConfigValueError, CorruptCheckpointError, all
    with nothing begun; EngineError, OSError.
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
    """The outcomes; it also reports the order's progress."""
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
    """(index of the task, its outcome), as they finish."""
    if files is not None:
        yield from ((index, compact_partition(task, files)) for index, task in enumerate(plan.tasks))
        return
    if order.engine == SPARK:
        unreachable = sorted({reason for reason in _probe(order, plan) if reason})
        if unreachable:
            raise LogDirectoryError(unreachable[0])
    job: Job[CompactionTask, PartitionOutcome] = Job(
        plan.tasks,
        compact_on_executor if order.engine == SPARK else compact_partition,
        NAME,
        place=lambda task: task.directory,
        sizes=plan.sizes,
        max_workers=None if order.bytes_per_second == float("inf") else 1,  # the rate is that of the whole run
    )
    yield from finished_tasks(order.engine, job)


def _probe(order: CompactionOrder, plan: CompactionPlan) -> Iterator[str]:
    """What executors say before anything begins: as many as there are tasks, so that every one may be asked."""
    directories = [order.directory.resolve()] * len(plan.tasks)
    return run_tasks(SPARK, directories, why_out_of_reach, f"{NAME}: can executors see the directory?")


def compact_on_executor(task: CompactionTask) -> PartitionOutcome:
    """As `compact_partition`, in another process than that which holds the lock, and only where that is held.

    A task that Spark tries again finishes first what its forerunner had begun.
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
