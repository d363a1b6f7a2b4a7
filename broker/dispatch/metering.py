"""Puts the meters of topics before Produce and Fetch.

Owns: when they count. Never does: counting. A broker without metrics has none of this. Source: ``BrokerTopicStats`` in
``ReplicaManager`` and ``KafkaApis``.
"""

from collections.abc import Callable, Iterator
from typing import Any

from ...protocol.api_keys import ApiKey
from ..metrics.topic_meters import TopicMeters
from .served import Handler


def metered(topics: TopicMeters) -> Callable[[int, Handler], Handler]:
    """What puts the meters before handlers (:meth:`Dispatcher.intercept`)."""

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


class MeteredReply:
    """A reply function that counts the answer."""

    __slots__ = ("_count", "_reply")

    def __init__(self, reply: Any, count: Callable[[Any], None]) -> None:
        self._reply = reply
        self._count = count

    def __call__(self, response: Any) -> None:
        """Counts and answers."""
        if response is not None:
            self._count(response)
        self._reply(response)

    def refuse(self, reason: str) -> None:
        """Closes the connection instead."""
        self._reply.refuse(reason)

    def run_steps(self, request: object, steps: Iterator[object]) -> None:
        """Runs further steps of the request."""
        self._reply.run_steps(request, steps)
