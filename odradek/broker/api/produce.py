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

Most requests with one small batch do not come here: :mod:`..lanes.produce` serves them.
"""

from collections.abc import Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps, begun
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse

from ..dispatch.request import Reply, RequestContext
from ..produce.acceptance import accept
from ..produce.answer import ProduceAnswer
from ..produce.transaction import Joining, Refusals
from ..produce.work import ProduceWork
from ..timers.slices import Slices
from .parts import RecordParts

API_KEY = ApiKey.PRODUCE
VERIFIES = "transaction.partition.verification.enable"
LOST = "the append of records whose connection was lost"


def handle(
    broker: RecordParts,
    request: ProduceRequest,
    context: RequestContext,
    reply: Reply[ProduceResponse],
) -> Iterator[object] | None:
    """Appends each partition's batch, answers (after fsync or replication, if required), then wakes waiting fetches."""
    steps = begun(_serve(broker, request, context, reply))
    return None if steps is None else _to_their_end(broker.slices, steps)


def _serve(
    broker: RecordParts, request: ProduceRequest, context: RequestContext, reply: Reply[ProduceResponse]
) -> Steps[None]:
    answer = ProduceAnswer(request.acks, context, reply, broker.metadata, broker.topic_meters)
    try:
        batches = yield from accept(broker.partitions, request, context, answer)
        joining = None
        if request.transactional_id is not None:
            verifies = broker.config.get_boolean(VERIFIES)
            joining = Joining(request.transactional_id, batches, context, verifies=verifies)
    except KafkaError as error:
        answer.send_error(request, error)
        return
    work = ProduceWork(request.timeout_ms, context, answer, broker)
    if joining is None or not joining.missing:
        yield from work.append(batches, {} if joining is None else joining.refusals)
        return
    if not context.owns_frame:
        batches = [(partition, header, bytes(records), of) for partition, header, records, of in batches]

    def append(refusals: Refusals) -> None:
        steps = work.append(batches, refusals)
        if context.is_wanted():
            reply.run_steps(request, _to_their_end(broker.slices, steps))
        else:
            broker.slices.start_background(steps, LOST)

    joining.ensure(broker.transaction_coordinator, append)


def _to_their_end(slices: Slices, steps: Iterator[object]) -> Iterator[object]:
    """Runs the steps to their end even if the connection is lost: with acks=0 a client may send and disconnect."""
    try:
        for _ in steps:
            yield None
    except GeneratorExit:
        slices.start_background(steps, LOST)
        raise
