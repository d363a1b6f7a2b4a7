"""Zigzag variable-length numbers as compiled loops write them: what the encoder of an import and a compaction share.

Pure. Source: Kafka's ByteUtils.writeVarlong.
"""

import numpy

from ..engine.compiled import inlined
from .spans import Bytes


@inlined
def number_size(number: int) -> int:
    """Bytes that a number takes."""
    rest = numpy.uint64(number << 1) ^ numpy.uint64(number >> 63)
    size = 1
    while rest >= numpy.uint64(128):
        rest >>= numpy.uint64(7)
        size += 1
    return size


@inlined
def put_number(out: Bytes, position: int, number: int) -> int:
    """Writes a number; the position behind it."""
    rest = numpy.uint64(number << 1) ^ numpy.uint64(number >> 63)
    while rest >= numpy.uint64(128):
        out[position] = numpy.uint8((rest & numpy.uint64(127)) | numpy.uint64(128))
        rest >>= numpy.uint64(7)
        position += 1
    out[position] = numpy.uint8(rest)
    return position + 1
