"""The clock of deadlines: monotonic, in whole milliseconds."""

import time


def monotonic_ms() -> int:
    """A monotonic clock, in milliseconds. Its zero is arbitrary, and the same in the whole process."""
    return time.monotonic_ns() // 1_000_000
