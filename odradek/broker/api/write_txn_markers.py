"""WriteTxnMarkers (27): writes commit or abort markers to partitions, for a transaction coordinator or an operator.

Versions: 1 to 2. 1: flexible. 2: the client's transaction version, which decides how the marker's epoch is checked
(KIP-1228).
Errors of each partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST (a negative producer id or epoch),
INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR, NOT_LEADER_OR_FOLLOWER (also for a
partition of ``__consumer_offsets`` that is not loaded yet), NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND,
REQUEST_TIMED_OUT.
``kafka-transactions --abort`` sends this request to end hanging transactions. Source: KIP-98, KIP-664;
``KafkaApis.handleWriteTxnMarkersRequest``.
"""

from collections.abc import Callable, Iterator
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from odradek.protocol.names.topics import TopicPartition

from ..dispatch.request import RequestContext
from ..transactions.effects import MarkerOrder
from .parts import TransactionParts

API_KEY = ApiKey.WRITE_TXN_MARKERS

WritableTxnMarkerTopicResult = WriteTxnMarkersResponse.WritableTxnMarkerTopicResult
WritableTxnMarkerPartitionResult = WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult
Key = tuple[int, str, int]


def handle(
    broker: TransactionParts,
    request: WriteTxnMarkersRequest,
    context: RequestContext,
    reply: Callable[[WriteTxnMarkersResponse], None],
) -> Iterator[object]:
    """Writes one marker in each step. Answers after every marker is durable or refused."""
    orders: list[tuple[MarkerOrder, int]] = []
    for marker in request.markers:
        partitions = frozenset((topic.name, index) for topic in marker.topics for index in topic.partition_indexes)
        order = MarkerOrder(
            "",
            marker.producer_id,
            marker.producer_epoch,
            marker.transaction_result,
            partitions,
            marker.transaction_version,
        )
        orders.append((order, marker.coordinator_epoch))
    results: dict[Key, ErrorCode] = {}
    missing = sum(len(order.partitions) for order, _ in orders)

    def written(producer_id: int, topic_partition: TopicPartition, error: ErrorCode) -> None:
        nonlocal missing
        results[producer_id, *topic_partition] = error
        missing -= 1
        if not missing:
            reply(_response(results))

    if not missing:
        reply(WriteTxnMarkersResponse())
    for order, coordinator_epoch in orders:
        is_nobodys = order.producer_id < 0 or order.producer_epoch < 0
        for topic_partition in sorted(order.partitions):
            done = partial(written, order.producer_id, topic_partition)
            if is_nobodys:
                done(ErrorCode.INVALID_REQUEST)
            else:
                broker.transaction_coordinator.markers.write(topic_partition, order, coordinator_epoch, done)
            yield None


def _response(results: dict[Key, ErrorCode]) -> WriteTxnMarkersResponse:
    by_producer: dict[int, dict[str, WritableTxnMarkerTopicResult]] = {}
    for (producer_id, topic, index), error in results.items():
        answered = by_producer.setdefault(producer_id, {}).setdefault(topic, WritableTxnMarkerTopicResult(topic))
        answered.partitions.append(WritableTxnMarkerPartitionResult(index, error))
    return WriteTxnMarkersResponse(
        [
            WriteTxnMarkersResponse.WritableTxnMarkerResult(producer_id, list(topics.values()))
            for producer_id, topics in by_producer.items()
        ]
    )
