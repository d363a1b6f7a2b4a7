"""Describes a kind of finding: its severity, its meaning and the recommended action.

Pure. The catalogues (catalogue_log.py, catalogue_directory.py, catalogue_groups.py) are made of these.
"""

from enum import IntEnum
from typing import NamedTuple


class Severity(IntEnum):
    """How bad a finding is; the exit code of the command follows the worst."""

    INFO = 0
    WARNING = 1
    ERROR = 2


class Check(NamedTuple):
    """A kind of finding: `meaning` and `action` are whole sentences."""

    severity: Severity
    meaning: str
    action: str
