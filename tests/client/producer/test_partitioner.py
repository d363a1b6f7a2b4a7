"""Keys go to the partitions that Java's producer chooses. Records without a key use one partition for a batch."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.cluster.metadata import PartitionMetadata, TopicMetadata
from odradek.client.producer.partitioner import PartitionChoice, RoundRobinPartitioner, StickyPartitioner
from odradek.protocol.java.murmur2 import murmur2, partition_for_key

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
    # toPositive clears the sign bit; abs() or a plain modulo would give other partitions.
    assert partition_for_key(b"21", 10) == (-973932308 & 0x7FFFFFFF) % 10


def test_sticky_stays_for_a_batch_then_chooses_anew() -> None:
    sticky = StickyPartitioner(100, random.Random(1).randrange)
    chosen = [sticky.partition("t", 30, [0, 1, 2], [0, 1, 2]) for _ in range(400)]
    batches = [set(chosen[i : i + 4]) for i in range(0, 400, 4)]
    assert all(len(batch) == 1 for batch in batches)
    assert set.union(*batches) == {0, 1, 2}


class Looked(tuple[int, ...]):
    """Partitions that count the searches among them and the copies of them."""

    looks = 0

    def __contains__(self, number: object) -> bool:
        Looked.looks += 1
        return super().__contains__(number)

    def __iter__(self) -> Iterator[int]:
        Looked.looks += 1
        return super().__iter__()


@pytest.mark.parametrize("key", [None, b"k"])
def test_a_record_does_not_look_at_each_partition_of_its_topic(key: bytes | None) -> None:
    choice = PartitionChoice(StickyPartitioner(1 << 30, random.Random(4).randrange), None)
    partitions, Looked.looks = Looked(range(10_000)), 0
    for _ in range(100):
        choice.partition("t", key, 10, partitions, partitions)
    assert Looked.looks <= 1
    topic = TopicMetadata("t", bytes(16), False, {number: led_by(-(number % 2), number) for number in range(4)})
    assert (topic.numbers, topic.available) == ((0, 1, 2, 3), (0, 2))
    assert topic.available is topic.available


def led_by(leader: int, number: int) -> PartitionMetadata:
    return PartitionMetadata(number, leader, 0, (0,), (0,))


def test_new_metadata_may_take_the_sticky_partition_away() -> None:
    sticky = StickyPartitioner(1 << 30, random.Random(5).randrange)
    first = sticky.partition("t", 10, [0, 1], [0, 1])
    assert sticky.partition("t", 10, [0, 1], [0, 1]) == first
    assert sticky.partition("t", 10, [0, 1], [1 - first]) == 1 - first


def test_sticky_takes_only_partitions_with_a_leader() -> None:
    sticky = StickyPartitioner(1, random.Random(2).randrange)
    assert {sticky.partition("t", 10, [0, 1, 2], [2]) for _ in range(20)} == {2}
    assert {sticky.partition("t", 10, [0, 1, 2], []) for _ in range(50)} == {0, 1, 2}
    assert {sticky.partition("single", 10, [0], [0]) for _ in range(5)} == {0}


def test_sticky_gives_less_to_partitions_whose_batches_wait() -> None:
    # BuiltInPartitioner.updatePartitionLoadStats: queues of 0, 3 and 1 count 4, 1 and 3.
    sticky = StickyPartitioner(1, random.Random(3).randrange)
    chosen = [sticky.partition("t", 10, [0, 1, 2], [0, 1, 2], lambda _: [0, 3, 1]) for _ in range(8_000)]
    for partition, weight in enumerate([4, 1, 3]):
        assert abs(chosen.count(partition) - weight * 1_000) < 150


def test_round_robin_goes_around_in_each_topic_whatever_the_key() -> None:
    partitioner = RoundRobinPartitioner()
    assert [partitioner("t", b"same", [0, 1, 2], [0, 1, 2]) for _ in range(4)] == [0, 1, 2, 0]
    assert [partitioner("u", None, [0, 1, 2], [0, 2]) for _ in range(3)] == [0, 2, 0]
    assert partitioner("t", None, [0, 1, 2], []) == 1
