"""What one reading of a table is about: a partition's directory, or a log directory itself.

`plan_*` list directories; nothing else does I/O. Tasks are picklable and travel to executors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..directories.log_directories import PartitionDirectory, find_partitions
from .columns import corrupt_row


@dataclass(frozen=True, slots=True)
class TableTask:
    """What one call of a table's `read` reads."""

    directory: Path
    """The log directory."""
    partition: PartitionDirectory | None
    """None: the files of the log directory itself."""


class Table(NamedTuple):
    """A table: `plan(log directory, topics)` gives its tasks, `read(task)` record batches of exactly `schema`.

    `plan` raises LogDirectoryError and OSError, `read` OSError alone: what can't be understood becomes a row whose
    last column `_corrupt_record` says where and what.
    """

    name: str
    schema: Any
    plan: Callable[[Path, Sequence[str] | None], list[TableTask]]
    read: Callable[[TableTask], Iterator[Any]]


def plan_partitions(directory: Path, topics: Sequence[str] | None) -> list[TableTask]:
    """A task for each partition; without `topics` all but ``__cluster_metadata``."""
    return [TableTask(directory, partition) for partition in find_partitions(directory, topics)]


def unlisted_row(schema: Any, task: TableTask) -> tuple[Any, ...]:
    """The row of a partition whose directory can't be listed."""
    assert task.partition is not None
    found = task.partition
    known: dict[str, Any] = {"directory": str(task.directory), "file": str(found.path)}
    return corrupt_row(schema, found.fault_sentence, **known, topic=found.topic, partition=found.partition)


def plan_topic(topic: str) -> Callable[[Path, Sequence[str] | None], list[TableTask]]:
    """A plan for a table that is about one internal topic, whatever topics are asked for."""

    def plan(directory: Path, _: Sequence[str] | None) -> list[TableTask]:
        return plan_partitions(directory, [topic])

    return plan
