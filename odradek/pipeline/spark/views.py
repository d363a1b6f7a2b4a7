"""Reads the views other than `records`: the tables of pipeline/tables, such as batches, groups or indexes.

The tables define columns and rows. This module adds what Spark needs: schema, selection of columns, mode.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ..reading.columns import CORRUPT_COLUMN
from ..reading.options import Mode, ReadOptions
from ..reading.split_reader import CorruptLogError
from ..reading.splits import PACKED_BYTES, expand_paths, pack
from ..reading.topic_options import TopicChoice
from ..tables.registry import TABLES
from ..tables.task import Table, TableTask
from .portion import items_of, portions

OF_ONE_TOPIC = ("groups", "offsets", "share_states")


def view_schema(options: ReadOptions) -> Any:
    """The columns of the view as an Arrow schema, with `_corrupt_record` only in mode PERMISSIVE."""
    schema = TABLES[options.view].schema
    if options.mode is Mode.PERMISSIVE:
        return schema
    return schema.remove(schema.get_field_index(CORRUPT_COLUMN))


class TableReader(DataSourceReader):
    """Reads one table. Each partition or log directory is a task of the table; Spark tasks have several small ones."""

    def __init__(self, options: ReadOptions, names: Sequence[str]) -> None:
        self.options = options
        self.names = list(names)

    def partitions(self) -> Sequence[InputPartition]:
        """The inputs of the Spark tasks, for the chosen topics."""
        table = TABLES[self.options.view]
        tasks: list[TableTask] = [
            task
            for directory in expand_paths(self.options.paths)
            for task in table.plan(directory, self.options.topics.listed)
            if self._is_wanted(task)
        ]
        groups = pack(tasks, _size, PACKED_BYTES)
        return portions(groups)

    def _is_wanted(self, task: TableTask) -> bool:
        """Whether the chosen partitions include the task's. `table.plan` has already applied topics chosen by name.

        Groups, offsets and share states are each in one internal topic, which is always read.
        """
        choice = self.options.topics
        if task.partition is None or self.options.view in OF_ONE_TOPIC or choice == TopicChoice():
            return True
        return choice.has(task.partition.topic, task.partition.partition)

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yields record batches of the view. `partition` is None for an empty plan."""
        for task in items_of(partition):
            assert isinstance(task, TableTask)
            yield from read_table(TABLES[self.options.view], task, self.names, self.options.mode)


def read_table(table: Table, task: TableTask, names: Sequence[str], mode: Mode) -> Iterator[Any]:
    """Yields the columns `names` of a table's task, and applies the mode to rows of damage.

    Raises CorruptLogError in mode FAILFAST, OSError.
    """
    for batch in table.read(task):
        kept = batch
        faults = batch.column(CORRUPT_COLUMN)
        if mode is not Mode.PERMISSIVE and faults.null_count < len(faults):
            if mode is Mode.FAILFAST:
                raise CorruptLogError(faults.drop_null()[0].as_py())
            kept = batch.filter(faults.is_null())
        yield kept.select(names)


def _size(task: TableTask) -> int:
    return 0 if task.partition is None else sum(segment.size for segment in task.partition.segments)
