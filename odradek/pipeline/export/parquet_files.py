"""Writes the Parquet files of one task: one for each day, under temporary names until all are complete.

Owns: the files it writes. Layout: ``topic=T/date=YYYY-MM-DD/part-….parquet``, as Hive, Spark, pyarrow and DuckDB read
it. Memory: up to MOST_WAITING_BYTES of rows that are not written yet. Invariant: the split that a task reads decides
the names of its files, so a task that runs again replaces its files and never writes a row twice. Source: Hive's
partition layout.
"""

import os
import uuid
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pyarrow.parquet as parquet

NO_DATE = "__HIVE_DEFAULT_PARTITION__"
"""The date of records without a timestamp, or with one before 1970 or after 9999. Readers see null."""
ROW_GROUP_BYTES = 32 << 20
MOST_WAITING_BYTES = 64 << 20
MOST_OPEN_FILES = 32
TEMPORARY_SUFFIX = ".tmp"
_DAY_US = 86_400_000_000
_LAST_DAY = 2_932_896  # 9999-12-31


class _Day:
    """The rows of a day that are not written yet, and the open file for them."""

    __slots__ = ("batches", "files", "path", "size", "writer")

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.size = 0
        self.writer: Any = None
        self.path = Path()
        self.files = 0


class DayFiles:
    """Writes rows to files by day. As a context manager, removes all written files if the block raises an error."""

    def __init__(
        self,
        directory: Path,
        name: str,
        schema: Any,
        compression: str,
        *,
        most_open_files: int = MOST_OPEN_FILES,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
    ) -> None:
        """`directory`: that of the topic. `name`: the files' name without suffix, which no other task uses."""
        self._most_open_files = most_open_files
        self._most_waiting_bytes = most_waiting_bytes
        self.directory = directory
        self.name = name
        self.schema = schema
        self.compression = compression
        self.rows = 0
        self._attempt = uuid.uuid4().hex[:12]
        self._days: dict[int | None, _Day] = {}
        self._waiting = 0
        self._written: list[tuple[Path, Path]] = []

    def __enter__(self) -> "DayFiles":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for day in self._days.values():
                self._close(day)
            for temporary, _path in self._written:
                temporary.unlink(missing_ok=True)

    def add(self, rows: Any) -> None:
        """Adds the rows of a record batch of the schema. Raises OSError."""
        self.rows += rows.num_rows
        days = rows.column("timestamp").cast(pa.int64()).to_numpy() // _DAY_US
        days = numpy.where((days >= 0) & (days <= _LAST_DAY), days, -1)
        found = numpy.unique(days).tolist()
        for day in found:
            part = rows if len(found) == 1 else rows.filter(pa.array(days == day))
            self._wait(None if day < 0 else int(day), part)

    def close(self) -> int:
        """Writes the remaining rows and gives all files their final names. Returns their number. Raises OSError."""
        for key, day in self._days.items():
            self._write(key, day)
            self._close(day)
        for temporary, path in self._written:
            os.replace(temporary, path)
        return len(self._written)

    def _wait(self, key: int | None, rows: Any) -> None:
        day = self._days.setdefault(key, _Day())
        day.batches.append(rows)
        day.size += rows.nbytes
        self._waiting += rows.nbytes
        if day.size >= ROW_GROUP_BYTES:
            self._write(key, day)
        while self._waiting > self._most_waiting_bytes:
            self._write(*max(self._days.items(), key=lambda item: item[1].size))

    def _write(self, key: int | None, day: _Day) -> None:
        """Writes the waiting rows of a day as a row group."""
        if day.batches:
            if day.writer is None:
                self._open(key, day)
            day.writer.write_table(pa.Table.from_batches(day.batches, self.schema))
            self._waiting -= day.size
            day.batches, day.size = [], 0

    def _open(self, key: int | None, day: _Day) -> None:
        opened = [other for other in self._days.values() if other.writer is not None]
        if len(opened) >= self._most_open_files:  # unordered timestamps: more rows of that day go to a new file
            self._close(opened[0])
        date = NO_DATE if key is None else str(numpy.datetime64(key, "D"))
        directory = self.directory / f"date={date}"
        directory.mkdir(parents=True, exist_ok=True)
        name = self.name if day.files == 0 else f"{self.name}-{day.files}"
        day.files += 1
        path = directory / f"{name}.parquet"
        temporary = directory / f".{path.name}.{self._attempt}{TEMPORARY_SUFFIX}"
        self._written.append((temporary, path))
        day.writer = parquet.ParquetWriter(temporary, self.schema, compression=self.compression)

    @staticmethod
    def _close(day: _Day) -> None:
        if day.writer is not None:
            day.writer.close()
            day.writer = None
