"""The metrics of the process: processor time, memory, open files, as every Prometheus client names them.

Never does: measuring; prometheus_client reads them from /proc at each request. macOS has no /proc, and nothing is
shown.
"""

from collections.abc import Iterator

from prometheus_client import ProcessCollector
from prometheus_client.metrics_core import Metric


class ProcessMetrics:
    """``process_cpu_seconds_total``, ``process_resident_memory_bytes``, ``process_open_fds`` and their like."""

    def __init__(self) -> None:
        self._collector = ProcessCollector(registry=None)

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        yield from self._collector.collect()
