"""Merges results by topic: of partitions that the handler refused, and of those that the coordinator answered.

Owns: the order of topics. Never does: deciding. Source: ``OffsetCommitResponse.Builder.merge`` and the ``merge`` of
similar responses.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, Protocol, TypeVar


class TopicResult(Protocol):
    """A topic of a response."""

    partitions: Any
    """The list of its partitions' results."""


Result = TypeVar("Result", bound=TopicResult)


class MergedTopics(Generic[Result]):
    """The topics of the answers to several portions of a request (:mod:`.portions`), one entry for each topic."""

    def __init__(self, identity: Callable[[Result], Hashable], answer: Callable[[list[Result]], None]) -> None:
        """``answer`` is called with all topics after every expected portion has been added."""
        self._identity = identity
        self._answer = answer
        self._by_topic: dict[Hashable, Result] = {}
        self._missing = 1
        """The number of portions whose answers are missing, plus one until :meth:`close` is called."""

    def expect(self) -> None:
        """Notes that the answer to one more portion will be added."""
        self._missing += 1

    def add(self, topics: Iterable[Result]) -> None:
        """Adds the topics of the answer to a portion."""
        for topic in topics:
            known = self._by_topic.setdefault(self._identity(topic), topic)
            if known is not topic:
                known.partitions += topic.partitions
        self._arrived()

    def close(self) -> None:
        """Notes that all portions are known: no further call of :meth:`expect` follows."""
        self._arrived()

    def _arrived(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._answer(list(self._by_topic.values()))
