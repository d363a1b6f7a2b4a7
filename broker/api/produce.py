"""Produce (0): appends record batches to partitions.

Versions: 0 to 13. 3: transactional id; record batches of magic 2 only. 5: the log start offset in the answer. 7: zstd.
8: errors of single records and a message. 9: flexible. 10: the current leader in the answer. 12: transactions without
AddPartitionsToTxn (KIP-890). 13: topic ids instead of names.
Errors: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUIRED_ACKS, INVALID_TOPIC_EXCEPTION (internal topics),
INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP,
UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
INVALID_PRODUCER_ID_MAPPING, INVALID_TXN_STATE, TRANSACTION_ABORTABLE (not part of the producer's transaction),
TRANSACTIONAL_ID_AUTHORIZATION_FAILED (transactional data without a transactional id), NOT_ENOUGH_REPLICAS (what happens
to the transaction is not known yet), KAFKA_STORAGE_ERROR.
With acks=0 there is no answer; where such a request fails, the connection closes, which is how its client notices.
Source: ``KafkaApis.handleProduceRequest``, ``ReplicaManager.appendRecords``.

Cost of a request with one small batch, all in: about 33 us, of which the append is a third (docs/benchmarks.md).
"""

from contextlib import suppress
from typing import Protocol, cast

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.internal_topics import is_internal
from ...protocol.messages.produce import ProduceRequest, ProduceResponse
from ...protocol.records.batch import BatchHeader
from ...protocol.records.errors import CorruptRecordError
from ...protocol.records.validation import read_produced_header
from ...storage.log.append_plan import InspectionNeededError
from ...storage.log.log import AppendOrigin
from ..config.server_config import ServerConfig
from ..dispatch.request import ConnectionRefusal, Reply, RequestContext
from ..produce.transaction import Refusals, join, producer_of
from ..produce.work import Answer, Later, ProduceWork, refused
from ..replicas.append_queue import LARGE_APPEND_BYTES
from ..replicas.partition import Partition
from ..replicas.record_work import RecordWork
from .needs import HasPartitions, HasTransactionCoordinator

API_KEY = ApiKey.PRODUCE
ADMIN_CLIENT_ID = "__admin_client"
"""The client id that may write to internal topics (``AdminUtils.ADMIN_CLIENT_ID``)."""


UNANSWERED_FAILURE = "a Produce request with acks=0 failed, and closing is the only answer its client gets"

TopicData = ProduceRequest.TopicProduceData
PartitionData = ProduceRequest.PartitionProduceData
Batch = tuple[BatchHeader, memoryview] | KafkaError
Batches = list[tuple[TopicData, PartitionData, Batch]]


class Broker(HasPartitions, HasTransactionCoordinator, Protocol):
    """What this handler needs."""

    @property
    def config(self) -> ServerConfig:
        """The configuration as it is now."""

    @property
    def record_work(self) -> RecordWork:
        """Where records are looked at."""


def handle(
    broker: Broker,
    request: ProduceRequest,
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> None:
    """Appends each partition's batch, answers (once the disk has what it must have), then wakes up who waits."""
    try:
        batches = _check(request, context.api_version)
        if request.transactional_id is not None:
            producer = producer_of(batch[0] for *_, batch in batches if not isinstance(batch, KafkaError))
            if producer is not None:
                _join_and_append(broker, request, batches, producer, context, reply)
                return
    except KafkaError as error:
        _answer_all(request, error, reply)
        return
    _append_all(broker, request, batches, context, reply, {})


def _append_all(
    broker: Broker,
    request: ProduceRequest,
    batches: Batches,
    context: RequestContext,
    reply: Reply[ProduceResponse],
    refusals: Refusals,
) -> None:
    """Appends what is not refused, and answers."""
    work = ProduceWork(request.acks)
    later: list[Later] = []
    topics: dict[tuple[str, bytes], ProduceResponse.TopicProduceResponse] = {}
    for topic, data, batch in batches:
        answered = topics.get((topic.name, topic.topic_id))
        if answered is None:
            answered = ProduceResponse.TopicProduceResponse(topic.name, topic.topic_id)
            topics[topic.name, topic.topic_id] = answered
        answer = Answer(data.index, ErrorCode.NONE)
        answered.partition_responses.append(answer)
        try:
            partition, header, records = _accept(broker, request, topic, data, batch, context)
            if refusals and (partition.topic, partition.index) in refusals:
                raise refusals[partition.topic, partition.index]
        except KafkaError as error:
            work.refuse(answer, error)
            continue
        if len(records) >= LARGE_APPEND_BYTES or partition.appends is not None:
            later.append((partition, header, records, answer))
            continue
        try:
            appended = partition.append(records, context.now_ms, AppendOrigin.CLIENT, header)
        except KafkaError as error:
            work.refuse_appended(answer, partition, error)
        except InspectionNeededError:
            later.append((partition, header, records, answer))
        else:
            work.note(answer, partition, appended)
    if later or work.unsynced:
        work.finish_later(later, context, broker.record_work, lambda done: _answer(done, topics, reply))
    else:
        _answer(work, topics, reply)


def _join_and_append(
    broker: Broker,
    request: ProduceRequest,
    batches: Batches,
    producer: tuple[int, int],
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> None:
    """Makes the partitions part of the transaction first, which may wait for the disk."""
    assert request.transactional_id is not None, "looked at by _check"
    partitions = []
    for topic, data, batch in batches:
        with suppress(KafkaError):  # what can't be accepted is refused when its turn comes
            partition, _, _ = _accept(broker, request, topic, data, batch, context)
            partitions.append(partition)
    is_known = False
    kept: Batches = []

    def append(refusals: Refusals) -> None:
        nonlocal is_known
        is_known = True
        _append_all(broker, request, kept or batches, context, reply, refusals)

    join(
        broker.transaction_coordinator,
        request.transactional_id,
        producer,
        partitions,
        context,
        verifies=broker.config.get_boolean("transaction.partition.verification.enable"),
        then=append,
    )
    if not is_known and not context.owns_frame:
        kept += [(topic, data, _copy(batch)) for topic, data, batch in batches]


def _copy(batch: Batch) -> Batch:
    """The batch, to be appended when its frame is gone."""
    return batch if isinstance(batch, KafkaError) else (batch[0], memoryview(bytes(batch[1])))


def _answer(
    work: ProduceWork,
    topics: dict[tuple[str, bytes], ProduceResponse.TopicProduceResponse],
    reply: Reply[ProduceResponse],
) -> None:
    """Everything is as durable as was asked: answers, then wakes up who waits."""
    if work.acks != 0:
        reply(ProduceResponse(list(topics.values())))
    elif work.failed:
        reply.refuse(UNANSWERED_FAILURE)
    else:
        reply(None)
    for partition, end_offset, appended_bytes in work.grown:
        partition.notify_when_seen(end_offset, appended_bytes)


def _check(request: ProduceRequest, version: int) -> Batches:
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


def _accept(
    broker: Broker,
    request: ProduceRequest,
    topic: TopicData,
    data: PartitionData,
    batch: Batch,
    context: RequestContext,
) -> tuple[Partition, BatchHeader, memoryview]:
    """The partition and its batch; raises KafkaError for what is refused before the log has seen it."""
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
    return partition, header, records


def _answer_all(request: ProduceRequest, error: KafkaError, reply: Reply[ProduceResponse]) -> None:
    """Answers every partition with one error."""
    if request.acks == 0:
        raise ConnectionRefusal(UNANSWERED_FAILURE)
    answers: dict[tuple[str, bytes], dict[int, Answer]] = {}
    for topic in request.topic_data:
        answered = answers.setdefault((topic.name, topic.topic_id), {})
        for data in topic.partition_data:
            answered[data.index] = refused(Answer(data.index, ErrorCode.NONE), error)
    reply(
        ProduceResponse(
            [
                ProduceResponse.TopicProduceResponse(name, topic_id, list(partitions.values()))
                for (name, topic_id), partitions in answers.items()
            ]
        )
    )
