"""Bounds Python's full garbage collections: no object is looked at by more than one long one.

Owns: the process's garbage collector from the start of ``odradek serve`` on. Never does: anything in a process that is
not the broker's own, such as tests with an in-process broker. Invariant: a full collection looks only at objects that
are younger than the last long one.

CPython's full collection visits every object that can hold others, 0.35 us each: 245 ms with 15,000 partitions, whose
logs are 700,000 objects, and 75 ms with 300,000 committed offsets. It starts one whenever their number has grown by a
quarter, so the pauses grow with the broker. Therefore what survives a collection of :data:`LONG_MS` or more is frozen
(``gc.freeze``), and later collections skip it. Full collections come more often instead: after more than :data:`MIDDLE`
collections of the middle generation, which is some 20,000 new objects. The longest was 27 ms with 15,000 partitions
and 300,000 offsets. An object costs no more than before, since it is visited once.

Frozen objects are freed as all others are, when their last reference goes. Only cycles among them would stay for ever,
so nothing that ends while the broker runs may be a cycle: topics, logs, groups, transactions, connections, requests.
``tests/broker/server/test_cycles.py`` holds that with the collector switched off.

Tried and dropped: postponing full collections while large requests are served, since the one afterwards is as long as
before; collecting only when the broker is idle, since a busy broker never is; fewer objects for each partition, which
moves the bound and does not remove it.
"""

import gc
from collections.abc import Callable
from typing import Any

LONG_MS = 5.0
"""A full collection of this many milliseconds of processor time freezes what survives it."""
MIDDLE = 2
"""Full collections come after more than this many of the middle generation (CPython's default: 10)."""
YOUNG_MAX = 700
"""New objects before a young collection: CPython's default up to 3.12. With the 2,000 of 3.13, three times as many new
objects would wait for a full collection."""
FULL = 2
"""CPython's number of the oldest generation."""


class FullCollections:
    """Freezes what survives a long full collection. One for the process."""

    def __init__(self, cpu_ms: Callable[[], float]) -> None:
        """``cpu_ms`` reads the processor time of the calling thread in milliseconds."""
        self._cpu_ms = cpu_ms
        self._began_ms = 0.0
        self._thresholds = gc.get_threshold()

    def begin(self) -> None:
        """Freezes everything that is there, and watches the collections from now on."""
        gc.freeze()
        young, middle, _ = self._thresholds
        gc.set_threshold(min(young, YOUNG_MAX), middle, MIDDLE)
        gc.callbacks.append(self._watch)

    def end(self) -> None:
        """Watches no longer. What is frozen stays so: the process ends, and its last collection is short."""
        gc.callbacks.remove(self._watch)
        gc.set_threshold(*self._thresholds)

    def _watch(self, phase: str, info: dict[str, Any]) -> None:
        """Called by CPython on the thread that collects, before and after each collection of any generation."""
        if info["generation"] != FULL:
            return
        if phase == "start":
            self._began_ms = self._cpu_ms()
        elif self._cpu_ms() - self._began_ms >= LONG_MS:
            gc.freeze()
