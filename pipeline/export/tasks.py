"""One task of an export: reads a split and writes its Parquet files, in the worker.

Never touches another task's files; may be run again at any time. Memory: a chunk of the log and what parquet_files.py
holds. The decoder is the data source's, so columns, isolation and damage are those of the data source.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..decode.living_log import Absence
from ..reading.columns import CORRUPT_COLUMN, HEADERS, KAFKA_COLUMNS, arrow_schema
from ..reading.options import Mode
from ..reading.split_reader import Reading, read_split
from ..reading.splits import LogSplit
from .parquet_files import DayFiles

COLUMNS = tuple(name for name in (*KAFKA_COLUMNS, HEADERS) if name != "topic")
"""The data source's columns; the topic is in the directory's name, as Hive's layout wants it."""
MOST_DAMAGE_TEXTS = 20
"""Damage that a task names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class ExportTask:
    """A split, and where its rows go."""

    split: LogSplit
    output: Path
    compression: str
    is_committed_only: bool
    has_headers: bool = True


@dataclass(frozen=True, slots=True)
class Exported:
    """What a task did."""

    topic: str
    partition: int
    rows: int
    files: int
    damage_count: int
    damage: tuple[str, ...]
    """The first MOST_DAMAGE_TEXTS, each naming its file."""
    notes: tuple[str, ...] = ()
    """Not damage: the partition was deleted."""


def columns_of(task: ExportTask) -> tuple[str, ...]:
    """The columns in the task's files."""
    return COLUMNS if task.has_headers else tuple(name for name in COLUMNS if name != HEADERS)


def export_split(task: ExportTask) -> Exported:
    """Writes a split's rows. Raises OSError; no file of its is left then."""
    split = task.split
    names = columns_of(task)
    reading = Reading((*names, CORRUPT_COLUMN), Mode.PERMISSIVE, task.is_committed_only)
    damage: list[str] = []
    notes: list[str] = []
    count = 0
    name = f"part-{split.partition:05d}-{split.first_offset:020d}"
    with DayFiles(task.output / f"topic={split.topic}", name, arrow_schema(names), task.compression) as files:
        for rows in read_split(split, reading):
            texts = damage_in(rows)
            if texts and all(text.startswith(Absence.GONE) for text in texts):
                notes += texts
            elif texts:
                count += len(texts)
                damage += texts[: MOST_DAMAGE_TEXTS - len(damage)]
            else:
                files.add(rows.select(list(names)))
        return Exported(split.topic, split.partition, files.rows, files.close(), count, tuple(damage), tuple(notes))


def damage_in(rows: Any) -> list[str]:
    """What could not be read, as texts; empty if the rows are records. A batch of rows has records or such texts, never
    both."""
    column = rows.column(CORRUPT_COLUMN)
    return [] if column.null_count == len(column) else [str(text) for text in column.drop_null().to_pylist()]
