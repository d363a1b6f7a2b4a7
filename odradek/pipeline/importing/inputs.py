"""Finds the input files of an import, and divides them into parts: row groups of Parquet, ranges of JSON lines.

Reads names, sizes and Parquet footers. Folders named `topic=orders` above a file give its topic, as Spark and
`odradek export` write them.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    from ..directories import state_tables


class ImportRefusedError(Exception):
    """The input or the log directory can't be used. The text says why and where. No topic was created."""


PARQUET = "parquet"
JSON_LINES = "jsonl"
SUFFIXES = {".parquet": PARQUET, ".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".json": JSON_LINES}


class InputPart(NamedTuple):
    """A part of a file: row groups `[start, end)`, or the lines that begin in bytes `[start, end)`."""

    number: int
    """The number of the part in the order of the input."""
    path: str
    format: str
    start: int
    end: int
    topic: str | None
    """The topic in the name of a folder above the file; None if there is none."""


def input_parts(paths: Iterable[Path], part_bytes: int) -> list[InputPart]:
    """The parts of all files, in the order of the paths, folders by name. Raises ImportRefusedError, OSError.

    `part_bytes`: the size of a part of a file of JSON lines.
    """
    parts: list[InputPart] = []
    for root in paths:
        for path in _files(root):
            topic = _topic_of(path, root)
            kind = SUFFIXES[path.suffix]
            for start, end in _row_groups(path) if kind == PARQUET else _ranges(path.stat().st_size, part_bytes):
                parts.append(InputPart(len(parts), str(path), kind, start, end, topic))
    return parts


def _files(root: Path) -> list[Path]:
    if root.is_dir():
        found = sorted(
            path
            for path in root.rglob("*")
            if path.suffix in SUFFIXES and _is_visible(path.relative_to(root)) and path.is_file()
        )
        if not found and not (root / state_tables.STATE_DIRECTORY).is_dir():
            raise ImportRefusedError(f"{root}: no file that ends in {', '.join(SUFFIXES)}")
        return found
    if not root.exists():
        raise ImportRefusedError(f"{root}: file or folder does not exist")
    if root.suffix not in SUFFIXES:
        raise ImportRefusedError(f"{root}: the name must end in {', '.join(SUFFIXES)}")
    return [root]


def _is_visible(path: Path) -> bool:
    """Whether readers of Hive's layout see the file. They skip names that begin with an underscore or a dot."""
    return not any(name.startswith(("_", ".")) for name in path.parts)


def _topic_of(path: Path, root: Path) -> str | None:
    for name in path.relative_to(root.parent).parts:
        column, separator, value = name.partition("=")
        if separator and column == "topic":
            return unquote(value)
    return None


def _row_groups(path: Path) -> list[tuple[int, int]]:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            return [(group, group + 1) for group in range(file.num_row_groups)]
    except pa.ArrowInvalid as error:
        raise ImportRefusedError(f"{path}: {error}") from error


def _ranges(size: int, part_bytes: int) -> Iterator[tuple[int, int]]:
    for start in range(0, size, part_bytes):
        yield start, min(start + part_bytes, size)
