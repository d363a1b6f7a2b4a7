"""The metrics of the process: processor time, memory, open files, the event loop, failed work, warnings of the log.

Owns: two timers of the event loop. Never does: naming what keeps it busy (:mod:`..timers.stall_watch` does).
prometheus_client reads the numbers of the process from /proc at each request; macOS has no /proc, and nothing is shown.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator
from time import perf_counter, thread_time

from prometheus_client import ProcessCollector
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from ..timers.work import KINDS, KindOfWork

PACKAGE = "odradek"
LOAD = KindOfWork("event-loop-load", "measures the load of the event loop")

LOAD_PERIOD_S = 1.0
WINDOW_S = 60.0
NAMES = (
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "kafka_network_socketserver_networkprocessoravgidle_percent",
)


class LoopLoad:
    """How busy the event loop's thread is, from `start` to `stop`, by the names of Kafka's two pools of threads.

    Kafka has threads that read and write sockets and threads that serve requests. Here one thread does both, so both
    metrics have the same value. Its processor time counts as busy; a wait for a disk or for another thread of Python
    does not. Source: ``kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent``,
    ``kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent``, each over a minute.
    """

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
        self._handle = LOAD.later(LOAD_PERIOD_S, self.start, loop, loop=loop)

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


DELAY = KindOfWork("event-loop-delay", "measures the delay of the event loop")

PERIOD_S = 0.1
"""The interval of measurements. A shorter stall can go unnoticed. A longer one counts once."""
LIMITS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The upper limits of the histogram's buckets. The loop's own timers are exact to 1 ms."""


class LoopDelay:
    """How late the event loop is, from `start` to `stop`: the time for which a callback waits for its turn.

    A turn that takes long delays every request, so this corresponds to RequestQueueTimeMs of Kafka's request handler
    threads. Ten wake-ups a second cost 0.01 % of a core.
    """

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


class ProcessMetrics:
    """``process_cpu_seconds_total``, ``process_resident_memory_bytes``, ``process_open_fds`` and their like."""

    def __init__(self) -> None:
        self._collector = ProcessCollector(registry=None)

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        yield from self._collector.collect()


class WorkMetrics:
    """``odradek_work_failures_total``: a failure of a kind of work, such as a partition that could not be fetched."""

    def pieces(self) -> Iterator[Metric]:
        """The counter with a sample for each kind of work that this process knows."""
        what = "Tasks, callbacks and steps that have failed; the log names each."
        family = CounterMetricFamily("odradek_work_failures", what, labels=("work",))
        for name, kind in list(KINDS.items()):
            family.add_metric((name,), kind.failures)
        yield family


class WarningMetrics(logging.Handler):
    """``odradek_log_warnings_total``: lines of the log that say what is wrong, by level and module.

    Between `start` and `stop` it counts all of them, those included that the limits of the log leave out. Modules write
    a bounded number of kinds of lines, so the metric has a bounded number of samples.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._counts: Counter[tuple[str, str]] = Counter()

    def start(self) -> None:
        """Begins to count what this process logs."""
        logging.getLogger(PACKAGE).addHandler(self)

    def stop(self) -> None:
        """Ends counting."""
        logging.getLogger(PACKAGE).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Counts a line. Any thread may call."""
        self._counts[record.levelname.lower(), record.name.removeprefix(f"{PACKAGE}.")] += 1

    def pieces(self) -> Iterator[Metric]:
        """The counter with a sample for each level and module that has written a line."""
        what = "Lines of the log with level WARNING or above."
        family = CounterMetricFamily("odradek_log_warnings", what, labels=("level", "logger"))
        for labels, count in list(self._counts.items()):
            family.add_metric(labels, count)
        yield family
