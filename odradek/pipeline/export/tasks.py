"""Runs one task of an export in a worker: reads a split and writes its Parquet files.

Never touches another task's files; may be run again at any time. Memory: a chunk of the log and the waiting rows of
parquet_files.py. Uses the code of the Spark data source, so columns, isolation and damage are the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..decode.living_log import AbsenceReason
from ..engine.job import writing
from ..reading.columns import CORRUPT_COLUMN, HEADERS, KAFKA_COLUMNS, arrow_schema
from ..reading.options import Mode
from ..reading.registry_texts import Decoding
from ..reading.split_reader import Reading, read_split
from ..reading.splits import LogSplit
from .parquet_files import DayFiles

COLUMNS = tuple(name for name in (*KAFKA_COLUMNS, HEADERS) if name != "topic")
"""The columns of the data source without the topic, which is in the directory's name (Hive's layout)."""
KEPT = "it has the files of the tasks that were done, but no _SUCCESS; use --overwrite to start again"
MOST_DAMAGE_TEXTS = 20
"""The maximum number of texts about damage that a task returns. Further damage is only counted."""


@dataclass(frozen=True, slots=True)
class ExportTask:
    """A split to export, and the output and format of its rows."""

    split: LogSplit
    output: Path
    compression: str
    is_committed_only: bool
    has_headers: bool = True
    decoding: Decoding | None = None


@dataclass(frozen=True, slots=True)
class ExportedSplit:
    """The result of a task."""

    topic: str
    partition: int
    rows: int
    files: int
    damage_count: int
    damage: tuple[str, ...]
    """The first MOST_DAMAGE_TEXTS texts about damage, each with the name of the file."""
    notes: tuple[str, ...] = ()
    """Texts that the partition was deleted, which is not damage."""


def columns_of(task: ExportTask) -> tuple[str, ...]:
    """The columns in the task's files."""
    return COLUMNS if task.has_headers else tuple(name for name in COLUMNS if name != HEADERS)


def export_split(task: ExportTask) -> ExportedSplit:
    """Writes a split's rows. Raises OutputFaultError, or OSError for its input, and then leaves no file."""
    split = task.split
    names = columns_of(task)
    reading = Reading((*names, CORRUPT_COLUMN), Mode.PERMISSIVE, task.is_committed_only, decoding=task.decoding)
    damage: list[str] = []
    notes: list[str] = []
    count = 0
    schema = arrow_schema(names, task.decoding)
    name = f"part-{split.partition:05d}-{split.first_offset:020d}"
    with DayFiles(task.output / f"topic={split.topic}", name, schema, task.compression) as files:
        for rows in read_split(split, reading):
            texts = damage_in(rows)
            if texts and all(text.startswith(AbsenceReason.GONE) for text in texts):
                notes += texts
            elif texts:
                count += len(texts)
                damage += texts[: MOST_DAMAGE_TEXTS - len(damage)]
            else:
                with writing(task.output, KEPT):
                    files.add(rows.select(list(names)))
        with writing(task.output, KEPT):
            written = files.close()
        return ExportedSplit(split.topic, split.partition, files.rows, written, count, tuple(damage), tuple(notes))


def damage_in(rows: Any) -> list[str]:
    """The texts about damage in a record batch; empty if its rows are records. It never has both."""
    column = rows.column(CORRUPT_COLUMN)
    return [] if column.null_count == len(column) else [str(text) for text in column.drop_null().to_pylist()]
