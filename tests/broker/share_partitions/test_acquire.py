"""A member gets the records that a real Kafka 4.4.0 gives it."""

from collections.abc import Sequence

import pytest

from odradek.broker.share_partitions.acquire import Acquired, Span, Wish, acquire, without
from odradek.broker.share_partitions.settings import ShareSettings
from odradek.broker.share_partitions.share_partition import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    Cause,
    SharePartition,
)
from odradek.broker.share_state.persister import ReadState
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

SETTINGS = ShareSettings()
NOW_MS = 1_000
OK = ErrorCode.NONE


class Share:
    """A share partition over a log of batches, with a shorter way to ask."""

    def __init__(self, *sizes: int, stored: Sequence[StateBatch] = (), settings: ShareSettings = SETTINGS) -> None:
        self.core = SharePartition(SharePartitionKey("g", bytes(16), 0), 1)
        self.letters = self.core.load(ReadState(0, 0, stored), 0)
        self.spans: list[Span] = []
        self.settings = settings
        self.now_ms = NOW_MS
        for size in sizes:
            first = self.spans[-1].last + 1 if self.spans else 0
            self.spans.append(Span(first, first + size - 1))

    def fetch(
        self, most: int = 500, *, member: str = "a", batch_size: int = 500, exact: bool = False
    ) -> list[Acquired]:
        """Reads everything from the next offset on."""
        offset = self.core.next_fetch_offset()
        spans = [span for span in self.spans if span.last >= offset]
        return acquire(self.core, Wish(member, most, batch_size, exact), self.settings, offset, spans, self.now_ms)

    def acknowledge(self, first: int, last: int, *types: int, member: str = "a", fails: bool = False) -> list[Cause]:
        """Acknowledges; the write succeeds, or fails."""
        asked = [Acknowledgement(first, last, types)]
        transition = self.core.acknowledge(member, asked, self.settings, self.now_ms)
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if fails else OK
        return self.core.complete(transition, error, self.now_ms).letters

    def expire(self, after_ms: int = 30_000) -> list[Cause]:
        """Lets the time pass."""
        self.now_ms += after_ms
        return self.core.complete(self.core.expire(self.now_ms, self.settings), OK, self.now_ms).letters


def test_whole_batches_in_batch_optimized() -> None:
    share = Share(10, 10)
    assert share.fetch(3) == [(0, 9, 1)]
    assert share.fetch(3) == [(10, 19, 1)]
    assert share.fetch(3) == []


def test_batch_size_splits_at_batches() -> None:
    share = Share(10, 10, 10, 10)
    assert share.fetch(500, batch_size=15) == [(0, 19, 1), (20, 39, 1)]


def test_record_limit_is_exact() -> None:
    share = Share(10)
    assert share.fetch(3, exact=True) == [(0, 2, 1)]
    assert share.fetch(4, member="b", exact=True) == [(3, 6, 1)]
    assert share.fetch(9, member="c") == [(7, 9, 1)]


def test_released_records_come_first_with_a_higher_count() -> None:
    share = Share(10)
    share.fetch()
    share.acknowledge(2, 4, RELEASE)
    assert share.fetch(member="b") == [(2, 4, 2)]


def test_throttling_near_the_limit() -> None:
    """Limit 5: three deliveries together, the fourth in halves, the last one by one."""
    share = Share(20)
    for count in (1, 2, 3):
        assert share.fetch() == [(0, 19, count)]
        share.acknowledge(0, 19, RELEASE)
    assert share.fetch() == [(0, 9, 4)]
    assert share.fetch() == [(10, 19, 4)]
    share.acknowledge(0, 19, RELEASE)
    assert [share.fetch() for _ in range(20)] == [[(offset, offset, 5)] for offset in range(20)]


def test_nothing_is_released_at_the_limit() -> None:
    share = Share(1, settings=SETTINGS._replace(delivery_count_limit=2))
    share.fetch()
    share.acknowledge(0, 0, RELEASE)
    assert share.fetch() == [(0, 0, 2)]
    share.expire()
    assert share.fetch() == []
    assert share.core.start_offset == 1


def test_the_window_is_limited() -> None:
    share = Share(*[10] * 40, settings=SETTINGS._replace(max_record_locks=100))
    assert share.fetch(500) == [(0, 99, 1)]
    assert not share.core.can_acquire(share.settings)
    share.acknowledge(1, 99, ACCEPT)
    assert not share.core.can_acquire(share.settings), "the first record holds the window"
    share.acknowledge(0, 0, RELEASE)
    assert share.fetch(500) == [(0, 0, 2)]


@pytest.mark.parametrize(
    ("first", "last", "types", "member", "error", "text"),
    [
        (0, 9, (ACCEPT,), "b", ErrorCode.INVALID_RECORD_STATE, "Member is not the owner of batch record"),
        (10, 12, (ACCEPT,), "a", ErrorCode.INVALID_REQUEST, "The first offset in request is past acquired records."),
        (5, 12, (ACCEPT,), "a", ErrorCode.INVALID_REQUEST, "The last offset in request is past acquired records."),
    ],
)
def test_refused_acknowledgements(
    first: int, last: int, types: tuple[int, ...], member: str, error: ErrorCode, text: str
) -> None:
    share = Share(10, 5)
    share.fetch(1)
    with pytest.raises(KafkaError) as caught:
        share.acknowledge(first, last, *types, member=member)
    assert caught.value.error_code == error
    assert text in caught.value.message
    assert share.acknowledge(0, 9, ACCEPT) == []
    assert share.core.start_offset == 10


def test_an_acknowledgement_is_for_all_records_or_for_none() -> None:
    share = Share(10)
    share.fetch()
    share.acknowledge(5, 5, ACCEPT)
    with pytest.raises(KafkaError):
        share.acknowledge(3, 7, ACCEPT)
    share.acknowledge(0, 4, ACCEPT)
    share.acknowledge(6, 9, REJECT)
    assert share.core.start_offset == 10


def test_one_type_for_each_record() -> None:
    share = Share(6)
    share.fetch()
    share.acknowledge(0, 5, ACCEPT, REJECT, RELEASE, RELEASE, GAP, ACCEPT)
    assert share.core.start_offset == 2
    assert share.core.once_stored(()) == (2, 2)
    assert share.fetch() == [(2, 3, 2)]


def test_a_failed_write_goes_back_to_the_member() -> None:
    share = Share(3)
    share.fetch()
    share.acknowledge(0, 2, ACCEPT, fails=True)
    share.acknowledge(0, 2, ACCEPT)
    assert share.core.start_offset == 3


def test_a_lock_that_ends_during_a_failed_write_releases() -> None:
    share = Share(3)
    share.fetch()
    transition = share.core.acknowledge("a", [Acknowledgement(0, 2, [ACCEPT])], SETTINGS, share.now_ms)
    share.expire()
    assert share.fetch(member="b") == [], "the write has not ended"
    share.core.complete(transition, ErrorCode.COORDINATOR_NOT_AVAILABLE, share.now_ms)
    assert share.fetch(member="b") == [(0, 2, 2)]


def test_renewing() -> None:
    share = Share(3)
    share.fetch()
    share.now_ms += 20_000
    share.acknowledge(0, 2, RENEW)
    share.expire(20_000)
    assert share.fetch(member="b") == []
    share.expire(10_000)
    assert share.fetch(member="b") == [(0, 2, 2)]


def test_renewing_is_refused_when_it_is_disabled() -> None:
    share = Share(3, settings=SETTINGS._replace(renews=False))
    share.fetch()
    with pytest.raises(KafkaError, match="Renewing acquisition locks is not enabled") as caught:
        share.acknowledge(0, 2, RENEW)
    assert caught.value.error_code == ErrorCode.INVALID_RECORD_STATE


def test_records_without_a_stored_state_are_given_away_again() -> None:
    share = Share(10, 10, stored=[StateBatch(5, 9, 2, 1), StateBatch(15, 19, 0, 3)])
    assert share.fetch(5) == [(0, 4, 1)]
    assert share.fetch(1, exact=True) == [(10, 10, 1)]
    assert share.fetch(member="b") == [(11, 14, 1)], "the records after them are throttled"
    assert share.fetch(member="b") == [(15, 16, 4)]


def test_a_start_that_moves_forgets_records() -> None:
    share = Share(10, 10)
    share.fetch(1)
    share.core.log_start_moved(5)
    assert share.acknowledge(0, 3, ACCEPT) == []
    share.acknowledge(0, 9, ACCEPT)
    assert share.core.start_offset == 10


def test_compacted_records_are_archived() -> None:
    share = Share(5, 5, 5)
    share.fetch()
    share.acknowledge(0, 14, RELEASE)
    del share.spans[0]
    assert share.fetch() == [(5, 14, 2)]
    assert share.core.start_offset == 5


@pytest.mark.parametrize("rejects", [True, False])
def test_dead_letters_before_the_record_is_archived(rejects: bool) -> None:
    settings = SETTINGS._replace(delivery_count_limit=2, dead_letter_topic="dlq")
    share = Share(4, settings=settings)
    share.fetch()
    if rejects:
        letters = share.acknowledge(0, 1, REJECT)
    else:
        share.acknowledge(0, 3, RELEASE)
        share.fetch()
        letters = share.acknowledge(0, 1, RELEASE)
    count = 1 if rejects else 2
    assert letters == [Cause(0, 1, count, is_rejected=rejects)]
    assert share.core.start_offset == 0, "the letters are not written"
    assert share.core.once_stored(()) == (0, 0)
    with pytest.raises(KafkaError):
        share.acknowledge(0, 0, ACCEPT)
    share.core.complete(share.core.letters_written(0, 1), OK, share.now_ms)
    assert share.core.start_offset == 2


def test_letters_go_on_after_a_restart() -> None:
    share = Share(5, stored=[StateBatch(0, 2, 3, 5)])
    assert share.letters == [Cause(0, 2, 5, is_rejected=False)]


def test_without() -> None:
    acquired = [Acquired(0, 9, 1), Acquired(10, 19, 2)]
    assert without(acquired, [Span(3, 4), Span(8, 11)]) == [(0, 2, 1), (5, 7, 1), (12, 19, 2)]
    assert without(acquired, [Span(0, 30)]) == []
