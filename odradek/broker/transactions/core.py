"""The transaction coordinator of one partition of ``__transaction_state``, without anything that waits or writes.

Owns: the transactions of the partition's transactional ids. Never does: I/O, reading a clock. Invariants: a transaction
changes in :meth:`TransactionCore.replay` alone; an outcome that was stored once (PrepareCommit, PrepareAbort) never
changes, and requests for its transactional id are refused until every marker is written. Source:
``TransactionCoordinator``, ``TransactionStateManager``.

Kafka refuses requests with CONCURRENT_TRANSACTIONS while a record is being appended. Here a decision, its append and
its replay are one step, so requests are refused only while markers are written.
"""

from collections.abc import Callable, Iterable, Mapping

from odradek.protocol.names.transaction_states import TransactionState

from ..coordinator.effects import SetTimer
from ..metrics.counts import TransactionCounts
from .config import TransactionCoordinatorConfig
from .effects import (
    ID_EXPIRATION_KEY,
    TIMED_OUT_CHECK_KEY,
    IdExpirationDue,
    MarkerOrder,
    TimedOutCheckDue,
    TransactionEffects,
)
from .records import TransactionRecord, decode_record, value_version
from .transaction import EPOCH_BUMP_SINCE, Transaction, completed, fenced, prepared

LOOKS_A_PORTION = 1_000
"""The most transactions that one portion looks at, at 0.3 us each."""
FOUND_A_PORTION = 32
"""The most transactions that one portion finds. Storing the decision about one takes 20 us."""


class TransactionSearch:
    """One search through the ids that existed when it began: a partition may hold a million transactional ids.

    A portion looks at LOOKS_A_PORTION transactions at most, and finds FOUND_A_PORTION at most. Transactions may change,
    begin and end between two portions.
    """

    def __init__(self, transactions: Mapping[str, Transaction], ids: Iterable[str]) -> None:
        """``transactions``: the live mapping of ids to transactions. ``ids``: the ids to look at, copied now."""
        self._transactions = transactions
        self._ids = iter(list(ids))

    def portion(self, is_wanted: Callable[[Transaction], bool]) -> tuple[list[Transaction], bool]:
        """Returns the transactions of the next portion that ``is_wanted`` accepts, and whether a portion follows."""
        found: list[Transaction] = []
        for _ in range(LOOKS_A_PORTION):
            transactional_id = next(self._ids, None)
            if transactional_id is None:
                return found, False
            transaction = self._transactions.get(transactional_id)
            if transaction is not None and is_wanted(transaction):
                found.append(transaction)
                if len(found) == FOUND_A_PORTION:
                    break
        return found, True


class TransactionCore:
    """The transactional ids of one partition."""

    __slots__ = (
        "_expiring",
        "_lost_ms",
        "_lost_ms_at_start",
        "_timing_out",
        "config",
        "counts",
        "new_producer_id",
        "transaction_version",
        "transactions",
    )

    def __init__(
        self,
        config: TransactionCoordinatorConfig,
        new_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
        lost_ms: Callable[[], int],
        counts: TransactionCounts | None = None,
    ) -> None:
        """``new_producer_id`` returns a producer id that was never used. ``transaction_version`` returns the finalised
        level of that feature; from level 2 on every transaction has its own epoch (KIP-890). ``lost_ms`` returns the
        total time in ms in which the event loop was stalled. ``counts`` is shared with the other partitions.
        """
        self.counts = counts or TransactionCounts()
        self.config = config
        self.new_producer_id = new_producer_id
        self.transaction_version = transaction_version
        self.transactions: dict[str, Transaction] = {}
        self._lost_ms = lost_ms
        self._lost_ms_at_start: dict[str, int] = {}
        """The value of ``lost_ms`` when each open transaction began, or was loaded."""
        self._timing_out: TransactionSearch | None = None
        self._expiring: TransactionSearch | None = None

    @property
    def open_ids(self) -> Iterable[str]:
        """The transactional ids that have an open transaction."""
        return self._lost_ms_at_start

    def effects(self, now_ms: int) -> TransactionEffects:
        """An empty list of effects for an event at ``now_ms``."""
        return TransactionEffects(now_ms)

    # --- durable state

    def load(self, key: bytes | None, value: bytes | None, offset: int, producer_id: int, now_ms: int) -> None:
        """Replays a stored record. A record of an unknown type is skipped. Raises ProtocolError."""
        record = decode_record(key, value)
        if record is not None:
            self.replay(record, offset, producer_id, now_ms)

    def replay(self, record: TransactionRecord, offset: int, producer_id: int, now_ms: int) -> None:
        """Replays a record of the log, which was just appended or is being loaded."""
        if record.transaction is None:
            self.transactions.pop(record.transactional_id, None)
            self._lost_ms_at_start.pop(record.transactional_id, None)
            return
        self.transactions[record.transactional_id] = record.transaction
        if record.transaction.state is TransactionState.ONGOING:
            self._lost_ms_at_start.setdefault(record.transactional_id, self._lost_ms())
        else:
            self._lost_ms_at_start.pop(record.transactional_id, None)

    def replay_end_transaction(self, producer_id: int, committed: bool) -> None:
        """Does nothing: this topic is never part of a client's transaction."""

    def record_of(self, transaction: Transaction) -> TransactionRecord:
        """Returns the record that stores ``transaction``."""
        version = value_version(self.transaction_version())
        return TransactionRecord(transaction.transactional_id, transaction, version)

    # --- loading

    def on_loaded(self, effects: TransactionEffects) -> None:
        """After loading, requests the markers of all prepared transactions, and starts the periodic checks."""
        for transaction in self.transactions.values():
            if transaction.state.is_prepared:
                effects.markers.append(marker_order(transaction))
        self._check_time_outs_later(effects)
        self._expire_ids_later(effects)

    def on_unloaded(self, effects: TransactionEffects) -> None:
        """Does nothing: no request is parked, and the next coordinator writes the markers of decided transactions."""

    # --- the end of a transaction

    def abort_from_here(self, transaction: Transaction, effects: TransactionEffects) -> None:
        """Aborts an open transaction without an EndTxn, and fences its producer."""
        version = self.transaction_version()
        if version < EPOCH_BUMP_SINCE:
            transaction = fenced(transaction)  # from version 2 on, prepared() below raises the epoch
        self.decide(
            prepared(transaction, commit=False, now_ms=effects.now_ms, client_transaction_version=version), effects
        )

    def decide(self, transaction: Transaction, effects: TransactionEffects) -> None:
        """Appends the record of a prepared transaction, and requests the markers that commit or abort it."""
        effects.records.append(self.record_of(transaction))
        effects.markers.append(marker_order(transaction))

    def markers_written(self, order: MarkerOrder, effects: TransactionEffects) -> None:
        """Completes a transaction after every partition has its marker."""
        transaction = self.transactions.get(order.transactional_id)
        if transaction is not None and transaction.state.is_prepared and marker_order(transaction) == order:
            effects.records.append(self.record_of(completed(transaction, effects.now_ms)))

    # --- time

    def handle_timer(self, event: TimedOutCheckDue | IdExpirationDue, effects: TransactionEffects) -> None:
        """Handles the event of a timer."""
        match event:
            case TimedOutCheckDue():
                self._abort_timed_out(effects)
            case IdExpirationDue():
                self._expire_ids(effects)
        effects.atomic = False

    def _abort_timed_out(self, effects: TransactionEffects) -> None:
        """Aborts the transactions of one portion that are open for too long."""
        if self._timing_out is None:
            # Only open transactions time out, and _lost_ms_at_start has an entry for each open transaction.
            self._timing_out = TransactionSearch(self.transactions, self._lost_ms_at_start)
        lost_ms = self._lost_ms()

        def is_timed_out(transaction: Transaction) -> bool:
            # Stalls do not count: the broker read no requests then, so the client could not end its transaction.
            lost_ms_at_start = self._lost_ms_at_start.get(transaction.transactional_id)
            stalled_ms = 0 if lost_ms_at_start is None else lost_ms - lost_ms_at_start
            return lost_ms_at_start is not None and transaction.is_timed_out(effects.now_ms - stalled_ms)

        found, goes_on = self._timing_out.portion(is_timed_out)
        for transaction in found:
            self.abort_from_here(transaction, effects)
            self.counts.timed_out += 1
        if not goes_on:
            self._timing_out = None
        self._check_time_outs_later(effects, at_once=goes_on)

    def _expire_ids(self, effects: TransactionEffects) -> None:
        """Removes the ids of one portion that have not been used for ``transactional.id.expiration.ms``."""
        if self._expiring is None:
            self._expiring = TransactionSearch(self.transactions, self.transactions)
        oldest_ms = effects.now_ms - self.config.transactional_id_expiration_ms
        found, goes_on = self._expiring.portion(
            lambda transaction: transaction.state.is_settled and transaction.last_update_timestamp_ms <= oldest_ms
        )
        effects.records += [TransactionRecord(transaction.transactional_id, None, 0) for transaction in found]
        if not goes_on:
            self._expiring = None
        self._expire_ids_later(effects, at_once=goes_on)

    def _check_time_outs_later(self, effects: TransactionEffects, *, at_once: bool = False) -> None:
        delay_ms = 0 if at_once else self.config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        effects.set_timer(SetTimer(TIMED_OUT_CHECK_KEY, delay_ms, TimedOutCheckDue()))

    def _expire_ids_later(self, effects: TransactionEffects, *, at_once: bool = False) -> None:
        delay_ms = 0 if at_once else self.config.transaction_remove_expired_transaction_cleanup_interval_ms
        effects.set_timer(SetTimer(ID_EXPIRATION_KEY, delay_ms, IdExpirationDue()))


def marker_order(transaction: Transaction) -> MarkerOrder:
    """Returns the markers that a decided transaction needs."""
    return MarkerOrder(
        transaction.transactional_id,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.state is TransactionState.PREPARE_COMMIT,
        transaction.partitions,
        transaction.client_transaction_version,
    )
