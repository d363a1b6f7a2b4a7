"""Reads the pytest mark ``kafka`` and the ini option ``kafka_configs``. Pure."""

from collections.abc import Iterable, Mapping

import pytest

from .config_values import ConfigValue
from .marked_topic import MarkedTopic, marked_topic

MARK = "kafka"
ARGUMENTS = {"topics", "configs"}


def topics_and_configs(node: pytest.Item) -> tuple[list[MarkedTopic], dict[str, ConfigValue]]:
    """The topics and configs of all ``kafka`` marks of a test; the mark nearest to it wins. Raises UsageError."""
    topics: dict[str, MarkedTopic] = {}
    configs: dict[str, ConfigValue] = {}
    for mark in reversed(list(node.iter_markers(MARK))):  # from the module to the test
        if mark.args or set(mark.kwargs) - ARGUMENTS:
            wrong = next(iter(set(mark.kwargs) - ARGUMENTS), "an argument without a name")
            raise pytest.UsageError(
                f"{node.nodeid}: the mark kafka accepts topics=[...] and configs={{...}}, not {wrong}"
            )
        named, added = mark.kwargs.get("topics", ()), mark.kwargs.get("configs", {})
        if not isinstance(named, Iterable) or not isinstance(added, Mapping):
            raise pytest.UsageError(
                f"{node.nodeid}: topics of the mark kafka is a list of names, configs a dict of Kafka's keys"
            )
        for topic in [named] if isinstance(named, str) else named:
            try:
                found = marked_topic(topic)
            except ValueError as error:
                raise pytest.UsageError(f"{node.nodeid}: {error}") from error
            topics[found.name] = found
        configs.update(added)
    return list(topics.values()), configs


def configs_of_lines(lines: Iterable[str]) -> dict[str, ConfigValue]:
    """Parses lines of ``key=value`` as configs. Raises UsageError for a line of another form."""
    configs: dict[str, ConfigValue] = {}
    for line in lines:
        key, equals, value = line.partition("=")
        if not equals or not key.strip():
            raise pytest.UsageError(f"kafka_configs: {line!r} is not key=value")
        configs[key.strip()] = value.strip()
    return configs
