"""Writes what an audit leaves behind, in the formats that were asked for.

OUT/index.html                one page with everything
OUT/<table>.parquet, .jsonl   the tables (tables.py)
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from .page import page
from .tables import JSON_LINES, PARQUET, write_json_lines, write_parquet

HTML = "html"
FORMATS = (PARQUET, JSON_LINES, HTML)
DEFAULT_FORMATS = (PARQUET, HTML)
PAGE = "index.html"


def write_report(tables: dict[str, Any], output: Path, formats: Collection[str] = DEFAULT_FORMATS) -> list[Path]:
    """Writes the tables of `tables_of` and the page; the paths to tell. Raises OSError."""
    output.mkdir(parents=True, exist_ok=True)
    written = []
    if PARQUET in formats:
        write_parquet(tables, output)
        written.append(output / "*.parquet")
    if JSON_LINES in formats:
        write_json_lines(tables, output)
        written.append(output / "*.jsonl")
    if HTML in formats:
        (output / PAGE).write_text(page(tables), encoding="utf-8")
        written.append(output / PAGE)
    return written
