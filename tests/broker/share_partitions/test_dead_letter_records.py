"""Dead letters as a Kafka 4.4.0 writes them."""

from odradek.broker.share_partitions.dead_letter_records import MOST_IN_A_BATCH, LetterSource, letter_batches
from odradek.broker.share_partitions.share_partition import Cause
from odradek.protocol.records.record import Record, decode_records

SOURCE = LetterSource("workers", "orders", 3)


def letters(cause: Cause, contents: dict[int, tuple[bytes | None, bytes | None]], most: int = 1 << 20) -> list[Record]:
    return [
        record for batch in letter_batches(SOURCE, cause, contents, most, 1_000) for record in decode_records(batch)
    ]


def test_a_letter_names_its_record() -> None:
    [letter] = letters(Cause(7, 7, 2, is_rejected=True), {})
    assert (letter.key, letter.value, letter.timestamp) == (None, None, 1_000)
    assert dict(letter.headers) == {
        "__dlq.errors.topic": b"orders",
        "__dlq.errors.partition": b"3",
        "__dlq.errors.offset": b"7",
        "__dlq.errors.group": b"workers",
        "__dlq.errors.delivery.count": b"2",
        "__dlq.errors.message": b"Offset rejected by client.",
    }


def test_a_record_that_was_delivered_too_often() -> None:
    [letter] = letters(Cause(7, 7, 5, is_rejected=False), {})
    assert dict(letter.headers)["__dlq.errors.message"] == b"Offset delivery count exceeded the threshold."


def test_a_copy_that_is_too_large_is_left_out() -> None:
    contents: dict[int, tuple[bytes | None, bytes | None]] = {1: (b"k", b"v"), 2: (b"k", bytes(5_000))}
    found = letters(Cause(1, 2, 1, is_rejected=True), contents, most=2_000)
    assert [(one.key, one.value) for one in found] == [(b"k", b"v"), (None, None)]


def test_batches_are_limited_by_count_and_bytes() -> None:
    cause = Cause(0, 1_199, 1, is_rejected=True)
    batches = list(letter_batches(SOURCE, cause, {}, 1 << 20, 0))
    assert [len(decode_records(batch)) for batch in batches] == [MOST_IN_A_BATCH, MOST_IN_A_BATCH, 200]
    small = list(letter_batches(SOURCE, cause, {}, 10_000, 0))
    assert max(map(len, small)) <= 10_000
    offsets = [dict(one.headers)["__dlq.errors.offset"] for batch in small for one in decode_records(batch)]
    assert offsets == [b"%d" % offset for offset in range(1_200)]
