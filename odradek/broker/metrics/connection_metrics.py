"""The metrics of connections, by the names that the JMX exporter gives Kafka's MBeans.

Never does: counting. All listeners have the label ``networkProcessor`` 0, because one event loop serves them. Source:
``kafka.server:type=socket-server-metrics`` (Selector).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

PREFIX = "kafka_server_socket_server_metrics_"
MAX_SOFTWARE = 100
"""The most client libraries and versions with samples of their own: clients choose these names."""
OTHERS = ("others", "")
LABELS = ("listener", "networkProcessor")
PROCESSOR = "0"
Connected = tuple[str, tuple[str, str]]
"""A connection's listener, and the name and version of its client's software."""


class ListenerConnections(NamedTuple):
    """The connections of one listener: those that are open now, and all since the start."""

    open: int
    created: int


class ConnectionMetrics:
    """Collects the metrics at each request."""

    def __init__(
        self,
        listeners: Callable[[], Mapping[str, ListenerConnections]],
        connected: Callable[[], Iterable[Connected]],
    ) -> None:
        """``listeners``: the connections of each listener. ``connected``: the open connections now."""
        self._listeners = listeners
        self._connected = connected

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        count = GaugeMetricFamily(f"{PREFIX}connection_count", "Open connections.", labels=LABELS)
        created = CounterMetricFamily(f"{PREFIX}connection_creation", "Connections that were opened.", labels=LABELS)
        closed = CounterMetricFamily(f"{PREFIX}connection_close", "Connections that were closed.", labels=LABELS)
        for name, of in self._listeners().items():
            count.add_metric((name, PROCESSOR), of.open)
            created.add_metric((name, PROCESSOR), of.created)
            closed.add_metric((name, PROCESSOR), of.created - of.open)
        yield from (count, created, closed, self._software())

    def _software(self) -> Metric:
        """Open connections by listener and client software. If there are many, the rarest are summed up as others."""
        family = GaugeMetricFamily(
            f"{PREFIX}connections",
            "Open connections by the client library that ApiVersions names.",
            labels=("listener", "clientSoftwareName", "clientSoftwareVersion"),
        )
        for (listener, software), count in bounded(Counter(self._connected())).items():
            family.add_metric((listener, *software), count)
        return family


def bounded(counts: "Counter[Connected]") -> "Counter[Connected]":
    """The most frequent entries, and the sum of the others for each listener."""
    if len(counts) <= MAX_SOFTWARE:
        return counts
    most = Counter(dict(counts.most_common(MAX_SOFTWARE)))
    for (listener, software), count in counts.items():
        if (listener, software) not in most:
            most[listener, OTHERS] += count
    return most
