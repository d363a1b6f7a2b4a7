"""Gzip, compatible with java.util.zip's GZIPInputStream and Kafka's GzipOutputStream.

Uses zlib, which can stop at a limit. Data may have several members; other bytes after a member are ignored, as in Java.
"""

import zlib
from collections.abc import Iterator

from .buffers import Buffer
from .errors import InvalidRecordError, RecordTooLargeError

DEFAULT_LEVEL = -1
MIN_LEVEL = 1
MAX_LEVEL = 9

_GZIP_FORMAT = 16 + zlib.MAX_WBITS
_MEMBER_MAGIC = b"\x1f\x8b\x08"
_SMALLEST_SECOND_MEMBER = 19  # GZIPInputStream looks for another member only if more than 18 bytes follow
_CHUNK_SIZE = 64 * 1024  # input is fed in chunks, because zlib copies all input after the end of a member


def compress_gzip(data: bytes | bytearray, level: int | None = None) -> bytes:
    """`data` as one gzip member. Raises ValueError for a level other than -1 and 1 to 9."""
    return zlib.compress(data, _checked_level(level), _GZIP_FORMAT)


class GzipCompressor:
    """Compresses a stream into one gzip member. Raises ValueError for a level other than -1 and 1 to 9."""

    def __init__(self, level: int | None = None) -> None:
        self._deflater = zlib.compressobj(_checked_level(level), zlib.DEFLATED, _GZIP_FORMAT)

    def add(self, data: Buffer) -> bytes:
        """Takes more of the stream; the compressed bytes that are complete."""
        return self._deflater.compress(data)

    def finish(self) -> bytes:
        """The rest of the compressed bytes; nothing may be added afterwards."""
        return self._deflater.flush()


def gzip_chunks(data: Buffer, max_size: int) -> Iterator[bytes]:
    """The members of `data`, decompressed, at most 64 KiB at a time.

    Raises InvalidRecordError, or RecordTooLargeError beyond `max_size` bytes.
    """
    view = memoryview(data)
    size = 0
    position = 0
    while True:
        inflater = zlib.decompressobj(_GZIP_FORMAT)
        while not inflater.eof:
            fed: Buffer = inflater.unconsumed_tail
            if not fed:
                fed = view[position : position + _CHUNK_SIZE]
                position += len(fed)
            try:
                part = inflater.decompress(fed, min(_CHUNK_SIZE, max_size - size + 1))
            except zlib.error as error:
                raise InvalidRecordError(f"malformed gzip stream: {error}") from error
            if not part and not fed and not inflater.eof:
                raise InvalidRecordError("gzip stream ends inside a member")
            size += len(part)
            if size > max_size:
                raise RecordTooLargeError(f"gzip stream decompresses to more than {max_size} bytes")
            yield part
        position -= len(inflater.unused_data)
        if len(view) - position < _SMALLEST_SECOND_MEMBER or view[position : position + 3] != _MEMBER_MAGIC:
            return


def _checked_level(level: int | None) -> int:
    chosen = DEFAULT_LEVEL if level is None else level
    if chosen != DEFAULT_LEVEL and not MIN_LEVEL <= chosen <= MAX_LEVEL:
        raise ValueError(f"gzip doesn't support given compression level: {level}")
    return chosen
