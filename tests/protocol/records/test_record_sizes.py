"""The sizes of keys and values are counted without decoding records."""

import random

import pytest

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.errors import InvalidRecordError
from odradek.protocol.records.record import Record, decode_records, records_section
from odradek.protocol.records.record_sizes import payload_bytes
from support.each import each


def random_records(rng: random.Random) -> list[Record]:
    """Records with keys, values and headers of all kinds of lengths."""

    def content() -> bytes | None:
        return rng.choice((None, b"", rng.randbytes(rng.choice((1, 60, 63, 64, 65, 200, 9000, 20_000)))))

    offsets = sorted(rng.sample(range(300), rng.randint(1, 20)))
    headers = [("h" * rng.randint(0, 100), content()) for _ in range(rng.choice((0, 0, 1, 3)))]
    return [Record(offset, rng.choice((0, 5, 1 << 40)), content(), content(), headers) for offset in offsets]


@each("seed", range(200))
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


def records_of_runs(rng: random.Random) -> list[Record]:
    """Runs of records with equal sizes, long and short, with deltas and lengths of different widths between them."""
    records: list[Record] = []
    offset = 0
    for _ in range(rng.randint(1, 6)):
        key = rng.choice((None, None, 0, 3, 70))
        value = rng.choice((None, 0, 7, 63, 64, 100, 9_000))
        headers: list[tuple[str, bytes | None]] = [("h", b"1")] if rng.random() < 0.3 else []
        for _ in range(rng.choice((1, 5, 70, 300)) if value != 9_000 else 3):
            timestamp = rng.choice((5, 5, 5, 6, 68, 69)) if rng.random() < 0.1 else 5
            offset += rng.choice((1, 1, 1, 60, 9_000)) if rng.random() < 0.02 else 1
            content = [None if size is None else rng.randbytes(size) for size in (key, value)]
            records.append(Record(offset, timestamp, content[0], content[1], headers))
    return records


@each("seed", range(200))
def test_runs_of_equal_records_are_counted_as_by_decoding(seed: int) -> None:
    records = records_of_runs(random.Random(seed))
    batch = encode_batch(records)
    section = records_section(batch, read_header(batch))
    assert payload_bytes(section, len(records)) == sum(len(one.key or b"") + len(one.value or b"") for one in records)


@pytest.mark.parametrize("other", [1, 17, 40])
def test_records_of_equal_size_with_other_fields_are_not_taken_for_a_run(other: int) -> None:
    """A header of two bytes, or a key of two, stands for two bytes of the value."""
    records = [Record(at, 0, None, b"v" * 8, []) for at in range(60)]
    records[other] = Record(other, 0, None, b"v" * 6, [("", b"")])
    records[other + 10] = Record(other + 10, 0, b"kk", b"v" * 6, [])
    batch = encode_batch(records)
    section = records_section(batch, read_header(batch))
    assert len({section[at : at + 1] for at in range(0, len(section), len(section) // 60)}) == 1, "equal sizes"
    assert payload_bytes(section, len(records)) == 60 * 8 - 2


def test_damaged_runs_are_refused_or_counted_but_never_fail_otherwise() -> None:
    records = [Record(at, 0, None, b"v" * 30, []) for at in range(100)]
    batch = encode_batch(records)
    whole = records_section(batch, read_header(batch))
    for seed in range(3000):
        rng = random.Random(seed)
        section = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            section[rng.randrange(len(section))] = rng.choice((0, 1, 0x3C, 0x7F, 0x80, 0xFF))
        if rng.random() < 0.3:
            del section[rng.randrange(len(section)) :]
        try:
            size = payload_bytes(bytes(section), len(records))
        except InvalidRecordError:
            continue
        assert size <= len(section), seed
