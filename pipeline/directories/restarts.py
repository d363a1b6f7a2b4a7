"""How often a job lists a directory again that a running broker changes: MOST_RESTARTS times, each after a pause.

The loops share this pace and no more: one goes on where it stopped, another asks again from the beginning, and each
has its own words for a partition that is gone or never stands still. So this is their pace alone.
"""

from collections.abc import Iterator
from time import sleep

MOST_RESTARTS = 3
PAUSE_S = 0.2
"""The renames of one deletion or swap take milliseconds."""


def attempts() -> Iterator[bool]:
    """One item for each attempt, MOST_RESTARTS + 1 at most; True is the last one. Sleeps before each but the first."""
    for restart in range(MOST_RESTARTS + 1):
        if restart:
            sleep(PAUSE_S)
        yield restart == MOST_RESTARTS
