"""Adds the partitions of transactional batches to their transaction before any batch is appended (KIP-890).

Owns: nothing. Never does: appending. Source: ``ReplicaManager.handleProduceAppend``.
"""

from collections.abc import Callable, Iterable, Mapping

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.records.batch import BatchHeader
from ...protocol.topic_partition import TopicPartition
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
"""Transient errors. An old producer fails at these; at NOT_ENOUGH_REPLICAS it retries, as it should."""

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
    """Adds the partitions to the producer's transaction. ``then`` is called with the errors of partitions, at once or
    later.

    Partitions in which the transaction already has records are skipped. ``verifies``: for older clients, only checks
    that they have added the others (transaction.partition.verification.enable); for newer clients, adds them.
    """
    support = Support.of(
        context.api_version,
        abortable_error_since=ABORTABLE_ERROR_SINCE,
        adds_implicitly_since=ADDS_IMPLICITLY_SINCE,
    )
    missing = frozenset((one.topic, one.index) for one in partitions if _is_missing(one, producer))
    if not missing or not (verifies or support is Support.ADDS_IMPLICITLY):
        then({})
        return

    def answer(errors: Errors) -> None:
        then({partition: _refusal(error) for partition, error in errors.items()})

    TransactionMembership(coordinator, transactional_id, producer, support).ensure(missing, context.now_ms, answer)


def _is_missing(partition: Partition, producer: tuple[int, int]) -> bool:
    """Whether the producer's transaction may have no records there. A partition that is not served gets none: its
    append is refused."""
    try:
        return not partition.log.producer_state.has_open_transaction(*producer)
    except KafkaError:
        return False


def _refusal(error: ErrorCode) -> KafkaError:
    if error is ErrorCode.INVALID_TXN_STATE:
        return KafkaError(error, "Partition was not added to the transaction")
    if error in _UNSURE:
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction. Underlying error: " + error.name,
        )
    return KafkaError(error)
