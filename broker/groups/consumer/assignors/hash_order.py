"""The order in which Java's hash collections hand out topics and partitions: Kafka's uniform assignor depends on it.

Owns: that order, for topic ids and partition indexes. Never does: assigning. Invariants: a pure function of the
elements; those in one bucket stand in ascending order. Source: ``java.util.HashMap``, and ``HashSet`` up to Java 18
(from 19 on a set copied from 12, 24, 48 … elements has half the buckets), ``Uuid.hashCode``.
"""

from collections.abc import Collection, Iterable, Sequence
from struct import Struct
from typing import TypeVar

from .....protocol.java_hash import INITIAL_BUCKETS, grown_buckets, hash_bucket

_TREEIFY_THRESHOLD = 8
_MIN_TREEIFY_BUCKETS = 64
_UUID = Struct(">4I")

Element = TypeVar("Element")


def topic_map_order(topic_ids: Iterable[bytes]) -> list[bytes]:
    """Topic ids as the keys of a ``HashMap`` that grew: a member's assignment."""
    topics = sorted(topic_ids)
    return _ordered(topics, [_uuid_hash(topic) for topic in topics], INITIAL_BUCKETS)


def topic_set_order(topic_ids: Iterable[bytes]) -> list[bytes]:
    """Topic ids as the elements of a ``HashSet`` made from another collection: what a member subscribes to."""
    topics = sorted(topic_ids)
    return _ordered(topics, [_uuid_hash(topic) for topic in topics], _copied_buckets(len(topics)))


def partition_order(partitions: Collection[int]) -> list[int]:
    """Partition indexes as the elements of a ``HashSet`` made from another collection: those of an assignment."""
    if len(partitions) < 2:
        return list(partitions)
    indexes = sorted(partitions)
    buckets = _copied_buckets(len(indexes))
    if not indexes or indexes[-1] < buckets:
        return indexes
    return _ordered(indexes, indexes, buckets)


def _uuid_hash(topic_id: bytes) -> int:
    first, second, third, fourth = _UUID.unpack(topic_id)
    return int(first ^ second ^ third ^ fourth)


def _copied_buckets(size: int) -> int:
    buckets = INITIAL_BUCKETS
    while buckets < int(size / 0.75) + 1:
        buckets *= 2
    return buckets


def _ordered(elements: Sequence[Element], hashes: Sequence[int], buckets: int) -> list[Element]:
    """Bucket by bucket, within one as inserted."""
    buckets = _after_insertion(hashes, buckets)
    return [elements[at] for at in sorted(range(len(elements)), key=lambda at: hash_bucket(hashes[at], buckets))]


def _after_insertion(hashes: Sequence[int], buckets: int) -> int:
    """The buckets of a table that also doubles, while it is small, when a ninth element comes into one of them.

    Partitions given out in turns are such: every 32nd of a topic.
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
