"""Counting fetched records has the same result as decoding them."""

import random

import pytest

from odradek.client.consumer.counting import CountedBatch, CountedPartition
from odradek.client.consumer.fetched import FetchedPartition
from odradek.client.types import TopicPartition
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from support.each import each

HERE = TopicPartition("t", 0)


def random_log(rng: random.Random) -> tuple[bytes, list[tuple[int, int]]]:
    """Batches with gaps, compression, transactions and markers; and the aborted transactions."""
    log, offset, aborted = b"", 0, []
    for _ in range(rng.randint(1, 8)):
        count = rng.randint(1, 10)
        first = offset + rng.choice((0, 0, 5))
        records = [
            Record(first + place, 1000, rng.choice((None, b"key")), rng.randbytes(rng.randint(0, 300)), [])
            for place in range(count)
        ]
        in_transaction = rng.random() < 0.4
        log += encode_batch(
            records,
            base_offset=first,
            compression=rng.choice(list(CompressionType)),
            producer_id=7 if in_transaction else -1,
            producer_epoch=0 if in_transaction else -1,
            base_sequence=0 if in_transaction else -1,
            is_transactional=in_transaction,
        )
        offset = first + count
        if in_transaction:
            is_abort = rng.random() < 0.5
            if is_abort:
                aborted.append((7, first))
            kind = ControlRecordType.ABORT if is_abort else ControlRecordType.COMMIT
            log += encode_end_transaction_batch(
                EndTransactionMarker(kind, 0), timestamp=0, producer_id=7, producer_epoch=0, base_offset=offset
            )
            offset += 1
    return log, aborted


@each("seed", range(200))
def test_the_same_as_by_decoding(seed: int) -> None:
    rng = random.Random(seed)
    log, aborted = random_log(rng)
    shown, check_crcs, position = rng.choice((None, aborted)), rng.random() < 0.5, rng.choice((0, 0, 3))
    decoded = FetchedPartition(HERE, position, log, aborted_transactions=shown, check_crcs=check_crcs)
    counted = CountedPartition(HERE, position, log, aborted_transactions=shown, check_crcs=check_crcs)
    records = decoded.take(10_000)
    size = sum(len(record.key or b"") + len(record.value or b"") for record in records)
    batches: list[CountedBatch] = []
    while not counted.is_drained:
        batches += counted.take(rng.randint(1, 20))
        assert counted.expected_position == counted.next_offset
    assert (counted.count(batches), sum(batch.size for batch in batches)) == (len(records), size), seed
    assert counted.next_offset == decoded.next_offset, seed
    assert [batch.leader_epoch for batch in batches] == [-1] * len(batches)


def test_damaged_data_raises_after_what_comes_before_it() -> None:
    good = encode_batch([Record(0, 0, None, b"v", [])])
    wrong = bytearray(encode_batch([Record(1, 0, None, b"w", [])], base_offset=1))
    wrong[-1] ^= 1
    counted = CountedPartition(HERE, 0, bytes(good + wrong), aborted_transactions=None, check_crcs=True)
    assert counted.count(counted.take(10)) == 1
    with pytest.raises(KafkaError):
        counted.take(10)
