"""Sets up the metrics of connections.

Owns: nothing. A broker without ``odradek.metrics.listener`` does not import this.
"""

from collections.abc import Iterator

from ..metrics.connection_metrics import Connected, ConnectionMetrics, ListenerConnections
from .broker import Broker


def connection_metrics(broker: Broker) -> ConnectionMetrics:
    """The metrics of a broker's connections."""
    quotas = broker.connections.quotas
    names = [listener.name for listener in broker.config.listeners]

    def listeners() -> dict[str, ListenerConnections]:
        return {name: ListenerConnections(quotas.open_of(name), quotas.created[name]) for name in names}

    def connected() -> Iterator[Connected]:
        return ((one.listener_name, one.software) for one in broker.connections)

    return ConnectionMetrics(listeners, connected)
