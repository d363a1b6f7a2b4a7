"""Creates the internal topics of streams groups: repartition and changelog topics, as the application wants them.

Shell. Owns: the names that are being created, and why others could not be. Never does: deciding which topics a group
needs. Invariants: a name is asked for once at a time, and again only after its last failure is forgotten; at most
MOST_FAILURES failures are kept. Source: ``AutoTopicCreationManager.createStreamsInternalTopics``,
``ExpiringErrorCache``.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from odradek.protocol.messages.topics import CreateTopicsRequest

from ...metadata.publisher.controller_link import Requester, TopicCreator
from .topology import InternalTopic

MOST_FAILURES = 1_000
CreatableTopic = CreateTopicsRequest.CreatableTopic


class _FailedCreation(NamedTuple):
    """Why a topic could not be created, and until when members hear that: wall clock, ms."""

    reason: str
    kept_until_ms: int


class InternalTopics:
    """The internal topics that this broker asks for, for the groups that it coordinates."""

    def __init__(self, creator: TopicCreator, clock_ms: Callable[[], int]) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch."""
        self._creator = creator
        self._clock_ms = clock_ms
        self._asked: set[str] = set()
        self._failures: dict[str, _FailedCreation] = {}

    def create(self, topics: Iterable[InternalTopic], requester: Requester, keep_failures_ms: int) -> None:
        """Asks for topics with the rights of ``requester``. A failure is kept for ``keep_failures_ms``; until then the
        topic is not asked for again."""
        now_ms = self._clock_ms()
        wanted = [topic for topic in topics if topic.name not in self._asked and not self._failure(topic.name, now_ms)]
        if wanted:
            names = [topic.name for topic in wanted]
            self._asked.update(names)
            answered = partial(self._answered, names, keep_failures_ms)
            self._creator.create_as([_creatable(topic) for topic in wanted], requester, now_ms, answered)

    def failures(self, topics: Iterable[InternalTopic]) -> dict[str, str]:
        """Returns name -> reason of the topics whose last creation has failed not long ago."""
        now_ms = self._clock_ms()
        found = ((topic.name, self._failure(topic.name, now_ms)) for topic in topics)
        return {name: failure.reason for name, failure in found if failure is not None}

    def _failure(self, name: str, now_ms: int) -> _FailedCreation | None:
        failure = self._failures.get(name)
        return None if failure is None or failure.kept_until_ms <= now_ms else failure

    def _answered(self, names: list[str], keep_ms: int, failed: dict[str, str]) -> None:
        self._asked.difference_update(names)
        now_ms = self._clock_ms()
        for name in names:
            self._failures.pop(name, None)
        for name, reason in failed.items():
            self._failures[name] = _FailedCreation(reason, now_ms + keep_ms)
        if len(self._failures) > MOST_FAILURES:
            ending = sorted(self._failures, key=lambda name: self._failures[name].kept_until_ms)
            for name in ending[: len(self._failures) - MOST_FAILURES]:
                del self._failures[name]


def _creatable(topic: InternalTopic) -> CreatableTopic:
    """The topic as CreateTopics has it; without an own replication factor it gets the broker's default."""
    configs = [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in topic.configs]
    return CreatableTopic(topic.name, topic.partitions, topic.replication_factor or -1, configs=configs)
