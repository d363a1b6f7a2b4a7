"""Logs which transactions have been open for long: consumers with isolation.level=read_committed stand at them.

Shell. Owns: what was logged about each transactional id. Never does: changing transactions. Invariant: one line when a
transaction has been open for long, and one when it ends.
"""

import logging
from collections.abc import Iterable

from odradek.protocol.common.steps import Steps
from odradek.protocol.names.transaction_states import TransactionState

from .core import TransactionCore
from .transaction import Transaction

logger = logging.getLogger(__name__)

LONG_MS = 60_000
"""The default of ``transaction.timeout.ms`` of producers. A transaction with a longer timeout is expected to be open
for long, so it is logged after half of its timeout."""
LOOKS_A_STEP = 1_000
"""Open transactions that one step looks at, at 0.3 us each."""
MOST_NAMED = 10
"""The most partitions that are listed by name."""


class OpenTransactionWatch:
    """Checks all open transactions at each call of :meth:`log_changes`."""

    def __init__(self) -> None:
        self._logged: dict[str, Transaction] = {}

    def log_changes(self, cores: Iterable[TransactionCore], now_ms: int) -> Steps[None]:
        """Logs, in steps, what has changed since the last call. ``now_ms``: wall clock."""
        long: dict[str, Transaction] = {}
        for core in cores:
            for count, transactional_id in enumerate(list(core.open_ids), 1):
                if not count % LOOKS_A_STEP:
                    yield
                transaction = core.transactions.get(transactional_id)
                if transaction is not None and _is_long(transaction, now_ms):
                    long[transactional_id] = transaction
            yield
        for transactional_id, transaction in long.items():
            logged = self._logged.get(transactional_id)
            if logged is None or logged.start_timestamp_ms != transaction.start_timestamp_ms:
                _log(transaction, now_ms)
        for transactional_id, logged in self._logged.items():
            if transactional_id not in long:
                seconds = (now_ms - logged.start_timestamp_ms) / 1000
                logger.info("the transaction of transactional id %r has ended, after %.0f s", transactional_id, seconds)
        self._logged = long


def _is_long(transaction: Transaction, now_ms: int) -> bool:
    open_ms = now_ms - transaction.start_timestamp_ms
    return transaction.state is TransactionState.ONGOING and open_ms >= max(LONG_MS, transaction.timeout_ms // 2)


def _log(transaction: Transaction, now_ms: int) -> None:
    names = [f"{topic}-{index}" for topic, index in sorted(transaction.partitions)]
    named = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    logger.warning(
        "transactional id %r has had a transaction open for %.0f s. Consumers with isolation.level=read_committed get "
        "nothing that was written after it began, in %s. Its producer has to commit or abort it; after its "
        "transaction.timeout.ms, %.0f s, it is aborted",
        transaction.transactional_id,
        (now_ms - transaction.start_timestamp_ms) / 1000,
        named,
        transaction.timeout_ms / 1000,
    )
