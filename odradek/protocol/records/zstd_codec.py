"""Zstandard frames, one or several, as zstd-jni's streams write and read them.

The size that a frame claims is not used to allocate memory: the caller's limit bounds the output. The window that a
frame asks for (at most 128 MiB, the limit of libzstd) is reserved, but memory is used only as output is written.
"""

from collections.abc import Iterator
from mmap import MADV_DONTNEED, MAP_ANONYMOUS, MAP_PRIVATE, mmap

import cramjam

from .buffers import Buffer
from .errors import InvalidRecordError, RecordTooLargeError

DEFAULT_LEVEL = 3
MIN_LEVEL = -131072
MAX_LEVEL = 22

_CHUNK_SIZE = 64 * 1024
_RELEASED_SIZE = 1 << 20
"""After this many decompressed bytes were yielded, their memory is returned to the system."""
_FIRST_OUTPUT_SIZE = 64 * 1024
_FIRST_RATIO = 8


def compress_zstd(data: bytes | bytearray, level: int | None = None) -> bytes:
    """`data` as one frame. Raises ValueError for a level outside -131072 to 22."""
    return bytes(cramjam.zstd.compress(data, level=_checked_level(level)))


class ZstdCompressor:
    """Compresses a stream into one frame. Raises ValueError for a level outside -131072 to 22."""

    def __init__(self, level: int | None = None) -> None:
        self._stream = cramjam.zstd.Compressor(_checked_level(level))

    def add(self, data: Buffer) -> bytes:
        """Takes more of the stream; returns nothing: `finish` returns all compressed bytes."""
        self._stream.compress(data)
        return b""

    def finish(self) -> bytes:
        """The compressed bytes; nothing may be added afterwards."""
        return bytes(self._stream.finish())


def zstd_chunks(data: Buffer, max_size: int) -> Iterator[bytes]:
    """All frames of `data`, decompressed, 64 KiB at a time.

    Raises InvalidRecordError, or RecordTooLargeError beyond `max_size` bytes.

    cramjam can't decompress in steps. So all data is decompressed at once, into an anonymous memory map of the largest
    allowed size, whose pages the system provides as they are written.
    """
    if not len(data):
        return  # without a frame there are no bytes, as in zstd-jni
    try:
        output, size = _decompress(data, min(max_size, max(_FIRST_OUTPUT_SIZE, _FIRST_RATIO * len(data))))
    except cramjam.DecompressionError:  # too little room and damage give the same error
        try:
            output, size = _decompress(data, max_size)
        except cramjam.DecompressionError as error:
            # cramjam's message only decides which of the two errors is raised.
            if "whole buffer" in str(error) or "too small" in str(error):
                raise RecordTooLargeError(f"zstd stream decompresses to more than {max_size} bytes") from error
            raise InvalidRecordError(f"malformed zstd stream: {error}") from error
    with output:
        if size > max_size:
            raise RecordTooLargeError(f"zstd stream decompresses to more than {max_size} bytes")
        for position in range(0, size, _CHUNK_SIZE):
            if position and position % _RELEASED_SIZE == 0:
                output.madvise(MADV_DONTNEED, position - _RELEASED_SIZE, _RELEASED_SIZE)
            yield output[position : min(size, position + _CHUNK_SIZE)]


def _decompress(data: Buffer, room: int) -> tuple[mmap, int]:
    """The memory with the decompressed bytes, and their number. Raises cramjam.DecompressionError."""
    output = mmap(-1, max(1, room), flags=MAP_PRIVATE | MAP_ANONYMOUS)  # shared pages could not be given back early
    try:
        return output, cramjam.zstd.decompress_into(data, output)
    except cramjam.DecompressionError:
        output.close()
        raise


def _checked_level(level: int | None) -> int:
    chosen = DEFAULT_LEVEL if level is None else level
    if not MIN_LEVEL <= chosen <= MAX_LEVEL:
        raise ValueError(f"zstd doesn't support given compression level: {level}")
    return chosen
