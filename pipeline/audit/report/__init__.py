"""What an audit leaves behind: Parquet tables, a report in Markdown, a summary on the terminal.

OUT/findings.parquet, partitions.parquet, groups.parquet, report.md
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..check import Severity
from ..findings import CHECKS, Finding
from ..job import AuditResult

if TYPE_CHECKING:
    from rich.console import Console

MOST_LISTED = 200
"""Findings of one name, and groups, that the report lists; the tables have all."""


def worst_severity(findings: Sequence[Finding]) -> Severity:
    """The worst severity of any finding, INFO without one."""
    return max((found.check.severity for found in findings), default=Severity.INFO)


def write_tables(result: AuditResult, output: Path) -> None:
    """Writes the Parquet tables. Raises OSError."""
    import pyarrow as pa
    import pyarrow.parquet

    output.mkdir(parents=True, exist_ok=True)
    text, number = pa.string(), pa.int64()
    schemas = {
        "findings": pa.schema(
            [
                *((name, text) for name in ("name", "severity", "topic", "file", "detail", "meaning", "action")),
                ("partition", pa.int32()),
                *((name, number) for name in ("position", "offset", "occurrences")),
            ]
        ),
        "partitions": pa.schema(
            [("directory", text), ("topic", text), ("partition", pa.int32())]
            + [(name, number) for name in PARTITION_NUMBERS]
        ),
        "groups": pa.schema(
            [("group", text), ("topic", text), ("partition", pa.int32())]
            + [(name, number) for name in ("committed_offset", "log_start_offset", "log_end_offset", "lag", "members")]
            + [("metadata", text), ("commit_timestamp", number)]
        ),
    }
    rows: dict[str, Sequence[Any]] = {
        "findings": _finding_rows(result.findings),
        "partitions": result.partitions,
        "groups": result.groups,
    }
    for name, schema in schemas.items():
        values = [row if isinstance(row, dict) else {k: getattr(row, k) for k in schema.names} for row in rows[name]]
        table = pa.Table.from_pylist(values, schema=schema)
        pyarrow.parquet.write_table(table, output / f"{name}.parquet")


PARTITION_NUMBERS = (
    "log_start_offset",
    "log_end_offset",
    "high_watermark",
    "segments",
    "size",
    "batches",
    "records",
    "control_batches",
    "offset_gaps",
    "open_transactions",
    "min_timestamp",
    "max_timestamp",
)


def _finding_rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            **found._asdict(),
            "severity": found.check.severity.name,
            "meaning": found.check.meaning,
            "action": found.check.action,
        }
        for found in findings
    ]


def write_markdown(result: AuditResult, output: Path) -> None:
    """Writes report.md. Raises OSError."""
    lines = ["# Audit", "", summary(result), ""]
    for severity in sorted(Severity, reverse=True):
        names = sorted({found.name for found in result.findings if found.check.severity is severity})
        for name in names:
            check = CHECKS[name]
            found = [item for item in result.findings if item.name == name]
            lines += [f"## {severity.name}: {name}", "", check.meaning, "", f"What to do: {check.action}", ""]
            lines += ["| partition | file | position | offset | detail |", "|---|---|---|---|---|"]
            for item in found[:MOST_LISTED]:
                more = f" (and {item.occurrences - 1} more)" if item.occurrences > 1 else ""
                place = f"{item.topic}-{item.partition}" if item.topic else ""
                cells = (place, item.file, _shown(item.position), _shown(item.offset), item.detail + more)
                lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
            lines += [f"… {len(found) - MOST_LISTED} more in findings.parquet"] if len(found) > MOST_LISTED else []
            lines.append("")
    lines += _group_lines(result) + _partition_lines(result)
    (output / "report.md").write_text("\n".join(lines) + "\n")


def _group_lines(result: AuditResult) -> list[str]:
    if not result.groups:
        return []
    lines = [
        "## Groups",
        "",
        "| group | partition | committed | log end | lag | members |",
        "|---|---|---|---|---|---|",
    ]
    for row in sorted(result.groups, key=lambda row: -row.lag)[:MOST_LISTED]:
        cells = (row.group, f"{row.topic}-{row.partition}", str(row.committed_offset), _shown(row.log_end_offset))
        lines.append("| " + " | ".join(map(_cell, (*cells, _shown(row.lag), str(row.members)))) + " |")
    return [*lines, ""]


def _partition_lines(result: AuditResult) -> list[str]:
    lines = ["## Partitions", "", "| partition | directory | offsets | segments | bytes | batches | records |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in result.partitions:
        offsets = f"{row.log_start_offset} to {row.log_end_offset}"
        cells = (
            f"{row.topic}-{row.partition}",
            row.directory,
            offsets,
            row.segments,
            row.size,
            row.batches,
            row.records,
        )
        lines.append("| " + " | ".join(_cell(str(cell)) for cell in cells) + " |")
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _shown(number: int) -> str:
    return "" if number < 0 else str(number)


def summary(result: AuditResult) -> str:
    """One sentence."""
    counts = [
        f"{sum(f.occurrences for f in result.findings if f.check.severity is severity)} {severity.name.lower()}"
        for severity in sorted(Severity, reverse=True)
    ]
    size = sum(report.size for report in result.partitions)
    records = sum(report.records for report in result.partitions)
    return (
        f"{len(result.partitions)} partition directories, {size} bytes, {records} records, "
        f"{len({row.group for row in result.groups})} groups with offsets; findings: {', '.join(counts)}."
    )


def print_summary(result: AuditResult, console: "Console") -> None:
    """The terminal's summary: findings by name, the groups that lag most."""
    from rich.table import Table

    console.print(summary(result), highlight=False)
    if result.findings:
        table = Table(title="Findings", title_justify="left")
        for heading in ("SEVERITY", "NAME", "COUNT", "FIRST"):
            table.add_column(heading, overflow="fold")
        by_name: dict[str, list[Finding]] = {}
        for found in sorted(result.findings, key=lambda found: -found.check.severity):
            by_name.setdefault(found.name, []).append(found)
        for name, found_here in by_name.items():
            first = found_here[0]
            where = f"{first.file}" + (f" at {first.position}" if first.position >= 0 else "") + f": {first.detail}"
            count = sum(found.occurrences for found in found_here)
            table.add_row(first.check.severity.name, name, str(count), where)
        console.print(table)
    if result.groups:
        table = Table(title="Groups by lag", title_justify="left")
        for heading in ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "MEMBERS"):
            table.add_column(heading)
        for row in sorted(result.groups, key=lambda row: -row.lag)[:20]:
            end, lag = (str(row.log_end_offset), str(row.lag)) if row.log_end_offset >= 0 else ("-", "-")
            cells = (row.group, row.topic, row.partition, row.committed_offset, end, lag, row.members)
            table.add_row(*(str(cell) for cell in cells))
        console.print(table)
