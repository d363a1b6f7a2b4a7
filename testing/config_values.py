"""The configs of a broker for tests: converts Python values to the text form of Kafka's configuration. Pure."""

from collections.abc import Mapping

TEST_DEFAULTS: Mapping[str, str] = {
    # Kafka's default of 3 s delays the first assignment of every group in a test.
    "group.initial.rebalance.delay.ms": "0",
}
"""The configs in which a broker for tests differs from Kafka's defaults, by Kafka's keys."""


ConfigValue = str | int | float | bool
"""The value of a config: its text as in Kafka's configuration, or a Python number or bool."""


def texts(configs: Mapping[str, ConfigValue]) -> dict[str, str]:
    """TEST_DEFAULTS and ``configs``, which take precedence, as text. Raises TypeError as :func:`config_text` does."""
    return {**TEST_DEFAULTS, **{key: config_text(key, value) for key, value in configs.items()}}


def config_text(key: str, value: ConfigValue) -> str:
    """A value in the text form of Kafka's configuration (``true``, not ``True``). Raises TypeError for other types."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"{key}: the value must be a str, int, float or bool, not {type(value).__name__}")
