"""The table of runs, to which each audit with `--runs TABLE` appends one file: a row for each log directory.

    TABLE/run-<time>-<random>.parquet

A file gets its name when it is complete, and is never changed, so that any number of audits may append to one table.
Spark, pyarrow, pandas and DuckDB read the folder as one table. Source: docs/audit.md.
"""

import io
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from ..check import Severity
from ..result import AuditResult
from ..state_file import replace_file

RUNS_SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("time", pa.timestamp("ms", tz="UTC")),
        ("cluster", pa.string()),
        ("broker", pa.int32()),
        ("directory", pa.string()),
        ("level", pa.string()),
        ("seconds", pa.float64()),
        ("exit_code", pa.int32()),
        ("partitions", pa.int64()),
        ("size", pa.int64()),
        ("records", pa.int64()),
        ("bytes_read", pa.int64()),
        ("bytes_known", pa.int64()),
        ("errors", pa.int64()),
        ("warnings", pa.int64()),
        ("notes", pa.int64()),
        ("new", pa.int64()),
    ]
)


class RunRow(NamedTuple):
    """What all rows of a run have: its time (ms since 1970), level, seconds and exit code."""

    time_ms: int
    level: str
    seconds: float
    exit_code: int


def append_run(
    table: Path, result: AuditResult, run: RunRow, owners: Mapping[str, tuple[str | None, int | None]]
) -> Path:
    """Appends a run. `owners`: cluster id and node id by log directory. Returns the file. Raises OSError."""
    name = f"run-{run.time_ms}-{uuid.uuid4().hex[:8]}"
    rows = runs_rows(name, result, run, owners)
    data = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, RUNS_SCHEMA), data)
    path = table / f"{name}.parquet"
    replace_file(path, data.getvalue())
    return path


def runs_rows(
    name: str, result: AuditResult, run: RunRow, owners: Mapping[str, tuple[str | None, int | None]]
) -> list[dict[str, Any]]:
    """A row for each log directory. A finding belongs to the directory that its file is in."""
    rows = []
    for directory, (cluster, broker) in owners.items():
        reports = [report for report in result.partitions if report.directory == directory]
        readings = [report.reading for report in reports if report.reading is not None]
        counts = dict.fromkeys(Severity, 0)
        for finding in result.findings:
            if _is_in(finding.file, directory):
                counts[finding.check.severity] += finding.occurrences
        new = None
        if result.changes is not None:
            new = sum(_is_in(finding.file, directory) for finding in result.changes.new)
        rows.append(
            {
                "run": name,
                "time": run.time_ms,
                "cluster": cluster,
                "broker": broker,
                "directory": directory,
                "level": run.level,
                "seconds": run.seconds,
                "exit_code": run.exit_code,
                "partitions": len(reports),
                "size": sum(report.size for report in reports),
                "records": sum(report.records for report in reports),
                "bytes_read": sum(reading.bytes_read for reading in readings),
                "bytes_known": sum(reading.bytes_known for reading in readings),
                "errors": counts[Severity.ERROR],
                "warnings": counts[Severity.WARNING],
                "notes": counts[Severity.INFO],
                "new": new,
            }
        )
    return rows


def _is_in(file: str, directory: str) -> bool:
    return file == directory or file.startswith(directory.rstrip("/") + "/")
