"""The metrics of requests and topics, by the names that the JMX exporter gives Kafka's MBeans.

Never does: counting. Source: ``kafka.network:type=RequestMetrics``, ``kafka.server:type=BrokerTopicMetrics``.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial

from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric

from odradek.protocol.errors import error_name

from .pieces import Sample, in_pieces
from .request_meters import ApiMeter, RequestMeters, cumulative
from .topic_meters import TopicMeter, TopicMeters
from .waits import Times

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
    ("totalsharefetchrequests", "Partitions of this topic in ShareFetch responses.", lambda meter: meter.share_fetches),
    (
        "failedsharefetchrequests",
        "Partitions of this topic that a share group could not read.",
        lambda meter: meter.failed_share_fetches,
    ),
    (
        "totalshareacknowledgementrequests",
        "Partitions of this topic that share groups have acknowledged.",
        lambda meter: meter.share_acknowledgements,
    ),
    (
        "failedshareacknowledgementrequests",
        "Acknowledgements of this topic that were refused or not stored.",
        lambda meter: meter.failed_share_acknowledgements,
    ),
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
    ) -> None:
        """``existing_topics``: their names now."""
        self._requests = requests
        self._topics = topics
        self._existing_topics = existing_topics

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        yield from self._request_pieces()
        self._topics.keep(self._existing_topics())
        for name, what, value in TOPIC_COUNTERS:
            yield from in_pieces(
                partial(CounterMetricFamily, f"kafka_server_brokertopicmetrics_{name}", what, labels=("topic",)),
                self._topic_samples(value),
            )

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
