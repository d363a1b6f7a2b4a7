"""Ensures that records are part of their producer's transaction before they are written (KIP-890).

Shell. For a client of transaction version 2 the broker adds the partition to the transaction. An older client adds it
itself, and the broker checks that. Otherwise a late batch could open a transaction that no marker ends, which would
block all read_committed consumers of the partition.
Owns: nothing. Invariant: accepted records are part of the transaction at this moment, and that is as durable as
configured. Source: ``AddPartitionsToTxnManager``, ``ReplicaManager.handleProduceAppend``.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import TopicPartition

from .add_partitions import add_partitions, verify_partitions
from .coordinator import TransactionCoordinator
from .core import TransactionCore
from .effects import TransactionEffects
from .remote_membership import MembershipQuestion
from .transaction import EPOCH_BUMP_SINCE

Errors = Mapping[TopicPartition, ErrorCode]


class Support(Enum):
    """The transaction protocol of a client, by the version of its request (``TransactionSupportedOperation``)."""

    OLD_ERRORS = auto()
    ABORTABLE_ERROR = auto()
    ADDS_IMPLICITLY = auto()

    @classmethod
    def of(cls, api_version: int, *, abortable_error_since: int, adds_implicitly_since: int) -> "Support":
        """Returns the protocol of a request's version, given the versions of its API that introduced each one."""
        if api_version >= adds_implicitly_since:
            return cls.ADDS_IMPLICITLY
        return cls.ABORTABLE_ERROR if api_version >= abortable_error_since else cls.OLD_ERRORS


class TransactionMembership:
    """Adds or checks the partitions that one request writes to, at the coordinator of the producer's transaction."""

    __slots__ = ("_coordinator", "_producer", "_support", "_transactional_id")

    def __init__(
        self,
        coordinator: TransactionCoordinator,
        transactional_id: str,
        producer: tuple[int, int],
        support: Support,
    ) -> None:
        """``producer``: id and epoch."""
        self._coordinator = coordinator
        self._transactional_id = transactional_id
        self._producer = producer
        self._support = support

    def ensure(self, partitions: frozenset[TopicPartition], now_ms: int, done: Callable[[Errors], None]) -> None:
        """Adds the partitions, or checks that they were added. ``done`` is called with the errors of those that are not
        part."""

        def refused(error: ErrorCode) -> Errors:
            return dict.fromkeys(partitions, self._error_for_client(error))

        def answer(result: Errors | ErrorCode) -> None:
            if isinstance(result, ErrorCode):
                result = dict.fromkeys(partitions, result)
            done({partition: self._error_for_client(error) for partition, error in result.items() if error})

        if not self._transactional_id:
            done(refused(ErrorCode.INVALID_REQUEST))
            return
        peers = self._coordinator.markers.peers
        coordinator_id = None if peers is None else peers.coordinator_of(self._transactional_id)
        if peers is not None and coordinator_id is not None and coordinator_id not in (-1, peers.node_id):
            is_verified = self._support is not Support.ADDS_IMPLICITLY
            question = MembershipQuestion(self._transactional_id, *self._producer, is_verified, partitions, answer)
            peers.ask_membership(coordinator_id, question)
            return
        try:
            shard = self._coordinator.shard_of(self._transactional_id)
        except KafkaError:
            # No other broker coordinates the transactional id, and this one does not serve its partition.
            done(refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        if self._support is Support.ADDS_IMPLICITLY:

            def decide(core: TransactionCore, effects: TransactionEffects) -> None:
                add_partitions(core, self._transactional_id, *self._producer, partitions, EPOCH_BUMP_SINCE, effects)

            shard.write(now_ms, decide, answer, refused)
        else:
            shard.read(
                lambda core: verify_partitions(core, self._transactional_id, *self._producer, partitions),
                answer,
                refused,
            )

    def _error_for_client(self, error: ErrorCode) -> ErrorCode:
        """Returns the error for the client."""
        if error is ErrorCode.PRODUCER_FENCED:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if error is ErrorCode.TRANSACTION_ABORTABLE and self._support is Support.OLD_ERRORS:
            return ErrorCode.INVALID_TXN_STATE
        return error
