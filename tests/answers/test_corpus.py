"""The format of the corpus: names for ids, and what of an answer is compared."""

import base64
from pathlib import Path

import pytest

from answers.corpus import Answers, Names, compared, named, read, with_producer
from answers.recording import without_waiting
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record, decode_records

TOPIC_ID = "abcdefghijklmnopqrstuv"
BATCH = encode_batch([Record(0, 5, b"k", b"v", [])], producer_id=7, producer_epoch=0, base_sequence=0)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def asked(request: object, answer: object) -> dict[str, object]:
    return {"scene": "s", "do": "ask", "request": request, "answer": {"body": answer}}


def test_ids_that_the_broker_has_chosen_have_names() -> None:
    steps = [
        asked({"groupId": "g", "memberId": "mine"}, {"memberId": "mine", "topicId": TOPIC_ID, "host": "h"}),
        asked({"name": TOPIC_ID}, {"producerId": 7, "count": 7, "throttleTimeMs": 3}),
        asked({"records": text(BATCH), "producerId": 7}, {}),
    ]
    assert [(one["request"], one["answer"]["body"]) for one in named(steps)] == [
        ({"groupId": "g", "memberId": "mine"}, {"memberId": "mine", "topicId": "$topicId1"}),
        ({"name": "$topicId1"}, {"producerId": "$producerId2", "count": 7}),
        ({"records": {"producerId": "$producerId2", "batch": text(BATCH)}, "producerId": "$producerId2"}, {}),
    ]


def test_another_broker_has_its_own_ids() -> None:
    names = Names()
    names.learn({"topics": [{"name": "b", "topicId": "$topicId1"}]}, {"topics": [{"name": "b", "topicId": "other"}]})
    names.learn({"producerId": "$producerId2"}, {"producerId": 1000})
    batch = {"producerId": "$producerId2", "batch": text(BATCH)}
    real = names.real({"topicId": "$topicId1", "records": batch})
    assert real["topicId"] == "other"
    data = base64.b64decode(real["records"])
    assert read_header(data).producer_id == 1000
    assert decode_records(data) == decode_records(BATCH)
    assert with_producer(data, 7) == BATCH
    assert names.named({"topicId": "other", "producerId": 1000}) == {
        "topicId": "$topicId1",
        "producerId": "$producerId2",
    }


def test_records_are_compared_and_not_their_bytes() -> None:
    other = with_producer(BATCH, 8)
    assert compared({"records": text(other)}) == compared({"records": text(BATCH)})
    more = encode_batch([Record(0, 5, b"k", b"w", [])], producer_id=7, producer_epoch=0, base_sequence=0)
    assert compared({"records": text(more)}) != compared({"records": text(BATCH)})


def test_an_answer_that_asks_for_patience_is_left_out_if_the_next_is_better() -> None:
    question = {"scene": "s", "do": "ask", "connection": "c", "api": "A", "version": 1, "request": {}}
    early, late = ({**question, "answer": {"body": {"errorCode": code}}} for code in (15, 0))
    assert without_waiting([late, early]) == [late, early]
    assert without_waiting([early, late]) == [{**late, "until": True}]


def test_a_file_comes_back(tmp_path: Path) -> None:
    written = Answers("4.3.1", {"num.partitions": "2"}, [asked({}, {"errorMessage": "é"})])
    written.write(tmp_path / "a.jsonl")
    assert read(tmp_path / "a.jsonl") == written
    (tmp_path / "b.jsonl").write_text('{"format": 3}\n')
    with pytest.raises(ValueError, match="has format 3, not 2"):
        read(tmp_path / "b.jsonl")
