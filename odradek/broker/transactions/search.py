"""A search through the transactions of a partition, in portions: a partition may hold a million transactional ids.

Pure. Owns: the ids that the search has not looked at. Invariant: a portion looks at LOOKS_A_PORTION transactions at
most, and finds FOUND_A_PORTION at most. Transactions may change, begin and end between two portions.
"""

from collections.abc import Callable, Iterable, Mapping

from .transaction import Transaction

LOOKS_A_PORTION = 1_000
"""The most transactions that one portion looks at, at 0.3 us each."""
FOUND_A_PORTION = 32
"""The most transactions that one portion finds. Storing the decision about one takes 20 us."""


class TransactionSearch:
    """One search through the ids that existed when it began."""

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
