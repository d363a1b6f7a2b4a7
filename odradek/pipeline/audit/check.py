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


class Harm(IntEnum):
    """What a finding costs, the worst last. It orders findings of one severity."""

    LATER = 0
    """Disk space, speed, retention, or something that a broker repairs."""
    READERS = 1
    """Readers get no records, too few, or wrong ones."""
    NEXT_START = 2
    """The next start of Kafka deletes records, or hides a loss."""
    NO_START = 3
    """Kafka does not start."""


class Check(NamedTuple):
    """A kind of finding: `meaning` and `action` are whole sentences. The first action never destroys evidence."""

    severity: Severity
    meaning: str
    action: str
    harm: Harm = Harm.READERS
