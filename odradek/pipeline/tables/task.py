"""Tables and their tasks. A task reads the rows of one partition's directory, or of a log directory itself.

`plan_*` list directories; nothing else here does I/O. Tasks are picklable, because they are sent to executors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..directories.log_directories import PartitionDirectory, find_partitions
from .columns import corrupt_row


@dataclass(frozen=True, slots=True)
class TableTask:
    """The input of one call of a table's `read`."""

    directory: Path
    """The log directory."""
    partition: PartitionDirectory | None
    """None: the files of the log directory itself."""


class Table(NamedTuple):
    """A table. `plan(log directory, topics)` returns its tasks, `read(task)` yields record batches of `schema`.

    `plan` raises LogDirectoryError and OSError, `read` only OSError: data that can't be parsed becomes a row with the
    place and the fault in its last column, `_corrupt_record`.
    """

    name: str
    schema: Any
    plan: Callable[[Path, Sequence[str] | None], list[TableTask]]
    read: Callable[[TableTask], Iterator[Any]]


def plan_partitions(directory: Path, topics: Sequence[str] | None) -> list[TableTask]:
    """A task for each partition of `topics`; if None, of all topics except ``__cluster_metadata``."""
    return [TableTask(directory, partition) for partition in find_partitions(directory, topics)]


def unlisted_row(schema: Any, task: TableTask) -> tuple[Any, ...]:
    """A row with the fault of a partition whose directory can't be listed."""
    assert task.partition is not None
    found = task.partition
    known: dict[str, Any] = {"directory": str(task.directory), "file": str(found.path)}
    return corrupt_row(schema, found.fault_sentence, **known, topic=found.topic, partition=found.partition)


def plan_topic(topic: str) -> Callable[[Path, Sequence[str] | None], list[TableTask]]:
    """The `plan` of a table of one internal topic. It ignores the requested topics."""

    def plan(directory: Path, _: Sequence[str] | None) -> list[TableTask]:
        return plan_partitions(directory, [topic])

    return plan
