"""The repository's root and documents, and the form of paths in messages."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(path for room in ("docs", "examples", ".github") for path in (ROOT / room).rglob("*.md")),
]


def relative(path: Path) -> str:
    """The path relative to the root, with slashes."""
    return path.relative_to(ROOT).as_posix()
