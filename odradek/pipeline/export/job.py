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
from ..directories.state_tables import STATE_DIRECTORY
from ..engine.engines import run_tasks
from ..engine.job import Job, writing
from ..reading.options import Pruning, ReadOptions
from ..reading.splits import LogSplit, expand_paths, plan_records
from .parquet_files import TEMPORARY_SUFFIX
from .state import after_export, collect_state, coordinators_options, remove_state, write_state
from .tasks import KEPT, ExportedSplit, ExportTask, export_split

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
    has_state: bool = True
    """Whether to write what `odradek import` needs beside the rows (state.py)."""


@dataclass
class ExportResult:
    """The result of an export: exported rows by partition, files, and texts about damage."""

    rows: Counter[tuple[str, int]] = field(default_factory=Counter)
    files: int = 0
    damage_count: int = 0
    damage: list[str] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)
    """Texts about partitions that were deleted while the export ran, which is not damage."""

    def add(self, done: ExportedSplit, *, is_state: bool = False) -> None:
        """Adds the result of a task. `is_state`: its rows are not counted."""
        if not is_state:
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
    state = collect_state(options) if order.has_state else None
    plan = plan_records(options, Pruning())
    tasks = [
        ExportTask(
            split,
            order.output.absolute(),
            order.compression,
            options.is_committed_only,
            order.has_headers,
            options.decoding,
        )
        for portion in plan.tasks
        for split in portion
    ]
    refuse_doubled(tasks)
    topics = {task.split.topic for task in tasks} | (state.topic_names if state is not None else set())
    prepare_output(order, topics)
    result = ExportResult(damage_count=len(plan.unread), damage=[unread.text for unread in plan.unread])
    if state is not None:
        tasks += coordinator_tasks(order, result)
    try:
        for task, done in zip(tasks, run_tasks(order.engine, _job(tasks, progress)), strict=True):
            result.add(done, is_state=task.output.name == STATE_DIRECTORY)
        if state is not None:
            with writing(order.output, KEPT):
                write_state(order.output, after_export(state))
    finally:
        for temporary in left_over(order.output):
            temporary.unlink(missing_ok=True)
    (order.output / SUCCESS).touch()
    return result


def _job(tasks: Sequence[ExportTask], progress: Progress | None) -> Job[ExportTask, ExportedSplit]:
    return Job(
        tasks,
        export_split,
        "odradek export",
        place=lambda task: task.split.segment.path,
        sizes=[task.split.end - task.split.start for task in tasks],
        progress=progress,
    )


def coordinator_tasks(order: ExportOrder, result: ExportResult) -> list[ExportTask]:
    """The tasks that export the coordinators' topics whole. Adds partitions that can't be read to the result's damage.

    If two directories have a partition, the replica with more bytes. Raises as the plan of an export.
    """
    plan = plan_records(coordinators_options(order.options), Pruning())
    result.damage_count += len(plan.unread)
    result.damage += [unread.text for unread in plan.unread]
    of_replica: dict[tuple[str, int, str], list[LogSplit]] = {}
    for split in (split for portion in plan.tasks for split in portion):
        of_replica.setdefault((split.topic, split.partition, split.directory), []).append(split)
    chosen: dict[tuple[str, int], list[LogSplit]] = {}
    for (topic, partition, _), splits in of_replica.items():
        if _size(splits) > _size(chosen.get((topic, partition), [])):
            chosen[topic, partition] = splits
    output = order.output.absolute() / STATE_DIRECTORY
    return [
        ExportTask(split, output, order.compression, is_committed_only=True)
        for splits in chosen.values()
        for split in splits
    ]


def _size(splits: Sequence[LogSplit]) -> int:
    return sum(split.end - split.start for split in splits)


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
        remove_state(output, topics)
    output.mkdir(parents=True, exist_ok=True)


def left_over(output: Path) -> Iterator[Path]:
    """The temporary files of task attempts that were killed."""
    for place in (output, output / STATE_DIRECTORY):
        yield from place.glob(f"topic=*/date=*/.*{TEMPORARY_SUFFIX}")
