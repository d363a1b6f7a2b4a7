"""Comparing a recorded answer with a replayed one."""

from typing import Any

import pytest

from odradek.testing.traffic.differences import Comparison
from odradek.testing.traffic.minted import Minted

ORDERS, AGAIN = "q" * 22, "r" * 22


def compare(
    recorded: Any, replayed: Any, minted: Minted | None = None, request: Any = None, ignore: tuple[str, ...] = ()
) -> list[str]:
    """The differences of two answers to Fetch, one on each line."""
    comparison = Comparison(minted or Minted(), ignore, "Fetch")
    return [
        f"{path}: {one} / {other}" for path, one, other in comparison.differences(request or {}, recorded, replayed)
    ]


def test_elements_belong_together_by_their_names() -> None:
    one = {"topics": [{"name": "a", "errorCode": 0}, {"name": "b", "errorCode": 3}]}
    other = {"topics": [{"name": "b", "errorCode": 6}, {"name": "a", "errorCode": 0}]}
    assert compare(one, other) == ["topics[name=b].errorCode: UNKNOWN_TOPIC_OR_PARTITION / NOT_LEADER_OR_FOLLOWER"]
    other["topics"][0]["name"] = "c"
    assert [line.split(":")[0] for line in compare(one, other)] == ["topics[name=b]", "topics[name=c]"]


def test_other_elements_belong_together_by_their_place() -> None:
    assert compare({"x": [1, 2]}, {"x": [1, 3, 4]}) == ["x: 2 elements / 3 elements", "x[1]: 2 / 3"]
    assert compare({"x": 1, "y": None}, {"y": None, "z": "a"}) == ["x: 1 / nothing", "z: nothing / 'a'"]


def test_where_and_when_a_broker_runs_is_not_compared() -> None:
    assert compare({"host": "a", "port": 1, "throttleTimeMs": 5}, {"host": "b", "port": 2, "throttleTimeMs": 0}) == []
    batch = {"baseOffset": 0, "logAppendTimeMs": 5, "records": [{"offset": 0, "timestamp": 5, "value": "v"}]}
    later = {"baseOffset": 0, "logAppendTimeMs": 9, "records": [{"offset": 0, "timestamp": 9, "value": "w"}]}
    assert compare({"records": [batch]}, {"records": [later]}) == ["records[0].records[offset=0].value: 'v' / 'w'"]


@pytest.mark.parametrize("ignored", ["highWatermark", "Fetch.highWatermark"])
def test_what_the_caller_ignores(ignored: str) -> None:
    assert compare({"highWatermark": 1}, {"highWatermark": 2}, ignore=(ignored,)) == []
    assert compare({"highWatermark": 1}, {"highWatermark": 2}, ignore=("Produce.highWatermark",))


def test_ids_are_compared_by_what_they_stand_for() -> None:
    minted = Minted()
    assert compare({"topicId": ORDERS}, {"topicId": AGAIN}, minted) == []
    assert compare({"topicId": ORDERS}, {"topicId": AGAIN}, minted) == []
    assert compare({"topicId": ORDERS}, {"topicId": "s" * 22}, minted)
    assert compare({"topicId": "s" * 22}, {"topicId": AGAIN}, minted)
    assert compare({"producerId": 5}, {"producerId": -1}, minted) == ["producerId: 5 / -1"]


def test_requests_name_what_the_other_broker_knows() -> None:
    minted = Minted()
    compare(
        {"topicId": ORDERS, "memberId": "m-1", "isrNodes": [1, 2]},
        {"topicId": AGAIN, "memberId": "m-2", "isrNodes": [7, 8]},
        minted,
    )
    request = {"topics": [{"topicId": ORDERS}], "memberId": "m-1", "isrNodes": [2, 1], "sessionId": 0, "other": "m-1"}
    assert minted.mapped(request) == {
        "topics": [{"topicId": AGAIN}],
        "memberId": "m-2",
        "isrNodes": [8, 7],
        "sessionId": 0,
        "other": "m-1",
    }


def test_a_generation_counts_for_its_group_and_an_epoch_for_its_producer() -> None:
    minted = Minted()
    request = {"groupId": "g"}
    assert compare({"generationId": 3}, {"generationId": 5}, minted, request) == ["generationId: 3 / 5"]
    assert minted.mapped({"groupId": "g", "generationIdOrMemberEpoch": 3})["generationIdOrMemberEpoch"] == 5
    assert minted.mapped({"groupId": "h", "generationId": 3})["generationId"] == 3
    one, other = {"producerId": 10, "producerEpoch": 1}, {"producerId": 20, "producerEpoch": 2}
    assert compare(one, other, minted) == ["producerEpoch: 1 / 2"]
    assert minted.mapped({"batches": [one, {"producerId": 11, "producerEpoch": 1}]}) == {
        "batches": [other, {"producerId": 11, "producerEpoch": 1}]
    }
