"""OffsetForLeaderEpoch (23): the end offset of a leader epoch in this replica's log.

Versions: 0 to 4 (consumers use 2 and later). 2: the leader epoch that the client knows. 3: replica id. 4: flexible.
Errors: UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, KAFKA_STORAGE_ERROR. For an epoch that
the log does not have, the answer is as in Kafka: the next smaller epoch with that epoch's end offset. If the requested
epoch is before the log's first, the answer is the requested epoch and the start of the first. Source: KIP-101, KIP-320;
``Partition.lastOffsetForLeaderEpoch``, ``LeaderEpochFileCache.endOffsetFor``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.offsets import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse

from ..dispatch.request import RequestContext
from ..replicas.partitions import Partitions
from .parts import RecordParts

API_KEY = ApiKey.OFFSET_FOR_LEADER_EPOCH

EpochEndOffset = OffsetForLeaderEpochResponse.EpochEndOffset


def handle(
    broker: RecordParts,
    request: OffsetForLeaderEpochRequest,
    context: RequestContext,
    reply: Callable[[OffsetForLeaderEpochResponse], None],
) -> Iterator[None]:
    """Answers with the epoch and its end offset for each partition."""
    topics = []
    for topic in request.topics:
        answers = []
        for wanted in topic.partitions:
            yield
            answers.append(_answer(broker.partitions, topic.topic, wanted))
        topics.append(OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers))
    reply(OffsetForLeaderEpochResponse(topics=topics))


def _answer(
    partitions: Partitions, topic: str, wanted: OffsetForLeaderEpochRequest.OffsetForLeaderPartition
) -> EpochEndOffset:
    answer = EpochEndOffset(partition=wanted.partition)
    try:
        partition = partitions.get(topic, wanted.partition)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        log = partition.log
    except KafkaError as error:
        answer.error_code = error.error_code
        return answer
    if wanted.leader_epoch == partition.leader_epoch:
        answer.leader_epoch, answer.end_offset = partition.leader_epoch, log.log_end_offset
        return answer
    end = log.offsets.epoch_end_offset(wanted.leader_epoch)
    if end is not None:
        answer.leader_epoch, answer.end_offset = end
    return answer
