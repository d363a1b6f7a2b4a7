"""DeleteRecords (21): moves a partition's log start offset up.

Versions: 0 to 2. 2: flexible.
Errors: UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE (beyond the high watermark), POLICY_VIOLATION (a topic that is
only compacted), INVALID_TOPIC_EXCEPTION (internal topics), KAFKA_STORAGE_ERROR.
Offset -1 means the high watermark. The answer has the new log start offset. Source: KIP-107;
``ReplicaManager.deleteRecordsOnLocalLog``.
"""

from collections.abc import Callable, Iterator

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.internal_topics import is_internal
from ...protocol.messages.offsets import DeleteRecordsRequest, DeleteRecordsResponse
from ..dispatch.request import RequestContext
from ..replicas.partitions import Partitions
from ..server.broker import Broker

API_KEY = ApiKey.DELETE_RECORDS
TO_HIGH_WATERMARK = -1

Answer = DeleteRecordsResponse.DeleteRecordsPartitionResult


def handle(
    broker: Broker,
    request: DeleteRecordsRequest,
    context: RequestContext,
    reply: Callable[[DeleteRecordsResponse], None],
) -> Iterator[None]:
    """Deletes up to each partition's offset."""
    topics = []
    for topic in request.topics:
        answers = []
        for wanted in topic.partitions:
            yield
            try:
                low_watermark = _delete(broker.partitions, topic.name, wanted.partition_index, wanted.offset)
                answers.append(Answer(wanted.partition_index, low_watermark, ErrorCode.NONE))
            except KafkaError as error:
                answers.append(Answer(wanted.partition_index, -1, error.error_code))
        topics.append(DeleteRecordsResponse.DeleteRecordsTopicResult(name=topic.name, partitions=answers))
    reply(DeleteRecordsResponse(topics=topics))


def _delete(partitions: Partitions, topic: str, index: int, offset: int) -> int:
    """Deletes one partition's records below ``offset``. Returns its new log start offset. Raises KafkaError."""
    partition = partitions.get(topic, index)
    if is_internal(topic):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    log = partition.log
    if log.config.is_compacted and not log.config.is_deleted:
        raise KafkaError(ErrorCode.POLICY_VIOLATION)
    target = log.high_watermark if offset == TO_HIGH_WATERMARK else offset
    if target < 0 or target > log.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    log.offsets.increment_log_start_offset(target)
    return log.log_start_offset
