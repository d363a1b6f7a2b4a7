"""Snappy: blocks in the framing of snappy-java's SnappyOutputStream ("xerial"), as Kafka writes it, or one bare block.

    header   8 bytes 82 53 4e 41 50 50 59 00, int32 version, int32 lowest compatible version
    block    int32 length of the compressed bytes, then those: a bare snappy block (its first varint is its real length)

The header may occur again between blocks, if streams were concatenated. Bytes without the header are one bare block, as
librdkafka and others write it. The versions are not checked. Source: SnappyInputStream of snappy-java.
"""

from collections.abc import Iterator
from struct import Struct

import cramjam

from .buffers import Blocks, Buffer
from .errors import InvalidRecordError, RecordTooLargeError

MAGIC = b"\x82SNAPPY\x00"
VERSION = 1
LOWEST_COMPATIBLE_VERSION = 1
BLOCK_SIZE = 32 * 1024  # SnappyOutputStream's default

_HEADER = Struct(">8sii")
_HEADER_SIZE = 16
_LENGTH = Struct(">i")
_WORST_RATIO = 22  # a copy of 64 bytes takes 3
_MAGIC_START = _LENGTH.unpack(MAGIC[:4])[0]


def compress_snappy(data: Buffer) -> bytes:
    """`data` in blocks of 32 KiB after snappy-java's header."""
    compressor = SnappyCompressor()
    return compressor.add(data) + compressor.finish()


class SnappyCompressor:
    """Compresses a stream as `compress_snappy`."""

    def __init__(self) -> None:
        self._blocks = Blocks(BLOCK_SIZE)
        self._start = _HEADER.pack(MAGIC, VERSION, LOWEST_COMPATIBLE_VERSION)

    def add(self, data: Buffer) -> bytes:
        """Takes more of the stream; the compressed bytes that are complete."""
        start, self._start = self._start, b""
        return start + b"".join([_packed(block) for block in self._blocks.add(data)])

    def finish(self) -> bytes:
        """The rest of the compressed bytes; nothing may be added afterwards."""
        return self._start + b"".join([_packed(block) for block in self._blocks.rest()])


def _packed(block: bytes) -> bytes:
    packed = bytes(cramjam.snappy.compress_raw(block))
    return _LENGTH.pack(len(packed)) + packed


def snappy_chunks(buffer: Buffer, max_size: int) -> Iterator[bytes]:
    """Framed or bare snappy, decompressed, a block at a time; data without header is yielded as a whole.

    Raises InvalidRecordError, or RecordTooLargeError beyond `max_size` bytes.
    """
    data = memoryview(buffer)
    if len(data) < _HEADER_SIZE or data[: len(MAGIC)] != MAGIC:
        yield _decompress_block(bytes(data), max_size)
        return
    size = 0
    position = _HEADER_SIZE
    while len(data) - position >= _LENGTH.size:  # fewer bytes are ignored, as SnappyInputStream does
        length = _LENGTH.unpack_from(data, position)[0]
        if length == _MAGIC_START:
            position += _HEADER_SIZE
            if position > len(data):
                raise InvalidRecordError("snappy stream ends inside a header")
            continue
        position += _LENGTH.size
        if not 0 <= length <= len(data) - position:
            raise InvalidRecordError(f"snappy block of {length} bytes, only {len(data) - position} are left")
        part = _decompress_block(bytes(data[position : position + length]), max_size - size)
        yield part
        size += len(part)
        position += length


def _decompress_block(block: bytes, max_size: int) -> bytes:
    """Decompresses one bare block. Checks its claimed size against the limit first."""
    claimed = 0
    for index in range(5):
        if index == len(block):
            raise InvalidRecordError("snappy block ends inside its length")
        claimed |= (block[index] & 0x7F) << (7 * index)
        if block[index] < 0x80:
            break
    if claimed > max_size:
        raise RecordTooLargeError(f"snappy block decompresses to {claimed} bytes, the limit is {max_size}")
    if claimed > _WORST_RATIO * len(block):
        raise InvalidRecordError(f"snappy block of {len(block)} bytes cannot decompress to {claimed} bytes, as it says")
    try:
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise InvalidRecordError(f"malformed snappy block: {error}") from error
