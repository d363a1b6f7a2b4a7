"""Which partition a record goes to: Java's murmur2 for keys, KIP-794's sticky choice without one.

Pure: chance comes in as a function. Equal to ``org.apache.kafka.clients.producer.internals.BuiltInPartitioner`` and
``org.apache.kafka.common.utils.Utils.murmur2``, so that producers in different languages put a key into the same
partition. The sticky choice is uniform over the partitions with a leader (Kafka's adaptive weighting by queue length,
``partitioner.adaptive.partitioning.enable``, is not done).
"""

import struct
from collections.abc import Callable, Sequence

Partitioner = Callable[[bytes | None, Sequence[int], Sequence[int]], int | None]
"""A user's own: (key, all partitions, partitions with a leader) -> partition, or None for the sticky one."""

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 hash of Kafka's Java client, as an unsigned number.

    >>> murmur2(b"21") == -973932308 & 0xFFFFFFFF
    True
    """
    length = len(data)
    h = _SEED ^ length
    words = length // 4
    for k in struct.unpack_from(f"<{words}I", data):
        k = k * _M & _MASK
        k ^= k >> 24
        h = (h * _M & _MASK) ^ (k * _M & _MASK)
    rest = data[words * 4 :]
    if rest:
        h ^= int.from_bytes(rest, "little")
        h = h * _M & _MASK
    h ^= h >> 13
    h = h * _M & _MASK
    return h ^ (h >> 15)


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a key among ``partition_count``: ``toPositive(murmur2(key)) % partition_count``."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """For records without a key: one partition until ``batch_size`` bytes went to it, then another at random."""

    def __init__(self, batch_size: int, choose: Callable[[Sequence[int]], int]) -> None:
        """``choose`` picks one of a sequence (``random.choice``)."""
        self._batch_size = max(1, batch_size)
        self._choose = choose
        self._sticky: dict[str, tuple[int, int]] = {}

    def partition(self, topic: str, size: int, partitions: Sequence[int], available: Sequence[int]) -> int:
        """The partition for a record of ``size`` bytes; ``available`` are the partitions that have a leader."""
        candidates = available or partitions
        partition, sent = self._sticky.get(topic, (-1, 0))
        if sent >= self._batch_size or partition not in candidates:
            others = [candidate for candidate in candidates if candidate != partition]
            partition, sent = self._choose(others or candidates), 0
        self._sticky[topic] = (partition, sent + size)
        return partition
