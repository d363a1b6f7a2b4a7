"""Adds the partitions of transactional batches to their transaction, or checks them, before any append (KIP-890).

Owns: nothing. Never does: appending. Source: ``ReplicaManager.handleProduceAppend``.
"""

from collections.abc import Callable, Iterable, Mapping

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topic_partition import TopicPartition
from odradek.protocol.records.batch import BatchHeader
from odradek.storage.producers.producer_state import ProducerStateManager

from ..dispatch.request import RequestContext
from ..replicas.partition import Partition
from ..transactions.coordinator import TransactionCoordinator
from ..transactions.membership import Errors, Support, TransactionMembership

ABORTABLE_ERROR_SINCE = 11
ADDS_IMPLICITLY_SINCE = 12

_UNSURE = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Transient errors, which are answered as NOT_ENOUGH_REPLICAS: an old producer retries after that, but not after these.
"""

Refusals = Mapping[TopicPartition, KafkaError]


def producer_of(headers: Iterable[BatchHeader]) -> tuple[int, int] | None:
    """The id and epoch of the producer of a request's transactional batches; None without any.

    Raises KafkaError INVALID_PRODUCER_ID_MAPPING for several producers in one request.
    """
    producers = {(header.producer_id, header.producer_epoch) for header in headers if header.is_transactional}
    if len(producers) > 1:
        message = "Transactional records contained more than one producer ID"
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, message)
    return next(iter(producers), None)


def join(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Iterable[Partition],
    context: RequestContext,
    *,
    verifies: bool,
    then: Callable[[Refusals], None],
) -> None:
    """Makes sure that the partitions are in the producer's transaction. Calls ``then`` with the errors of partitions,
    at once or later.

    Partitions in which the transaction already has records are skipped. From version ADDS_IMPLICITLY_SINCE of the
    request on, the others are added. Older clients must have added them: this is checked if ``verifies``
    (transaction.partition.verification.enable) is True. A partition that knows a later epoch of the producer is refused
    without asking (``UnifiedLog.maybeStartTransactionVerification``).
    """
    support = Support.of(
        context.api_version,
        abortable_error_since=ABORTABLE_ERROR_SINCE,
        adds_implicitly_since=ADDS_IMPLICITLY_SINCE,
    )
    if not (verifies or support is Support.ADDS_IMPLICITLY):
        then({})
        return
    fenced: dict[TopicPartition, KafkaError] = {}
    missing: set[TopicPartition] = set()
    for partition in partitions:
        state = _producer_state(partition)
        if state is None:
            continue
        if state.has_newer_epoch(*producer):
            fenced[partition.topic, partition.index] = KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
        elif not state.has_open_transaction(*producer):
            missing.add((partition.topic, partition.index))
    if not missing:
        then(fenced)
        return

    def answer(errors: Errors) -> None:
        then(fenced | {partition: _refusal(error) for partition, error in errors.items()})

    TransactionMembership(coordinator, transactional_id, producer, support).ensure(
        frozenset(missing), context.now_ms, answer
    )


def _producer_state(partition: Partition) -> ProducerStateManager | None:
    """The producers of a partition. None if the partition is not served, because its append is refused anyway."""
    try:
        return partition.log.producer_state
    except KafkaError:
        return None


def _refusal(error: ErrorCode) -> KafkaError:
    if error is ErrorCode.INVALID_TXN_STATE:
        return KafkaError(error, "Partition was not added to the transaction")
    if error in _UNSURE:
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction. Underlying error: " + error.name,
        )
    return KafkaError(error)
