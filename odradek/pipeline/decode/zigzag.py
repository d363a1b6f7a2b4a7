"""Compiled functions that write zigzag variable-length numbers, shared by the encoders of import and compaction.

Pure. Source: Kafka's ByteUtils.writeVarlong.
"""

import numpy

from ..engine.compiled import inlined
from .spans import Bytes


@inlined
def number_size(number: int) -> int:
    """The encoded size of a number in bytes."""
    rest = numpy.uint64(number << 1) ^ numpy.uint64(number >> 63)
    size = 1
    while rest >= numpy.uint64(128):
        rest >>= numpy.uint64(7)
        size += 1
    return size


@inlined
def put_number(out: Bytes, position: int, number: int) -> int:
    """Writes a number. Returns the position after it."""
    rest = numpy.uint64(number << 1) ^ numpy.uint64(number >> 63)
    while rest >= numpy.uint64(128):
        out[position] = numpy.uint8((rest & numpy.uint64(127)) | numpy.uint64(128))
        rest >>= numpy.uint64(7)
        position += 1
    out[position] = numpy.uint8(rest)
    return position + 1
