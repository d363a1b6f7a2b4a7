"""Adds the partitions of transactional batches to their transaction, or checks them, before any append (KIP-890).

Owns: nothing. Never does: appending. Source: ``ReplicaManager.handleProduceAppend``.
"""

from collections.abc import Callable, Iterable, Mapping

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import TopicPartition
from odradek.protocol.records.batch import TRANSACTIONAL_FLAG

from ..dispatch.request import RequestContext
from ..replicas.partition import Partition
from ..transactions.coordinator import TransactionCoordinator
from ..transactions.membership import Errors, Support, TransactionMembership
from .acceptance import AcceptedBatch

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


class Joining:
    """How the partitions of a request's transactional batches join the transaction of their producer.

    ``refusals``: the errors of partitions that know a later epoch of the producer
    (``UnifiedLog.maybeStartTransactionVerification``). ``missing``: the partitions that do not know the transaction.
    """

    __slots__ = ("_context", "_producer", "_support", "_transactional_id", "missing", "refusals")

    def __init__(
        self, transactional_id: str, batches: Iterable[AcceptedBatch], context: RequestContext, *, verifies: bool
    ) -> None:
        """``verifies``: transaction.partition.verification.enable. Without it, partitions of old producers never join
        here. Raises KafkaError INVALID_PRODUCER_ID_MAPPING for several producers in one request.
        """
        self._transactional_id = transactional_id
        self._context = context
        self._support = Support.of(
            context.api_version,
            abortable_error_since=ABORTABLE_ERROR_SINCE,
            adds_implicitly_since=ADDS_IMPLICITLY_SINCE,
        )
        self.refusals: dict[TopicPartition, KafkaError] = {}
        self.missing: set[TopicPartition] = set()
        self._producer: tuple[int, int] | None = None
        for partition, header, _, _ in batches:
            if not header.attributes & TRANSACTIONAL_FLAG:
                continue
            producer = (header.producer_id, header.producer_epoch)
            if self._producer not in (None, producer):
                message = "Transactional records contained more than one producer ID"
                raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, message)
            self._producer = producer
            if verifies or self._support is Support.ADDS_IMPLICITLY:
                self._look_up(partition, producer)

    def _look_up(self, partition: Partition, producer: tuple[int, int]) -> None:
        try:
            state = partition.log.producer_state
        except KafkaError:
            return  # the partition is not served, so its append is refused anyway
        if state.has_newer_epoch(*producer):
            self.refusals[partition.topic, partition.index] = KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
        elif not state.has_open_transaction(*producer):
            self.missing.add((partition.topic, partition.index))

    def ensure(self, coordinator: TransactionCoordinator, then: Callable[[Refusals], None]) -> None:
        """Adds the missing partitions to the transaction, or checks that they are in it. Calls ``then`` with the errors
        of partitions, at once or later.
        """
        assert self._producer is not None, "partitions of transactional batches are missing"

        def answer(errors: Errors) -> None:
            then(self.refusals | {partition: _refusal(error) for partition, error in errors.items()})

        TransactionMembership(coordinator, self._transactional_id, self._producer, self._support).ensure(
            frozenset(self.missing), self._context.now_ms, answer
        )


def _refusal(error: ErrorCode) -> KafkaError:
    if error is ErrorCode.INVALID_TXN_STATE:
        return KafkaError(error, "Partition was not added to the transaction")
    if error in _UNSURE:
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction. Underlying error: " + error.name,
        )
    return KafkaError(error)
