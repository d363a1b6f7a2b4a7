"""AddPartitionsToTxn (24): a transaction will write to these partitions.

Versions: 0 to 5. 1: answers are sent before throttling. 2: PRODUCER_FENCED. 3: flexible. 4: sent only by brokers, for
several transactions at once; it may only verify (KIP-890). 5: TRANSACTION_ABORTABLE if verification finds that a
partition is not part of the transaction.
Errors of each partition: UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED (internal topics),
OPERATION_NOT_ATTEMPTED (another partition has one of these errors), INVALID_REQUEST (no transactional id),
INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (before version 2 INVALID_PRODUCER_EPOCH), CONCURRENT_TRANSACTIONS,
TRANSACTION_ABORTABLE, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: KIP-98, KIP-890; ``KafkaApis.handleAddPartitionsToTxnRequest``.
"""

from collections.abc import Callable, Mapping
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.transactions import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from odradek.protocol.names.topics import TopicPartition, is_internal

from ..dispatch.request import RequestContext
from ..metadata.image.image import MetadataImage
from ..transactions.add_partitions import add_partitions, verify_partitions
from ..transactions.transaction import EPOCH_BUMP_SINCE
from .parts import TransactionParts

API_KEY = ApiKey.ADD_PARTITIONS_TO_TXN
PRODUCER_FENCED_SINCE = 2
BATCHES_SINCE = 4
PARTITIONS_A_STEP = 256
"""The number of partitions looked up in one step."""
TRANSACTIONS_A_STEP = 16

Errors = Mapping[TopicPartition, ErrorCode]
AddPartitionsToTxnTopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction


def handle(
    broker: TransactionParts,
    request: AddPartitionsToTxnRequest,
    context: RequestContext,
    reply: Callable[[AddPartitionsToTxnResponse], None],
) -> Steps[None]:
    """Answers after the transaction log stores the partitions of every transaction."""
    if context.api_version < BATCHES_SINCE:
        single = Transaction(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        yield from _add(broker, single, context, lambda errors: reply(_single_response(errors)))
        return
    results: dict[str, Errors] = {}
    transactions = {transaction.transactional_id: transaction for transaction in request.transactions}

    def collect(transactional_id: str, errors: Errors) -> None:
        results[transactional_id] = errors
        if len(results) == len(transactions):
            reply(
                AddPartitionsToTxnResponse(
                    results_by_transaction=[
                        AddPartitionsToTxnResponse.AddPartitionsToTxnResult(
                            transaction, _topic_results(results[transaction])
                        )
                        for transaction in transactions
                    ]
                )
            )

    if not transactions:
        reply(AddPartitionsToTxnResponse())
    for number, (transactional_id, transaction) in enumerate(transactions.items()):
        if number and not number % TRANSACTIONS_A_STEP:
            yield
        yield from _add(broker, transaction, context, partial(collect, transactional_id))


def _add(
    broker: TransactionParts, transaction: Transaction, context: RequestContext, done: Callable[[Errors], None]
) -> Steps[None]:
    """Adds or verifies the partitions of one transaction. ``done`` is called with the error code of each partition."""
    named: set[TopicPartition] = set()
    problems: dict[TopicPartition, ErrorCode] = {}
    from_client, looked_up = context.api_version < BATCHES_SINCE, 0
    for topic in transaction.topics:
        for index in topic.partitions:
            if looked_up == PARTITIONS_A_STEP:
                looked_up = 0
                yield
            looked_up += 1
            partition = (topic.name, index)
            named.add(partition)
            problem = _problem(broker.metadata.image, partition, from_client=from_client)
            if problem is not None:
                problems[partition] = problem
    partitions = frozenset(named)

    def refused(error: ErrorCode) -> Errors:
        if error is ErrorCode.PRODUCER_FENCED and context.api_version < PRODUCER_FENCED_SINCE:
            error = ErrorCode.INVALID_PRODUCER_EPOCH
        return dict.fromkeys(partitions, error)

    def answer(result: Errors | ErrorCode) -> None:
        done(refused(result) if isinstance(result, ErrorCode) else result)

    if problems:
        done({**refused(ErrorCode.OPERATION_NOT_ATTEMPTED), **problems})
        return
    if not transaction.transactional_id:
        done(refused(ErrorCode.INVALID_REQUEST))
        return
    try:
        shard = broker.transaction_coordinator.shard_of(transaction.transactional_id)
    except KafkaError as error:
        done(refused(error.error_code))
        return
    who = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
    if transaction.verify_only:
        shard.read(lambda core: verify_partitions(core, *who, partitions), answer, refused)
        return
    version = EPOCH_BUMP_SINCE if context.api_version >= BATCHES_SINCE else 0
    shard.write(
        context.now_ms,
        lambda core, effects: add_partitions(core, *who, partitions, version, effects),
        answer,
        refused,
    )


def _problem(image: MetadataImage, partition: TopicPartition, *, from_client: bool) -> ErrorCode | None:
    """Why a partition can't be added: it is unknown, or of an internal topic and a client asks. Then the caller adds no
    partition.
    """
    if from_client and is_internal(partition[0]):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if image.partition(*partition) is None else None


def _single_response(errors: Errors) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topic_results(errors))


def _topic_results(errors: Errors) -> list[AddPartitionsToTxnTopicResult]:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (topic, index), error in sorted(errors.items()):
        result = topics.setdefault(topic, AddPartitionsToTxnTopicResult(topic))
        result.results_by_partition.append(AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult(index, error))
    return list(topics.values())
