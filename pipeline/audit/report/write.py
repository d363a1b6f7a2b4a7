"""Writes what an audit leaves behind, in the formats that were asked for.

OUT/index.html                one page with everything
OUT/<table>.parquet, .jsonl   the tables (tables.py)
"""

from collections.abc import Collection
from pathlib import Path

from ..job import AuditResult
from .page import page
from .tables import JSON_LINES, PARQUET, tables_of, write_json_lines, write_parquet

HTML = "html"
FORMATS = (PARQUET, JSON_LINES, HTML)
DEFAULT_FORMATS = (PARQUET, HTML)
PAGE = "index.html"


def write_report(result: AuditResult, output: Path, formats: Collection[str] = DEFAULT_FORMATS) -> list[Path]:
    """Writes the tables and the page; the paths to tell. Raises OSError."""
    output.mkdir(parents=True, exist_ok=True)
    tables = tables_of(result)
    written = []
    if PARQUET in formats:
        write_parquet(tables, output)
        written.append(output / "*.parquet")
    if JSON_LINES in formats:
        write_json_lines(tables, output)
        written.append(output / "*.jsonl")
    if HTML in formats:
        (output / PAGE).write_text(page(result), encoding="utf-8")
        written.append(output / PAGE)
    return written
