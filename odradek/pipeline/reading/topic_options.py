"""Parses the options that choose topics and partitions: `subscribe`, `topics`, `subscribePattern`, `assign`.

Pure. A pattern does not match Kafka's internal topics, as in a consumer (exclude.internal.topics). Source: Spark's
ConsumerStrategy.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from odradek.protocol.names.topics import RESERVED_TOPICS

CHOICES = ("subscribe", "topics", "subscribePattern", "assign")


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """The topics to read. If all fields are None: all whose names do not begin with ``__``."""

    names: frozenset[str] | None = None
    pattern: str | None = None
    partitions: frozenset[tuple[str, int]] | None = None

    @property
    def listed(self) -> list[str] | None:
        """The names of the topics; None if they depend on the topics in a directory."""
        if self.partitions is not None:
            return sorted({topic for topic, _ in self.partitions})
        return None if self.names is None else sorted(self.names)

    def has(self, topic: str, partition: int) -> bool:
        """Whether a partition is chosen."""
        if self.partitions is not None:
            return (topic, partition) in self.partitions
        if self.names is not None:
            return topic in self.names
        if self.pattern is not None:
            return topic not in RESERVED_TOPICS and re.fullmatch(self.pattern, topic) is not None
        return not topic.startswith("__")


def parse_topics(options: Mapping[str, str | None]) -> TopicChoice:
    """Parses the options. Raises ValueError if two of them are given, or if one is malformed."""
    given = [name for name in CHOICES if options[name] is not None]
    if len(given) > 1:
        raise ValueError(f"give only one of {', '.join(CHOICES)}, not {' and '.join(given)}")
    if not given:
        return TopicChoice()
    name, text = given[0], options[given[0]] or ""
    if name == "assign":
        return TopicChoice(partitions=_assigned(text))
    if name == "subscribePattern":
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"subscribePattern {text!r} is not a regular expression: {error}") from None
        return TopicChoice(pattern=text)
    names = frozenset(topic.strip() for topic in text.split(",") if topic.strip())
    if not names:
        raise ValueError(f"{name} is empty: name at least one topic")
    return TopicChoice(names=names)


def _assigned(text: str) -> frozenset[tuple[str, int]]:
    try:
        parsed = json.loads(text)
        return frozenset((topic, int(partition)) for topic, found in parsed.items() for partition in found)
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f'assign must be JSON like {{"topic": [0, 1]}}, not {text!r}') from None
