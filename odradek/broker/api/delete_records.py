"""DeleteRecords (21): deletes the records below an offset, by raising the partition's log start offset.

Versions: 0 to 2. 2: flexible.
Errors: UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE (beyond the high watermark), POLICY_VIOLATION (a topic that is
only compacted), INVALID_TOPIC_EXCEPTION (internal topics), NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT (a follower has
not deleted in time), KAFKA_STORAGE_ERROR.
Offset -1 means the high watermark. The answer has the new log start offset. Source: KIP-107;
``ReplicaManager.deleteRecordsOnLocalLog``.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.offsets import DeleteRecordsRequest, DeleteRecordsResponse
from odradek.protocol.names.topics import is_internal

from ..dispatch.request import RequestContext
from ..replicas.leading import Leading, Replicated
from ..replicas.partition import Partition
from .parts import RecordParts

API_KEY = ApiKey.DELETE_RECORDS
TO_HIGH_WATERMARK = -1

DeleteRecordsPartitionResult = DeleteRecordsResponse.DeleteRecordsPartitionResult


def handle(
    broker: RecordParts,
    request: DeleteRecordsRequest,
    context: RequestContext,
    reply: Callable[[DeleteRecordsResponse], None],
) -> Iterator[None]:
    """Deletes each partition's records below its offset. Answers once all live replicas have done so, or time is up."""
    topics = []
    deletions: list[_Deletion] = []
    for topic in request.topics:
        answers = []
        for wanted in topic.partitions:
            yield
            answer = DeleteRecordsPartitionResult(wanted.partition_index, -1, ErrorCode.NONE)
            answers.append(answer)
            try:
                partition = broker.partitions.get(topic.name, wanted.partition_index)
                target = _delete(partition, topic.name, wanted.offset)
                answer.low_watermark = partition.log.log_start_offset
                if partition.leading is not None:
                    deletions.append(_Deletion(partition, partition.leading, target, answer))
            except KafkaError as error:
                answer.error_code = error.error_code
        topics.append(DeleteRecordsResponse.DeleteRecordsTopicResult(name=topic.name, partitions=answers))
    _answer_when_done(broker, deletions, request.timeout_ms, lambda: reply(DeleteRecordsResponse(topics=topics)))


def _delete(partition: Partition, topic: str, offset: int) -> int:
    """Deletes one partition's records below ``offset``. Returns the log start offset to reach. Raises KafkaError."""
    log = partition.log
    if is_internal(topic):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    if log.config.is_compacted and not log.config.is_deleted:
        raise KafkaError(ErrorCode.POLICY_VIOLATION)
    target = log.high_watermark if offset == TO_HIGH_WATERMARK else offset
    if target < 0 or target > log.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    log.offsets.increment_log_start_offset(target)
    return target


class _Deletion(NamedTuple):
    """A partition whose followers must delete, too."""

    partition: Partition
    leading: Leading
    target: int
    answer: DeleteRecordsPartitionResult


def _answer_when_done(
    broker: RecordParts, deletions: list[_Deletion], timeout_ms: int, reply: Callable[[], None]
) -> None:
    """Waits until the low watermark of each partition has reached its target (``DelayedDeleteRecords``)."""
    if not deletions:
        reply()
        return
    waiting: dict[int, tuple[_Deletion, Replicated]] = {}

    def time_is_up() -> None:
        for deletion, callback in list(waiting.values()):
            deletion.leading.forget_deletion(callback)
            callback(KafkaError(ErrorCode.REQUEST_TIMED_OUT))

    def done(place: int, failure: KafkaError | None) -> None:
        deletion, _ = waiting.pop(place)
        deletion.answer.low_watermark = deletion.leading.low_watermark
        if failure is not None:
            deletion.answer.error_code = failure.error_code
        if not waiting:
            timer.cancel()
            reply()

    timer = broker.timers.schedule(max(0, timeout_ms), time_is_up)
    waiting.update((place, (deletion, partial(done, place))) for place, deletion in enumerate(deletions))
    for deletion, callback in list(waiting.values()):
        deletion.leading.when_deleted(deletion.target, callback)
