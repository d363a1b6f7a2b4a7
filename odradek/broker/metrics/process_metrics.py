"""The metrics of the process: processor time, memory, open files, as every Prometheus client names them; failed work.

Never does: measuring; prometheus_client reads them from /proc at each request. macOS has no /proc, and nothing is
shown.
"""

from collections.abc import Iterator

from prometheus_client import ProcessCollector
from prometheus_client.metrics_core import CounterMetricFamily, Metric

from ..timers.work import KINDS


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
