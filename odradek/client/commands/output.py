"""The output of commands: Kafka's columns, or JSON.

Everything is printed by ``click.echo``.
"""

import base64
import json
from collections.abc import Sequence
from typing import Any

import click

MISSING = "-"

Column = tuple[str, int, Sequence[object]]
"""Header, minimum width, cells."""


def topic_id_text(topic_id: bytes) -> str:
    """A topic id as Kafka writes it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def print_json(value: Any) -> None:
    """Prints a value as one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_columns(header: Sequence[str], rows: Sequence[Sequence[object]], widths: Sequence[int]) -> None:
    """Prints a table in Kafka's format: an empty line, then left-aligned columns.

    A column is as wide as its longest cell, and at least as wide as in ``widths``. Width 0: the column is not padded.
    """
    cells = [list(header)] + [[MISSING if cell is None else str(cell) for cell in row] for row in rows]
    wide = [max(width, *(len(row[i]) for row in cells)) if width else 0 for i, width in enumerate(widths)]
    click.echo("")
    for row in cells:
        click.echo(" ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)))


def print_table(columns: Sequence[Column]) -> None:
    """Prints columns that have one cell for each row, as :func:`print_columns` does."""
    rows = list(zip(*(cells for _, _, cells in columns), strict=True))
    print_columns([header for header, _, _ in columns], rows, [width for _, width, _ in columns])


def print_tabbed(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a table as ``kafka-transactions.sh`` does: columns as wide as their longest cell, each ended by a tab."""
    cells = [list(header)] + [[str(cell) for cell in row] for row in rows]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("".join(f"{cell:<{width}}\t" for cell, width in zip(row, wide, strict=True)))


def text_or_base64(data: bytes | None) -> str | dict[str, str] | None:
    """Bytes for JSON: text if they are UTF-8, otherwise ``{"base64": ...}``."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
