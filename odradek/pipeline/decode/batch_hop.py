"""Finds the batches of a chunk by following their lengths. Returns the position of each, and why the scan stopped.

Pure. Has two implementations with the same results (a test compares them): Python takes 1 us for each batch, the
compiled one 30 ns. To load the latter (numba) takes as long as _MOST_IN_PYTHON batches in Python, so it is used only
after that many batches, and never for a small directory. Source: protocol/records/batch.py.
"""

from enum import IntEnum
from struct import Struct

import numpy

from odradek.protocol.records.batch import BATCH_HEADER_SIZE, HEADER_UP_TO_MAGIC_SIZE, LOG_OVERHEAD, MAGIC

from ..engine.compiled import IS_COMPILED, compiled
from .spans import Bytes, Int64s

_LENGTH_AND_MAGIC = Struct(">8xi4xb")
_LEAST_LENGTH = BATCH_HEADER_SIZE - LOG_OVERHEAD
_MOST_IN_PYTHON = 300_000
_hopped = 0


class ScanEnd(IntEnum):
    """The reason why a scan stopped."""

    COMPLETE = 0
    INCOMPLETE = 1
    """The chunk ends inside the last batch or its header."""
    BAD_LENGTH = 2
    BAD_MAGIC = 3


Hops = tuple[Int64s, int, ScanEnd]
"""Positions of the whole batches, the position at which the scan stopped, and the reason."""


@compiled
def _fill_positions(data: Bytes, positions: Int64s) -> tuple[int, int, int]:
    """Fills `positions`. Returns (the number filled, where the scan stopped, the number of the reason)."""
    end = len(data)
    position = 0
    count = 0
    while position < end:
        if end - position < 17:
            return count, position, 1
        length = 0
        for index in range(8, 12):
            length = (length << 8) | int(data[position + index])
        magic = data[position + 16]
        if magic != 2:
            return count, position, 3
        if length < 49 or length > 0x7FFFFFFF:
            return count, position, 2
        if length + 12 > end - position:
            return count, position, 1
        positions[count] = position
        count += 1
        position += length + 12
    return count, position, 0


def hop(view: memoryview) -> Hops:
    """Scans all whole batches of a chunk."""
    global _hopped
    found = hop_compiled(view) if IS_COMPILED and _hopped > _MOST_IN_PYTHON else hop_in_python(view)
    _hopped += len(found[0])
    return found


def hop_compiled(view: memoryview) -> Hops:
    """As `hop`, compiled. Needs numba."""
    positions = numpy.empty(len(view) // BATCH_HEADER_SIZE + 1, dtype=numpy.int64)
    count, stopped_at, end = _fill_positions(numpy.frombuffer(view, dtype=numpy.uint8), positions)
    return positions[:count].copy(), int(stopped_at), ScanEnd(int(end))


def hop_in_python(view: memoryview) -> Hops:
    """As `hop`, in Python."""
    positions: list[int] = []
    position, size = 0, len(view)
    unpack = _LENGTH_AND_MAGIC.unpack_from
    end = ScanEnd.COMPLETE
    while position < size:
        if size - position < HEADER_UP_TO_MAGIC_SIZE:
            end = ScanEnd.INCOMPLETE
            break
        length, magic = unpack(view, position)
        if magic != MAGIC:
            end = ScanEnd.BAD_MAGIC
            break
        if length < _LEAST_LENGTH:
            end = ScanEnd.BAD_LENGTH
            break
        if length + LOG_OVERHEAD > size - position:
            end = ScanEnd.INCOMPLETE
            break
        positions.append(position)
        position += length + LOG_OVERHEAD
    return numpy.array(positions, dtype=numpy.int64), position, end
