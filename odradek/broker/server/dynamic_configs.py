"""The configuration of a running broker: that of its file, under the dynamic configs of the metadata.

Owns: the current configuration, and the limits on connections that follow from it. Never does: I/O, writing configs.
Source: ``DynamicBrokerConfig``.
"""

import logging
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..config.connection_limits import UNLIMITED, limits_of_broker, limits_of_listener
from ..config.definition import client_metrics_keys, group_keys, topic_keys
from ..config.server_config import ServerConfig
from ..config.stored import bad_broker_configs, bad_configs
from ..metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from ..network.connection_quotas import ConnectionQuotas
from ..timers.log_lines import TEXT_MAX_CHARACTERS, cut, quoted

with lazy_imports:
    from ..quotas import client_quota, creation_rates

if TYPE_CHECKING:
    from ..quotas.creation_rates import CreationRates

logger = logging.getLogger(__name__)


def log_bad_configs(image: MetadataImage, node_id: int) -> None:
    """Logs an ERROR for each stored config that is invalid. Its key has the default until it is altered."""
    tables = {
        ResourceType.TOPIC: ("topic", topic_keys()),
        ResourceType.GROUP: ("group", group_keys()),
        ResourceType.CLIENT_METRICS: ("client metrics subscription", client_metrics_keys()),
    }
    for (kind, name), configs in image.configs.items():
        if kind == ResourceType.BROKER:
            # Configs of other brokers are not checked.
            bad, what = (bad_broker_configs(configs) if name in ("", str(node_id)) else ()), "broker"
        elif kind in tables:
            what, keys = tables[ResourceType(kind)]
            bad = bad_configs(keys, configs)
        else:
            continue
        for config in bad:
            logger.error(
                "stored config of %s %s: %s=%s is invalid, so the default is used: %s",
                what,
                quoted(name),
                cut(config.key, TEXT_MAX_CHARACTERS),
                quoted(config.value),
                cut(config.reason, 2 * TEXT_MAX_CHARACTERS),
            )


class DynamicConfigs:
    """A broker's configuration while it runs."""

    def __init__(self, static: ServerConfig, image: MetadataImage, node_id: int, limits: ConnectionQuotas) -> None:
        """``static``: the configuration from the file. ``limits``: gets the limits of the current configuration."""
        self.static = static
        self.current = static
        """The configuration with dynamic configs."""
        self._node_id = node_id
        self._limits = limits
        self.update(image)

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> bool:
        """Applies changed dynamic configs. Returns whether any changed."""
        names = ("", str(self._node_id))
        if not any((ResourceType.BROKER, name) in delta.changed_configs for name in names):
            return False
        self.update(image)
        return True

    def update(self, image: MetadataImage) -> None:
        """Computes the current configuration.

        Logs the keys that were set or changed without effect here, as a start does for those of the file.
        """
        before, config = self.current, config_under(image, self.static, self._node_id)
        if config is not before:
            self._log_unused(before, config)
        self.current = config
        entries = (config["max.connections.per.ip.overrides"] or "").split(",")
        overrides = dict(entry.rsplit(":", 1) for entry in entries if entry)
        listeners = [*config.listeners, *config.controller_listeners]
        limits = {listener.name: limits_of_listener(config, listener.name) for listener in listeners}
        of_broker = limits_of_broker(config)
        limits_rates = any(limit.max_rate < UNLIMITED for limit in (of_broker, *limits.values()))
        measures_rates = limits_rates or bool(config.get_string("odradek.metrics.listener"))
        self._limits.limit(
            of_broker,
            limits,
            protected=self._protected_listener,
            new_rates=self._new_rates if measures_rates else None,
            max_connections_per_ip=config.get_int("max.connections.per.ip"),
            max_connections_per_ip_overrides={host.strip(): int(limit) for host, limit in overrides.items()},
        )

    def _log_unused(self, before: ServerConfig, config: ServerConfig) -> None:
        """Logs the changed keys that have no effect here."""
        had = before.originals
        changed = {key for key, text in config.originals.items() if had.get(key) != text}
        if unused := sorted(changed & set(config.keys_without_effect())):
            logger.info("these dynamic configs of Apache Kafka have no effect in this broker: %s", ", ".join(unused))

    @property
    def _protected_listener(self) -> str | None:
        """The inter-broker listener, if the broker has other listeners."""
        return self.current.inter_broker_listener_name if len(self.current.listeners) > 1 else None

    def _new_rates(self) -> "CreationRates":
        samples, size_s = (self.current.get_int(f"quota.window.{what}") for what in ("num", "size.seconds"))
        names = [listener.name for listener in (*self.current.listeners, *self.current.controller_listeners)]
        return creation_rates.CreationRates(
            client_quota.QuotaWindows(samples, size_s * 1_000), names, self._protected_listener
        )


def config_under(image: MetadataImage, static: ServerConfig, node_id: int) -> ServerConfig:
    """A broker's configuration: its file, overridden by the dynamic configs of all brokers and its own."""
    cluster, own = image.broker_config_layers(node_id)
    return static.with_dynamic(cluster, own) if cluster or own else static
