"""The table of runs, to which each audit with `--runs TABLE` appends one file: a row for each log directory.

    TABLE/run-<time>-<random>.parquet

A file gets its name when it is complete, and is never changed, so that any number of audits may append to one table.
Spark, pyarrow, pandas and DuckDB read the folder as one table. A Delta table gets a commit instead, through
delta-rs. Appends of several audits at once don't disturb each other: delta-rs tries a commit again that another one was
ahead of. A run has its id as Delta's transaction id, so that a run that is appended twice is there once.
Source: docs/audit.md; Delta's protocol (transaction identifiers).
"""

import io
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from ..check import Severity
from ..result import AuditResult
from ..run_identity import RunIdentity, is_in
from ..state_file import replace_file

_MISSING = "deltalake is not installed; install odradek with the extra 'delta' (README.md, Install)"
DELTA_LOG = "_delta_log"
_VERSION = 1
"""Delta's transactions have a number that rises; a run is one transaction."""


def is_delta(table: Path) -> bool:
    """Whether the folder is a Delta table. Raises OSError."""
    return (table / DELTA_LOG).is_dir()


def append_to_delta(table: Path, rows: Any, run: str) -> None:
    """Appends the rows (an Arrow table) of a run; makes the table if there is none. Raises OSError."""
    try:
        import deltalake
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise OSError(_MISSING) from error
    try:
        if is_delta(table) and deltalake.DeltaTable(str(table)).transaction_version(run) is not None:
            return
        mark = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(app_id=run, version=_VERSION)])
        deltalake.write_deltalake(str(table), rows, mode="append", commit_properties=mark)
    except (DeltaError, OSError) as error:
        raise OSError(f"{table}: {error}") from error


PARQUET, DELTA = RUNS_FORMATS = ("parquet", "delta")
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
    """What all rows of a run have: its level, seconds and exit code."""

    level: str
    seconds: float
    exit_code: int


def append_run(
    table: Path, result: AuditResult, identity: RunIdentity, run: RunRow, table_format: str | None = None
) -> None:
    """Appends a run. `table_format` None: that of the table, Parquet for a new one. Raises OSError.

    A table that has the other format is refused with an OSError.
    """
    has_delta = is_delta(table)
    if table_format == PARQUET and has_delta:
        raise OSError(f"{table} is a Delta table, to which --runs-format parquet would add files that it does not know")
    if table_format == DELTA and not has_delta and table.is_dir() and any(table.iterdir()):
        raise OSError(f"{table} is not empty and no Delta table; use another folder")
    rows = pa.Table.from_pylist(runs_rows(result, identity, run), RUNS_SCHEMA)
    if has_delta or table_format == DELTA:
        append_to_delta(table, rows, identity.run)
        return
    data = io.BytesIO()
    pyarrow.parquet.write_table(rows, data)
    replace_file(table / f"{identity.run}.parquet", data.getvalue())


def runs_rows(result: AuditResult, identity: RunIdentity, run: RunRow) -> list[dict[str, Any]]:
    """A row for each log directory. A finding belongs to the directory that its file is in."""
    rows = []
    for directory, (cluster, broker) in identity.owners.items():
        reports = [report for report in result.partitions if report.directory == directory]
        readings = [report.reading for report in reports if report.reading is not None]
        counts = dict.fromkeys(Severity, 0)
        for finding in result.findings:
            if is_in(finding.file, directory):
                counts[finding.check.severity] += finding.occurrences
        new = None
        if result.changes is not None:
            new = sum(is_in(finding.file, directory) for finding in result.changes.new)
        rows.append(
            {
                "run": identity.run,
                "time": identity.time_ms,
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
