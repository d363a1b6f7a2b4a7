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

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import cast

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.internal_topics import is_internal
from ...protocol.messages.produce import ProduceRequest, ProduceResponse
from ...protocol.records.batch import BatchHeader
from ...protocol.records.errors import CorruptRecordError
from ...protocol.records.validation import read_produced_header
from ...protocol.steps import Steps, run_to_end
from ...storage.log.append_plan import InspectionNeededError
from ...storage.log.log import AppendOrigin
from ..dispatch.request import ConnectionRefusal, Reply, RequestContext
from ..produce.transaction import Refusals, join, producer_of
from ..produce.work import Answer, Grown, Later, ProduceWork, refused
from ..replicas.partition import LARGE_APPEND_BYTES, Partition
from ..server.broker import Broker

API_KEY = ApiKey.PRODUCE
ADMIN_CLIENT_ID = "__admin_client"
"""The client id that may write to internal topics (``AdminUtils.ADMIN_CLIENT_ID``)."""


UNANSWERED_FAILURE = "a Produce request with acks=0 failed, and closing is the only answer its client gets"

TopicData = ProduceRequest.TopicProduceData
PartitionData = ProduceRequest.PartitionProduceData
Batch = tuple[BatchHeader, memoryview] | KafkaError
Batches = list[tuple[TopicData, PartitionData, Batch]]
BatchesByPartition = dict[tuple[str, bytes, int], tuple[TopicData, PartitionData, Batch]]
"""By topic name, topic id and partition."""
Topics = dict[tuple[str, bytes], ProduceResponse.TopicProduceResponse]
"""The answers by topic name and topic id."""

FEW = 64
"""Up to this many batches are appended at once, more in slices."""
APPENDS_A_STEP = 16
"""Batches that are appended in one step, each in some 15 us."""

logger = logging.getLogger(__name__)


def handle(
    broker: Broker,
    request: ProduceRequest,
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> Iterator[object] | None:
    """Appends each partition's batch, answers (once the disk has what it must have), then wakes up who waits."""
    if context.in_slices:
        return _finished(broker, _serve_large(broker, request, context, reply))
    found: BatchesByPartition = {}
    try:
        for topic in request.topic_data:
            _check(request, topic, topic.partition_data, context.api_version, found)
        batches = list(found.values())
        producer = _producer(request, batches)
    except KafkaError as error:
        _answer_all(request, error, reply)
        return None
    if len(batches) > FEW:
        if not context.owns_frame:
            batches = [(topic, data, _copy(batch)) for topic, data, batch in batches]
        return _finished(broker, _serve_many(broker, request, batches, producer, context, reply))
    if producer is not None:
        _join_and_append(broker, request, batches, producer, context, reply)
    else:
        _append_all(broker, request, batches, context, reply, {})
    return None


def _serve_large(
    broker: Broker, request: ProduceRequest, context: RequestContext, reply: Reply[ProduceResponse]
) -> Iterator[object]:
    found: BatchesByPartition = {}
    try:
        for topic in request.topic_data:
            for start in range(0, len(topic.partition_data), FEW):
                _check(request, topic, topic.partition_data[start : start + FEW], context.api_version, found)
                yield None
        batches = list(found.values())
        producer = _producer(request, batches)
    except KafkaError as error:
        _answer_all(request, error, reply)
        return
    yield None
    yield from _serve_many(broker, request, batches, producer, context, reply)


def _serve_many(
    broker: Broker,
    request: ProduceRequest,
    batches: Batches,
    producer: tuple[int, int] | None,
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> Iterator[object]:
    """Appends batches whose bytes stay valid, in steps."""
    if producer is None:
        yield from _append_many(broker, request, batches, context, reply, {})
        return
    partitions: list[Partition] = []
    for start in range(0, len(batches), FEW):
        partitions += _accepted(broker, request, batches[start : start + FEW], context)
        yield None

    def append(refusals: Refusals) -> None:
        reply.go_on(request, _finished(broker, _append_many(broker, request, batches, context, reply, refusals)))

    _join(broker, request, producer, partitions, context, append)


def _finished(broker: Broker, steps: Iterator[object]) -> Iterator[object]:
    """These steps, which are taken to their end even if the connection is lost: with acks=0 that is no failure."""

    def finished() -> Iterator[object]:
        try:
            yield None
            for _ in steps:
                yield None
        except GeneratorExit:
            broker.slices.start(steps, _failed_unheard)
            raise

    begun = finished()
    next(begun)  # one that has not begun is closed without its except block
    return begun


def _failed_unheard(error: Exception) -> None:
    logger.error("appending what a lost connection had sent failed", exc_info=error)


def _producer(request: ProduceRequest, batches: Batches) -> tuple[int, int] | None:
    """The producer whose transaction the batches are part of, if any. Raises KafkaError for several."""
    if request.transactional_id is None:
        return None
    return producer_of(batch[0] for *_, batch in batches if not isinstance(batch, KafkaError))


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
    topics: Topics = {}
    later = _append(broker, request, batches, context, refusals, work, topics)
    if later or work.unsynced:
        run_to_end(_answer_later(broker, work, later, topics, context, reply))
    else:
        _answer(work, topics, reply)
        _wake(work.grown)


def _append_many(
    broker: Broker,
    request: ProduceRequest,
    batches: Batches,
    context: RequestContext,
    reply: Reply[ProduceResponse],
    refusals: Refusals,
) -> Steps[None]:
    """:func:`_append_all` in steps."""
    work = ProduceWork(request.acks)
    topics: Topics = {}
    later: list[Later] = []
    for start in range(0, len(batches), APPENDS_A_STEP):
        later += _append(broker, request, batches[start : start + APPENDS_A_STEP], context, refusals, work, topics)
        yield
    yield from _answer_later(broker, work, later, topics, context, reply)


def _answer_later(
    broker: Broker,
    work: ProduceWork,
    later: list[Later],
    topics: Topics,
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> Steps[None]:
    """Has the rest appended and synced, and answers then."""

    def complete(done: ProduceWork) -> None:
        _answer(done, topics, reply)
        if len(done.grown) > FEW:
            broker.slices.start(_wake_many(done.grown), _failed_unheard)
        else:
            _wake(done.grown)

    yield from work.finish_later(later, context, broker.record_work, complete)


def _append(
    broker: Broker,
    request: ProduceRequest,
    batches: Batches,
    context: RequestContext,
    refusals: Refusals,
    work: ProduceWork,
    topics: Topics,
) -> list[Later]:
    """Appends batches and notes their answers; those that are appended beside the event loop."""
    later: list[Later] = []
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
    return later


def _join_and_append(
    broker: Broker,
    request: ProduceRequest,
    batches: Batches,
    producer: tuple[int, int],
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> None:
    """Makes the partitions part of the transaction first, which may wait for the disk."""
    is_known = False
    kept: Batches = []

    def append(refusals: Refusals) -> None:
        nonlocal is_known
        is_known = True
        _append_all(broker, request, kept or batches, context, reply, refusals)

    _join(broker, request, producer, _accepted(broker, request, batches, context), context, append)
    if not is_known and not context.owns_frame:
        kept += [(topic, data, _copy(batch)) for topic, data, batch in batches]


def _accepted(broker: Broker, request: ProduceRequest, batches: Batches, context: RequestContext) -> list[Partition]:
    """The partitions of what can be accepted; the other batches are refused when their turn comes."""
    partitions = []
    for topic, data, batch in batches:
        with suppress(KafkaError):
            partition, _, _ = _accept(broker, request, topic, data, batch, context)
            partitions.append(partition)
    return partitions


def _join(
    broker: Broker,
    request: ProduceRequest,
    producer: tuple[int, int],
    partitions: list[Partition],
    context: RequestContext,
    then: Callable[[Refusals], None],
) -> None:
    assert request.transactional_id is not None, "looked at by _producer"
    join(
        broker.transaction_coordinator,
        request.transactional_id,
        producer,
        partitions,
        context,
        verifies=broker.config.get_boolean("transaction.partition.verification.enable"),
        then=then,
    )


def _copy(batch: Batch) -> Batch:
    """The batch, to be appended when its frame is gone."""
    return batch if isinstance(batch, KafkaError) else (batch[0], memoryview(bytes(batch[1])))


def _answer(
    work: ProduceWork,
    topics: Topics,
    reply: Reply[ProduceResponse],
) -> None:
    """Everything is as durable as was asked: answers."""
    if work.acks != 0:
        reply(ProduceResponse(list(topics.values())))
    elif work.failed:
        reply.refuse(UNANSWERED_FAILURE)
    else:
        reply(None)


def _wake(grown: Sequence[Grown]) -> None:
    """Wakes up the fetches that wait for what was appended."""
    for partition, end_offset, appended_bytes in grown:
        partition.notify_when_seen(end_offset, appended_bytes)


def _wake_many(grown: Sequence[Grown]) -> Iterator[object]:
    for start in range(0, len(grown), APPENDS_A_STEP):
        _wake(grown[start : start + APPENDS_A_STEP])
        yield None


def _check(
    request: ProduceRequest,
    topic: TopicData,
    partition_data: Sequence[PartitionData],
    version: int,
    batches: BatchesByPartition,
) -> None:
    """Adds the batch of each of these partitions of a topic to ``batches``, or what is wrong with it.

    Raises KafkaError for what fails the whole request, in Kafka's way: a batch that is none, or transactional data
    without a transactional id.
    """
    for data in partition_data:
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
