"""The repository's root, its documents, and paths as they are named in both."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(path for room in ("docs", "examples", ".github") for path in (ROOT / room).rglob("*.md")),
]


def relative(path: Path) -> str:
    """A path below the root, with slashes."""
    return path.relative_to(ROOT).as_posix()
