"""What the mark ``kafka`` and the ini option say. Pure."""

from collections.abc import Iterable

import pytest

from .config_values import ConfigValue
from .marked_topic import MarkedTopic, marked_topic

MARK = "kafka"
ARGUMENTS = {"topics", "configs"}


def topics_and_configs(node: pytest.Item) -> tuple[list[MarkedTopic], dict[str, ConfigValue]]:
    """The topics and configs of a test's marks; the nearest mark wins. Raises UsageError for any other argument."""
    topics: dict[str, MarkedTopic] = {}
    configs: dict[str, ConfigValue] = {}
    for mark in reversed(list(node.iter_markers(MARK))):  # from the module to the test
        if mark.args or set(mark.kwargs) - ARGUMENTS:
            wrong = next(iter(set(mark.kwargs) - ARGUMENTS), "an argument without a name")
            raise pytest.UsageError(
                f"{node.nodeid}: the mark kafka takes topics=[...] and configs={{...}}, not {wrong}"
            )
        named = mark.kwargs.get("topics", ())
        for topic in [named] if isinstance(named, str) else named:
            try:
                found = marked_topic(topic)
            except ValueError as error:
                raise pytest.UsageError(f"{node.nodeid}: {error}") from error
            topics[found.name] = found
        configs.update(mark.kwargs.get("configs", {}))
    return list(topics.values()), configs


def configs_of_lines(lines: Iterable[str]) -> dict[str, ConfigValue]:
    """Configs from lines of ``key=value``. Raises UsageError for another line."""
    configs: dict[str, ConfigValue] = {}
    for line in lines:
        key, equals, value = line.partition("=")
        if not equals or not key.strip():
            raise pytest.UsageError(f"kafka_configs: {line!r} is not key=value")
        configs[key.strip()] = value.strip()
    return configs
