"""Zstandard frames, one or several, as zstd-jni's streams write and read them.

The decompressed size that a frame may claim is never believed: the output has a size of our own choice, which grows up
to the limit. The window that a frame asks for (at most 128 MiB, libzstd's own limit) is reserved, but only touched as
far as there is output.
"""

import cramjam

from .errors import InvalidRecordError, RecordTooLargeError

DEFAULT_LEVEL = 3
MIN_LEVEL = -131072
MAX_LEVEL = 22

_FIRST_OUTPUT_SIZE = 64 * 1024
_FIRST_RATIO = 8
_GROWTH = 8


def compress_zstd(data: bytes | bytearray, level: int | None = None) -> bytes:
    """`data` as one frame. Raises ValueError for a level outside -131072 to 22."""
    chosen = DEFAULT_LEVEL if level is None else level
    if not MIN_LEVEL <= chosen <= MAX_LEVEL:
        raise ValueError(f"zstd doesn't support given compression level: {level}")
    return bytes(cramjam.zstd.compress(data, level=chosen))


def decompress_zstd(data: bytes, max_size: int) -> bytes:
    """All frames of `data`, decompressed. Raises InvalidRecordError, or RecordTooLargeError beyond `max_size` bytes."""
    if not data:
        return b""  # no frame at all, as for zstd-jni
    room = max(_FIRST_OUTPUT_SIZE, _FIRST_RATIO * len(data))
    while True:
        room = min(room, max_size)
        output = bytearray(room)
        try:
            size = cramjam.zstd.decompress_into(data, output)
        except cramjam.DecompressionError as error:
            # Too little room and damage give the same error: try with more room up to the limit. The wording only
            # decides which of our two errors it is in the end.
            if room < max_size:
                room *= _GROWTH
                continue
            if "whole buffer" in str(error) or "too small" in str(error):
                raise RecordTooLargeError(f"zstd stream decompresses to more than {max_size} bytes") from error
            raise InvalidRecordError(f"malformed zstd stream: {error}") from error
        with memoryview(output) as view:
            return bytes(view[:size])
