"""Logs a problem that lasts: after a second, and then every ten seconds. Source: our own."""

import logging
from collections.abc import Callable

FIRST_S = 1.0
"""A problem that ends sooner is not logged: each change of the active controller causes such problems."""
EVERY_S = 10.0

logger = logging.getLogger(__name__)


class RepeatedComplaint:
    """One problem that may last."""

    def __init__(self, what: str, time_s: Callable[[], float]) -> None:
        """``what``: the problem, with which the log line begins. ``time_s``: a monotonic clock, in seconds."""
        self._what = what
        self._time_s = time_s
        self._next_s: float | None = None
        """When the next line is due; None while nothing is wrong."""
        self._has_complained = False

    def complain(self, reason: object) -> None:
        """Notes that the problem exists now. Logs it if a line is due."""
        now_s = self._time_s()
        if self._next_s is None:
            self._next_s = now_s + FIRST_S
        elif now_s >= self._next_s:
            logger.warning("%s: %s", self._what, reason)
            self._next_s = now_s + EVERY_S
            self._has_complained = True

    def resolved(self) -> None:
        """Notes that the problem does not exist now. Logs that if the problem was logged."""
        self._next_s = None
        if self._has_complained:
            logger.info("%s: resolved", self._what)
            self._has_complained = False
