"""Wraps the handlers of Produce and Fetch so that the topic metrics count their bytes and requests.

Owns: when the meters count. Never does: counting. A broker without metrics does not use this module. Source:
``BrokerTopicStats`` in ``ReplicaManager`` and ``KafkaApis``.
"""

from collections.abc import Callable, Iterator
from typing import Any

from ...protocol.api_keys import ApiKey
from ..metrics.topic_meters import TopicMeters
from .served import Handler
from .wrapped_reply import WrappedReply


def metered(topics: TopicMeters) -> Callable[[int, Handler], Handler]:
    """The function for :meth:`Dispatcher.intercept` that wraps the handlers of Produce and Fetch with meters."""

    def intercept(api_key: int, handle: Handler) -> Handler:
        if api_key == ApiKey.PRODUCE:
            return _before_produce(topics, handle)
        if api_key == ApiKey.FETCH:
            return _before_fetch(topics, handle)
        return handle

    return intercept


def _before_produce(topics: TopicMeters, handle: Handler) -> Handler:
    def serve(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object] | None:
        sizes = topics.sizes(request)
        return handle(broker, request, context, MeteredReply(reply, lambda response: topics.produced(sizes, response)))

    return serve


def _before_fetch(topics: TopicMeters, handle: Handler) -> Handler:
    def serve(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object] | None:
        if request.replica_id >= 0 or request.replica_state.replica_id >= 0:
            return handle(broker, request, context, reply)  # a follower: replication has its own metrics
        return handle(broker, request, context, MeteredReply(reply, topics.fetched))

    return serve


class MeteredReply(WrappedReply):
    """A reply function that counts the answer before it passes it on."""

    __slots__ = ("_count",)

    def __init__(self, reply: Any, count: Callable[[Any], None]) -> None:
        super().__init__(reply)
        self._count = count

    def __call__(self, response: Any) -> None:
        """Counts the answer, then sends it."""
        if response is not None:
            self._count(response)
        self._reply(response)
