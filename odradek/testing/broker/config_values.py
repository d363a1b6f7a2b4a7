"""The configs of a broker for tests: converts Python values to the text form of Kafka's configuration. Pure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    from odradek.broker.config import server_config

if TYPE_CHECKING:
    from odradek.broker.config.server_config import ServerConfig

FEW_PARTITIONS: Mapping[str, str] = {
    # With Kafka's default of 50 a third of a reset would be the creation of __consumer_offsets.
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
}
"""The numbers of partitions of internal topics, for a broker alone and in a cluster."""
TEST_DEFAULTS: Mapping[str, str] = {
    # Kafka's default of 3 s delays the first assignment of every group in a test.
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    **FEW_PARTITIONS,
}
"""The configs in which a broker for tests differs from Kafka's defaults, by Kafka's keys."""


ConfigValue = str | int | float | bool
"""The value of a config: its text as in Kafka's configuration, or a Python number or bool."""


def texts(configs: Mapping[str, ConfigValue]) -> dict[str, str]:
    """TEST_DEFAULTS and ``configs``, which take precedence, as text. Raises TypeError as :func:`config_text` does."""
    if not isinstance(configs, Mapping):
        raise TypeError(f"configs must be a dict of Kafka's keys, not {configs!r}")
    return {**TEST_DEFAULTS, **{key: config_text(key, value) for key, value in configs.items()}}


def config_text(key: str, value: ConfigValue) -> str:
    """A value in the text form of Kafka's configuration (``true``, not ``True``). Raises TypeError for other types."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"{key}: the value must be a str, int, float or bool, not {type(value).__name__}")


def loaded(keys: Mapping[str, str]) -> "ServerConfig":
    """The configuration of a broker for tests. Raises ConfigError; its messages call the keys ``configs``."""
    return server_config.ServerConfig.load(
        None, [f"{key}={value}" for key, value in keys.items()], overrides_are="configs"
    )
