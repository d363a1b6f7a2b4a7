"""Fetch sessions (KIP-227): how they open, continue and close, and the partitions of an incremental answer."""

from random import Random

from odradek.broker.fetch.session import (
    EVICTED_AT_ONCE,
    FetchSessionCache,
    PartitionKey,
    SessionOwner,
    SessionPartition,
)
from odradek.protocol.errors import ErrorCode

EVICTION_MS = 120_000


def cache(slots: int = 2) -> FetchSessionCache:
    return FetchSessionCache(slots, EVICTION_MS, Random(1))


def want(index: int, offset: int = 0, topic: str = "t") -> SessionPartition:
    return SessionPartition(bytes(16), topic, index, offset, 1000, -1, -1)


def by_key(*partitions: SessionPartition) -> dict[PartitionKey, SessionPartition]:
    return {partition.key: partition for partition in partitions}


def test_a_full_fetch_opens_a_session_and_the_next_ones_go_on() -> None:
    sessions = cache()
    first = sessions.context(0, 0, by_key(want(0), want(1)), [], False, 0)
    assert first.session is not None
    assert not first.incremental
    second = sessions.context(first.session_id, 1, by_key(want(1, 5)), [], False, 1)
    assert second.incremental
    assert [(p.index, p.fetch_offset) for p in second.partitions] == [(0, 0), (1, 5)]
    third = sessions.context(first.session_id, 2, by_key(want(2)), [want(0).key], False, 2)
    assert [p.index for p in third.partitions] == [1, 2]


def test_epochs_and_ids_are_checked() -> None:
    sessions = cache()
    session_id = sessions.context(0, 0, by_key(want(0)), [], False, 0).session_id
    assert sessions.context(session_id, 2, by_key(), [], False, 0).error == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.context(session_id + 1, 1, by_key(), [], False, 0).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.context(session_id, 1, by_key(), [], True, 0).error == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert sessions.context(session_id, 1, by_key(), [], False, 0).error == ErrorCode.NONE


def test_the_final_epoch_closes_the_session() -> None:
    sessions = cache()
    session_id = sessions.context(0, 0, by_key(want(0)), [], False, 0).session_id
    final = sessions.context(session_id, -1, by_key(want(0)), [], False, 0)
    assert final.session_id == 0
    assert len(final.partitions) == 1
    assert len(sessions) == 0


def test_a_session_may_begin_without_partitions_and_none_is_left_when_all_are_forgotten() -> None:
    sessions = cache()
    begun = sessions.context(0, 0, by_key(), [], False, 0).session_id
    assert begun != 0
    assert sessions.context(begun, 1, by_key(), [], False, 0).session_id == 0
    session_id = sessions.context(0, 0, by_key(want(0)), [], False, 0).session_id
    emptied = sessions.context(session_id, 1, by_key(), [want(0).key], False, 0)
    assert emptied.session_id == 0
    assert len(sessions) == 0


def test_a_full_cache_evicts_only_what_was_long_unused() -> None:
    sessions = cache(slots=1)
    old = sessions.context(0, 0, by_key(want(0)), [], False, 0).session_id
    assert sessions.context(0, 0, by_key(want(0)), [], False, EVICTION_MS).session_id == 0
    new = sessions.context(0, 0, by_key(want(0)), [], False, EVICTION_MS + 1).session_id
    assert new not in (0, old)
    assert sessions.context(old, 1, by_key(), [], False, EVICTION_MS + 1).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_incremental_answer_names_only_news() -> None:
    partition = want(0)
    assert partition.must_answer(0, 0, 10, 0, False), "the first answer tells the high watermark"
    assert not partition.must_answer(0, 0, 10, 0, False)
    assert partition.must_answer(0, 100, 10, 0, False), "records"
    assert partition.must_answer(0, 0, 11, 0, False), "the high watermark moved"
    assert partition.must_answer(0, 0, 11, 3, False), "the log start offset moved"
    assert partition.must_answer(ErrorCode.OFFSET_OUT_OF_RANGE, 0, -1, -1, False)
    assert partition.must_answer(0, 0, 11, 3, False), "the error is over"
    assert not partition.must_answer(0, 0, 11, 3, False)


def test_partitions_that_returned_records_go_behind_the_others() -> None:
    sessions = cache()
    context = sessions.context(0, 0, by_key(want(0), want(1)), [], False, 0)
    assert context.session is not None
    context.session.served(want(0).key)
    following = sessions.context(context.session_id, 1, by_key(), [], False, 0)
    assert [p.index for p in following.partitions] == [1, 0]


def test_all_sessions_together_have_a_bounded_number_of_partitions() -> None:
    sessions = FetchSessionCache(10, EVICTION_MS, Random(1), max_partitions=5)
    first = sessions.context(0, 0, by_key(want(0), want(1), want(2)), [], False, 0).session_id
    refused = sessions.context(0, 0, by_key(want(0), want(1), want(2)), [], False, 0)
    assert (refused.session_id, refused.error, len(refused.partitions)) == (0, ErrorCode.NONE, 3)
    second = sessions.context(0, 0, by_key(want(0), want(1)), [], False, 0).session_id
    assert sessions.context(second, 1, by_key(want(1, 7)), [], False, 1).session_id == second
    grown = sessions.context(second, 2, by_key(want(2)), [], False, 1)
    assert grown.error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 1
    assert sessions.context(0, 0, by_key(*map(want, range(5))), [], False, EVICTION_MS + 1).session_id != 0
    assert (
        sessions.context(first, 1, by_key(), [], False, EVICTION_MS + 1).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    )


FOLLOWER, OTHER_FOLLOWER = SessionOwner("User:broker", True), SessionOwner("User:broker-2", True)
ALICE, BOB, STRANGER = SessionOwner("User:alice"), SessionOwner("User:bob"), SessionOwner("10.0.0.9")


def opened(sessions: FetchSessionCache, owner: SessionOwner, now_ms: int = 0, size: int = 1) -> int:
    """Opens a session; returns its id, 0 if there was no room."""
    return sessions.context(0, 0, by_key(*map(want, range(size))), [], False, now_ms, owner).session_id


def shares(sessions: FetchSessionCache) -> dict[SessionOwner, int]:
    found: dict[SessionOwner, int] = {}
    for session in sessions:
        found[session.owner] = found.get(session.owner, 0) + 1
    return found


def test_a_consumer_that_fills_the_cache_leaves_room_for_followers() -> None:
    """As in Kafka: a follower's session takes the place of a consumer's, the smallest first, not of a follower's."""
    sessions = cache(slots=3)
    large, small = opened(sessions, ALICE, size=9), opened(sessions, ALICE, size=2)
    opened(sessions, ALICE, size=3)
    assert opened(sessions, FOLLOWER) != 0
    assert sessions.context(small, 1, by_key(), [], False, 1, ALICE).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.context(large, 1, by_key(), [], False, 1, ALICE).error == ErrorCode.NONE
    assert opened(sessions, OTHER_FOLLOWER) != 0
    assert opened(sessions, FOLLOWER) != 0
    assert opened(sessions, OTHER_FOLLOWER) == 0
    assert opened(sessions, ALICE, size=100) == 0
    assert shares(sessions) == {FOLLOWER: 2, OTHER_FOLLOWER: 1}


def test_a_larger_session_takes_the_place_of_an_old_smaller_one() -> None:
    """As in Kafka, if the smaller one was used for longer than the eviction time after it was opened."""
    sessions = cache(slots=1)
    first = opened(sessions, ALICE, size=2)
    assert opened(sessions, ALICE, 1, size=3) == 0
    sessions.context(first, 1, by_key(), [], False, EVICTION_MS + 1, ALICE)
    assert opened(sessions, ALICE, EVICTION_MS + 2, size=2) == 0
    assert opened(sessions, ALICE, EVICTION_MS + 2, size=3) != 0


def test_whoever_fills_the_cache_fills_only_a_share() -> None:
    """Another user gets sessions up to the same share; the least recently used ones of the first user make room."""
    sessions = cache(slots=100)
    of_alice = [opened(sessions, ALICE, now_ms) for now_ms in range(100)]
    assert all(of_alice)
    of_bob = [opened(sessions, BOB, 200) for _ in range(100)]
    assert of_bob.count(0) == 50
    assert shares(sessions) == {ALICE: 50, BOB: 50}
    assert sessions.context(of_alice[0], 1, by_key(), [], False, 201).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.context(of_alice[99], 1, by_key(), [], False, 201).error == ErrorCode.NONE
    assert [opened(sessions, STRANGER, 202) != 0 for _ in range(40)].count(True) == 33
    assert opened(sessions, ALICE, 203) == 0


def test_a_share_of_the_partitions_is_left_to_others() -> None:
    sessions = FetchSessionCache(1000, EVICTION_MS, Random(1), max_partitions=100)
    for _ in range(10):
        assert opened(sessions, ALICE, size=10) != 0
    assert opened(sessions, ALICE, size=10) == 0
    assert opened(sessions, BOB, size=40) != 0
    assert opened(sessions, BOB, size=40) == 0
    assert opened(sessions, BOB, size=101) == 0
    assert shares(sessions) == {ALICE: 6, BOB: 1}


def test_few_sessions_are_evicted_at_once() -> None:
    sessions = FetchSessionCache(1000, EVICTION_MS, Random(1), max_partitions=100)
    for _ in range(100):
        opened(sessions, ALICE)
    assert opened(sessions, FOLLOWER, size=50) == 0
    assert len(sessions) == 100 - EVICTED_AT_ONCE
    while not opened(sessions, FOLLOWER, size=50):
        pass
    assert shares(sessions) == {ALICE: 50, FOLLOWER: 1}
