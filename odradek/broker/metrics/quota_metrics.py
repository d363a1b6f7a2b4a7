"""The metrics of client quotas, by the names that the JMX exporter gives Kafka's MBeans.

Never does: charging. Invariants: there are no samples without a quota of the kind, as in Kafka; at most ``MOST_SHOWN``
users and client ids are shown for each kind, those that were used last, since clients choose these names. The rates of
the broker and its listeners are always there, as in Kafka. Source: ``kafka.server:type=Produce``, ``Fetch``,
``Request``, ``ControllerMutation`` with ``user`` and ``client-id`` (ClientQuotaManager,
ControllerMutationQuotaManager), ``socket-server-metrics`` with ``ip`` or ``listener`` (ConnectionQuotas).
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from ..quotas.client_quota import ClientQuota, QuotaSensor
from ..quotas.client_quotas import ClientQuotas
from ..quotas.connection_rates import ConnectionRates
from ..quotas.creation_rates import CreationRates, ListenerRates
from ..quotas.entities import Tags
from ..quotas.sensors import Sensors
from ..quotas.windows import Average
from .pieces import Sample, in_pieces

MOST_SHOWN = 1_000
OTHERS: Tags = ("", "others")
"""The labels of the sensor that names without a sensor of their own share (docs/limits.md)."""
LABELS = ("user", "client_id")


class QuotasInForce(NamedTuple):
    """The quotas of a broker."""

    clients: ClientQuotas
    addresses: ConnectionRates


KINDS: tuple[tuple[str, str, str, Callable[[ClientQuotas], ClientQuota]], ...] = (
    ("produce", "byte_rate", "Bytes a second that count for producer_byte_rate.", lambda quotas: quotas.produce),
    ("fetch", "byte_rate", "Bytes a second that count for consumer_byte_rate.", lambda quotas: quotas.fetch),
    ("request", "request_time", "Percentage of time that requests take.", lambda quotas: quotas.request),
    (
        "controllermutation",
        "mutation_rate",
        "Partitions that a client creates or deletes a second.",
        lambda quotas: quotas.mutation,
    ),
)
"""Type of the MBean, name and meaning of its rate, the quota."""


SOCKETS = "kafka_server_socket_server_metrics"
THROTTLED: tuple[tuple[str, str, Callable[[ListenerRates], Average]], ...] = (
    ("", "the rate of the listener or of the broker", lambda rates: rates.throttled),
    ("ip_", "the rate of their address", lambda rates: rates.throttled_addresses),
)
"""Prefix of the metric's name, whose rate causes the throttling, the average throttle time."""


class QuotaMetrics:
    """Collects the metrics at each request, in pieces."""

    def __init__(
        self,
        quotas: Callable[[], QuotasInForce | None],
        accepted: Callable[[], CreationRates | None],
        now_ms: Callable[[], int],
    ) -> None:
        """``quotas`` returns None before there are any. ``accepted``: the rates of new connections. ``now_ms``: the
        clock of both.
        """
        self._quotas = quotas
        self._accepted = accepted
        self._now_ms = now_ms

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        quotas, accepted = self._quotas(), self._accepted()
        if quotas is None and accepted is None:
            return
        if accepted is not None:
            yield from self._accept_rates(accepted)
        yield from self._connections(quotas, accepted)
        if quotas is None:
            return
        for kind, rate_name, what, quota_of in KINDS:
            quota = quota_of(quotas.clients)
            yield from in_pieces(
                partial(GaugeMetricFamily, f"kafka_server_{kind}_{rate_name}", what, labels=LABELS),
                self._rates(quota),
            )
            yield from in_pieces(
                partial(
                    GaugeMetricFamily,
                    f"kafka_server_{kind}_throttle_time",
                    "Average throttle time of the last minute, in milliseconds.",
                    labels=LABELS,
                ),
                self._throttle_times(quota),
            )
        yield from in_pieces(
            partial(
                GaugeMetricFamily,
                "kafka_server_controllermutation_tokens",
                "Partitions that may be created or deleted at once; below 0 there is a throttle time.",
                labels=LABELS,
            ),
            self._tokens(quotas.clients.mutation),
        )

    def _connections(self, quotas: QuotasInForce | None, accepted: CreationRates | None) -> Iterator[Metric]:
        """The accept rates of listeners and addresses; without any, no samples."""
        now_ms = self._now_ms()
        of_listeners = {} if accepted is None else accepted.listeners
        yield from in_pieces(
            partial(
                GaugeMetricFamily,
                f"{SOCKETS}_connection_accept_rate",
                "New connections a second: of a listener, and from an address with a quota.",
                labels=("listener", "ip"),
            ),
            chain(
                (Sample((name, ""), listener.accepted.rate(now_ms)) for name, listener in of_listeners.items()),
                () if quotas is None else self._addresses(quotas.addresses),
            ),
        )

    def _accept_rates(self, accepted: CreationRates) -> Iterator[Metric]:
        now_ms = self._now_ms()
        broker = GaugeMetricFamily(f"{SOCKETS}_broker_connection_accept_rate", "New connections a second.")
        broker.add_metric((), accepted.broker.rate(now_ms))
        yield broker
        for prefix, whose, average in THROTTLED:
            family = GaugeMetricFamily(
                f"{SOCKETS}_{prefix}connection_accept_throttle_time",
                f"Average throttle time of new connections in the last minute because of {whose}, in milliseconds.",
                labels=("listener",),
            )
            for name, listener in accepted.listeners.items():
                average_ms = average(listener).value(now_ms)
                family.add_metric((name,), float("nan") if average_ms is None else average_ms)
            yield family

    def _rates(self, quota: ClientQuota) -> Iterator[Sample]:
        for tags, sensor in shown(quota.sensors):
            yield Sample(tags, sensor.rate.rate(self._now_ms()))

    def _throttle_times(self, quota: ClientQuota) -> Iterator[Sample]:
        for tags, sensor in shown(quota.sensors):
            average_ms = sensor.average_throttle_ms(self._now_ms())
            yield Sample(tags, float("nan") if average_ms is None else average_ms)

    def _tokens(self, quota: ClientQuota) -> Iterator[Sample]:
        for tags, sensor in shown(quota.sensors):
            if sensor.bucket is not None:
                yield Sample(tags, sensor.bucket.tokens(sensor.limit, self._now_ms()))

    def _addresses(self, addresses: ConnectionRates) -> Iterator[Sample]:
        for (host, other), sensor in shown(addresses.sensors):
            yield Sample(("", host or other), sensor.rate.rate(self._now_ms()))


def shown(sensors: Sensors[QuotaSensor]) -> Iterator[tuple[Tags, QuotaSensor]]:
    """The sensors that were used last, then the one that names without a sensor share."""
    yield from islice(sensors.newest(), MOST_SHOWN)
    if sensors.is_shared:
        yield OTHERS, sensors.shared
