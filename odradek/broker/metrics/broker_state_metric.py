"""The metric of a broker's state, by the name that the JMX exporter gives Kafka's MBean.

Source: ``kafka.server:type=KafkaServer,name=BrokerState``.
"""

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from ..metadata.image.broker_state import BrokerState

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
