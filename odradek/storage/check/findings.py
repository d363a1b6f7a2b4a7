"""The findings of a check of a directory.

Pure. A finding names the file, the position of the bad byte if there is one, the expected and the actual content.
"""

from enum import StrEnum
from typing import Any, NamedTuple


class CheckSeverity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Data or an index is damaged. `odradek storage repair --dry-run` shows what a start would do about it."""
    NOTE = "note"
    """Worth knowing. A start repairs it, or nothing needs to be done."""
    IN_FLUX = "in flux"
    """A running broker is writing the file. Check again after it has stopped."""


class Problem(NamedTuple):
    """One finding. `position`: the bad byte in the file, or None."""

    severity: CheckSeverity
    file: str
    position: int | None
    what: str

    def to_text(self) -> str:
        """One line."""
        place = "" if self.position is None else f" at byte {self.position}"
        return f"{self.severity.upper()} {self.file}{place}: {self.what}"

    def to_document(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return {"severity": str(self.severity), "file": self.file, "position": self.position, "what": self.what}


class CheckedAmounts(NamedTuple):
    """The checked amounts and the findings."""

    files: int
    size: int
    problems: list[Problem]
    set_aside: int = 0
    """The number of files with bytes that recovery has taken out of the log."""
