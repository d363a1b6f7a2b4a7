"""Limits how often a job reads a directory again that a running broker changes: MOST_RESTARTS times, after pauses.

The jobs share only this loop. What they repeat, and what they report at the end, differs.
"""

from collections.abc import Iterator
from time import sleep

MOST_RESTARTS = 3
PAUSE_S = 0.2
"""Seconds before each new attempt. The renames of one deletion or swap take milliseconds."""


def attempts(restarts: int = MOST_RESTARTS) -> Iterator[bool]:
    """Yields at most `restarts` + 1 times, True for the last attempt. Sleeps PAUSE_S before each but the first."""
    for restart in range(restarts + 1):
        if restart:
            sleep(PAUSE_S)
        yield restart == restarts
