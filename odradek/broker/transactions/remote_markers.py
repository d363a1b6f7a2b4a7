"""WriteTxnMarkers as the coordinator sends it to the leaders of other partitions.

Pure. Source: ``TransactionMarkerChannelManager``, ``TransactionMarkerRequestCompletionHandler``.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, error_of
from odradek.protocol.messages.transactions import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from odradek.protocol.names.topics import TopicPartition

from .effects import MarkerOrder

Marker = WriteTxnMarkersRequest.WritableTxnMarker
MarkerTopic = WriteTxnMarkersRequest.WritableTxnMarkerTopic
Errors = Mapping[TopicPartition, ErrorCode]


class MarkerQuestion(NamedTuple):
    """The markers of one order for the partitions that one broker leads. ``done`` gets the result of each."""

    order: MarkerOrder
    coordinator_epoch: int
    partitions: frozenset[TopicPartition]
    done: Callable[[Errors], None]

    @property
    def key(self) -> int:
        """The producer id, by which the response names the marker."""
        return self.order.producer_id

    def failed(self, error: ErrorCode) -> None:
        """Gives every partition the error, because the other broker did not answer."""
        self.done(dict.fromkeys(self.partitions, error))


class MarkerDialect:
    """Encodes marker orders of several transactions as one WriteTxnMarkers request, and takes its response apart."""

    def together(self, question: MarkerQuestion) -> None:
        """Any questions may be in one request."""

    def request(self, questions: list[MarkerQuestion]) -> WriteTxnMarkersRequest:
        """One WriteTxnMarkers request with an entry for each order."""
        return WriteTxnMarkersRequest(
            [
                Marker(
                    producer_id=question.order.producer_id,
                    producer_epoch=question.order.producer_epoch,
                    transaction_result=question.order.commits,
                    topics=[MarkerTopic(name, indexes) for name, indexes in by_topic(question.partitions).items()],
                    coordinator_epoch=question.coordinator_epoch,
                    transaction_version=question.order.transaction_version,
                )
                for question in questions
            ]
        )

    def answers(self, questions: list[MarkerQuestion], response: WriteTxnMarkersResponse) -> list[Callable[[], None]]:
        """Returns a callback for each order, which delivers the error codes of its partitions.

        A partition that the response does not name gets UNKNOWN_SERVER_ERROR, so its marker is sent again.
        """
        found: dict[int, dict[TopicPartition, ErrorCode]] = {}
        for marker in response.markers:
            errors = found.setdefault(marker.producer_id, {})
            for topic in marker.topics:
                for partition in topic.partitions:
                    errors[topic.name, partition.partition_index] = error_of(partition.error_code)
        return [
            partial(question.done, of_each(question.partitions, found.get(question.key, {}))) for question in questions
        ]


def of_each(partitions: Iterable[TopicPartition], found: Errors) -> Errors:
    """The error of each partition; UNKNOWN_SERVER_ERROR if the answer has none."""
    return {name: found.get(name, ErrorCode.UNKNOWN_SERVER_ERROR) for name in partitions}


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The indexes of each topic, in order."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return topics
