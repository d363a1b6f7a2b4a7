"""Says what keeps going wrong: after a second, and then every ten seconds. Source: our own."""

import logging
from collections.abc import Callable

FIRST_S = 1.0
"""What rights itself sooner is not worth a line: every exchange of the active controller takes so long."""
EVERY_S = 10.0

logger = logging.getLogger(__name__)


class RepeatedComplaint:
    """One thing that may go wrong for long."""

    def __init__(self, what: str, time_s: Callable[[], float]) -> None:
        """``what`` begins the sentence. ``time_s``: a monotonic clock, in seconds."""
        self._what = what
        self._time_s = time_s
        self._next_s: float | None = None
        """When the next line is due; None while nothing is wrong."""
        self._has_complained = False

    def complain(self, reason: object) -> None:
        """It went wrong once more."""
        now_s = self._time_s()
        if self._next_s is None:
            self._next_s = now_s + FIRST_S
        elif now_s >= self._next_s:
            logger.warning("%s: %s", self._what, reason)
            self._next_s = now_s + EVERY_S
            self._has_complained = True

    def resolved(self) -> None:
        """It works."""
        self._next_s = None
        if self._has_complained:
            logger.info("%s: resolved", self._what)
            self._has_complained = False
