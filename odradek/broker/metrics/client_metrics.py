"""The metrics that clients have pushed, and those of the pushes themselves (KIP-714).

Owns: nothing. Never does: counting. Invariant: one piece has SAMPLES_A_PIECE samples at most. Source: the MBean
``kafka.server:type=client-metrics`` (``ClientMetricsManager``). Kafka has a series for each client instance there;
here all instances are summed up. The names of pushed metrics are our own.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric, UnknownMetricFamily

from .counts import ClientMetricsCounts
from .pieces import SAMPLES_A_PIECE
from .pushed_series import Family, PushedSeries, Series

GROUP = "kafka_server_client_metrics_"


class ClientMetricsSources(NamedTuple):
    """What clients have pushed. ``instances`` returns how many client instances the broker knows now."""

    counts: ClientMetricsCounts
    instances: Callable[[], int]
    series: PushedSeries


class ClientMetricsShown:
    """Collects the metrics at each request; none before the first client."""

    def __init__(self, sources: Callable[[], ClientMetricsSources | None], clock_ms: Callable[[], int]) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch."""
        self._sources = sources
        self._clock_ms = clock_ms

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        sources = self._sources()
        if sources is None:
            return
        counts, series = sources.counts, sources.series
        yield GaugeMetricFamily(f"{GROUP}instance_count", "Client instances (KIP-714).", sources.instances())
        for name, what, count in (
            ("unknown_subscription_request", "Pushes for another subscription.", counts.unknown_subscriptions),
            ("throttle", "Requests before the push interval was over.", counts.throttled),
            ("plugin_export", "Pushes that were read.", counts.exports),
            ("plugin_error", "Pushes that could not be read.", counts.errors),
        ):
            yield UnknownMetricFamily(f"{GROUP}{name}_count", what, count)
        yield GaugeMetricFamily("odradek_client_metrics_clients", "Clients with series.", series.client_count)
        yield GaugeMetricFamily("odradek_client_metrics_series", "Series of all clients.", series.series_count)
        dropped = CounterMetricFamily(
            "odradek_client_metrics_dropped_points", "Pushed values that are not shown.", labels=("reason",)
        )
        for reason, count in counts.dropped.items():
            dropped.add_metric((reason,), count)
        yield dropped
        for family in series.families(self._clock_ms()):
            yield from self._of_family(family)

    def _of_family(self, family: Family) -> Iterator[Metric]:
        now_ms = self._clock_ms()
        shown = iter(list(family.series))
        sample = f"{family.name}_total" if family.is_counter else family.name
        while some := list(islice(shown, SAMPLES_A_PIECE)):
            piece = Metric(family.name, "Pushed by clients.", "counter" if family.is_counter else "gauge")
            for series in some:
                if series.client.expires_ms > now_ms:
                    piece.add_sample(sample, _labels(series), series.value)
            yield piece


def _labels(series: Series) -> dict[str, str]:
    client = series.client
    return {"client_id": client.client_id, "client_instance_id": client.instance_id, **dict(series.labels)}
