"""Keys tell which partition a directory is: those that all belong to one other partition are found, no others."""

import random
import zlib
from collections.abc import Callable

import numpy
import pytest

from odradek.pipeline.audit.key_placement import MOST_KEYS, KeyPlacement, Placement
from odradek.pipeline.decode.spans import Fields
from odradek.protocol.java.murmur2 import partition_for_key

Partitioner = Callable[[bytes, int], int]
PARTITIONERS: dict[str, Partitioner] = {
    "Java": partition_for_key,
    "librdkafka": lambda key, count: zlib.crc32(key) % count,
}


def place(keys: list[bytes], own: int, count: int) -> Placement | None:
    """The verdict on a partition with these keys."""
    check = KeyPlacement(own, count)
    for start in range(0, len(keys), 7):
        part = keys[start : start + 7]
        ends = numpy.cumsum([len(key) for key in part])
        fields = Fields.empty(len(part))
        fields.bounds[1:-1:2], fields.bounds[0:-1:2] = ends, ends - [len(key) for key in part]
        payload = numpy.frombuffer(b"".join(part) or b"\0", numpy.uint8)
        check.read(payload, fields, numpy.arange(len(part)))
    return check.found()


def keys_of(partition: int, count: int, partition_of: Partitioner, seed: int, size: int = 200) -> list[bytes]:
    """Random keys that a producer sends to a partition."""
    chance, found = random.Random(seed), list[bytes]()
    while len(found) < size:
        key = chance.randbytes(chance.randint(1, 20))
        if partition_of(key, count) == partition:
            found.append(key)
    return found


@pytest.mark.parametrize("name", PARTITIONERS)
@pytest.mark.parametrize("count", [2, 3, 6, 50])
def test_exchanged_partitions_are_found_and_others_are_not(name: str, count: int) -> None:
    chance = random.Random(count)
    for seed in range(20):
        own, other = chance.sample(range(count), 2)
        keys = keys_of(other, count, PARTITIONERS[name], seed)
        assert place(keys, own, count) == Placement(other, name)
        assert place(keys, other, count) is None


def test_a_partitioner_of_an_application_is_not_a_finding() -> None:
    chance = random.Random(4)
    for count in (2, 3, 10):
        for own in range(count):
            for _ in range(50):
                assert place([chance.randbytes(8) for _ in range(200)], own, count) is None


def test_older_keys_of_a_topic_that_got_more_partitions_are_not_a_finding() -> None:
    for own in range(3):
        keys = keys_of(own, 3, partition_for_key, own)
        for count in (4, 5, 6, 12):
            assert place(keys, own, count) is None


def test_few_keys_and_empty_ones_tell_nothing() -> None:
    keys = keys_of(1, 2, partition_for_key, 1)
    distinct = list(dict.fromkeys(keys))
    assert place([b"", *distinct[: MOST_KEYS - 1]] * 10, 0, 2) is None
    assert place(distinct[:MOST_KEYS], 0, 2) == Placement(1, "Java")
    assert place(distinct, 0, 1) is place(distinct, 0, 0) is None
