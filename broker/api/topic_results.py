"""Puts together what is said of partitions in two places: refused before the coordinator was asked, and by it.

Owns: the order. Never does: deciding. Source: ``OffsetCommitResponse.Builder.merge`` and its sisters.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, TypeVar


class TopicResult(Protocol):
    """A topic of a response."""

    partitions: Any
    """The list of its partitions' results."""


Result = TypeVar("Result", bound=TopicResult)


def merge_topics(results: Iterable[Result], identity: Callable[[Result], Hashable]) -> list[Result]:
    """One entry for each topic, with all its partitions; topics in the order in which they come first."""
    by_topic: dict[Hashable, Result] = {}
    for topic in results:
        known = by_topic.setdefault(identity(topic), topic)
        if known is not topic:
            known.partitions += topic.partitions
    return list(by_topic.values())
