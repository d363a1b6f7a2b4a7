"""The series that clients have pushed, for the metrics endpoint (KIP-714).

Pure. Owns: the last value of each series, and the bounds. Never does: reading what is pushed, reading a clock.
Invariants: one client has at most ``SERIES_OF_CLIENT_MAX`` series, all of them together ``series_max``; a new series
beyond that is dropped and counted, since removing others would reset their counters; a name of a metric is of one kind
(counter or gauge); a client is forgotten after three intervals without a push, and a series after three pushes without
it. Source: our own; Kafka passes pushes on to a plugin.
"""

import re
from collections.abc import Iterator

from ..timers.expiring import ExpiringEntries
from .counts import ClientMetricsCounts

SERIES_OF_CLIENT_MAX = 1_000
"""Kafka's producer and consumer have about 110 each, and some for each topic, partition and node."""
ATTRIBUTES_MAX = 8
TEXT_MAX_CHARACTERS = 256
"""The longest name or attribute. A topic has up to 249 characters."""
SHOWN_FOR_INTERVALS = 3
SHOWN_FOR_MS = 60_000
"""How long a client is shown at least after its last push, so that each scrape finds it."""
PUSHES_KEPT = 3
SWEPT_AT_ONCE = 16
"""The clients that are looked at in one step, whether they have expired. Forgetting 1,000 series takes 0.3 ms."""
PREFIX = "kafka_client_"
KAFKAS_PREFIX = "org.apache.kafka."
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_]")
_LABEL = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")

Labels = tuple[tuple[str, str], ...]


class Series:
    """One series of one client."""

    __slots__ = ("client", "labels", "push", "value")

    def __init__(self, client: "PushingClient", labels: Labels) -> None:
        self.client = client
        self.labels = labels
        """Without those of the client."""
        self.value = 0.0
        self.push = 0
        """The number of the client's last push that had it."""


class Family:
    """All series of one metric."""

    __slots__ = ("is_counter", "name", "series")

    def __init__(self, name: str, is_counter: bool) -> None:
        self.name = name
        self.is_counter = is_counter
        self.series: dict[Series, None] = {}


class PushingClient:
    """A client instance that has pushed."""

    __slots__ = ("client_id", "expires_ms", "instance_id", "is_forgotten", "pushes", "series")

    def __init__(self, instance_id: str, client_id: str) -> None:
        self.instance_id = instance_id
        self.client_id = client_id
        self.expires_ms = 0
        """The time from which it is not shown any more, in ms since the epoch."""
        self.is_forgotten = False
        self.pushes = 0
        self.series: dict[tuple[str, Labels], tuple[Family, Series]] = {}
        """By the name of the metric without ``_total``, and the labels."""


class PushedSeries:
    """The series of all clients."""

    def __init__(self, series_max: int, counts: ClientMetricsCounts) -> None:
        self._series_max = series_max
        self._counts = counts
        self._clients: ExpiringEntries[str, PushingClient] = ExpiringEntries(series_max)
        self._families: dict[str, Family] = {}
        self.series_count = 0

    @property
    def client_count(self) -> int:
        """The clients that are shown."""
        return len(self._clients)

    def begin_push(self, instance_id: str, client_id: str, interval_ms: int, now_ms: int) -> PushingClient | None:
        """Notes that a client pushes. Call :meth:`add` for each point, then :meth:`end_push`. Returns None if there are
        too many clients.

        ``interval_ms``: how often it pushes.
        """
        self._expire(now_ms)
        client = self._clients.pop(instance_id)
        if client is None:
            if len(self._clients) >= self._series_max:
                self._counts.dropped["total"] += 1
                return None
            client = PushingClient(instance_id, client_id[:TEXT_MAX_CHARACTERS])
        client.expires_ms = now_ms + max(SHOWN_FOR_MS, SHOWN_FOR_INTERVALS * interval_ms)
        self._clients.put(instance_id, client, client.expires_ms)
        client.pushes += 1
        return client

    def add(
        self, client: PushingClient, name: str, attributes: Labels, value: float, *, is_counter: bool, is_delta: bool
    ) -> None:
        """Sets the value of a series, or adds a change to it."""
        labels = labels_of(attributes)
        if labels is None or not 0 < len(name) <= TEXT_MAX_CHARACTERS:
            self._counts.dropped["invalid"] += 1
            return
        shown = shown_name(name)
        base = shown.removesuffix("_total")
        family, series = client.series.get((base, labels)) or self._new(
            client, base, base if is_counter else shown, labels, is_counter
        )
        if family is None or series is None:
            return
        if family.is_counter != is_counter:
            self._counts.dropped["invalid"] += 1
            return
        series.value = series.value + value if is_delta else value
        series.push = client.pushes

    def _new(
        self, client: PushingClient, base: str, name: str, labels: Labels, is_counter: bool
    ) -> tuple[Family, Series] | tuple[None, None]:
        """Adds a series, if there is room for it and if its metric is of its kind."""
        dropped = self._counts.dropped
        if len(client.series) >= SERIES_OF_CLIENT_MAX:
            dropped["client"] += 1
            return None, None
        if self.series_count >= self._series_max or client.is_forgotten:
            dropped["total"] += 1
            return None, None
        family = self._families.get(base)
        if family is None:
            family = self._families[base] = Family(name, is_counter)
        elif family.name != name or family.is_counter != is_counter:
            dropped["invalid"] += 1
            return None, None
        series = Series(client, labels)
        family.series[series] = None
        self.series_count += 1
        client.series[base, labels] = family, series
        return family, series

    def end_push(self, client: PushingClient) -> None:
        """Removes the series that the client has not pushed for some time."""
        oldest = client.pushes - PUSHES_KEPT
        for key in [key for key, (_, series) in client.series.items() if series.push <= oldest]:
            self._remove(*client.series.pop(key))
        if not client.series:
            self._clients.pop(client.instance_id)
            client.is_forgotten = True

    def _remove(self, family: Family, series: Series) -> None:
        del family.series[series]
        self.series_count -= 1
        if not family.series:
            del self._families[family.name.removesuffix("_total")]

    def _expire(self, now_ms: int) -> None:
        for client in self._clients.sweep(now_ms, SWEPT_AT_ONCE):
            client.is_forgotten = True
            for found in client.series.values():
                self._remove(*found)
            client.series.clear()

    def families(self, now_ms: int) -> Iterator[Family]:
        """The metrics, by name. Clients that have expired may still have series in them."""
        for base in sorted(self._families):
            self._expire(now_ms)
            family = self._families.get(base)
            if family is not None:
                yield family


def shown_name(name: str) -> str:
    """The name of a metric at the endpoint: ``org.apache.kafka.producer.io.ratio`` is
    ``kafka_client_producer_io_ratio``."""
    return PREFIX + _NOT_IN_A_NAME.sub("_", name.removeprefix(KAFKAS_PREFIX))


def labels_of(attributes: Labels) -> Labels | None:
    """The labels of a point's attributes, sorted; None if they can't be labels."""
    if len(attributes) > ATTRIBUTES_MAX:
        return None
    labels = {}
    for name, value in attributes:
        label = _NOT_IN_A_NAME.sub("_", name)
        if label in ("client_id", "client_instance_id"):
            continue  # the endpoint has its own
        if not _LABEL.fullmatch(label) or len(label) > TEXT_MAX_CHARACTERS or len(value) > TEXT_MAX_CHARACTERS:
            return None
        labels[label] = value
    return tuple(sorted(labels.items()))
