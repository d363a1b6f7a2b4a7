"""Parses the short text form of a topic, ``name:partitions:cleanup.policy``. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from .config_values import ConfigValue


class MarkedTopic(NamedTuple):
    """A topic to create before a test."""

    name: str
    partitions: int = 1
    configs: Mapping[str, ConfigValue] = {}


def marked_topic(text: str) -> MarkedTopic:
    """Parses ``name``, ``name:partitions`` or ``name:partitions:cleanup.policy``. Raises ValueError."""
    name, _, rest = text.partition(":")
    partitions, _, policy = rest.partition(":")
    if not name or (partitions and not partitions.isdecimal()):
        raise ValueError(
            f"{text!r} does not name a topic: write 'name', 'name:partitions' or 'name:partitions:compact'"
        )
    return MarkedTopic(name, int(partitions or 1), {"cleanup.policy": policy} if policy else {})
