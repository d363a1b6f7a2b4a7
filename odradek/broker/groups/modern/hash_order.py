"""The iteration order of Java's hash collections of topics and partitions: Kafka's uniform assignor depends on it.

Owns: that order, for topic ids and partition indexes. Never does: assigning. Invariants: a pure function of the
elements; elements of one bucket are in ascending order. Source: ``java.util.HashMap``, and ``HashSet`` up to Java 18
(from 19 on a set copied from 12, 24, 48 … elements has half the buckets), ``Uuid.hashCode``.
"""

from collections.abc import Collection, Iterable, Sequence
from struct import Struct
from typing import TypeVar

from odradek.protocol.java.hash import INITIAL_BUCKETS, grown_buckets, hash_bucket

_TREEIFY_THRESHOLD = 8
_MIN_TREEIFY_BUCKETS = 64
_UUID = Struct(">4I")

Element = TypeVar("Element")


def topic_map_order(topic_ids: Iterable[bytes]) -> list[bytes]:
    """Returns topic ids in the order of a ``HashMap`` to which they were added one by one: a member's assignment."""
    topics = sorted(topic_ids)
    return _ordered(topics, _uuid_hashes(topics), INITIAL_BUCKETS)


def topic_set_order(topic_ids: Iterable[bytes]) -> list[bytes]:
    """Returns topic ids in the order of a ``HashSet`` copied from another collection: a member's subscription."""
    topics = sorted(topic_ids)
    return _ordered(topics, _uuid_hashes(topics), _copied_buckets(len(topics)))


def partition_order(partitions: Collection[int]) -> list[int]:
    """Returns partition indexes in the order of a ``HashSet`` copied from another collection: a topic's partitions in
    an assignment."""
    if len(partitions) < 2:
        return list(partitions)
    indexes = sorted(partitions)
    buckets = _copied_buckets(len(indexes))
    if not indexes or indexes[-1] < buckets:
        return indexes
    return _ordered(indexes, indexes, buckets)


def _uuid_hashes(topic_ids: Sequence[bytes]) -> list[int]:
    return [first ^ second ^ third ^ fourth for first, second, third, fourth in _UUID.iter_unpack(b"".join(topic_ids))]


def _copied_buckets(size: int) -> int:
    buckets = INITIAL_BUCKETS
    while buckets < int(size / 0.75) + 1:
        buckets *= 2
    return buckets


def _ordered(elements: Sequence[Element], hashes: Sequence[int], buckets: int) -> list[Element]:
    """Returns the elements bucket by bucket, those of one bucket in the order of insertion."""
    buckets = _after_insertion(hashes, buckets)
    places = [hash_bucket(code, buckets) for code in hashes]
    return [elements[at] for at in sorted(range(len(elements)), key=places.__getitem__)]


def _after_insertion(hashes: Sequence[int], buckets: int) -> int:
    """Returns the number of buckets after all elements were inserted.

    Below 64 buckets, a ``HashMap`` also doubles its buckets when one of them gets a ninth element. That happens for
    partitions with regular gaps, such as every 32nd of a topic.
    """
    counts = [0] * buckets
    for inserted, code in enumerate(hashes, 1):
        if buckets >= _MIN_TREEIFY_BUCKETS:
            return grown_buckets(buckets, len(hashes))
        bucket = hash_bucket(code, buckets)
        crowded = counts[bucket] >= _TREEIFY_THRESHOLD and buckets < _MIN_TREEIFY_BUCKETS
        counts[bucket] += 1
        grown = grown_buckets(buckets * 2 if crowded else buckets, inserted)
        if grown != buckets:
            buckets = grown
            counts = [0] * buckets
            for earlier in hashes[:inserted]:
                counts[hash_bucket(earlier, buckets)] += 1
    return buckets
