"""Searches through the transactions of a partition read one portion of them in each event."""

import pytest

from odradek.broker.transactions.core import FOUND_A_PORTION, LOOKS_A_PORTION, TransactionSearch
from odradek.protocol.names.transaction_states import TransactionState
from support.transactions.harness import TransactionHarness

from .client import TransactionClient

MANY = 2 * FOUND_A_PORTION + 5


@pytest.fixture
def harness() -> TransactionHarness:
    return TransactionHarness()


def clients(harness: TransactionHarness, timeout_ms: int = 15_000) -> list[TransactionClient]:
    made = [TransactionClient(harness, f"tx-{number}") for number in range(MANY)]
    for client in made:
        client.init(timeout_ms=timeout_ms)
    return made


def test_a_portion_looks_at_a_bounded_number(harness: TransactionHarness) -> None:
    TransactionClient(harness).init()
    known = harness.core.transactions["tx"]
    transactions = {str(number): known for number in range(LOOKS_A_PORTION + 10)}
    search = TransactionSearch(transactions, transactions)
    looked = 0

    def is_wanted(_: object) -> bool:
        nonlocal looked
        looked += 1
        return False

    assert search.portion(is_wanted) == ([], True)
    assert looked == LOOKS_A_PORTION
    transactions.pop(str(LOOKS_A_PORTION))  # it was removed since
    assert search.portion(is_wanted) == ([], False)
    assert looked == LOOKS_A_PORTION + 9


def test_a_portion_finds_a_bounded_number(harness: TransactionHarness) -> None:
    TransactionClient(harness).init()
    known = harness.core.transactions["tx"]
    transactions = {str(number): known for number in range(MANY)}
    search = TransactionSearch(transactions, transactions)
    found = [search.portion(lambda _: True) for _ in range(3)]
    assert [(len(some), goes_on) for some, goes_on in found] == [
        (FOUND_A_PORTION, True),
        (FOUND_A_PORTION, True),
        (5, False),
    ]


def test_all_ids_that_nobody_uses_are_forgotten(harness: TransactionHarness) -> None:
    clients(harness)
    harness.timers.advance(harness.config.transactional_id_expiration_ms + 3_600_000)
    assert not harness.core.transactions
    TransactionClient(harness, "later").init()
    harness.timers.advance(harness.config.transactional_id_expiration_ms + 3_600_000)
    assert not harness.core.transactions, "the search begins anew"


def test_all_transactions_that_are_open_for_too_long_are_aborted(harness: TransactionHarness) -> None:
    made = clients(harness)
    for client in made:
        client.add(0)
    harness.timers.advance(30_000)
    assert {client.state() for client in made} == {TransactionState.COMPLETE_ABORT}
    assert harness.core.counts.timed_out == MANY
