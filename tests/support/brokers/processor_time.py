"""What a process has used of the processors (Linux)."""

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """User and system time so far, which other processes lengthen less than that on the clock.

    Raises FileNotFoundError, ProcessLookupError for a process that has ended.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
