"""The metrics of a broker that is its own controller, by the names that the JMX exporter gives Kafka's MBeans.

Never does: counting; the values are read from the metadata at each request. A broker under other controllers does not
have them, Kafka's neither. Source: ``kafka.controller:type=KafkaController`` (QuorumControllerMetrics,
ControllerMetadataMetrics).
"""

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from ..metadata.image.image import BrokerState, MetadataImage

MEANING = ", ".join(f"{state.value} {state.name}" for state in BrokerState)


class BrokerStateMetric:
    """Shows the state at each request."""

    def __init__(self, state: Callable[[], BrokerState]) -> None:
        """``state``: the broker's state now."""
        self._state = state

    def pieces(self) -> Iterator[Metric]:
        """The metric with its current value."""
        yield GaugeMetricFamily(
            "kafka_server_kafkaserver_brokerstate", f"State of this broker: {MEANING}.", value=self._state().value
        )


PREFIX = "kafka_controller_kafkacontroller_"


class ControllerMetrics:
    """Collects the metrics at each request: 0.1 us for each partition of the metadata."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        """``image``: the metadata now."""
        self._image = image

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        image = self._image()
        fenced = sum(broker.fenced for broker in image.brokers.values())
        partitions = [partition for topic in image.topics_by_name.values() for partition in topic.partitions.values()]
        for name, what, number in (
            ("activecontrollercount", "1: this process is the active controller.", 1),
            ("activebrokercount", "Brokers that are not fenced.", len(image.brokers) - fenced),
            ("fencedbrokercount", "Brokers that are fenced.", fenced),
            ("globaltopiccount", "Topics.", len(image.topics_by_name)),
            ("globalpartitioncount", "Partitions.", len(partitions)),
            (
                "offlinepartitionscount",
                "Partitions without a leader.",
                sum(not partition.has_leader for partition in partitions),
            ),
            (
                "preferredreplicaimbalancecount",
                "Partitions whose first replica does not lead.",
                sum(not partition.has_preferred_leader for partition in partitions),
            ),
        ):
            yield GaugeMetricFamily(f"{PREFIX}{name}", what, value=number)
