"""The most memory that a process has had (Linux)."""

from pathlib import Path


def peak_resident_bytes(pid: int) -> int:
    """The peak resident memory of a process, shared libraries included: since its ``clear_refs`` was written, if ever.

    Raises FileNotFoundError, ProcessLookupError for a process that has ended.
    """
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM in /proc")
