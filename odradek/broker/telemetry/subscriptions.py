"""Client metrics subscriptions: which metrics which clients push, and how often. Pure but for log
lines.

Owns: what the configs of the subscriptions mean. Never does: checking configs that are set
(:mod:`..config.group_config`), keeping clients. Source: KIP-714; ``ClientMetricsConfigs``, ``ClientMetricsManager``.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from odradek.protocol.java.hash import in_hash_map_order
from odradek.protocol.records.checksum import crc32c

from ..config.definition import client_metrics_keys
from ..config.group_config import match_of
from ..config.stored import served_value
from ..config.values import Value
from ..groups.consumer.regular_expressions import compile_pattern
from ..metadata.image.image import MetadataImage, ResourceType

logger = logging.getLogger(__name__)

DEFAULT_INTERVAL_MS = 5 * 60 * 1000
"""``interval.ms`` of a subscription without it. It is also the longest interval that a client gets."""
ALL_METRICS = "*"


class Subscription(NamedTuple):
    """One subscription. ``patterns``: field of a client -> what matches its whole value; None: no client matches."""

    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, Any] | None

    def matches(self, fields: Mapping[str, str | None]) -> bool:
        """Whether it is for a client with these fields (:data:`..config.group_config.MATCH_PARAMETERS`)."""
        if self.patterns is None:
            return False
        return all(
            (text := fields.get(field)) is not None and pattern.fullmatch(text) is not None
            for field, pattern in self.patterns.items()
        )


class Subscribed(NamedTuple):
    """What a client pushes: prefixes of names, in the order that goes into the id, and how often."""

    metrics: tuple[str, ...]
    interval_ms: int

    def subscription_id(self, instance_id: bytes) -> int:
        """The id that a client sends with each push; the same at each broker, of Kafka's too."""
        text = f"[{', '.join(self.metrics)}]{self.interval_ms}"
        number = crc32c(text.encode()) ^ _java_hash_of_uuid(instance_id)
        return number - (1 << 32) if number >= 1 << 31 else number


class Subscriptions:
    """The subscriptions of the metadata, read again after each change."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image
        self._known: list[Subscription] | None = None
        self.version = 0
        """Grows with each change."""

    def changed(self) -> None:
        """Notes that the metadata has other subscriptions."""
        self.version += 1
        self._known = None

    def of_client(self, fields: Mapping[str, str | None]) -> Subscribed:
        """What a client with these fields pushes; without a subscription, no metrics."""
        if self._known is None:
            self._known = self._read()
        interval_ms = DEFAULT_INTERVAL_MS
        metrics: list[str] = []
        for subscription in self._known:
            if subscription.matches(fields):
                metrics += subscription.metrics
                interval_ms = min(interval_ms, subscription.interval_ms)
        if ALL_METRICS in metrics:
            metrics = [ALL_METRICS]
        return Subscribed(tuple(in_hash_map_order(metrics)), interval_ms)

    def _read(self) -> list[Subscription]:
        configs = {
            name: configs
            for (kind, name), configs in self._image().configs.items()
            if kind == ResourceType.CLIENT_METRICS
        }
        return [subscription_of(name, configs[name]) for name in in_hash_map_order(configs)]


def subscription_of(name: str, configs: Mapping[str, str]) -> Subscription:
    """A subscription with these configs. Of an invalid value only the default is used."""
    values = {key: _value(key, configs) for key in ("metrics", "interval.ms", "match")}
    metrics, interval_ms, match = values["metrics"], values["interval.ms"], values["match"]
    return Subscription(
        tuple(in_hash_map_order(metrics)) if isinstance(metrics, tuple) else (),
        interval_ms if isinstance(interval_ms, int) else DEFAULT_INTERVAL_MS,
        _patterns(name, match if isinstance(match, tuple) else ()),
    )


def _value(key: str, configs: Mapping[str, str]) -> Value:
    text = configs.get(key)
    return None if text is None else served_value(client_metrics_keys()[key], text)


def _patterns(name: str, entries: Iterable[str]) -> dict[str, Any] | None:
    """The patterns of ``match``; None if one can't be used, so that no client pushes what it is not meant to."""
    patterns = {}
    for entry in entries:
        parts = match_of(entry)
        compiled = "it is not field=expression" if parts is None else compile_pattern(parts[1])
        if parts is None or isinstance(compiled, str):
            logger.warning("client metrics subscription %r matches no client: %r: %s", name, entry, compiled)
            return None
        patterns[parts[0]] = compiled
    return patterns


def _java_hash_of_uuid(uuid: bytes) -> int:
    """``Uuid.hashCode``, as an unsigned number."""
    mixed = int.from_bytes(uuid[:8], "big") ^ int.from_bytes(uuid[8:], "big")
    return (mixed >> 32 ^ mixed) & 0xFFFFFFFF
