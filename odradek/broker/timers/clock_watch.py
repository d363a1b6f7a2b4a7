"""Logs that the clock of the machine has jumped.

Owns: the distance of the wall clock from the monotonic one at the last look. Never does: deciding by a clock.
Invariant: one line for each jump of JUMP_MS or more; the steady correction of a time service is not one. A suspension
of the machine is not one either, since the time has passed. Source: our own; Kafka uses the wall clock without a check.
"""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

JUMP_MS = 2_000
"""A jump of this length is logged. Between two looks, half a second apart, a time service corrects less than a ms."""


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class ClockWatch:
    """Looks at the clocks at each call of :meth:`note_turn`."""

    def __init__(self, wall_ms: Callable[[], int] = _wall_ms, monotonic_ms: Callable[[], int] = _monotonic_ms) -> None:
        """``wall_ms``: ms since 1970. ``monotonic_ms``: from any starting point."""
        self._wall_ms = wall_ms
        self._monotonic_ms = monotonic_ms
        self._distance_ms: int | None = None

    def note_turn(self, suspended_ms: int) -> None:
        """Looks at the clocks. ``suspended_ms``: the total time of suspensions, from any starting point."""
        distance_ms = self._wall_ms() - self._monotonic_ms() - suspended_ms
        jump_ms = 0 if self._distance_ms is None else distance_ms - self._distance_ms
        self._distance_ms = distance_ms
        if abs(jump_ms) < JUMP_MS:
            return
        logger.warning(
            "the clock of this machine has jumped %s by %.1f s. The ages of records (retention.ms), committed offsets "
            "(offsets.retention.minutes) and transactions (transaction.timeout.ms) are measured by it. Look at the "
            "time service of the machine (timedatectl, chronyc tracking)",
            "forward" if jump_ms > 0 else "back",
            abs(jump_ms) / 1000,
        )
