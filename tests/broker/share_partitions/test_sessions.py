"""Share sessions: epochs, their connections, and what an answer must name."""

import pytest

from odradek.broker.share_partitions.sessions import FINAL_EPOCH, MAX_EPOCH, ShareSession, ShareSessions, next_epoch
from odradek.protocol.errors import ErrorCode, KafkaError

TOPIC = bytes(15) + b"\1"
ONE, TWO, THREE = ((TOPIC, index) for index in range(3))
KEY = ("g", "member")


def refused(call: object, *arguments: object) -> int:
    with pytest.raises(KafkaError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value.error_code


def test_epochs() -> None:
    found = ShareSessions(2)
    session = found.open(KEY, [ONE], 1)
    assert session.epoch == 1
    assert found.existing(KEY, 1) is found.existing(KEY, FINAL_EPOCH) is session
    assert refused(found.existing, KEY, 2) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert refused(found.existing, ("g", "other"), 1) == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert next_epoch(MAX_EPOCH) == 1


def test_a_new_session_takes_the_place_of_the_members_old_one() -> None:
    found = ShareSessions(1)
    found.open(KEY, [ONE], 1)
    found.open(KEY, [TWO], 2)
    assert (len(found), found.partitions) == (1, 1)
    assert refused(found.open, ("g", "other"), [ONE], 1) == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert found.connection_closed(1) == ([], {"g"})
    assert found.connection_closed(2) == ([KEY], {"g"})


@pytest.mark.parametrize("is_by_partitions", [False, True])
def test_whoever_takes_the_most_makes_room_for_those_who_take_less(is_by_partitions: bool) -> None:
    most = 6
    found = ShareSessions(100, most_partitions=most) if is_by_partitions else ShareSessions(most)
    for number in range(most):
        assert found.to_end_for(("g", f"{number}"), "User:many", 1) is None
        found.open(("g", f"{number}"), [ONE], 1, "User:many")
    assert found.to_end_for(("g", "another"), "User:many", 1) is None, "nobody makes room for the one who has most"
    assert refused(found.open, ("g", "another"), [ONE], 1, "User:many") == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    for number, owner in enumerate(("User:one", "User:two", "User:two", "User:one", "User:one")):
        key = ("g", f"of {owner} {number}")
        victim = found.to_end_for(key, owner, 1)
        if number == 4:
            assert victim is None, "all have two"
            continue
        assert victim == ("g", f"{number}")
        found.remove(victim)
        found.open(key, [ONE], 2, owner)
    assert len(found) == most


def test_a_group_without_sessions() -> None:
    found = ShareSessions(9)
    found.open(KEY, [ONE], 1)
    assert found.has_members("g")
    found.remove(KEY)
    assert not found.has_members("g")
    assert found.connection_closed(1) == ([], {"g"})


def test_partitions_take_turns() -> None:
    session = ShareSession(KEY, [ONE, TWO, THREE], 1)
    assert [session.in_turn(epoch)[0] for epoch in range(5)] == [ONE, TWO, THREE, ONE, TWO]


def test_what_an_answer_names() -> None:
    session = ShareSession(KEY, [ONE], 1)
    session.update([ONE, TWO], [])
    assert not session.must_name(ONE, has_records=False, has_error=False)
    assert session.must_name(TWO, has_records=False, has_error=False), "it is new"
    assert not session.must_name(TWO, has_records=False, has_error=False)
    assert session.must_name(TWO, has_records=False, has_error=True)
    assert session.must_name(TWO, has_records=False, has_error=False), "its error has gone"
    assert session.must_name(ONE, has_records=True, has_error=False)
    assert list(session.partitions) == [TWO, ONE], "one with records is served last"


def test_all_sessions_together_have_a_bound() -> None:
    found = ShareSessions(9, most_partitions=2)
    session = found.open(KEY, [ONE], 1)
    assert refused(found.update, session, [TWO, THREE], []) == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    found.update(session, [TWO], [ONE])
    assert (list(session.partitions), found.partitions) == ([TWO], 1)
    assert refused(found.open, ("g", "other"), [ONE, THREE], 1) == ErrorCode.SHARE_SESSION_LIMIT_REACHED
