"""The sizes of keys and values are counted without decoding records."""

import random

import pytest

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.errors import InvalidRecordError
from odradek.protocol.records.record import Record, decode_records, records_section
from odradek.protocol.records.record_sizes import payload_bytes


def random_records(rng: random.Random) -> list[Record]:
    """Records with keys, values and headers of all kinds of lengths."""

    def content() -> bytes | None:
        return rng.choice((None, b"", rng.randbytes(rng.choice((1, 60, 63, 64, 65, 200, 9000, 20_000)))))

    offsets = sorted(rng.sample(range(300), rng.randint(1, 20)))
    headers = [("h" * rng.randint(0, 100), content()) for _ in range(rng.choice((0, 0, 1, 3)))]
    return [Record(offset, rng.choice((0, 5, 1 << 40)), content(), content(), headers) for offset in offsets]


@pytest.mark.parametrize("seed", range(200))
def test_the_same_as_by_decoding(seed: int) -> None:
    records = random_records(random.Random(seed))
    batch = encode_batch(records)
    section = records_section(batch, read_header(batch))
    assert payload_bytes(section, len(records)) == sum(len(one.key or b"") + len(one.value or b"") for one in records)


def test_damaged_bytes_are_refused_or_counted_but_never_fail_otherwise() -> None:
    for seed in range(3000):
        rng = random.Random(seed)
        records = random_records(rng)[:3]
        batch = encode_batch(records)
        section = bytearray(records_section(batch, read_header(batch)))
        if rng.random() < 0.5:
            del section[rng.randrange(len(section)) :]
        else:
            section[rng.randrange(min(len(section), 40))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        try:
            assert payload_bytes(bytes(section), len(records)) <= len(section), seed
        except InvalidRecordError:
            continue


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_records_is_refused(count: int) -> None:
    batch = encode_batch([Record(0, 0, None, b"v", []), Record(1, 0, None, b"w", [])])
    section = records_section(batch, read_header(batch))
    assert len(decode_records(batch)) == 2
    with pytest.raises(InvalidRecordError):
        payload_bytes(section, count)
