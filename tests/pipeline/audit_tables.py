"""The rows of an audit's tables, for tests that compare those of two runs or of two engines."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

from odradek.pipeline.audit.report.tables import RUN_SCHEMA, TABLES
from odradek.pipeline.audit.run_identity import RunIdentity, begin_identity

Row = dict[str, Any]
Rows = dict[str, list[Row]]


def any_run(*directories: Path) -> RunIdentity:
    """The identity of a run over these directories, for a test that has no command."""
    return begin_identity(directories)


def without_run(rows: Iterable[Row]) -> list[Row]:
    """Rows without the columns that are others in each run: cluster, broker, run, time."""
    return [{name: value for name, value in row.items() if name not in RUN_SCHEMA.names} for row in rows]


def rows_in(output: Path) -> Rows:
    """The rows of all tables of an output, with all columns."""
    return {table: parquet.read_table(output / f"{table}.parquet").to_pylist() for table in TABLES}


def lines_in(output: Path) -> Rows:
    """The rows of the JSON lines of an output, by table, without the columns that are others in each run."""
    assert sorted(path.name for path in output.iterdir()) == sorted(f"{table}.jsonl" for table in TABLES)
    lines = {table: (output / f"{table}.jsonl").read_text("utf-8").splitlines() for table in TABLES}
    return {table: without_run(map(json.loads, texts)) for table, texts in lines.items()}
