"""Sets up the metrics of client quotas.

Owns: nothing. A broker without ``odradek.metrics.listener`` does not import this.
"""

from ..metrics.quota_metrics import QuotaMetrics, QuotasInForce
from .broker import Broker


def quota_metrics(broker: Broker) -> QuotaMetrics:
    """The metrics of a broker's quotas."""

    def in_force() -> QuotasInForce | None:
        quotas = broker.quotas
        return None if quotas is None else QuotasInForce(quotas.clients, quotas.addresses)

    return QuotaMetrics(in_force, lambda: broker.connections.quotas.rates, broker.timers.now_ms)
