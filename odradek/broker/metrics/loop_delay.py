"""How late the event loop is: the time for which a callback waits for its turn.

Owns: one timer of the event loop. Never does: naming what blocked it (:mod:`..timers.stall_watch` does). A turn that
takes long delays every request, so this corresponds to RequestQueueTimeMs of Kafka's request handler threads. Ten
wake-ups a second cost 0.01 % of a core.
"""

import asyncio
from collections.abc import Iterator

from prometheus_client.metrics_core import HistogramMetricFamily, Metric

from ..timers.work import KindOfWork

DELAY = KindOfWork("event-loop-delay", "measures the delay of the event loop")

PERIOD_S = 0.1
"""The interval of measurements. A shorter stall can go unnoticed. A longer one counts once."""
LIMITS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The upper limits of the histogram's buckets. The loop's own timers are exact to 1 ms."""


class LoopDelay:
    """Measures from `start` to `stop`."""

    def __init__(self) -> None:
        self._counts = [0] * (len(LIMITS_S) + 1)
        self._sum_s = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to measure the delay of ``loop``."""
        due_s = loop.time() + PERIOD_S

        def run() -> None:
            self.note(max(0.0, loop.time() - due_s))
            self.start(loop)

        self._handle = DELAY.at(due_s, run, loop=loop)

    def stop(self) -> None:
        """Ends the timer."""
        if self._handle is not None:
            self._handle.cancel()

    def note(self, late_s: float) -> None:
        """Counts a wake-up that was late by ``late_s``."""
        self._sum_s += late_s
        slot = next((number for number, limit_s in enumerate(LIMITS_S) if late_s <= limit_s), len(LIMITS_S))
        self._counts[slot] += 1

    def pieces(self) -> Iterator[Metric]:
        """The histogram."""
        buckets, count = [], 0
        for limit, number in zip((*map(repr, LIMITS_S), "+Inf"), self._counts, strict=True):
            count += number
            buckets.append((limit, count))
        yield HistogramMetricFamily(
            "odradek_event_loop_delay_seconds", "Seconds by which the event loop is late.", buckets, self._sum_s
        )
