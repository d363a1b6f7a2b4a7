"""The memory of the process: bounds full garbage collections, and keeps freed memory.

Owns: the process's garbage collector from the start of ``odradek serve`` on. Never does: anything in a process that is
not the broker's own, such as tests with an in-process broker. Invariant: a full collection visits only objects that are
younger than the last long one.

CPython's full collection visits every object that can hold others, 0.35 us each: 245 ms with 15,000 partitions, whose
logs are 700,000 objects, and 75 ms with 300,000 committed offsets. It starts one whenever their number has grown by a
quarter, so the pauses grow with the broker. Therefore objects that survive a collection of :data:`LONG_MS` or more are
frozen (``gc.freeze``), and later collections skip them. Full collections are more frequent instead: after more than
:data:`MIDDLE` collections of the middle generation, which is about 20,000 new objects. The longest was 27 ms with
15,000 partitions and 300,000 offsets. An object costs no more than before, since it is visited once.

Frozen objects are freed as all others are, with their last reference. Only cycles among them would stay forever, so
objects that end while the broker runs must not form cycles: topics, logs, groups, transactions, connections, requests.
An error that a function keeps in a variable is such a cycle: error, traceback, frame, variable. With it stays what the
frame refers to, such as a request of 5 MB; ``error.with_traceback(None)`` ends it. Two tests hold this:
``tests/broker/server/test_cycles.py`` with the collector switched off, and ``tests/test_tidy.py``.

Tried and dropped: postponing full collections while large requests are served, since the one afterwards is as long as
before; collecting only when the broker is idle, since a busy broker never is; fewer objects for each partition, which
moves the bound and does not remove it.
"""

import gc
from collections.abc import Callable
from typing import Any

KEPT_BYTES = 4 << 20
"""Blocks up to this size come from the heap, and twice as much free memory may stay at its top. Buffers of larger
frames are mapped in any case (``protocol/framing/frames.py``)."""


def keep_freed_memory() -> None:
    """Lets the C library keep the memory of large requests. One call at the start of ``odradek serve``.

    glibc gives free memory at the top of its heap back to the system if it is more than M_TRIM_THRESHOLD. This is 128
    KiB at first. When a mapped block is freed, glibc raises two thresholds: only blocks of at least that size are
    mapped (M_MMAP_THRESHOLD), and M_TRIM_THRESHOLD becomes twice the block's size (mallopt(3), "dynamic mmap
    threshold"). With Produce requests of 1 MiB the threshold is thus 2 MiB, but a producer has five of them in flight.
    So the memory of most requests went back and came again page by page: 24,000 minor page faults for 200 requests of 1
    MB in flight by fives, 0 to 350 with this call. The system time of a producer with such requests was twice as high,
    its throughput 20 % lower.

    The block is mapped and never touched, so it costs no memory. With another C library the call does no more.
    """
    bytes(KEPT_BYTES)


LONG_MS = 5.0
"""A full collection that takes at least this processor time (ms) freezes the surviving objects."""
MIDDLE = 2
"""Full collections come after more than this many of the middle generation (CPython's default: 10)."""
YOUNG_MAX = 700
"""New objects before a young collection: CPython's default up to 3.12. With the 2,000 of 3.13, three times as many new
objects would wait for a full collection.
"""
FULL = 2
"""CPython's number of the oldest generation."""


class FullCollections:
    """Freezes the objects that survive a long full collection. There is one for the process."""

    def __init__(self, cpu_ms: Callable[[], float], long_ms: float = LONG_MS) -> None:
        """``cpu_ms`` reads the processor time of the calling thread in milliseconds. ``long_ms``: the processor time
        from which a collection freezes the surviving objects."""
        self._cpu_ms = cpu_ms
        self._long_ms = long_ms
        self._began_ms = 0.0
        self._thresholds = gc.get_threshold()

    def start(self) -> None:
        """Freezes all existing objects, and watches collections from now on."""
        gc.freeze()
        young, middle, _ = self._thresholds
        gc.set_threshold(min(young, YOUNG_MAX), middle, MIDDLE)
        gc.callbacks.append(self._watch)

    def stop(self) -> None:
        """Stops watching. Frozen objects stay frozen: the process ends, and its last collection is short."""
        gc.callbacks.remove(self._watch)
        gc.set_threshold(*self._thresholds)

    def _watch(self, phase: str, info: dict[str, Any]) -> None:
        """Called by CPython on the thread that collects, before and after each collection of any generation."""
        if info["generation"] != FULL:
            return
        if phase == "start":
            self._began_ms = self._cpu_ms()
        elif self._cpu_ms() - self._began_ms >= self._long_ms:
            gc.freeze()
