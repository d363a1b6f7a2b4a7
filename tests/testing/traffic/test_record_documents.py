"""Record batches as JSON, and back."""

import random

import pytest

from odradek.protocol.errors import ProtocolError
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch, encode_empty_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record, decode_records
from odradek.testing.traffic.record_documents import batches_as, batches_from

RECORDS = [Record(7, 100, b"k", b"one", []), Record(9, 90, None, None, [("h", b"\xff"), ("h", None)])]


def test_a_batch_is_readable() -> None:
    batch = encode_batch(RECORDS, base_offset=7, producer_id=4, producer_epoch=1, base_sequence=12)
    assert batches_as(batch) == [
        {
            "baseOffset": 7,
            "producerId": 4,
            "producerEpoch": 1,
            "baseSequence": 12,
            "records": [
                {"offset": 7, "timestamp": 100, "key": "k", "value": "one"},
                {
                    "offset": 9,
                    "timestamp": 90,
                    "key": None,
                    "value": None,
                    "headers": [{"name": "h", "value_base64": "/w=="}, {"name": "h", "value": None}],
                },
            ],
        }
    ]
    assert batches_from(batches_as(batch)) == batch


@pytest.mark.parametrize("compression", list(CompressionType))
@pytest.mark.parametrize("seed", range(10))
def test_batches_come_back(compression: CompressionType, seed: int) -> None:
    rng = random.Random(seed)
    data = b""
    for base in (0, 1000):
        offsets = sorted(rng.sample(range(base, base + 100), rng.randint(1, 20)))
        records = [
            Record(offset, rng.randint(0, 1 << 40), rng.choice((None, rng.randbytes(5))), rng.randbytes(30), [])
            for offset in offsets
        ]
        has_producer = rng.random() < 0.5
        data += encode_batch(
            records,
            compression=compression,
            base_offset=base,
            partition_leader_epoch=rng.choice((-1, 0, 4)),
            producer_id=5 if has_producer else -1,
            producer_epoch=0 if has_producer else -1,
            base_sequence=3 if has_producer else -1,
            is_transactional=has_producer and rng.random() < 0.5,
            log_append_time_ms=rng.choice((None, 77)),
            delete_horizon_ms=rng.choice((None, 99)),
        )
    again = batches_from(batches_as(data))
    position = again_position = 0
    while position < len(data):
        first, second = read_header(data, position), read_header(again, again_position)
        # The base timestamp has no meaning with LogAppendTime.
        other = {"base_timestamp": 0, "batch_length": 0, "crc": 0} if first.is_log_append_time else {}
        assert first._replace(**other) == second._replace(**other), (seed, compression)
        assert decode_records(data, first, position) == decode_records(again, second, again_position)
        position += first.size_in_bytes
        again_position += second.size_in_bytes


def test_what_can_not_be_shown_stays_base64() -> None:
    batch = encode_batch(RECORDS, base_offset=7)
    wrong = batch[:-1] + bytes([batch[-1] ^ 1])
    assert [list(one) for one in batches_as(batch + wrong)] == [["baseOffset", "records"], ["base64"]]
    empty = encode_empty_batch(
        base_offset=3,
        last_offset=5,
        max_timestamp=9,
        partition_leader_epoch=0,
        producer_id=1,
        producer_epoch=0,
        base_sequence=2,
        is_log_append_time=False,
        is_transactional=False,
        is_control=False,
    )
    for data in (wrong, empty, batch[:20], b"\0" * 80, batch + empty + batch[:70], b""):
        assert batches_from(batches_as(data)) == data


@pytest.mark.parametrize(
    "shown",
    [
        {},
        ["text"],
        [{"base64": "?"}],
        [{"baseOffset": 0}],
        [{"baseOffset": 0, "compression": "paper", "records": []}],
        [{"baseOffset": 0, "records": [{"offset": 0}]}],
        [{"baseOffset": 0, "records": [{"offset": -1, "timestamp": 0, "key": None, "value": None}]}],
    ],
)
def test_what_is_not_a_batch_is_refused(shown: object) -> None:
    with pytest.raises(ProtocolError):
        batches_from(shown)
