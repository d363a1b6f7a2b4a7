"""A topic creator in memory: it creates the internal topics of streams groups, or fails, or does it late."""

from collections.abc import Callable, Mapping, Sequence

from odradek.broker.metadata.publisher.controller_link import Requester, TopicCreator
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.topics import CreateTopicsRequest


class MemoryTopicCreator(TopicCreator):
    """``fail``: the reason for which each further topic can't be created. ``held``: questions are kept until
    :meth:`release`."""

    def __init__(self, put: Callable[[str, int], None]) -> None:
        """``put`` creates a topic with a number of partitions, unless it exists."""
        self.fail: str | None = None
        self.held = False
        self.asked: list[CreateTopicsRequest.CreatableTopic] = []
        self.waiting: list[Callable[[], None]] = []
        self._put = put

    def create_as(
        self,
        topics: Sequence[CreateTopicsRequest.CreatableTopic],
        requester: Requester,
        now_ms: int,
        done: Callable[[dict[str, str]], None],
    ) -> None:
        """As the controller does it."""
        reason = self.fail
        self.asked += topics

        def answer() -> None:
            if reason is not None:
                done({topic.name: reason for topic in topics})
                return
            for topic in topics:
                self._put(topic.name, topic.num_partitions)
            done({})

        if self.held:
            self.waiting.append(answer)
        else:
            answer()

    def release(self) -> None:
        """Answers the questions that were kept."""
        self.held = False
        waiting, self.waiting = self.waiting, []
        for answer in waiting:
            answer()

    def create(
        self, names: Sequence[str], requester: Requester, now_ms: int, done: Callable[[dict[str, ErrorCode]], None]
    ) -> None:
        """No test needs it."""
        raise AssertionError("groups ask for topics with settings")

    def ensure(self, name: str, now_ms: int, configs: Mapping[str, str] | None = None) -> None:
        """No test needs it."""
        raise AssertionError("groups ask for topics with settings")
