"""How busy the event loop's thread is, by the names of Kafka's two pools of threads.

Owns: one timer of the event loop. Never does: naming what keeps it busy. Kafka has threads that read and write
sockets and threads that serve requests. Here one thread does both, so both metrics have the same value. Its processor
time counts as busy; a wait for a disk or for another thread of Python does not. Source:
``kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent``,
``kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent``, each over a minute.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter, thread_time

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from ..timers.work import KindOfWork

LOAD = KindOfWork("event-loop-load", "measures the load of the event loop")

PERIOD_S = 1.0
WINDOW_S = 60.0
NAMES = (
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "kafka_network_socketserver_networkprocessoravgidle_percent",
)


class LoopLoad:
    """Measures from `start` to `stop`."""

    def __init__(self, clock_s: Callable[[], float] = perf_counter, busy_s: Callable[[], float] = thread_time) -> None:
        """``clock_s``: a monotonic clock. ``busy_s``: the processor time of the calling thread."""
        self._clock_s = clock_s
        self._busy_s = busy_s
        self._readings: deque[tuple[float, float]] = deque()
        """Clock and processor time at each wake-up, of the last minute."""
        self._handle: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to measure the thread of ``loop``, which calls this."""
        now_s = self._clock_s()
        self._readings.append((now_s, self._busy_s()))
        while now_s - self._readings[0][0] > WINDOW_S:
            self._readings.popleft()
        self._handle = LOAD.later(PERIOD_S, self.start, loop, loop=loop)

    def stop(self) -> None:
        """Ends the timer."""
        if self._handle is not None:
            self._handle.cancel()

    def idle(self) -> float:
        """The share of the last minute, or of the time since the start, in which the thread did not run: 0 to 1."""
        then_s, busy_then_s = self._readings[0]
        passed_s = self._clock_s() - then_s
        return 1.0 if passed_s <= 0 else min(1.0, max(0.0, 1 - (self._busy_s() - busy_then_s) / passed_s))

    def pieces(self) -> Iterator[Metric]:
        """Both metrics with their current value."""
        idle, what = self.idle(), "Share of the last minute in which the event loop's thread was idle, 0 to 1."
        for name in NAMES:
            yield GaugeMetricFamily(name, what, value=idle)
