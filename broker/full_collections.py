"""Keeps Python's full garbage collections away from large requests.

Owns: the third threshold of the garbage collector. Never does: anything while no work runs in slices. A full collection
looks at every object of the process in one go: 0.1 ms for 1,000 objects, 40 ms for the 300,000 of a large request.
CPython starts one whenever their number has grown by a quarter, so one large request would bring several. Reference
counting frees what a request leaves behind; cycles are few, and are collected once in POSTPONED_MS however long work
goes on.
"""

import gc
from collections.abc import Callable

POSTPONED_MS = 60_000
NEVER = 1 << 30


class FullCollections:
    """Postpones full collections; one for the process."""

    def __init__(self, now_ms: Callable[[], float]) -> None:
        """``now_ms`` reads a monotonic clock in milliseconds."""
        self._now_ms = now_ms
        self._since_ms: float | None = None
        """Since when they are postponed."""
        self._full_threshold = 0

    def postpone(self, lasting: bool) -> None:
        """Postpones them from the first call with ``lasting`` on, until the first one without."""
        young, middle, full = gc.get_threshold()
        if not lasting:
            if self._since_ms is not None:
                self._since_ms = None
                gc.set_threshold(young, middle, self._full_threshold)
        elif self._since_ms is None:
            self._since_ms = self._now_ms()
            self._full_threshold = full
            gc.set_threshold(young, middle, NEVER)
        elif self._now_ms() - self._since_ms >= POSTPONED_MS:
            self._since_ms = self._now_ms()
            gc.collect()
