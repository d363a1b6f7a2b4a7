"""A consumer sees fetched records from its position on, without markers and aborted records, across gaps."""

import pytest

from odradek.client.consumer.fetched import FetchedPartition
from odradek.client.types import TopicPartition
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch

HERE = TopicPartition("t", 0)


def batch(
    first_offset: int, count: int, producer_id: int = -1, *, transactional: bool = False, last: int = -1
) -> bytes:
    builder = BatchBuilder(
        base_offset=first_offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        is_transactional=transactional,
    )
    for number in range(count):
        builder.append(1000 + number, None, b"%d" % (first_offset + number))
    return builder.build(last_offset=last if last >= 0 else None)


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    return encode_end_transaction_batch(
        EndTransactionMarker(kind, 0), timestamp=0, producer_id=producer_id, producer_epoch=0, base_offset=offset
    )


def fetched(data: bytes, offset: int = 0, aborted: list[tuple[int, int]] | None = None) -> FetchedPartition:
    return FetchedPartition(HERE, offset, data, aborted_transactions=aborted, check_crcs=True)


def offsets(of: FetchedPartition, at_a_time: int = 100) -> list[int]:
    found = []
    while not of.is_drained:
        found += [record.offset for record in of.take(at_a_time)]
    return found


@pytest.mark.parametrize("at_a_time", [1, 3, 100])
def test_from_the_position_inside_a_batch(at_a_time: int) -> None:
    data = fetched(batch(0, 5) + batch(5, 5), offset=3)
    assert data.expected_position == 3
    assert offsets(data, at_a_time) == [3, 4, 5, 6, 7, 8, 9]
    assert (data.next_offset, data.expected_position) == (10, 10)


@pytest.mark.parametrize("at_a_time", [1, 7, 16, 1000])
def test_many_records_at_any_pace(at_a_time: int) -> None:
    data = fetched(batch(0, 2000) + batch(2000, 1) + batch(2001, 50), 5)
    assert len(data.take(at_a_time)) == at_a_time
    assert data.next_offset == data.expected_position == 5 + at_a_time
    assert offsets(data, at_a_time) == list(range(5 + at_a_time, 2051))


def test_gaps_of_compaction_are_passed_over() -> None:
    data = fetched(batch(0, 2, last=9) + batch(20, 1, last=29))
    assert [record.offset for record in data.take(2)] == [0, 1]
    assert data.expected_position >= 10, "the next fetch would begin behind the compacted batch"
    assert offsets(data) == [20]
    assert data.next_offset == 30


def test_an_incomplete_last_batch_is_left_for_the_next_fetch() -> None:
    data = fetched(batch(0, 2) + batch(2, 2)[:-1])
    assert offsets(data) == [0, 1]
    assert data.next_offset == 2


def test_aborted_records_and_markers_are_hidden() -> None:
    log = (
        batch(0, 2, 7, transactional=True)
        + batch(2, 2, 8, transactional=True)
        + batch(4, 1)
        + marker(5, 7, commit=False)
        + batch(6, 1, 7, transactional=True)
        + marker(7, 8, commit=True)
        + marker(8, 7, commit=True)
    )
    read_committed = fetched(log, aborted=[(7, 0)])
    assert offsets(read_committed) == [2, 3, 4, 6]
    assert read_committed.next_offset == 9
    assert offsets(fetched(log)) == [0, 1, 2, 3, 4, 6], "read_uncommitted sees all but the markers"


def test_nothing_but_hidden_records_still_moves_on() -> None:
    data = fetched(batch(0, 2, 7, transactional=True) + marker(2, 7, commit=False), aborted=[(7, 0)])
    assert data.is_drained
    assert data.next_offset == 3


def test_damage_is_told_after_what_is_sound() -> None:
    damaged = bytearray(batch(0, 2) + batch(2, 2))
    damaged[-1] ^= 0xFF
    data = fetched(bytes(damaged))
    assert [record.offset for record in data.take(100)] == [0, 1]
    assert not data.is_drained
    with pytest.raises(KafkaError, match="corrupt"):
        data.take(100)
