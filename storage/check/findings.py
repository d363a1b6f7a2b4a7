"""What a check of a directory finds.

Pure. A finding names the file, the byte in it where one is to blame, what was expected and what is there.
"""

from enum import StrEnum
from typing import Any, NamedTuple


class CheckSeverity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Data or an index is damaged: `odradek storage repair --dry-run` says what a start would do about it."""
    NOTE = "note"
    """Worth knowing: a start puts it right, or nothing needs to be done."""
    IN_FLUX = "in flux"
    """A running broker is writing there; check again when it has stopped."""


class Problem(NamedTuple):
    """One finding. `position`: the byte in the file, None where no single one is to blame."""

    severity: CheckSeverity
    file: str
    position: int | None
    what: str

    def to_text(self) -> str:
        """One line."""
        place = "" if self.position is None else f" at byte {self.position}"
        return f"{self.severity.upper()} {self.file}{place}: {self.what}"

    def to_document(self) -> dict[str, Any]:
        """For JSON."""
        return {"severity": str(self.severity), "file": self.file, "position": self.position, "what": self.what}


class Checked(NamedTuple):
    """What was checked, and what was found."""

    files: int
    size: int
    problems: list[Problem]
