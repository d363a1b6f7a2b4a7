"""The processor time of a process (Linux)."""

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """User and system time so far, in seconds. Other processes affect it less than the time by the clock.

    Raises FileNotFoundError, ProcessLookupError for a process that has ended.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
