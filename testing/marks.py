"""What the mark ``kafka`` and the ini option say. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pytest

from .config_values import ConfigValue

MARK = "kafka"
ARGUMENTS = {"topics", "configs"}


class MarkedTopic(NamedTuple):
    """A topic that a test begins with."""

    name: str
    partitions: int = 1
    configs: Mapping[str, ConfigValue] = {}


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
            found = marked_topic(topic)
            topics[found.name] = found
        configs.update(mark.kwargs.get("configs", {}))
    return list(topics.values()), configs


def marked_topic(text: str) -> MarkedTopic:
    """A topic from ``name``, ``name:partitions`` or ``name:partitions:cleanup.policy``. Raises UsageError."""
    name, _, rest = text.partition(":")
    partitions, _, policy = rest.partition(":")
    if not name or (partitions and not partitions.isdecimal()):
        raise pytest.UsageError(
            f"{text!r} does not name a topic: write 'name', 'name:partitions' or 'name:partitions:compact'"
        )
    return MarkedTopic(name, int(partitions or 1), {"cleanup.policy": policy} if policy else {})


def configs_of_lines(lines: Iterable[str]) -> dict[str, ConfigValue]:
    """Configs from lines of ``key=value``. Raises UsageError for another line."""
    configs: dict[str, ConfigValue] = {}
    for line in lines:
        key, equals, value = line.partition("=")
        if not equals or not key.strip():
            raise pytest.UsageError(f"kafka_configs: {line!r} is not key=value")
        configs[key.strip()] = value.strip()
    return configs
