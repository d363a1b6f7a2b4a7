"""Messages of format 0 and 1, as Kafka wrote them before 0.11: reads the records of one, and encodes one.

    message   int64 offset; int32 length of what follows; uint32 CRC-32 of what follows it; int8 magic (0 or 1);
              int8 attributes (compression; in format 1 0x08: log append time); int64 timestamp, in format 1 only;
              int32 key length, key; int32 value length, value (a length of -1: null)
    wrapper   a compressed message: its value is the compressed messages, its offset that of the last one, its timestamp
              the greatest, or the log append time of all

The offsets inside a wrapper are absolute in format 0, and relative to the first in format 1; a wrapper may hold
messages of the other format, too (KAFKA-4298). lz4 in format 0 may have a header checksum that includes the frame's
magic bytes (KAFKA-3160). Pure. Malformed bytes raise InvalidRecordError. Source: KIP-31, KIP-32; Kafka's LegacyRecord,
AbstractLegacyRecordBatch.DeepRecordsIterator.
"""

import zlib
from collections.abc import Iterator
from struct import Struct

from ..common.lazy_imports import lazy_imports
from .batch import (
    INT64,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    SMALLEST_LENGTHS,
    BatchHeader,
    Buffer,
    crc_of,
    legacy_header,
)
from .compression import DEFAULT_MAX_DECOMPRESSED_SIZE, CompressionType, decompressed_chunks
from .errors import InvalidRecordError

with lazy_imports:
    from . import lz4_codec

Message = tuple[int, int, bytes | None, bytes | None]
"""(offset, timestamp in ms or -1, key, value)"""

KEY_POSITIONS = (18, 26)
"""By format: the position of the key's length in a message."""

_OFFSET_AND_LENGTH = Struct(">qi")
_CRC = Struct(">I")
_START = (Struct(">bb"), Struct(">bbq"))
"""By format: magic, attributes, and in format 1 the timestamp."""
_LENGTH = Struct(">i")
_NULL = _LENGTH.pack(-1)


def encode_message(
    magic: int, attributes: int, offset: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    """Encodes one message of format ``magic``."""
    start = _START[0].pack(0, attributes) if magic == 0 else _START[1].pack(magic, attributes, timestamp)
    key_part = _NULL if key is None else _LENGTH.pack(len(key)) + key
    value_part = _NULL if value is None else _LENGTH.pack(len(value)) + value
    body = b"".join((start, key_part, value_part))
    return b"".join((_OFFSET_AND_LENGTH.pack(offset, len(body) + _CRC.size), _CRC.pack(zlib.crc32(body)), body))


def iterate_messages(
    buffer: Buffer, header: BatchHeader, position: int, max_decompressed_size: int
) -> Iterator[Message]:
    """Yields the records of the message at ``position``: itself, or the messages in a wrapper.

    Holds the messages of a wrapper in memory: in format 1 the last one has to be read before the first offset is known.
    Raises InvalidRecordError; RecordTooLargeError if they decompress to more than ``max_decompressed_size`` bytes.
    """
    message = bytes(memoryview(buffer)[position : position + header.size_in_bytes])
    if not header.is_wrapper:
        key, value = _key_and_value(memoryview(message), header.magic)
        yield header.base_offset, header.max_timestamp, _copy(key), _copy(value)
        return
    data = unwrapped(message, header, max_decompressed_size)
    first_offset = _first_offset(data, header)
    append_time = header.max_timestamp if header.is_log_append_time else None
    for start, end in _inner(data):
        inner = legacy_header(data, start)
        if inner.is_wrapper:
            raise InvalidRecordError("Inner messages must not be compressed")
        key, value = _key_and_value(memoryview(data)[start:end], inner.magic)
        timestamp = inner.max_timestamp if append_time is None or inner.magic == 0 else append_time
        yield first_offset + inner.base_offset, timestamp, _copy(key), _copy(value)


def unwrapped(wrapper: bytes, header: BatchHeader, max_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE) -> bytes:
    """The decompressed messages in a wrapper. Raises as `iterate_messages`."""
    _, value = _key_and_value(memoryview(wrapper), header.magic)
    if value is None:
        raise InvalidRecordError("Found invalid compressed record set with null value")
    return b"".join(_decompressed(header, bytes(value), max_size))


def message_checksums(message: bytes, header: BatchHeader) -> Iterator[tuple[int, bool]]:
    """For each record of a message: the CRC of its own message, and whether it is right. Raises as
    `iterate_messages`.
    """
    if not header.is_wrapper:
        yield header.crc, crc_of(message, 0, header) == header.crc
        return
    data = unwrapped(message, header)
    for start, _ in _inner(data):
        inner = legacy_header(data, start)
        yield inner.crc, crc_of(data, start, inner) == inner.crc


def _decompressed(header: BatchHeader, value: bytes, max_size: int) -> Iterator[bytes]:
    kind = header.compression_type
    if kind == CompressionType.ZSTD:
        raise InvalidRecordError("Invalid wrapper compressionType found: zstd")
    if kind == CompressionType.LZ4 and header.magic == 0:
        return lz4_codec.lz4_chunks(value, max_size, checks_header=False)
    return decompressed_chunks(kind, value, max_size)


def _inner(data: bytes) -> Iterator[tuple[int, int]]:
    """(start, end) of each whole message in the decompressed value of a wrapper. As in Kafka, an incomplete last one is
    ignored.
    """
    position = 0
    while len(data) - position >= LOG_OVERHEAD:
        length = _LENGTH.unpack_from(data, position + 8)[0]
        if length < SMALLEST_LENGTHS[0]:
            raise InvalidRecordError(f"Record size {length} is less than the minimum record overhead (14)")
        end = position + LOG_OVERHEAD + length
        if end > len(data):
            return
        magic = data[position + MAGIC_POSITION]
        if magic >= MAGIC or length < SMALLEST_LENGTHS[magic]:
            raise InvalidRecordError(f"a message inside a wrapper has magic {magic} and a length of {length} bytes")
        yield position, end
        position = end


def _first_offset(data: bytes, header: BatchHeader) -> int:
    """What to add to the offsets of the messages in a wrapper. Raises InvalidRecordError if one of them is invalid."""
    last = None
    for start, _ in _inner(data):
        last = INT64.unpack_from(data, start)[0]
    if last is None:
        raise InvalidRecordError("Found invalid compressed record set with no inner records")
    if header.magic == 0 or header.base_offset == 0:
        return 0  # absolute offsets; some versions of librdkafka wrote 0 as the wrapper's offset
    if header.base_offset < last:
        raise InvalidRecordError(
            f"Found invalid wrapper offset in compressed v1 message set, wrapper offset '{header.base_offset}' is less "
            f"than the last inner message offset '{last}' and it is not zero."
        )
    return int(header.base_offset - last)


def _key_and_value(message: memoryview, magic: int) -> tuple[memoryview | None, memoryview | None]:
    key, position = _field(message, KEY_POSITIONS[magic])
    value, position = _field(message, position)
    if position != len(message):
        raise InvalidRecordError(f"a message of {len(message)} bytes ends at {position}")
    return key, value


def _field(message: memoryview, position: int) -> tuple[memoryview | None, int]:
    """(the bytes of a key or value, or None; the position after it)."""
    if position + _LENGTH.size > len(message):
        raise InvalidRecordError(f"a message of {len(message)} bytes ends inside a length")
    length = _LENGTH.unpack_from(message, position)[0]
    position += _LENGTH.size
    if length < 0:
        return None, position
    if length > len(message) - position:
        raise InvalidRecordError(f"a key or value of {length} bytes, only {len(message) - position} are left")
    return message[position : position + length], position + length


def _copy(field: memoryview | None) -> bytes | None:
    return None if field is None else bytes(field)
