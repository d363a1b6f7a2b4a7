"""LZ4 frames: the subset of the format that Kafka's Lz4BlockOutputStream writes and Lz4BlockInputStream reads.

    frame    4 bytes 04 22 4d 18; FLG; BD; content size (8 bytes, if FLG says so); HC: second byte of the xxHash32 of
             what lies between the magic bytes and itself
    block    uint32 (little endian) length, highest bit set: not compressed; the bytes; xxHash32 of them, if FLG says so
    end      a length of 0; xxHash32 of the content, if FLG says so (not verified, as in Kafka); what follows is ignored

Blocks must be independent: Kafka refuses frames with linked ones. Kafka's own blocks hold 64 KiB.
"""

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct

import cramjam
import xxhash

from .buffers import Blocks, Buffer
from .errors import InvalidRecordError, RecordTooLargeError

MAGIC = b"\x04\x22\x4d\x18"
BLOCK_SIZE = 64 * 1024
DEFAULT_LEVEL = 9  # selects the fast compressor; other levels select the high compression one (Lz4BlockOutputStream)
MIN_LEVEL = 1
MAX_LEVEL = 17

_LENGTH = Struct("<I")
_NOT_COMPRESSED = 0x80000000
_END_MARK = bytes(4)
_FRAME_START = MAGIC + b"\x60\x40\x82"  # version 1, independent blocks; 64 KiB; HC
_VERSION_MASK = 0xC0
_VERSION_1 = 0x40
_BLOCKS_INDEPENDENT = 0x20
_BLOCK_CHECKSUM = 0x10
_CONTENT_SIZE = 0x08
_RESERVED_FLAGS = 0x03
_WORST_RATIO = 255  # a byte of an LZ4 block decompresses to at most 255 bytes


def compress_lz4(data: Buffer, level: int | None = None) -> bytes:
    """`data` as one frame with independent blocks of 64 KiB. Raises ValueError for a level outside 1 to 17."""
    compressor = Lz4Compressor(level)
    return compressor.add(data) + compressor.finish()


class Lz4Compressor:
    """Compresses a stream as `compress_lz4`. Raises ValueError for a level outside 1 to 17."""

    def __init__(self, level: int | None = None) -> None:
        self._level = DEFAULT_LEVEL if level is None else level
        if not MIN_LEVEL <= self._level <= MAX_LEVEL:
            raise ValueError(f"lz4 doesn't support given compression level: {level}")
        self._blocks = Blocks(BLOCK_SIZE)
        self._start = _FRAME_START

    def add(self, data: Buffer) -> bytes:
        """Takes more of the stream; the compressed bytes that are complete."""
        start, self._start = self._start, b""
        return start + b"".join([self._packed(block) for block in self._blocks.add(data)])

    def finish(self) -> bytes:
        """The rest of the compressed bytes; nothing may be added afterwards."""
        return self._start + b"".join([self._packed(block) for block in self._blocks.rest()]) + _END_MARK

    def _packed(self, block: bytes) -> bytes:
        packed = _compress_block(block, self._level)
        if len(packed) < len(block):
            return _LENGTH.pack(len(packed)) + packed
        return _LENGTH.pack(len(block) | _NOT_COMPRESSED) + block


class Lz4CompressorOfFormat0(Lz4Compressor):
    """Writes frames for clients of message format 0, which wrongly include the magic bytes in the header checksum.

    KAFKA-3160; Lz4BlockOutputStream's `useBrokenFlagDescriptorChecksum`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._start = _FRAME_START[:-1] + bytes((_header_checksum(_FRAME_START[:-1]),))


def lz4_chunks(buffer: Buffer, max_size: int, *, checks_header: bool = True) -> Iterator[bytes]:
    """The first frame of `buffer`, decompressed, a block at a time: 4 MiB at most, 64 KiB from Kafka.

    Raises InvalidRecordError, or RecordTooLargeError beyond `max_size` bytes.
    `checks_header`: False for message format 0, whose header checksum may be wrong (Lz4BlockInputStream's
    `ignoreFlagDescriptorChecksum`).
    """
    data = memoryview(buffer)
    flags, block_size, position = _read_frame_start(data, checks_header)
    checksum_size = 4 if flags & _BLOCK_CHECKSUM else 0
    size = 0
    while True:
        if len(data) - position < 4:
            raise InvalidRecordError("lz4 frame ends without its end mark")
        field = _LENGTH.unpack_from(data, position)[0]
        length = field & ~_NOT_COMPRESSED
        if length == 0:
            return
        if length > block_size:
            raise InvalidRecordError(f"lz4 block of {length} bytes exceeds the block size {block_size} of its frame")
        end = position + 4 + length + checksum_size
        if end > len(data):
            raise InvalidRecordError(f"lz4 block of {length} bytes, only {len(data) - position - 4} are left")
        # Room for one byte more than the limit, to detect that the limit is exceeded.
        room = min(block_size, max_size - size + 1)
        if checksum_size:
            part = _decompress_checked_block(bytes(data[position:end]), flags, block_size, room)
        elif field & _NOT_COMPRESSED:
            part = bytes(data[position + 4 : end])
        else:
            part = _decompress_block(bytes(data[position + 4 : end]), block_size, room)
        size += len(part)
        if size > max_size:
            raise RecordTooLargeError(f"lz4 frame decompresses to more than {max_size} bytes")
        yield part
        position = end


def _read_frame_start(data: memoryview, checks_header: bool) -> tuple[int, int, int]:
    """Checks the frame header as Kafka does; returns (flags, largest block in bytes, position of the first block)."""
    if len(data) < 7:
        raise InvalidRecordError("lz4 frame ends inside its header")
    if data[:4] != MAGIC:
        raise InvalidRecordError("not an lz4 frame: wrong magic bytes")
    flags, descriptor = data[4], data[5]
    if flags & _VERSION_MASK != _VERSION_1 or flags & _RESERVED_FLAGS or not flags & _BLOCKS_INDEPENDENT:
        raise InvalidRecordError(
            f"lz4 frame has unsupported flags {flags:#04x}: another version, reserved bits or linked blocks"
        )
    if descriptor & 0x8F or descriptor < 0x40:
        raise InvalidRecordError(f"lz4 frame has the invalid block descriptor {descriptor:#04x}")
    position = 14 if flags & _CONTENT_SIZE else 6
    if len(data) <= position:
        raise InvalidRecordError("lz4 frame ends inside its header")
    if checks_header and data[position] != _header_checksum(bytes(data[4:position])):
        raise InvalidRecordError("lz4 frame has a wrong header checksum")
    return flags, 1 << (2 * (descriptor >> 4) + 8), position + 1


def _compress_block(block: bytes, level: int) -> bytes:
    """Compresses one block, without frame; at other levels than the default, returns `block` if it is not smaller."""
    if level == DEFAULT_LEVEL:
        return bytes(cramjam.lz4.compress_block(block, store_size=False))
    # cramjam's compress_block has only the fast compressor, so a frame is made and its only block cut out.
    frame = bytes(cramjam.lz4.compress(block, level=level))
    field = _LENGTH.unpack_from(frame, len(_FRAME_START))[0]
    return block if field & _NOT_COMPRESSED else frame[len(_FRAME_START) + 4 :][:field]


def _decompress_block(block: bytes, block_size: int, room: int) -> bytes:
    """Decompresses a block of at most `block_size` bytes. Raises RecordTooLargeError if it needs more than `room`."""
    output = bytearray(min(room, _WORST_RATIO * len(block)))
    try:
        size = cramjam.lz4.decompress_block_into(block, output, output_len=len(output))
    except cramjam.DecompressionError as error:
        if room < block_size:  # liblz4 has one error for both: too little room, and damage
            raise RecordTooLargeError(f"lz4 block is damaged, or needs more than the {room} bytes allowed") from error
        raise InvalidRecordError(f"malformed lz4 block: {error}") from error
    with memoryview(output) as view:
        return bytes(view[:size])


def _decompress_checked_block(field_and_block: bytes, flags: int, block_size: int, room: int) -> bytes:
    """Decompresses a block with a checksum: wraps it in a frame, so that liblz4 verifies the checksum."""
    frame_flags = flags & (_VERSION_MASK | _BLOCKS_INDEPENDENT | _BLOCK_CHECKSUM)
    descriptor = bytes((frame_flags, ((block_size.bit_length() - 9) // 2) << 4))
    frame = b"".join((MAGIC, descriptor, bytes((_header_checksum(descriptor),)), field_and_block, _END_MARK))
    output = bytearray(min(room, _WORST_RATIO * len(field_and_block)))
    try:
        size = cramjam.lz4.decompress_into(frame, output)
    except cramjam.DecompressionError as error:
        if room < block_size:
            raise RecordTooLargeError(f"lz4 block is damaged, or needs more than the {room} bytes allowed") from error
        raise InvalidRecordError(f"malformed lz4 block: {error}") from error
    with memoryview(output) as view:
        return bytes(view[:size])


@lru_cache(maxsize=64)  # nearly all frames have the same two bytes; with a content size they have many
def _header_checksum(descriptor: bytes) -> int:
    """The second byte of xxHash32 with seed 0, for the 2 or 10 bytes of a frame descriptor."""
    return xxhash.xxh32_intdigest(descriptor) >> 8 & 0xFF
