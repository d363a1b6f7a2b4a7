"""The partition of a key, as Kafka's Java producer chooses it: murmur2 of the key.

Pure. Source: ``org.apache.kafka.common.utils.Utils.murmur2``, ``BuiltInPartitioner.partitionForKey``.
"""

import struct

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 hash of Kafka's Java client, but unsigned.

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
