"""A producer's transactions: when records may be sent, the effect of errors, and the end of a transaction.

Owns: the transaction's state and partitions, the producer id and epoch of a transactional id. The requests are
``transaction_requests.py``. Invariants: no record is sent outside a transaction. After an abortable error ``abort`` is
the only valid call, after a fatal error none. EndTxn is not sent while a batch is in flight. With transaction.version 2
the first Produce adds a partition, and each EndTxn returns the next epoch (KIP-890). With earlier versions
AddPartitionsToTxn must come first, and the epoch changes only after a failure (KIP-360).
Source: ``clients.producer.internals.TransactionManager``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum

from odradek.protocol.errors import ErrorCode, KafkaError

from ..cluster.cluster import Cluster
from ..errors import ClientError, TransactionAbortedError, TransactionStateError, UnsupportedVersionError
from ..types import GroupMetadata, OffsetAndMetadata, TopicPartition
from .accumulator import Accumulator
from .producer_identity import ProducerId, ProducerIdentity, init_producer_id
from .transaction_requests import TransactionRequests

PRODUCE_BEFORE_V2 = 11
"""The last version of Produce that does not add its partitions to the transaction (KIP-890)."""
FATAL_FOR_BATCHES = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})
ABORTABLE = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
    }
)


class State(Enum):
    """The state of a transactional producer (``TransactionManager.State``); the value is a text for error messages."""

    UNINITIALIZED = "not initialized: call init_transactions() first"
    READY = "no transaction is open: call begin_transaction() first"
    IN_TRANSACTION = "a transaction is open"
    COMMITTING = "the transaction is being committed: call commit_transaction() again"
    ABORTING = "the transaction is being aborted: call abort_transaction() again"
    ABORTABLE_ERROR = "the transaction failed: call abort_transaction()"
    FATAL_ERROR = "the producer cannot continue: close it"


class Transactions(ProducerIdentity):
    """The transactions of one producer, one after the other."""

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator,
        transactional_id: str,
        *,
        transaction_timeout_ms: int,
        max_block_ms: float,
    ) -> None:
        super().__init__(cluster)
        self.transactional_id = transactional_id
        self._accumulator = accumulator
        self._timeout_ms = transaction_timeout_ms
        self._requests = TransactionRequests(cluster, transactional_id, max_block_ms=max_block_ms)
        self._producer = ProducerId(-1, -1)
        self._state = State.UNINITIALIZED
        self._error: BaseException | None = None
        self._is_v2 = False
        self._started = False
        """Whether the coordinator may know of the transaction, so that EndTxn is needed."""
        self._failed = False
        """Whether an error occurred in the transaction, so that the next one needs a new epoch."""
        self._added: set[TopicPartition] = set()
        self._new: set[TopicPartition] = set()
        self._adding: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open: it has begun and is neither committed nor aborted."""
        return self._state not in (State.UNINITIALIZED, State.READY, State.FATAL_ERROR)

    @property
    def may_abort(self) -> bool:
        """Whether ``abort`` may be called."""
        return self._state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR, State.ABORTING)

    # What the user calls

    async def initialize(self) -> None:
        """Fences earlier producers of the transactional id and aborts their open transaction.

        Raises KafkaError, ClientError.
        """
        self._require(State.UNINITIALIZED)
        await self._guard(self._initialize(None))

    async def _initialize(self, current: ProducerId | None) -> None:
        async def once() -> ProducerId:
            connection = await self._requests.coordinator.connection()
            return await init_producer_id(
                connection, self.transactional_id, transaction_timeout_ms=self._timeout_ms, current=current
            )

        self._set_producer(await self._requests.with_retries("InitProducerId", once))
        self._state = State.READY

    async def begin(self) -> None:
        """Opens a transaction; the broker learns of it with the first record. Raises TransactionStateError."""
        self._require(State.READY)
        was_v2, self._is_v2 = self._is_v2, await self._requests.serves_v2()
        self.max_produce_version = None if self._is_v2 else PRODUCE_BEFORE_V2
        if self._is_v2 and not was_v2 and self._producer.epoch >= 0 and self._accumulator.has_sequences:
            # The cluster was upgraded since the last transaction, and version 2 must start with a new epoch.
            await self._guard(self._initialize(self._producer))
        self._state = State.IN_TRANSACTION

    def use(self, partition: TopicPartition) -> None:
        """Adds a partition to the transaction, before a record is queued for it.

        Raises TransactionStateError, or the error that failed the transaction.
        """
        self._require(State.IN_TRANSACTION)
        if partition in self._added or partition in self._new:
            return
        if self._is_v2:
            self._added.add(partition)
            self._started = True
            return
        self._new.add(partition)
        if self._adding is None:
            self._adding = asyncio.create_task(self._add_partitions(), name="producer-transaction")

    async def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata) -> None:
        """Adds a consumer's offsets to the transaction. Raises KafkaError, TransactionStateError."""
        self._require(State.IN_TRANSACTION)
        if offsets:
            await self._guard(self._send_offsets(offsets, group))

    async def _send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata) -> None:
        if not self._is_v2:
            await self._requests.add_offsets(self._producer, group.group_id)
        self._started = True
        await self._requests.commit_offsets(self._producer, group, offsets, is_v2=self._is_v2)

    async def commit(self, flush: Callable[[], Awaitable[None]]) -> None:
        """Sends the queued records and commits. Raises the transaction's error, TransactionTimeoutError."""
        if self._state is not State.COMMITTING:
            self._require(State.IN_TRANSACTION)
            await flush()
            await self._added_all()
            self._require(State.IN_TRANSACTION)
            self._state = State.COMMITTING
        await self._guard(self._end(committed=True))

    async def abort(self) -> None:
        """Fails the queued records and aborts. Raises KafkaError (the producer is fenced), TransactionTimeoutError."""
        if self._state not in (State.ABORTABLE_ERROR, State.ABORTING):
            self._require(State.IN_TRANSACTION)
        self._state = State.ABORTING
        self._error = None
        self._fail_waiting(TransactionAbortedError("the transaction was aborted before the record was sent"))
        unanswered = self._accumulator.pending_futures()
        if unanswered:
            await asyncio.wait(unanswered)
        await self._added_all()
        await self._guard(self._end(committed=False))

    async def _end(self, *, committed: bool) -> None:
        if self._started:
            bumped = await self._requests.end(self._producer, committed=committed, is_v2=self._is_v2)
            self._started = False
            if bumped is not None:
                self._set_producer(bumped)
                self._failed = False
        if self._failed or self._accumulator.lost_sequences:
            await self._initialize(self._producer)  # failed batches left gaps in the sequence numbers (KIP-360)
        self._failed = False
        self._added.clear()
        self._new.clear()
        self._state = State.READY

    def _set_producer(self, producer: ProducerId) -> None:
        self._producer = producer
        self._accumulator.restart(*producer)

    # The transaction's partitions, before version 2

    async def _add_partitions(self) -> None:
        try:
            while self._new and self._state is State.IN_TRANSACTION:
                adding = frozenset(self._new)
                self._started = True
                await self._requests.add_partitions(self._producer, adding)
                self._added |= adding
                self._new -= adding
                self._wake()
        except (KafkaError, ClientError) as error:
            self._judge(error, others_are_fatal=False)
        finally:
            self._adding = None

    async def _added_all(self) -> None:
        if self._adding is not None:
            await asyncio.wait({self._adding})

    # What the sender asks and tells

    def may_send(self, partition: TopicPartition) -> bool:
        """Whether the partition is added to the transaction and its batches may be sent now."""
        return partition in self._added and self._state in (State.IN_TRANSACTION, State.COMMITTING)

    @property
    def may_retry(self) -> bool:
        """Whether a failed batch may be sent again: only while the transaction can still be committed."""
        return self._state in (State.IN_TRANSACTION, State.COMMITTING)

    def batch_failed(self, error: BaseException) -> None:
        """Notes that a batch failed for good, so that the transaction cannot be committed."""
        fatal = isinstance(error, UnsupportedVersionError) or (
            isinstance(error, KafkaError) and error.error_code in FATAL_FOR_BATCHES
        )
        self._fail(State.FATAL_ERROR if fatal else State.ABORTABLE_ERROR, error)

    # Errors

    def _require(self, state: State) -> None:
        if self._error is not None:
            raise self._error
        if self._state is not state:
            raise TransactionStateError(self._state.value)

    async def _guard(self, work: Awaitable[None]) -> None:
        """Runs a request. If it fails, sets the transaction's state before the error reaches the user."""
        try:
            await work
        except KafkaError as error:
            if not error.error_code.retriable:
                self._judge(error, others_are_fatal=True)
                if self._error is not None:
                    raise self._error from error
            raise

    def _judge(self, error: KafkaError | ClientError, *, others_are_fatal: bool) -> None:
        """Sets the state after a failed request about the transaction (not a Produce).

        ``others_are_fatal``: whether errors that are not in ABORTABLE are fatal for the producer.
        """
        code = error.error_code if isinstance(error, KafkaError) else None
        if code in FENCED:
            # Coordinators without KIP-588 answer INVALID_PRODUCER_EPOCH instead of PRODUCER_FENCED.
            self._fail(State.FATAL_ERROR, KafkaError(ErrorCode.PRODUCER_FENCED, str(error.args[-1])))
        elif self._state is State.UNINITIALIZED and code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return  # not fatal: the user can retry after the permission was granted
        elif code in ABORTABLE or not others_are_fatal:
            self._fail(State.FATAL_ERROR if self._state is State.ABORTING else State.ABORTABLE_ERROR, error)
        else:
            self._fail(State.FATAL_ERROR, error)

    def _fail(self, state: State, error: BaseException) -> None:
        if self._state is State.FATAL_ERROR or (self._state is State.ABORTING and state is State.ABORTABLE_ERROR):
            return
        if self._state is state:
            return
        self._failed = True
        self._state, self._error = state, error
        # Deferred, because the sender may be iterating over the batches of a response now.
        asyncio.get_running_loop().call_soon(self._fail_waiting, error)
