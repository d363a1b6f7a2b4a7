"""Shows the progress of a command in one line on standard error, if that is a terminal.

Owns: the line and the times at which it is written. Never does: writes to pipes or files, or in the first second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

FIRST_AFTER_S = 1.0
AGAIN_AFTER_S = 0.2


class Progress:
    """Shows "N of ``total`` ``what``". As a context manager it removes the line at the end."""

    def __init__(
        self,
        what: str,
        total: int,
        *,
        stream: TextIO | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._clock_s = clock_s
        self._next_at_s = clock_s() + FIRST_AFTER_S
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def at(self, done: int) -> None:
        """Sets the progress to ``done`` of the total, and writes the line if it is due."""
        now_s = self._clock_s()
        if now_s < self._next_at_s or not self._stream.isatty():
            return
        self._next_at_s = now_s + AGAIN_AFTER_S
        line = f"{done:,} of {self._total:,} {self._what}"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Removes the line, so that other output may follow."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0
