"""Writes the files of an audit's tables while the audit runs, and moves them to the output at the end.

    OUT/.audit-<random>/<table>.parquet/part-00000.parquet …   rows of replicas, written by the task that read them
                                        part-whole.parquet     rows that no task has, written by the driver
    OUT/<table>.parquet/…                                      the same when the audit is done

A file gets its name when it is complete, so a task that runs twice leaves its rows once. The random name also lets an
executor detect that it sees another directory than the driver under the same path. Readers take a table's directory as
one table (Spark, pyarrow, pandas), or its files (DuckDB: ``*.parquet/*.parquet``).
"""

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet

from ..result import AuditResult
from ..run_identity import RunIdentity, RunTables
from ..tasks import PartitionReport
from .tables import (
    FINDINGS,
    GROUPS,
    GROWTH,
    OVERALL_TABLES,
    PARTITIONS,
    SHARES,
    TABLES,
    VOLUME,
    findings_table,
    groups_table,
    growth_table,
    partitions_table,
    shares_table,
    volume_table,
    with_run,
)

_OVERALL = "whole"


@contextmanager
def tables_of_a_run(output: Path, run: RunIdentity) -> Iterator[RunTables]:
    """Creates OUT and, in it, the temporary directory of one run. Removes the latter after the block in any case.

    Also removes OUT if it was created here and is still empty. Raises OSError.
    """
    is_new = not output.exists()
    directory = output.absolute() / f".audit-{uuid.uuid4().hex}"
    for name in TABLES:
        (directory / file_name(name)).mkdir(parents=True)
    try:
        yield RunTables(directory, run)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # not empty: it has the output
                output.rmdir()


def file_name(table: str) -> str:
    """The name of a table's directory."""
    return f"{table}.parquet"


def write_partition_rows(tables: RunTables, portion: int, reports: Sequence[PartitionReport]) -> None:
    """Writes a portion's rows. Called in the worker. Raises OSError."""
    part = f"{portion:05d}"
    _write(tables, PARTITIONS, part, partitions_table(reports))
    _write(tables, VOLUME, part, volume_table(reports))
    _write(tables, FINDINGS, part, findings_table(found for report in reports for found in report.findings))


def write_overall_rows(tables: RunTables, result: AuditResult) -> None:
    """Writes the rows of findings about no single replica, and of groups. Called in the driver. Raises OSError."""
    _write(tables, FINDINGS, _OVERALL, findings_table(result.overall_findings))
    _write(tables, GROUPS, _OVERALL, groups_table(result.groups))
    _write(tables, GROWTH, _OVERALL, growth_table(result.growth))
    _write(tables, SHARES, _OVERALL, shares_table(result.shares))


def _write(tables: RunTables, table: str, part: str, rows: Any) -> None:
    path = tables.directory / file_name(table) / f"part-{part}.parquet"
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        pyarrow.parquet.write_table(with_run(rows, tables.run), temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def parts_of(directory: Path, table: str, portions: int) -> Iterator[Any]:
    """A table's rows part by part, as Arrow tables. Raises OSError.

    Opens the files by name: a listing of a directory on NFS may lack files that executors have just written.
    """
    names = [] if table in OVERALL_TABLES else [f"{number:05d}" for number in range(portions)]
    if table in (FINDINGS, *OVERALL_TABLES):
        names.append(_OVERALL)
    for name in names:
        yield pyarrow.parquet.ParquetFile(directory / file_name(table) / f"part-{name}.parquet").read()


def put_in_place(new: Path, place: Path) -> None:
    """Moves a file or directory to its place. Raises OSError.

    One that is already there is moved into the run's directory, which is removed at the end.
    """
    if place.exists():
        os.rename(place, new.with_name(f".replaced-{new.name}"))
    os.rename(new, place)
