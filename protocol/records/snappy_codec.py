"""Snappy: blocks in the framing of snappy-java's SnappyOutputStream ("xerial"), which Kafka writes, or one bare block.

    header   8 bytes 82 53 4e 41 50 50 59 00, int32 version, int32 lowest compatible version
    block    int32 length of the compressed bytes, then those: a bare snappy block (its first varint is its real length)

Headers may stand again between blocks: streams put one after the other. Bytes without the header are one bare block, as
librdkafka and others write. The versions are not checked. Source: SnappyInputStream of snappy-java.
"""

from struct import Struct

import cramjam

from .errors import InvalidRecordError, RecordTooLargeError

MAGIC = b"\x82SNAPPY\x00"
VERSION = 1
LOWEST_COMPATIBLE_VERSION = 1
BLOCK_SIZE = 32 * 1024  # SnappyOutputStream's default

_HEADER = Struct(">8sii")
_HEADER_SIZE = 16
_LENGTH = Struct(">i")
_MAGIC_START = _LENGTH.unpack(MAGIC[:4])[0]


def compress_snappy(data: bytes | bytearray) -> bytes:
    """`data` in blocks of 32 KiB behind snappy-java's header."""
    parts = [_HEADER.pack(MAGIC, VERSION, LOWEST_COMPATIBLE_VERSION)]
    with memoryview(data) as view:
        for start in range(0, len(view), BLOCK_SIZE):
            block = bytes(cramjam.snappy.compress_raw(bytes(view[start : start + BLOCK_SIZE])))
            parts.append(_LENGTH.pack(len(block)))
            parts.append(block)
    return b"".join(parts)


def decompress_snappy(data: bytes, max_size: int) -> bytes:
    """Framed or bare snappy, decompressed. Raises InvalidRecordError, or RecordTooLargeError beyond `max_size`."""
    if len(data) < _HEADER_SIZE or not data.startswith(MAGIC):
        return _decompress_block(data, max_size)
    parts: list[bytes] = []
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
            raise InvalidRecordError(f"snappy block of {length} bytes, {len(data) - position} are there")
        part = _decompress_block(data[position : position + length], max_size - size)
        parts.append(part)
        size += len(part)
        position += length
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_block(block: bytes, max_size: int) -> bytes:
    """One bare block, after its claimed length was held against the limit."""
    claimed = 0
    for index in range(5):
        if index == len(block):
            raise InvalidRecordError("snappy block ends inside its length")
        claimed |= (block[index] & 0x7F) << (7 * index)
        if block[index] < 0x80:
            break
    if claimed > max_size:
        raise RecordTooLargeError(f"snappy block claims {claimed} bytes, more than {max_size}")
    try:
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise InvalidRecordError(f"malformed snappy block: {error}") from error
