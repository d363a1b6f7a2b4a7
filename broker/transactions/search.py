"""A search through the transactions of a partition, in portions: a partition may hold a million transactional ids.

Pure. Owns: the ids that the search has not looked at. Invariant: a portion looks at LOOKS_A_PORTION transactions and
finds FOUND_A_PORTION of them at most. Transactions may change, begin and end between two portions.
"""

from collections.abc import Callable, Iterable, Mapping

from .transaction import Transaction

LOOKS_A_PORTION = 1_000
"""Looking at one takes 0.3 us."""
FOUND_A_PORTION = 32
"""Storing the decision about one takes 20 us."""


class TransactionSearch:
    """One search, through the ids that were there when it began."""

    def __init__(self, transactions: Mapping[str, Transaction], ids: Iterable[str]) -> None:
        """``transactions``: all of them by id, as they are at each portion."""
        self._transactions = transactions
        self._ids = iter(list(ids))

    def portion(self, is_wanted: Callable[[Transaction], bool]) -> tuple[list[Transaction], bool]:
        """Returns the wanted ones of the next portion, and whether there is another portion."""
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
