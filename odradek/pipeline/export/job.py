"""Exports topics: plans splits, runs a task for each on one machine or on Spark, and marks the output as complete.

The driver reads names, sizes and indexes. Workers read the records and write the files, so records never pass through
the driver. Like Hadoop's committers, writes ``_SUCCESS`` after the last task: an output without it is incomplete.
Refuses a partition that two directories have (replicas), because the output would have its rows twice.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..directories.log_directories import find_partitions, refuse_missing
from ..engine.engines import run_tasks
from ..engine.job import Job
from ..reading.options import Pruning, ReadOptions
from ..reading.splits import expand_paths, plan_records
from .parquet_files import TEMPORARY_SUFFIX
from .tasks import ExportedSplit, ExportTask, export_split

SUCCESS = "_SUCCESS"
Progress = Callable[[int, int], None]


class OutputError(Exception):
    """The output can't be written. The text says what is in the way and what to do."""


class DoubledPartitionError(Exception):
    """Two of the directories have the same partition."""


@dataclass(frozen=True, slots=True)
class ExportOrder:
    """The options of an export: what to read, the output directory, the engine, and the format of the files."""

    options: ReadOptions
    output: Path
    engine: str
    compression: str
    has_headers: bool = True
    is_overwriting: bool = False


@dataclass
class ExportResult:
    """The result of an export: exported rows by partition, files, and texts about damage."""

    rows: Counter[tuple[str, int]] = field(default_factory=Counter)
    files: int = 0
    damage_count: int = 0
    damage: list[str] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)
    """Texts about partitions that were deleted while the export ran, which is not damage."""

    def add(self, done: ExportedSplit) -> None:
        """Adds the result of a task."""
        self.rows[done.topic, done.partition] += done.rows
        self.files += done.files
        self.damage_count += done.damage_count
        self.damage += done.damage
        self.notes.update(done.notes)


def export(order: ExportOrder, progress: Progress | None = None) -> ExportResult:
    """Runs the export. Raises OutputError, DoubledPartitionError, and the errors of planning and of engines."""
    options = order.options
    if options.topics.listed:
        found = (find_partitions(directory, options.topics.listed) for directory in expand_paths(options.paths))
        refuse_missing(
            options.topics.listed, (topic_partition.topic for some in found for topic_partition in some), options.paths
        )
    plan = plan_records(options, Pruning())
    tasks = [
        ExportTask(split, order.output.absolute(), order.compression, options.is_committed_only, order.has_headers)
        for portion in plan.tasks
        for split in portion
    ]
    refuse_doubled(tasks)
    prepare_output(order, {task.split.topic for task in tasks})
    result = ExportResult(damage_count=len(plan.unread), damage=[unread.text for unread in plan.unread])
    sizes = [task.split.end - task.split.start for task in tasks]
    try:
        for done in run_tasks(
            order.engine,
            Job(
                tasks,
                export_split,
                "odradek export",
                place=lambda task: task.split.segment.path,
                sizes=sizes,
                progress=progress,
            ),
        ):
            result.add(done)
    finally:
        for temporary in left_over(order.output):
            temporary.unlink(missing_ok=True)
    (order.output / SUCCESS).touch()
    return result


def refuse_doubled(tasks: Sequence[ExportTask]) -> None:
    """Raises DoubledPartitionError for a partition that two directories have."""
    found: dict[tuple[str, int], str] = {}
    for task in tasks:
        split = task.split
        first = found.setdefault((split.topic, split.partition), split.directory)
        if first != split.directory:
            raise DoubledPartitionError(
                f"{split.topic}-{split.partition} is in {first} and in {split.directory}: "
                "give only one of them, or the output would have each row twice"
            )


def prepare_output(order: ExportOrder, topics: set[str]) -> None:
    """Creates the output directory. With `is_overwriting`, removes an earlier export of these topics.

    Raises OutputError, OSError.
    """
    output = order.output
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output} is not a directory")
    if output.is_dir() and any(output.iterdir()):
        if not order.is_overwriting:
            raise OutputError(
                f"{output} is not empty, so rows could be in it twice. Use another directory, or --overwrite, which "
                f"removes {', '.join(f'topic={topic}' for topic in sorted(topics)) or 'nothing'} from it"
            )
        (output / SUCCESS).unlink(missing_ok=True)
        for topic in topics:
            if (output / f"topic={topic}").is_dir():
                shutil.rmtree(output / f"topic={topic}")
    output.mkdir(parents=True, exist_ok=True)


def left_over(output: Path) -> Iterator[Path]:
    """The temporary files of task attempts that were killed."""
    return output.glob(f"topic=*/date=*/.*{TEMPORARY_SUFFIX}")
