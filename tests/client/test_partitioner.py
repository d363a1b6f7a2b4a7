"""Keys go where Java's producer puts them; records without a key stick to a partition for a batch's bytes."""

import random

from hypothesis import given
from hypothesis import strategies as st

from odradek.client.partitioner import StickyPartitioner, murmur2, partition_for_key

# From Kafka's own test of Utils.murmur2, as signed numbers.
JAVA_HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


def test_murmur2_is_javas() -> None:
    assert {key: signed(murmur2(key)) for key in JAVA_HASHES} == JAVA_HASHES


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_a_key_has_one_partition_in_range(key: bytes, partitions: int) -> None:
    partition = partition_for_key(key, partitions)
    assert 0 <= partition < partitions
    assert partition == partition_for_key(bytes(bytearray(key)), partitions)


def test_negative_hashes_give_javas_partition() -> None:
    # toPositive clears the sign bit; abs() or a plain modulo would give others.
    assert partition_for_key(b"21", 10) == (-973932308 & 0x7FFFFFFF) % 10


def test_sticky_stays_for_a_batch_then_moves_to_another() -> None:
    sticky = StickyPartitioner(100, random.Random(1).choice)
    chosen = [sticky.partition("t", 30, [0, 1, 2], [0, 1, 2]) for _ in range(12)]
    assert [len(set(chosen[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]
    assert chosen[0] != chosen[4] != chosen[8]


def test_sticky_takes_only_partitions_with_a_leader() -> None:
    sticky = StickyPartitioner(1, random.Random(2).choice)
    assert {sticky.partition("t", 10, [0, 1, 2], [2]) for _ in range(20)} == {2}
    assert {sticky.partition("t", 10, [0, 1, 2], []) for _ in range(50)} == {0, 1, 2}
    assert {sticky.partition("single", 10, [0], [0]) for _ in range(5)} == {0}
