"""The rows of the page's tables and of its map of partitions, as JSON in the page.

Pure. Tables are stored by column, and repeated texts once: 10,000 partitions take about 1 MB. The size is bounded: the
page has only the worst rows of a table, and the number of all its rows.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute

from ..check import Severity
from ..result import AuditResult
from .figures import severity_of_partitions
from .tables import FINDINGS_SCHEMA, groups_table, partitions_table

EXACT_IN_JAVASCRIPT = 1 << 53

PARTITION_COLUMNS = (
    "severity",
    "findings",
    "topic",
    "partition",
    "directory",
    "size",
    "records",
    "batches",
    "segments",
    "log_start_offset",
    "log_end_offset",
    "high_watermark",
    "offset_gaps",
    "open_transactions",
    "decoded_size",
    "dirty_bytes",
    "min_timestamp",
    "max_timestamp",
)
FINDING_COLUMNS = ("severity", "name", "topic", "partition", "file", "position", "offset", "occurrences", "detail")
LAG_COLUMNS = (
    "group",
    "topic",
    "partition",
    "committed_offset",
    "log_end_offset",
    "lag",
    "lag_ms",
    "status",
    "members",
    "commit_timestamp",
)


class RowLimits(NamedTuple):
    """The most rows of each table of the page."""

    partitions: int = 50_000
    findings: int = 5_000
    lags: int = 5_000


DEFAULT_LIMITS = RowLimits()


class WorstFindings(NamedTuple):
    """The findings to show, the worst first, and the number of all findings."""

    total: int
    rows: Any


def worst_findings(parts: Iterable[Any], most: int) -> WorstFindings:
    """Chooses the `most` worst findings, the first ones of a severity. Holds one part of the table at a time."""
    total, worst = 0, FINDINGS_SCHEMA.empty_table()
    for part in parts:
        total += part.num_rows
        rows = pa.concat_tables([worst, part.select(FINDINGS_SCHEMA.names)])
        order = pa.array([-Severity[name] for name in rows.column("severity").to_pylist()], pa.int64())
        worst_first = pa.compute.sort_indices(pa.table({"worst": order}), [("worst", "ascending")])
        worst = rows.take(worst_first[:most])
    return WorstFindings(total, worst)


def page_data(result: AuditResult, findings: WorstFindings, limits: RowLimits) -> dict[str, Any]:
    """For each table: the number of all its rows, and the columns of the rows to show."""
    lags = groups_table(result.groups).sort_by([("lag", "descending"), ("group", "ascending")])
    return {
        "findings": _columns(findings.rows, FINDING_COLUMNS, limits.findings) | {"total": findings.total},
        "partitions": _partitions(
            partitions_table(result.partitions), severity_of_partitions(result.findings), limits.partitions
        ),
        "groups": _columns(lags, LAG_COLUMNS, limits.lags),
    }


def _partitions(partitions: Any, worst: dict[tuple[str, int], tuple[int, int]], most: int) -> dict[str, Any]:
    """The partitions, ordered by name. If there are too many, keeps those with the worst findings, then the largest."""
    keys = zip(partitions.column("topic").to_pylist(), partitions.column("partition").to_pylist(), strict=True)
    states = [worst.get(key, (-1, 0)) for key in keys]
    partitions = partitions.append_column("severity", pa.array([state for state, _ in states], pa.int64()))
    partitions = partitions.append_column("findings", pa.array([count for _, count in states], pa.int64()))
    total = partitions.num_rows
    if total > most:
        by_need = [("severity", "descending"), ("size", "descending")]
        partitions = partitions.sort_by(by_need).slice(0, most)
    partitions = partitions.sort_by([("topic", "ascending"), ("partition", "ascending"), ("directory", "ascending")])
    return _columns(partitions, PARTITION_COLUMNS, most) | {"total": total}


def _columns(table: Any, names: tuple[str, ...], most: int) -> dict[str, Any]:
    shown = table.slice(0, most)
    return {"total": table.num_rows, "columns": {name: _column(shown.column(name)) for name in names}}


def _column(column: Any) -> Any:
    """A column as JSON: texts as `{"values": [...], "indices": [...]}`, numbers as a list.

    A number that JavaScript cannot represent exactly becomes a text.
    """
    if pa.types.is_string(column.type):
        encoded = column.combine_chunks().dictionary_encode()
        encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        return {"values": encoded.dictionary.to_pylist(), "indices": encoded.indices.to_pylist()}
    return [value if value is None or abs(value) <= EXACT_IN_JAVASCRIPT else str(value) for value in column.to_pylist()]


def json_in_html(data: dict[str, Any]) -> str:
    """JSON without the character `<`, so that no text can close the script element that contains it."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
