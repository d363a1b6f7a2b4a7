"""Unpacks LZ4 frames of many batches into one buffer, without intermediate copies.

Pure. Supports only frames as Kafka's Lz4BlockOutputStream writes them: blocks of 64 KiB, no checksums. Callers pass
other frames, malformed ones, and those that may be larger than their limit (CVE-2023-34455) to
protocol/records/lz4_codec.py, which describes the frame.

Cost: 10 us for a batch of 16 KiB, of which liblz4 takes 7 us. lz4_codec takes 26 us.
"""

from struct import Struct

import numpy

from odradek.protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_SIZE
from odradek.protocol.records.lz4_codec import BLOCK_SIZE, MAGIC

from .spans import Bytes, Int64s

_LENGTH = Struct("<I")
_FRAME_START = MAGIC + b"\x60\x40\x82"  # version 1, independent blocks; 64 KiB; header checksum
_END_MARK = bytes(4)
_NOT_COMPRESSED = 0x80000000
_WORST_RATIO = 255  # a byte of an LZ4 block stands for at most 255
LEAST_FRAME = len(_FRAME_START) + len(_END_MARK)


def bytes_needed(data: memoryview, start: int, end: int, max_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE) -> int:
    """The maximum size of the unpacked frame `[start, end)`; -1 if `unpack` does not support the frame."""
    if end - start < LEAST_FRAME or data[start : start + len(_FRAME_START)] != _FRAME_START:
        return -1
    position = start + len(_FRAME_START)
    needed = 0
    while end - position >= 4:
        length = _LENGTH.unpack_from(data, position)[0] & ~_NOT_COMPRESSED
        if length == 0:
            return needed if needed <= max_size else -1
        if length > BLOCK_SIZE:
            return -1
        needed += min(BLOCK_SIZE, _WORST_RATIO * length)
        position += 4 + length
    return -1


def unpack(data: memoryview, start: int, out: memoryview) -> int:
    """Unpacks the frame at `start`. Returns the unpacked size. `out` must have the size that `bytes_needed` returned.

    Returns -1 for a malformed block.
    """
    import cramjam  # imported on first use: an audit of headers needs no codec

    position = start + len(_FRAME_START)
    size = 0
    while True:
        field = _LENGTH.unpack_from(data, position)[0]
        length = field & ~_NOT_COMPRESSED
        if length == 0:
            return size
        block = data[position + 4 : position + 4 + length]
        if field & _NOT_COMPRESSED:
            out[size : size + length] = block
            size += length
        else:
            room = min(BLOCK_SIZE, _WORST_RATIO * length)
            try:
                size += cramjam.lz4.decompress_block_into(block, out[size : size + room], output_len=room)
            except cramjam.DecompressionError:
                return -1
        position += 4 + length


class SectionBuffer:
    """The decompressed records sections of batches, one after the other in a buffer of the given size in bytes."""

    __slots__ = ("_ends", "_payload")

    def __init__(self, size: int) -> None:
        self._payload: Bytes = numpy.empty(size, dtype=numpy.uint8)
        self._ends = [0]

    def empty(self, size: int) -> None:
        """Removes all sections and makes room for at least `size` bytes. Reuses memory if it can, which saves time."""
        if size > len(self._payload):
            self._payload = numpy.empty(size, dtype=numpy.uint8)
        self._ends = [0]

    def has_room(self, size: int) -> bool:
        """True if the buffer has room for `size` more bytes."""
        return self._ends[-1] + size <= len(self._payload)

    def unpack(self, data: memoryview, start: int) -> bool:
        """Adds the section whose frame begins at `start`, if there is room. Returns False if the frame is malformed."""
        size = unpack(data, start, self._payload.data[self._ends[-1] :])
        if size >= 0:
            self._ends.append(self._ends[-1] + size)
        return size >= 0

    def add(self, section: bytes | memoryview) -> None:
        """Adds a section that is already decompressed."""
        end = self._ends[-1] + len(section)
        self._payload.data[self._ends[-1] : end] = section
        self._ends.append(end)

    @property
    def payload(self) -> Bytes:
        """The whole buffer, including the unused bytes after the last section."""
        return self._payload

    def bounds(self) -> Int64s:
        """The bounds of the sections: section n begins at element n of the result and ends at element n + 1."""
        return numpy.array(self._ends, dtype=numpy.int64)
