"""Produce (0): appends record batches to partitions.

Versions: 0 to 13. 3: transactional id; record batches of magic 2 only. 5: the log start offset in the answer. 7: zstd.
8: errors of single records and a message. 9: flexible. 10: the current leader in the answer. 12: transactions without
AddPartitionsToTxn (KIP-890). 13: topic ids instead of names.
Errors: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUIRED_ACKS, INVALID_TOPIC_EXCEPTION (internal topics),
INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP,
UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
UNKNOWN_PRODUCER_ID, INVALID_PRODUCER_ID_MAPPING (transactional data without a transaction), KAFKA_STORAGE_ERROR.
With acks=0 there is no answer; where such a request fails, the connection closes, which is how its client notices.
Source: ``KafkaApis.handleProduceRequest``, ``ReplicaManager.appendRecords``.

Cost of a request with one small batch, all in: about 33 us, of which the append is a third (docs/benchmarks.md).
"""

from collections.abc import Callable
from typing import Protocol, cast

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.produce import ProduceRequest, ProduceResponse
from ...protocol.records.batch import BatchHeader
from ...protocol.records.errors import CorruptRecordError
from ...protocol.records.validation import read_produced_header
from ...storage.errors import RecordValidationError
from ...storage.log import AppendOrigin
from ..internal_topics import is_internal
from ..partition import Partition
from ..partitions import Partitions
from ..produce_wait import ProduceWait
from ..request import ConnectionRefusal, RequestContext

API_KEY = ApiKey.PRODUCE
ADMIN_CLIENT_ID = "__admin_client"
"""The client id that may write to internal topics (``AdminUtils.ADMIN_CLIENT_ID``)."""


UNANSWERED_FAILURE = "a Produce request with acks=0 failed, and closing is the only answer its client gets"

WITHOUT_LOG_START = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""What the log refuses without Kafka saying where it starts (``ReplicaManager.appendRecordsToLeader``)."""

TopicData = ProduceRequest.TopicProduceData
PartitionData = ProduceRequest.PartitionProduceData
Batch = tuple[BatchHeader, memoryview] | KafkaError


class Broker(Protocol):
    """What this handler needs."""

    @property
    def partitions(self) -> Partitions:
        """What is served."""


def handle(
    broker: Broker,
    request: ProduceRequest,
    context: RequestContext,
    reply: Callable[[ProduceResponse | None], None],
) -> None:
    """Appends each partition's batch, answers (once the disk has what it must have), then wakes up who waits."""
    try:
        batches = _check(request, context.api_version)
    except KafkaError as error:
        _answer_all(request, error, reply)
        return
    grown: list[tuple[Partition, int, int]] = []
    unsynced: list[tuple[Partition, int, ProduceResponse.PartitionProduceResponse]] = []
    failed = False
    topics: dict[tuple[str, bytes], ProduceResponse.TopicProduceResponse] = {}
    for topic, data, batch in batches:
        answered = topics.get((topic.name, topic.topic_id))
        if answered is None:
            answered = ProduceResponse.TopicProduceResponse(topic.name, topic.topic_id)
            topics[topic.name, topic.topic_id] = answered
        try:
            answer = _append(broker, request, topic, data, batch, context, grown, unsynced)
        except KafkaError as error:
            answer = _refusal(data.index, error)
        failed = failed or answer.error_code != ErrorCode.NONE
        answered.partition_responses.append(answer)
    if request.acks == 0:
        if failed:
            _tell_who_waits(grown)
            raise ConnectionRefusal(UNANSWERED_FAILURE)
        reply(None)
    elif unsynced:
        ProduceWait(unsynced, lambda: reply(ProduceResponse(list(topics.values()))))
    else:
        reply(ProduceResponse(list(topics.values())))
    _tell_who_waits(grown)


def _tell_who_waits(grown: list[tuple[Partition, int, int]]) -> None:
    for partition, end_offset, appended_bytes in grown:
        partition.notify_when_seen(end_offset, appended_bytes)


def _check(request: ProduceRequest, version: int) -> list[tuple[TopicData, PartitionData, Batch]]:
    """The batch of each partition, or what is wrong with it.

    Raises KafkaError for what fails the whole request, in Kafka's way: a batch that is none, or transactional data
    without a transactional id.
    """
    batches: dict[tuple[str, bytes, int], tuple[TopicData, PartitionData, Batch]] = {}
    for topic in request.topic_data:
        for data in topic.partition_data:
            # A decoded records field is a view of the frame, or null.
            records = cast("memoryview", b"" if data.records is None else data.records)
            batch: Batch
            try:
                header = read_produced_header(records, version)
            except CorruptRecordError:
                raise
            except KafkaError as error:
                batch = error
            else:
                if header.is_transactional and request.transactional_id is None:
                    raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
                # Bytes behind the batch that are no whole batch are trimmed, as Kafka does.
                batch = (header, records[: header.size_in_bytes])
            # Of a partition that is named twice Kafka takes the last batch.
            batches[topic.name, topic.topic_id, data.index] = (topic, data, batch)
    return list(batches.values())


def _append(
    broker: Broker,
    request: ProduceRequest,
    topic: TopicData,
    data: PartitionData,
    batch: Batch,
    context: RequestContext,
    grown: list[tuple[Partition, int, int]],
    unsynced: list[tuple[Partition, int, ProduceResponse.PartitionProduceResponse]],
) -> ProduceResponse.PartitionProduceResponse:
    """Appends one partition's batch; raises KafkaError for what is refused before the log has seen it.

    What has ``grown``, and what is to be synced before the answer, is added to the lists.
    """
    name = topic.name
    if context.api_version >= 13:
        name = broker.partitions.topic_name(topic.topic_id) or ""
        if not name:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = broker.partitions.get(name, data.index)
    if isinstance(batch, KafkaError):
        raise batch
    header, records = batch
    if request.acks not in (-1, 0, 1):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    if is_internal(name) and context.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {name}")
    if header.is_transactional:
        # Nobody can have opened a transaction here, so the producer id is not one of this transactional id.
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    try:
        appended = partition.append(records, context.now_ms, AppendOrigin.CLIENT)
    except KafkaError as error:
        refusal = _refusal(data.index, error)
        if error.error_code not in WITHOUT_LOG_START:
            refusal.log_start_offset = partition.log.log_start_offset
        return refusal
    end_offset = appended.last_offset + 1
    grown.append((partition, end_offset, len(records)))
    answer = ProduceResponse.PartitionProduceResponse(
        data.index, ErrorCode.NONE, appended.first_offset, appended.log_append_time, appended.log_start_offset
    )
    log = partition.log
    if log.wants_sync:
        synced_to = log.promise.offset_to_answer(end_offset, acks_all=request.acks == -1)
        if synced_to > log.synced_offset:
            unsynced.append((partition, synced_to, answer))
    return answer


def _answer_all(request: ProduceRequest, error: KafkaError, reply: Callable[[ProduceResponse | None], None]) -> None:
    """Answers every partition with one error."""
    if request.acks == 0:
        raise ConnectionRefusal(UNANSWERED_FAILURE)
    answers: dict[tuple[str, bytes], dict[int, ProduceResponse.PartitionProduceResponse]] = {}
    for topic in request.topic_data:
        answered = answers.setdefault((topic.name, topic.topic_id), {})
        for data in topic.partition_data:
            answered[data.index] = _refusal(data.index, error)
    reply(
        ProduceResponse(
            [
                ProduceResponse.TopicProduceResponse(name, topic_id, list(partitions.values()))
                for (name, topic_id), partitions in answers.items()
            ]
        )
    )


def _refusal(index: int, error: KafkaError) -> ProduceResponse.PartitionProduceResponse:
    # What the request asked for is wrong, not the batch: Kafka gives no text for these.
    plain = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INVALID_REQUIRED_ACKS)
    return ProduceResponse.PartitionProduceResponse(
        index,
        error.error_code,
        base_offset=-1,
        record_errors=_record_errors(error),
        error_message=None if error.error_code in plain else str(error),
    )


def _record_errors(error: KafkaError) -> list[ProduceResponse.BatchIndexAndErrorMessage]:
    """Which records of the batch are at fault, where the error knows (KIP-467)."""
    if not isinstance(error, RecordValidationError):
        return []
    return [ProduceResponse.BatchIndexAndErrorMessage(index, message) for index, message in error.record_errors]
