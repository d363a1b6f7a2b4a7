"""Sets up the metrics of requests: the meters, and where they count.

Owns: nothing. A broker without ``odradek.metrics.listener`` does not import this.
"""

from collections.abc import Iterable, Iterator

from ..dispatch.dispatch import Dispatcher
from ..dispatch.metering import metered
from ..metadata.published import PublishedMetadata
from ..metrics.request_meters import RequestMeters
from ..metrics.request_metrics import Connected, RequestMetrics
from ..metrics.topic_meters import TopicMeters
from ..network.connection import Connection


def meter_requests(
    dispatcher: Dispatcher, metadata: PublishedMetadata, connections: Iterable[Connection]
) -> RequestMetrics:
    """Makes a dispatcher count its requests, and returns the metrics. Called before the first request."""

    def name_of(topic_id: bytes) -> str | None:
        topic = metadata.image.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def connected() -> Iterator[Connected]:
        return ((one.listener_name, one.software) for one in connections)

    requests, topics = RequestMeters(), TopicMeters(name_of)
    dispatcher.measure(requests)
    dispatcher.intercept(metered(topics))
    return RequestMetrics(requests, topics, lambda: metadata.image.topics_by_name, connected)
