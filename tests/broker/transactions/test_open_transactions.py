"""A transaction that is open for long is logged, with the partitions whose read_committed consumers stand still."""

import pytest

from odradek.broker.transactions.open_transaction_watch import LONG_MS, OpenTransactionWatch
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from support.transactions.harness import TransactionHarness

from .client import TransactionClient


class Watched:
    """A coordinator, and the log lines of the watch."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.harness = TransactionHarness()
        self._watch = OpenTransactionWatch()
        self._caplog = caplog
        caplog.set_level("INFO")

    def after(self, delay_ms: int) -> list[str]:
        """Advances the time and returns the log lines written then."""
        self.harness.timers.advance(delay_ms)
        self._caplog.clear()
        run_to_end(self._watch.log_changes([self.harness.core], self.harness.timers.now_ms))
        return [one.getMessage() for one in self._caplog.records if one.name.endswith("open_transaction_watch")]


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    return Watched(caplog)


def test_a_long_transaction_is_logged_once_and_at_its_end(watched: Watched) -> None:
    client = TransactionClient(watched.harness, "billing")
    client.init(timeout_ms=100_000)
    assert client.add(0, 1) == [ErrorCode.NONE] * 2
    assert watched.after(LONG_MS - 1) == []
    [line] = watched.after(1)
    assert line == (
        "transactional id 'billing' has had a transaction open for 60 s. Consumers with isolation.level=read_committed "
        "get nothing that was written after it began, in t-0, t-1. Its producer has to commit or abort it; after its "
        "transaction.timeout.ms, 100 s, it is aborted"
    )
    assert watched.after(10_000) == []
    assert client.end(commit=True) == ErrorCode.NONE
    assert watched.after(1_000) == ["the transaction of transactional id 'billing' has ended, after 71 s"]
    assert watched.after(1_000) == []


def test_a_transaction_that_may_be_long_is_logged_later(watched: Watched) -> None:
    client = TransactionClient(watched.harness, "checkpoints")
    client.init(timeout_ms=600_000)
    client.add(0)
    assert watched.after(299_000) == []
    assert len(watched.after(1_000)) == 1


def test_each_transaction_of_an_id_is_logged(watched: Watched) -> None:
    client = TransactionClient(watched.harness, "billing")
    client.init(timeout_ms=100_000)
    for _ in range(2):
        client.add(0)
        lines = watched.after(LONG_MS)
        assert sum("has had a transaction open" in line for line in lines) == 1
        client.end(commit=False)
