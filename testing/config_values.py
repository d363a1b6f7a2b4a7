"""The configs of a broker for tests: values of Python as Kafka's texts. Pure."""

from collections.abc import Mapping

TEST_DEFAULTS: Mapping[str, str] = {
    # A group's first members need not wait for others in a test (Kafka's default: 3 s).
    "group.initial.rebalance.delay.ms": "0",
}
"""Where a broker for tests differs from Kafka's defaults, by Kafka's keys."""


ConfigValue = str | int | float | bool
"""The value of a Kafka key: its text, or what Python has for it."""


def texts(configs: Mapping[str, ConfigValue]) -> dict[str, str]:
    """The configs of a broker for tests, as Kafka's texts. Raises TypeError as :func:`config_text`."""
    return {**TEST_DEFAULTS, **{key: config_text(key, value) for key, value in configs.items()}}


def config_text(key: str, value: ConfigValue) -> str:
    """A value as the text that Kafka's configuration has for it. Raises TypeError for any other type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"{key}: a value is a str, int, float or bool, not {type(value).__name__}")
