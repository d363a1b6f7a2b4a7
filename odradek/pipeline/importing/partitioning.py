"""Chooses the partition of each row by its key, as Java's producer does. Compiled if numba is installed.

Pure. Rows without a key are spread over the partitions in turn (round robin). Source: Kafka's
org.apache.kafka.common.utils.Utils.murmur2 and BuiltInPartitioner.partitionForKey.
"""

from typing import Any

import numpy

from ..decode.spans import Bytes, Int64s
from ..engine.compiled import compiled, inlined
from .row_buffers import fields_of


@inlined
def _murmur2(data: Bytes, start: int, length: int) -> int:
    """Kafka's 32-bit murmur2, as an unsigned number."""
    hashed = 0x9747B28C ^ length
    words = length // 4
    for word in range(words):
        at = start + 4 * word
        mixed = int(data[at]) | int(data[at + 1]) << 8 | int(data[at + 2]) << 16 | int(data[at + 3]) << 24
        mixed = (mixed * 0x5BD1E995) & 0xFFFFFFFF
        mixed ^= mixed >> 24
        hashed = ((hashed * 0x5BD1E995) & 0xFFFFFFFF) ^ ((mixed * 0x5BD1E995) & 0xFFFFFFFF)
    rest = length - 4 * words
    if rest:
        for index in range(rest):
            hashed ^= int(data[start + 4 * words + index]) << (8 * index)
        hashed = (hashed * 0x5BD1E995) & 0xFFFFFFFF
    hashed ^= hashed >> 13
    hashed = (hashed * 0x5BD1E995) & 0xFFFFFFFF
    return hashed ^ (hashed >> 15)


@compiled
def _assign(starts: Int64s, lengths: Int64s, data: Bytes, first_row: int, count: int, found: Int64s) -> None:
    for row in range(len(starts)):
        if lengths[row] < 0:
            found[row] = (first_row + row) % count
        else:
            found[row] = (_murmur2(data, starts[row], lengths[row]) & 0x7FFFFFFF) % count


def partitions_of(keys: Any, count: int, first_row: int = 0) -> Int64s:
    """The partition of each key of a binary array, from 0 up to `count` - 1.

    `first_row`: the number of the first row, from which rows without a key count.
    """
    found = numpy.empty(len(keys), numpy.int64)
    fields = fields_of(keys)
    _assign(fields.starts, fields.lengths, fields.data, first_row, count, found)
    return found
