"""Writes the output of an audit in the chosen formats.

OUT/index.html         one page with everything
OUT/<table>.parquet/   the tables (tables.py), most of whose rows the workers have written (table_files.py)
OUT/<table>.jsonl      the same rows as lines of JSON
"""

from collections.abc import Collection
from pathlib import Path

from ..result import AuditResult
from ..run_identity import RunEnd, RunTables
from .page import page
from .page_data import DEFAULT_LIMITS, RowLimits, worst_findings
from .table_files import file_name, parts_of, put_in_place, write_overall_rows
from .tables import FINDINGS, TABLES, write_json_lines

PARQUET, JSON_LINES, HTML = FORMATS = ("parquet", "jsonl", "html")
DEFAULT_FORMATS = (PARQUET, HTML)
PAGE = "index.html"


def write_report(
    result: AuditResult,
    tables: RunTables,
    output: Path,
    formats: Collection[str] = DEFAULT_FORMATS,
    limits: RowLimits = DEFAULT_LIMITS,
    end: RunEnd | None = None,
) -> list[Path]:
    """Completes the tables in the run's directory and moves the chosen formats to the output.

    `limits`: of the page. `end`: of the run, for the page. Returns the written paths. Raises OSError.
    """
    directory = tables.directory
    write_overall_rows(tables, result)
    written: dict[str, Path] = {}
    if PARQUET in formats:
        written |= {file_name(table): output / "*.parquet" for table in TABLES}
    if JSON_LINES in formats:
        for table in TABLES:
            write_json_lines(parts_of(directory, table, result.portions), directory / f"{table}.jsonl")
            written[f"{table}.jsonl"] = output / "*.jsonl"
    if HTML in formats:
        findings = worst_findings(parts_of(directory, FINDINGS, result.portions), limits.findings)
        (directory / PAGE).write_text(page(result, findings, limits, tables.run, end), encoding="utf-8")
        written[PAGE] = output / PAGE
    for name in written:
        put_in_place(directory / name, output / name)
    return list(dict.fromkeys(written.values()))
