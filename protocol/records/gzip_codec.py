"""Gzip, as java.util.zip's GZIPInputStream and Kafka's GzipOutputStream treat it. Through zlib: it stops at a limit.

Members may follow each other; what follows a member and is no member is ignored, as Java does.
"""

import zlib

from .errors import InvalidRecordError, RecordTooLargeError

DEFAULT_LEVEL = -1
MIN_LEVEL = 1
MAX_LEVEL = 9

_GZIP_FORMAT = 16 + zlib.MAX_WBITS
_MEMBER_MAGIC = b"\x1f\x8b\x08"
_SMALLEST_SECOND_MEMBER = 19  # GZIPInputStream looks for another member only if more than 18 bytes follow
_CHUNK_SIZE = 64 * 1024  # fed at once: zlib copies what is left behind a member, so never the whole rest


def compress_gzip(data: bytes | bytearray, level: int | None = None) -> bytes:
    """`data` as one gzip member. Raises ValueError for a level other than -1 and 1 to 9."""
    chosen = DEFAULT_LEVEL if level is None else level
    if chosen != DEFAULT_LEVEL and not MIN_LEVEL <= chosen <= MAX_LEVEL:
        raise ValueError(f"gzip doesn't support given compression level: {level}")
    return zlib.compress(data, chosen, _GZIP_FORMAT)


def decompress_gzip(data: bytes, max_size: int) -> bytes:
    """The members of `data`, decompressed. Raises InvalidRecordError, or RecordTooLargeError beyond `max_size`."""
    parts: list[bytes] = []
    size = 0
    position = 0
    while True:
        inflater = zlib.decompressobj(_GZIP_FORMAT)
        while not inflater.eof:
            chunk = data[position : position + _CHUNK_SIZE]
            if not chunk:
                raise InvalidRecordError("gzip stream ends inside a member")
            try:
                part = inflater.decompress(chunk, max_size - size + 1)
            except zlib.error as error:
                raise InvalidRecordError(f"malformed gzip stream: {error}") from error
            size += len(part)
            if size > max_size:
                raise RecordTooLargeError(f"gzip stream decompresses to more than {max_size} bytes")
            parts.append(part)
            position += len(chunk) - len(inflater.unused_data)
        if len(data) - position < _SMALLEST_SECOND_MEMBER or not data.startswith(_MEMBER_MAGIC, position):
            return parts[0] if len(parts) == 1 else b"".join(parts)
