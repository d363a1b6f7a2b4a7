"""The metrics of requests, topics and connections, by the names that the JMX exporter gives Kafka's MBeans.

Never does: counting. Source: ``kafka.network:type=RequestMetrics``, ``kafka.server:type=BrokerTopicMetrics``,
``kafka.server:type=socket-server-metrics``.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from ...protocol.errors import error_name
from .pieces import Sample, in_pieces
from .request_meters import ApiMeter, RequestMeters, cumulative
from .times import Times
from .topic_meters import TopicMeter, TopicMeters

MAX_SOFTWARE = 100
"""The most client libraries and versions with samples of their own: clients choose these names."""
OTHERS = ("others", "")
Connected = tuple[str, tuple[str, str]]
"""A connection's listener, and the name and version of its client's software."""

TOPIC_COUNTERS: Sequence[tuple[str, str, Callable[[TopicMeter], int]]] = (
    ("messagesin", "Records that clients and coordinators have written.", lambda meter: meter.messages_in),
    ("bytesin", "Bytes of record batches that clients and coordinators have written.", lambda meter: meter.bytes_in),
    ("bytesout", "Bytes of record batches sent to consumers.", lambda meter: meter.bytes_out),
    ("totalproducerequests", "Appends to partitions of this topic.", lambda meter: meter.produces),
    ("totalfetchrequests", "Partitions of this topic in Fetch responses.", lambda meter: meter.fetches),
    (
        "failedproducerequests",
        "Appends to this topic that failed unexpectedly.",
        lambda meter: meter.failed_produces,
    ),
    ("failedfetchrequests", "Reads of this topic that failed unexpectedly.", lambda meter: meter.failed_fetches),
)
"""Name after ``kafka_server_brokertopicmetrics_``, meaning and value."""

TIMES: Sequence[tuple[str, str, Callable[[ApiMeter], Times]]] = (
    ("totaltimems", "Milliseconds from a request to its response.", lambda meter: meter.total),
    ("localtimems", "Milliseconds for which the event loop worked on a request.", lambda meter: meter.local),
    ("requestqueuetimems", "Milliseconds until the handler of a request began.", lambda meter: meter.request_queue),
    (
        "responsequeuetimems",
        "Milliseconds for which a response waited for others of its connection.",
        lambda meter: meter.response_queue,
    ),
    (
        "responsesendtimems",
        "Milliseconds for which a response waited for its reader.",
        lambda meter: meter.response_send,
    ),
    ("throttletimems", "Milliseconds for which a request's connection was muted.", lambda meter: meter.throttle),
)
"""Name, meaning and value."""
SIZES: Sequence[tuple[str, str, Callable[[ApiMeter], int]]] = (
    ("requestbytes", "Bytes of received requests.", lambda meter: meter.request_bytes),
    ("responsebytes", "Bytes of responses sent.", lambda meter: meter.response_bytes),
)


class RequestMetrics:
    """Collects the metrics at each request, in pieces."""

    def __init__(
        self,
        requests: RequestMeters,
        topics: TopicMeters,
        existing_topics: Callable[[], Container[str]],
        connected: Callable[[], Iterable[Connected]],
    ) -> None:
        """``existing_topics``: their names now. ``connected``: the open connections now."""
        self._requests = requests
        self._topics = topics
        self._existing_topics = existing_topics
        self._connected = connected

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        yield from self._request_pieces()
        self._topics.keep(self._existing_topics())
        for name, what, value in TOPIC_COUNTERS:
            yield from in_pieces(
                partial(CounterMetricFamily, f"kafka_server_brokertopicmetrics_{name}", what, labels=("topic",)),
                self._topic_samples(value),
            )
        yield self._connections()

    def _request_pieces(self) -> Iterator[Metric]:
        prefix = "kafka_network_requestmetrics_"
        yield from in_pieces(
            partial(CounterMetricFamily, f"{prefix}requests", "Requests received.", labels=("request", "version")),
            (
                Sample((meter.name, str(version)), of.requests)
                for meter in self._requests
                for version, of in sorted(meter.versions.items())
            ),
        )
        yield from in_pieces(
            partial(CounterMetricFamily, f"{prefix}errors", "Answers with an error.", labels=("request", "error")),
            (
                Sample((meter.name, error_name(code)), count)
                for meter in self._requests
                for code, count in sorted(meter.errors.items())
            ),
        )
        for name, what, times_of in TIMES:
            for meter in self._requests:
                times = times_of(meter)
                family = HistogramMetricFamily(f"{prefix}{name}", what, labels=("request",))
                family.add_metric((meter.name,), list(cumulative(times.buckets)), times.ns / 1_000_000)
                yield family
        for name, what, size in SIZES:
            yield from in_pieces(
                partial(CounterMetricFamily, f"{prefix}{name}", what, labels=("request",)),
                [Sample((meter.name,), size(meter)) for meter in self._requests],
            )

    def _topic_samples(self, value: Callable[[TopicMeter], int]) -> Iterator[Sample]:
        for name, meter in self._topics:
            yield Sample((name,), value(meter))

    def _connections(self) -> Metric:
        """Open connections by listener and client software. If there are many, the rarest are summed up as others."""
        family = GaugeMetricFamily(
            "kafka_server_socket_server_metrics_connections",
            "Open connections by the client library that ApiVersions names.",
            labels=("listener", "clientSoftwareName", "clientSoftwareVersion"),
        )
        counts = Counter(self._connected())
        for (listener, software), count in bounded(counts).items():
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
