"""DescribeProducers (61): the producers with producer ids that write to partitions, and their open transactions.

Versions: 0.
Errors of each partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, KAFKA_STORAGE_ERROR,
NOT_LEADER_OR_FOLLOWER (this broker has no replica; followers answer as the leader does).
Source: KIP-664; ``KafkaApis.handleDescribeProducersRequest``, ``ReplicaManager.activeProducerState``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.transactions import DescribeProducersRequest, DescribeProducersResponse
from odradek.storage.producers.producer_state import ProducerEntry

from ..dispatch.request import RequestContext
from ..replicas.partitions import Partitions
from .parts import RecordParts

API_KEY = ApiKey.DESCRIBE_PRODUCERS
NO_OFFSET = -1
PRODUCERS_A_STEP = 200

PartitionResponse = DescribeProducersResponse.PartitionResponse


def handle(
    broker: RecordParts,
    request: DescribeProducersRequest,
    context: RequestContext,
    reply: Callable[[DescribeProducersResponse], None],
) -> Iterator[None]:
    """Answers from the producer state of each partition."""
    response = DescribeProducersResponse()
    for topic in request.topics:
        described = DescribeProducersResponse.TopicResponse(topic.name)
        response.topics.append(described)
        for index in topic.partition_indexes:
            described.partitions.append((yield from _describe(broker.partitions, topic.name, index)))
    reply(response)


def _describe(partitions: Partitions, topic: str, index: int) -> Steps[PartitionResponse]:
    yield
    try:
        partition = partitions.get(topic, index)
    except KafkaError as error:
        return PartitionResponse(index, error.error_code, error.error_code.message)
    try:
        log = partition.log_to_fetch(only_leader=False)
    except KafkaError as error:
        return PartitionResponse(index, error.error_code)
    active = []
    for count, entry in enumerate(list(log.producer_state.producers.values()), 1):
        if not count % PRODUCERS_A_STEP:
            yield
        active.append(_producer(entry))
    return PartitionResponse(index, active_producers=active)


def _producer(entry: ProducerEntry) -> DescribeProducersResponse.ProducerState:
    first_offset = entry.transaction_first_offset
    return DescribeProducersResponse.ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=NO_OFFSET if first_offset is None else first_offset,
    )
