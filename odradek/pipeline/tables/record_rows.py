"""Makes the rows of tables with a row for each record of an internal topic: their place in the log, and damage.

Never does: I/O but by :mod:`.log_reading`; decoding a record.
"""

from collections.abc import Callable, Iterator
from typing import Any

from .columns import corrupt_row
from .log_reading import LogDamage, LogRecord, Select, read_records
from .task import TableTask

Row = tuple[Any, ...]
RowOf = Callable[[LogRecord, dict[str, Any]], Row | None]
"""Returns the row of a record, given the columns of its place; None if the table has no row for it."""


def record_rows(task: TableTask, schema: Any, partition_column: str, select: Select, row_of: RowOf) -> Iterator[Row]:
    """Yields the rows of the selected batches of a task's partition, oldest first. Raises OSError.

    `partition_column`: the name of the column with the partition.
    """
    assert task.partition is not None
    for record in read_records(task.partition, select):
        place = {
            "directory": str(task.directory),
            partition_column: task.partition.partition,
            "file": record.file,
            "position": record.position,
            "offset": record.offset,
        }
        row = corrupt_row(schema, record.text, **place) if isinstance(record, LogDamage) else row_of(record, place)
        if row is not None:
            yield row
