"""Produce (0): appends record batches to partitions.

Versions: 0 to 13. 3: transactional id; record batches of magic 2 only. 5: the log start offset in the answer. 7: zstd.
8: errors of single records and a message. 9: flexible. 10: the current leader in the answer. 12: transactions without
AddPartitionsToTxn (KIP-890). 13: topic ids instead of names.
Errors: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUIRED_ACKS, INVALID_TOPIC_EXCEPTION (internal topics),
INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP,
UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH,
INVALID_PRODUCER_ID_MAPPING, INVALID_TXN_STATE, TRANSACTION_ABORTABLE (the partition is not part of the producer's
transaction), TRANSACTIONAL_ID_AUTHORIZATION_FAILED (transactional data without a transactional id), NOT_ENOUGH_REPLICAS
(adding to the transaction failed for the moment, or fewer replicas are in sync than ``min.insync.replicas`` with
acks=all), NOT_ENOUGH_REPLICAS_AFTER_APPEND, REQUEST_TIMED_OUT (in-sync replicas have not fetched the batch in time),
NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR.
A request with acks=0 gets no answer. If it fails, the connection is closed, so that the client notices. Source:
``KafkaApis.handleProduceRequest``, ``ReplicaManager.appendRecords``.

A request with one small batch costs about 33 us in total, of which the append takes a third
(docs/developers/benchmarks.md).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.storage.log.append_plan import InspectionNeededError
from odradek.storage.log.log import AppendOrigin

from ..dispatch.request import ConnectionRefusal, Reply, RequestContext
from ..metadata.image.partition_view import CurrentLeaders
from ..produce.acceptance import Batches, BatchesByPartition, accept, accepted, check, copied, transactional_producer
from ..produce.transaction import Refusals, join
from ..produce.work import Grown, Later, PartitionProduceResponse, ProduceWork, refused
from ..replicas.partition import Partition
from .parts import RecordParts

API_KEY = ApiKey.PRODUCE
UNANSWERED_FAILURE = "a Produce request with acks=0 failed, and such a request gets no answer"

Topics = dict[tuple[str, bytes], ProduceResponse.TopicProduceResponse]
"""The answers by topic name and topic id."""

FEW = 64
"""Up to this many batches are appended in one call; more are appended in slices."""
LEADER_SINCE = 10
APPENDS_A_STEP = 16
"""The number of batches appended in one step: about 15 us each."""


def handle(
    broker: RecordParts,
    request: ProduceRequest,
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> Iterator[object] | None:
    """Appends each partition's batch, answers (after fsync or replication, if required), then wakes waiting fetches."""
    if context.in_slices:
        return _run_to_end(broker, _serve_large(broker, request, context, reply))
    found: BatchesByPartition = {}
    try:
        for topic in request.topic_data:
            check(request, topic, topic.partition_data, context.api_version, found)
        batches = list(found.values())
        producer = None if request.transactional_id is None else transactional_producer(request, batches)
    except KafkaError as error:
        _answer_all(broker, request, error, reply)
        return None
    if len(batches) > FEW:
        if not context.owns_frame:
            batches = copied(batches)
        return _run_to_end(broker, _serve_many(broker, request, batches, producer, context, reply))
    if producer is not None:
        _join_and_append(broker, request, batches, producer, context, reply)
    else:
        _append_all(broker, request, batches, context, reply, {})
    return None


def _serve_large(
    broker: RecordParts, request: ProduceRequest, context: RequestContext, reply: Reply[ProduceResponse]
) -> Iterator[object]:
    found: BatchesByPartition = {}
    try:
        for topic in request.topic_data:
            for start in range(0, len(topic.partition_data), FEW):
                check(request, topic, topic.partition_data[start : start + FEW], context.api_version, found)
                yield None
        batches = list(found.values())
        producer = transactional_producer(request, batches)
    except KafkaError as error:
        _answer_all(broker, request, error, reply)
        return
    yield None
    yield from _serve_many(broker, request, batches, producer, context, reply)


def _serve_many(
    broker: RecordParts,
    request: ProduceRequest,
    batches: Batches,
    producer: tuple[int, int] | None,
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> Iterator[object]:
    """Appends many batches in steps. Their bytes must stay valid after the handler has returned."""
    if producer is None:
        yield from _append_many(broker, request, batches, context, reply, {})
        return
    partitions: list[Partition] = []
    for start in range(0, len(batches), FEW):
        partitions += accepted(broker.partitions, request, batches[start : start + FEW], context)
        yield None

    def append(refusals: Refusals) -> None:
        reply.run_steps(request, _run_to_end(broker, _append_many(broker, request, batches, context, reply, refusals)))

    _join(broker, request, producer, partitions, context, append)


def _run_to_end(broker: RecordParts, steps: Iterator[object]) -> Iterator[object]:
    """Runs the steps to their end even if the connection is lost: with acks=0 a client may send and disconnect."""

    def finished() -> Iterator[object]:
        try:
            yield None
            for _ in steps:
                yield None
        except GeneratorExit:
            broker.slices.start_background(steps, "the append of records whose connection was lost")
            raise

    begun = finished()
    next(begun)  # close() of a generator that has not begun skips its except block
    return begun


def _append_all(
    broker: RecordParts,
    request: ProduceRequest,
    batches: Batches,
    context: RequestContext,
    reply: Reply[ProduceResponse],
    refusals: Refusals,
) -> None:
    """Appends the batches that are not refused, and answers."""
    work = ProduceWork(request.acks, broker.topic_meters)
    topics: Topics = {}
    later = _append(broker, request, batches, context, refusals, work, topics)
    if later or work.unsynced or work.unreplicated:
        run_to_end(_answer_later(broker, work, later, topics, request.timeout_ms, context, reply))
    else:
        _answer(broker, work, topics, context, reply)
        for partition, end_offset, appended_bytes in work.grown:
            partition.notify_when_seen(end_offset, appended_bytes)


def _append_many(
    broker: RecordParts,
    request: ProduceRequest,
    batches: Batches,
    context: RequestContext,
    reply: Reply[ProduceResponse],
    refusals: Refusals,
) -> Steps[None]:
    """:func:`_append_all` in steps."""
    work = ProduceWork(request.acks, broker.topic_meters)
    topics: Topics = {}
    later: list[Later] = []
    for start in range(0, len(batches), APPENDS_A_STEP):
        later += _append(broker, request, batches[start : start + APPENDS_A_STEP], context, refusals, work, topics)
        yield
    yield from _answer_later(broker, work, later, topics, request.timeout_ms, context, reply)


def _answer_later(
    broker: RecordParts,
    work: ProduceWork,
    later: list[Later],
    topics: Topics,
    timeout_ms: int,
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> Steps[None]:
    """Appends the remaining batches, waits for fsync and in-sync replicas if required, and then answers.

    ``timeout_ms``: the longest wait for replicas.
    """

    def complete(done: ProduceWork) -> None:
        _answer(broker, done, topics, context, reply)
        if len(done.grown) > FEW:
            broker.slices.start_background(_wake_many(done.grown), "the answering of waiting fetches")
        else:
            _wake(done.grown)

    wait_for_replicas = partial(broker.timers.schedule, max(0, timeout_ms))
    yield from work.finish_later(later, context, broker.record_work_for(context), wait_for_replicas, complete)


def _append(
    broker: RecordParts,
    request: ProduceRequest,
    batches: Batches,
    context: RequestContext,
    refusals: Refusals,
    work: ProduceWork,
    topics: Topics,
) -> list[Later]:
    """Appends batches and sets their answers. Returns the batches that must be appended later, off the event loop.

    These are large, or have many records to inspect, or a thread still appends to the same partition.
    """
    later: list[Later] = []
    for topic, data, batch in batches:
        answered = topics.get((topic.name, topic.topic_id))
        if answered is None:
            answered = ProduceResponse.TopicProduceResponse(topic.name, topic.topic_id)
            topics[topic.name, topic.topic_id] = answered
        answer = PartitionProduceResponse(data.index, ErrorCode.NONE)
        answered.partition_responses.append(answer)
        try:
            partition, header, records = accept(broker.partitions, request, topic, data, batch, context)
        except KafkaError as error:
            # Drop the traceback: its frames refer to the error, which would be a reference cycle.
            error.with_traceback(None)
            if error is batch:
                work.fail(answer, error)
            else:
                work.refuse(answer, _name_of(broker, topic), error)
            continue
        if refusals and (partition.topic, partition.index) in refusals:
            work.fail(answer, refusals[partition.topic, partition.index])
            continue
        if len(records) >= partition.writers.large_bytes or partition.appends is not None:
            later.append((partition, header, records, answer))
            continue
        try:
            appended = partition.append(records, context.now_ms, AppendOrigin.CLIENT, header)
        except KafkaError as error:
            work.refuse_appended(answer, partition, error)
        except InspectionNeededError:
            later.append((partition, header, records, answer))
        else:
            work.note(answer, partition, appended, len(records))
    return later


def _name_of(broker: RecordParts, topic: ProduceRequest.TopicProduceData | ProduceResponse.TopicProduceResponse) -> str:
    """The name of a topic of the request or its answer; empty if no topic has the id that the request names."""
    return topic.name or broker.partitions.topic_name(topic.topic_id) or ""


def _join_and_append(
    broker: RecordParts,
    request: ProduceRequest,
    batches: Batches,
    producer: tuple[int, int],
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> None:
    """Adds the partitions to the transaction, then appends. Adding may wait for the transaction log's fsync."""
    is_known = False
    kept: Batches = []

    def append(refusals: Refusals) -> None:
        nonlocal is_known
        is_known = True
        _append_all(broker, request, kept or batches, context, reply, refusals)

    _join(broker, request, producer, accepted(broker.partitions, request, batches, context), context, append)
    if not is_known and not context.owns_frame:
        kept += copied(batches)


def _join(
    broker: RecordParts,
    request: ProduceRequest,
    producer: tuple[int, int],
    partitions: list[Partition],
    context: RequestContext,
    then: Callable[[Refusals], None],
) -> None:
    assert request.transactional_id is not None, "looked at by transactional_producer"
    join(
        broker.transaction_coordinator,
        request.transactional_id,
        producer,
        partitions,
        context,
        verifies=broker.config.get_boolean("transaction.partition.verification.enable"),
        then=then,
    )


def _answer(
    broker: RecordParts, work: ProduceWork, topics: Topics, context: RequestContext, reply: Reply[ProduceResponse]
) -> None:
    """Sends the answer. The caller has waited until all batches are as durable as ``acks`` requires."""
    if work.acks != 0:
        response = ProduceResponse(list(topics.values()))
        if work.failed and context.api_version >= LEADER_SINCE:
            _name_leaders(broker, response, context.listener_name)
        reply(response)
    elif work.failed:
        reply.refuse(UNANSWERED_FAILURE)
    else:
        reply(None)


def _name_leaders(broker: RecordParts, response: ProduceResponse, listener_name: str) -> None:
    """Adds the current leader and its endpoint for partitions that another broker leads (KIP-951)."""
    leaders = CurrentLeaders(broker.metadata.image, listener_name)
    for topic in response.responses:
        name = _name_of(broker, topic)
        for answer in topic.partition_responses:
            if answer.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                continue
            partition = leaders.find(name, answer.index)
            if partition is not None:
                answer.current_leader = ProduceResponse.LeaderIdAndEpoch(partition.leader, partition.leader_epoch)
    response.node_endpoints = [
        ProduceResponse.NodeEndpoint(leader, at.host, at.port) for leader, at in leaders.endpoints.items()
    ]


def _wake(grown: Sequence[Grown]) -> None:
    """Wakes up the fetches that wait for the appended records."""
    for partition, end_offset, appended_bytes in grown:
        partition.notify_when_seen(end_offset, appended_bytes)


def _wake_many(grown: Sequence[Grown]) -> Iterator[object]:
    for start in range(0, len(grown), APPENDS_A_STEP):
        _wake(grown[start : start + APPENDS_A_STEP])
        yield None


def _answer_all(broker: RecordParts, request: ProduceRequest, error: KafkaError, reply: Reply[ProduceResponse]) -> None:
    """Answers every partition with one error."""
    if request.acks == 0:
        raise ConnectionRefusal(UNANSWERED_FAILURE)
    answers: dict[tuple[str, bytes], dict[int, PartitionProduceResponse]] = {}
    for topic in request.topic_data:
        answered = answers.setdefault((topic.name, topic.topic_id), {})
        for data in topic.partition_data:
            answered[data.index] = refused(PartitionProduceResponse(data.index, ErrorCode.NONE), error)
    reply(
        ProduceResponse(
            [
                ProduceResponse.TopicProduceResponse(name, topic_id, list(partitions.values()))
                for (name, topic_id), partitions in answers.items()
            ]
        )
    )
