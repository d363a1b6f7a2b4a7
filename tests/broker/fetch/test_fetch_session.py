"""Fetch sessions (KIP-227): how they open, continue and close, and the partitions of an incremental answer."""

from random import Random

from odradek.broker.fetch.session import FetchSessionCache, PartitionKey, SessionPartition
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
