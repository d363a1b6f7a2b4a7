"""TxnOffsetCommit (28): stores the committed offsets of a group as part of a transaction.

Versions: 0 to 6. 2: leader epochs. 3: flexible; member, generation and group.instance.id (KIP-447). 4: the client knows
TRANSACTION_ABORTABLE. 5: also adds the group's partition to the transaction (KIP-890). 6: topic ids instead of
names, GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH (KIP-1319).
Errors of each partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, OFFSET_METADATA_TOO_LARGE, GROUP_ID_NOT_FOUND
and STALE_MEMBER_EPOCH (before version 6 ILLEGAL_GENERATION), ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
INVALID_REQUEST (no transactional id), INVALID_PRODUCER_ID_MAPPING, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE,
TRANSACTION_ABORTABLE, CONCURRENT_TRANSACTIONS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
COORDINATOR_NOT_AVAILABLE.
Source: KIP-98, KIP-447, KIP-890; ``KafkaApis.handleTxnOffsetCommitRequest``,
``GroupCoordinatorService.commitTransactionalOffsets``.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.transactions import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from odradek.protocol.names.topics import OFFSETS_TOPIC

from ..dispatch.request import RequestContext
from ..groups.coordinator import GroupShard
from ..groups.offsets.transactional_commit import (
    PartitionResponse,
    TransactionalTopicCommit,
    TxnOffsetCommitResponseTopic,
    commit_transactional_offsets,
)
from ..transactions.membership import Errors, Support, TransactionMembership
from .known_partitions import known_partitions
from .parts import TransactionParts
from .portions import portions
from .topic_results import MergedTopics

API_KEY = ApiKey.TXN_OFFSET_COMMIT
TxnOffsetCommitRequestTopic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
TxnOffsetCommitRequestPartition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition

ABORTABLE_ERROR_SINCE = 4
ADDS_IMPLICITLY_SINCE = 5
TOPIC_IDS_SINCE = 6
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def handle(
    broker: TransactionParts,
    request: TxnOffsetCommitRequest,
    context: RequestContext,
    reply: Callable[[TxnOffsetCommitResponse], None],
) -> Steps[None]:
    """Answers after the offsets of known partitions are stored. Unknown partitions get an error each."""
    broker.stalled_clients.went_on(request.transactional_id)
    merged = MergedTopics[TxnOffsetCommitResponseTopic](
        attrgetter("name", "topic_id"), lambda topics: reply(TxnOffsetCommitResponse(topics=topics))
    )
    for number, portion in enumerate(portions(request.topics, _with_partitions)):
        if number:
            yield
        merged.expect()
        _commit(broker, request, portion, context, lambda response: merged.add(response.topics))
    merged.close()


def _with_partitions(
    topic: TxnOffsetCommitRequestTopic, partitions: Sequence[TxnOffsetCommitRequestPartition]
) -> TxnOffsetCommitRequestTopic:
    return TxnOffsetCommitRequestTopic(topic.name, topic.topic_id, list(partitions))


def _commit(
    broker: TransactionParts,
    request: TxnOffsetCommitRequest,
    topics: list[TxnOffsetCommitRequestTopic],
    context: RequestContext,
    reply: Callable[[TxnOffsetCommitResponse], None],
) -> None:
    by_id = context.api_version >= TOPIC_IDS_SINCE
    commits, unknown = known_partitions(
        broker.metadata.image, topics, by_id=by_id, commit=TransactionalTopicCommit, failed=_failed
    )
    if not commits:
        reply(TxnOffsetCommitResponse(topics=unknown))
        return

    def answer(response: TxnOffsetCommitResponse) -> None:
        response.topics = [*unknown, *response.topics]
        reply(response)

    def refused(error: ErrorCode) -> TxnOffsetCommitResponse:
        return TxnOffsetCommitResponse(
            topics=[_failed(commit.name, commit.topic_id, commit.partitions, error) for commit in commits]
        )

    def write(shard: GroupShard) -> None:
        shard.write(
            context.now_ms,
            lambda core, effects: commit_transactional_offsets(core, request, commits, context.api_version, effects),
            answer,
            refused,
        )

    try:
        shard = broker.group_coordinator.shard_of(request.group_id)
        index = broker.group_coordinator.partition_for(request.group_id)
        producers = broker.partitions.get(OFFSETS_TOPIC, index).log.producer_state
    except KafkaError as error:
        answer(refused(error.error_code))
        return
    producer = (request.producer_id, request.producer_epoch)
    if producers.has_open_transaction(*producer):
        write(shard)
        return

    def added(errors: Errors) -> None:
        if errors:
            error = next(iter(errors.values()))
            # The transaction coordinator can't be reached. Clients retry COORDINATOR_LOAD_IN_PROGRESS without looking
            # up the group coordinator again.
            answer(refused(LOADING if error is ErrorCode.NETWORK_EXCEPTION else error))
        else:
            write(shard)

    support = Support.of(
        context.api_version,
        abortable_error_since=ABORTABLE_ERROR_SINCE,
        adds_implicitly_since=ADDS_IMPLICITLY_SINCE,
    )
    membership = TransactionMembership(broker.transaction_coordinator, request.transactional_id, producer, support)
    membership.ensure(frozenset({(OFFSETS_TOPIC, index)}), context.now_ms, added)


def _failed(
    name: str, topic_id: bytes, partitions: list[TxnOffsetCommitRequestPartition], error: ErrorCode
) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name, topic_id, [PartitionResponse(partition.partition_index, error) for partition in partitions]
    )
