"""Sets up the metrics of requests: the meters, and where they count.

Owns: nothing. A broker without ``odradek.metrics.listener`` does not import this.
"""

from ..dispatch.dispatch import Dispatcher
from ..metrics.request_meters import RequestMeters
from ..metrics.request_metrics import RequestMetrics
from ..metrics.topic_meters import TopicMeters
from ..network.waiting import Waiting
from .broker import Broker


def meter_requests(dispatcher: Dispatcher, broker: Broker) -> RequestMetrics:
    """Makes a dispatcher count its requests, and the broker its records. Returns the metrics. Called before the first
    request.
    """
    metadata = broker.metadata

    def exists(topic: str) -> bool:
        return topic in metadata.image.topics_by_name

    requests = RequestMeters()
    topics = broker.topic_meters = broker.coordinators.traffic.topics = TopicMeters(exists)
    waiting = broker.connections.waiting = Waiting()
    dispatcher.measure(requests, waiting)
    return RequestMetrics(requests, topics, lambda: metadata.image.topics_by_name)
