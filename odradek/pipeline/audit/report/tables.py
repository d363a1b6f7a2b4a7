"""The tables of an audit: one Arrow table for each kind of row, written as Parquet or as lines of JSON.

    findings     one row for each finding, with its meaning and the recommended action
    partitions   one row for each replica
    volume       one row for each replica and day
    groups       one row for each group and partition: committed offset and lag
    growth       one row for each group and partition of the offsets topic
    shares       one row for each share group and partition: what is left to do, and what was archived

Columns are the fields of the results of an audit; -1 stays -1 (unknown). `with_run` adds the same four to each table.
table_files.py writes the files.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..findings import Finding
from ..groups.facts import GroupGrowth
from ..groups.rows import GroupLag
from ..groups.shares import ShareBacklog
from ..result import AuditResult
from ..run_identity import RunIdentity
from ..tasks import PartitionReport

FINDINGS, PARTITIONS, VOLUME, GROUPS, GROWTH = "findings", "partitions", "volume", "groups", "growth"
SHARES = "shares"
TABLES = (FINDINGS, PARTITIONS, VOLUME, GROUPS, GROWTH, SHARES)
OVERALL_TABLES = (GROUPS, GROWTH, SHARES)
"""Tables whose rows are those of the driver only."""
_TYPES: dict[Any, Any] = {
    int: pa.int64(),
    str: pa.string(),
    float: pa.float64(),
    bool | None: pa.bool_(),
    bool: pa.bool_(),
}
_PARTITION_TYPES = {"partition": pa.int32(), "offsets_partition": pa.int32()}
FINDINGS_SCHEMA = pa.schema(
    [
        ("severity", pa.string()),
        ("name", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("offset", pa.int64()),
        ("occurrences", pa.int64()),
        ("detail", pa.string()),
        ("meaning", pa.string()),
        ("action", pa.string()),
    ]
)
VOLUME_SCHEMA = pa.schema(
    [
        ("directory", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("day", pa.date32()),
        ("records", pa.int64()),
        ("size", pa.int64()),
    ]
)
RUN_SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("broker", pa.int32()),
        ("run", pa.string()),
        ("time", pa.timestamp("ms", tz="UTC")),
    ]
)
"""The last columns of each table. `time`: when the run began."""
_MS_IN_A_DAY = 86_400_000


def _schema_of(row: type) -> Any:
    """The Arrow schema of a dataclass: its fields that are numbers, texts or booleans."""
    kinds = {item.name: _PARTITION_TYPES.get(item.name) or _TYPES.get(item.type) for item in fields(row)}
    return pa.schema([(name, kind) for name, kind in kinds.items() if kind is not None])


PARTITIONS_SCHEMA = _schema_of(PartitionReport)
GROUPS_SCHEMA = _schema_of(GroupLag)
GROWTH_SCHEMA = _schema_of(GroupGrowth)
SHARES_SCHEMA = _schema_of(ShareBacklog)


def findings_table(findings: Iterable[Finding]) -> Any:
    """A row for each finding."""
    return pa.Table.from_pylist([_finding_row(found) for found in findings], FINDINGS_SCHEMA)


def partitions_table(reports: Sequence[PartitionReport]) -> Any:
    """A row for each replica."""
    return _table(reports, PARTITIONS_SCHEMA)


def groups_table(groups: Sequence[GroupLag]) -> Any:
    """A row for each group and partition."""
    return _table(groups, GROUPS_SCHEMA)


def growth_table(growth: Sequence[GroupGrowth]) -> Any:
    """A row for each group and partition of the offsets topic."""
    return _table(growth, GROWTH_SCHEMA)


def shares_table(shares: Sequence[ShareBacklog]) -> Any:
    """A row for each share group and partition."""
    return _table(shares, SHARES_SCHEMA)


def _finding_row(found: Finding) -> dict[str, Any]:
    check = found.check
    return found._asdict() | {"severity": check.severity.name, "meaning": check.meaning, "action": check.action}


def _table(rows: Sequence[Any], schema: Any) -> Any:
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def volume_table(partitions: Iterable[PartitionReport]) -> Any:
    """A row for each replica and day."""
    rows = [
        (report.directory, report.topic, report.partition, day.day_ms // _MS_IN_A_DAY, day.records, day.size)
        for report in partitions
        for day in report.volume
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(VOLUME_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, VOLUME_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=VOLUME_SCHEMA)


def with_run(rows: Any, run: RunIdentity) -> Any:
    """Adds the columns of RUN_SCHEMA. The columns `directory` or `file` tell which broker a row is about.

    A row of a table without them is about all directories: its broker is null if they are not of the same one.
    """
    place = next((name for name in ("directory", "file") if name in rows.column_names), None)
    if place is None:
        owners = [run.common_owner()] * rows.num_rows
    else:
        owners = [run.owner_of(path) for path in rows.column(place).to_pylist()]
    clusters, brokers = ([owner[index] for owner in owners] for index in range(2))
    columns = (clusters, brokers, [run.run] * rows.num_rows, [run.time_ms] * rows.num_rows)
    for column, values in zip(RUN_SCHEMA, columns, strict=True):
        rows = rows.append_column(column, pa.array(values, column.type))
    return rows


def tables_of(result: AuditResult, run: RunIdentity) -> dict[str, Any]:
    """All tables of an audit without an output, whose result has every row."""
    rows = {
        FINDINGS: findings_table(result.findings),
        PARTITIONS: partitions_table(result.partitions),
        VOLUME: volume_table(result.partitions),
        GROUPS: groups_table(result.groups),
        GROWTH: growth_table(result.growth),
        SHARES: shares_table(result.shares),
    }
    return {name: with_run(table, run) for name, table in rows.items()}


def write_json_lines(parts: Iterable[Any], path: Path) -> None:
    """Writes a JSON object for each row, with days and times as ISO 8601. Raises OSError."""
    with path.open("w", encoding="utf-8") as file:
        for part in parts:
            for batch in part.to_batches(max_chunksize=10_000):
                file.writelines(
                    json.dumps(row, ensure_ascii=False, default=_iso_8601) + "\n" for row in batch.to_pylist()
                )


def _iso_8601(value: date) -> str:
    return value.isoformat()
