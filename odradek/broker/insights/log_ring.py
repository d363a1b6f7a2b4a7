"""The last lines of the broker's log, in memory.

Owns: a ring of MOST_LINES lines. Never does: writing the log. Invariants: it takes lines only while it is attached to
the root logger; at most LINES_A_SECOND are kept of each second, and the number of the others is part of the next line.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ..timers.log_lines import message_of

MOST_LINES = 1000
LINES_A_SECOND = 200


class LogLine(NamedTuple):
    """One line of the log."""

    number: int
    """Counts the lines from 1 on."""
    time_ms: int
    level: str
    logger: str
    message: str
    """At most 2,000 characters, all printable."""
    left_out: int = 0
    """The number of lines before this one that were left out."""


class LogRing(logging.Handler):
    """Keeps the last lines."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        """``clock_s``: a monotonic clock in seconds."""
        super().__init__()
        self._clock_s = clock_s
        self._lines: deque[LogLine] = deque(maxlen=MOST_LINES)
        self._number = 0
        self._second, self._in_second = 0, 0
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps one line, unless its second has too many."""
        second = int(self._clock_s())
        if second != self._second:
            self._second, self._in_second = second, 0
        self._in_second += 1
        if self._in_second > LINES_A_SECOND:
            self._left_out += 1
            return
        try:
            message = message_of(record.msg, record.args)
        except Exception:  # noqa: BLE001 - as in logging itself: a wrong log call must not fail its caller
            self.handleError(record)
            return
        self._number += 1
        time_ms = int(record.created * 1000)
        self._lines.append(LogLine(self._number, time_ms, record.levelname, record.name, message, self._left_out))
        self._left_out = 0

    def after(self, number: int, most: int) -> list[LogLine]:
        """The last lines with a higher number, at most ``most``, the oldest first."""
        return [line for line in list(self._lines)[-most:] if line.number > number] if most > 0 else []
