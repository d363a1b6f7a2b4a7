"""The audit's tables of keys: estimated counts are close, and no false duplicates are reported."""

import random

import numpy
import pytest

from odradek.pipeline.audit import key_tables
from odradek.pipeline.audit.key_tables import Hashes, KeyCounts, KeySet, hash_keys
from odradek.pipeline.audit.packed_arrays import PackedArray
from odradek.pipeline.decode.spans import Fields
from odradek.pipeline.engine.compiled import IS_COMPILED


def hashes_of(keys: list[bytes]) -> Hashes:
    payload = numpy.frombuffer(b"".join(keys), numpy.uint8)
    ends = numpy.cumsum([len(key) for key in keys])
    bounds = numpy.empty(2 * len(keys) + 1, numpy.int32)
    bounds[1:-1:2], bounds[0:-1:2] = ends, ends - [len(key) for key in keys]
    bounds[-1] = ends[-1]
    return hash_keys(payload, Fields(bounds, numpy.zeros(len(keys), numpy.bool_)), numpy.arange(len(keys)))


@pytest.mark.parametrize("seed", range(5))
def test_a_set_knows_which_keys_it_has_seen(seed: int) -> None:
    rng = random.Random(seed)
    found, seen = KeySet(), set()
    for _ in range(20):
        keys = [b"key-%d" % rng.randrange(20_000) for _ in range(rng.randrange(1, 2000))]
        expected = []
        for row, key in enumerate(keys):
            if key in seen:
                expected.append(row)
            seen.add(key)
        assert found.add(hashes_of(keys)).tolist() == expected
    assert found.share == 1


def test_a_set_that_is_full_looks_at_a_share_of_the_keys() -> None:
    keys = [b"key-%d" % number for number in range(50_000)]
    found = KeySet(most_keys=4096)
    assert found.add(hashes_of(keys)).tolist() == []
    assert found.share > 1
    seen = len(found.add(hashes_of(keys)))
    assert 0.5 < seen * found.share / len(keys) < 2


def test_counts_of_keys() -> None:
    counts = KeyCounts()
    keys = [b"often"] * 3000 + [b"key-%d" % number for number in range(30_000)]
    random.Random(1).shuffle(keys)
    for start in range(0, len(keys), 1000):
        counts.add(hashes_of(keys[start : start + 1000]))
    assert counts.records == 33_000
    assert 3000 <= counts.most < 3020
    assert 0.98 < counts.distinct / 30_001 < 1.02


@pytest.mark.parametrize("records", [2, 4096, 4097, 20_000])
def test_few_keys_are_counted_as_in_tables(records: int) -> None:
    chance = random.Random(records)
    parts = [hashes_of([b"key-%d" % chance.randrange(3000) for _ in range(records // 2 + half)]) for half in (0, 1)]
    few, tables, packed = KeyCounts(), KeyCounts(), KeyCounts()
    assert tables.buckets.sum() == tables.bits.sum() == 0, "the tables are made"
    for part in parts:
        own = KeyCounts()
        own.add(part)
        few.merge(own)
        bits = PackedArray.of(numpy.packbits(own.bits))
        packed.merge_packed(own.records, PackedArray.of(own.buckets.reshape(-1)), bits)
        tables.add(part)
    assert (few.records, few.most, few.distinct) == (tables.records, tables.most, tables.distinct)
    for found in (few, packed):
        assert found.records == tables.records
        assert (found.buckets == tables.buckets).all()
        assert (found.bits == tables.bits).all()


@pytest.mark.skipif(not IS_COMPILED, reason="there is only one hash without numba")
def test_the_hash_is_the_same_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [random.Random(seed).randbytes(seed % 40) for seed in range(300)]
    compiled = hashes_of(keys)
    monkeypatch.setattr(key_tables, "_hash_keys", key_tables._hash_keys.plain)  # type: ignore[attr-defined]
    assert hashes_of(keys).tolist() == compiled.tolist()
    assert len(set(compiled.tolist())) == len(set(keys))
