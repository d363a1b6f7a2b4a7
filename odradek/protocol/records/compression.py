"""Compression of a batch's records: gzip, snappy, lz4 and zstd as Apache Kafka writes and reads them.

Never does: trusting a size in the data; `decompress` allocates at most the caller's limit (CVE-2023-34455). cramjam
(and zlib, for gzip) is imported on first use: a broker that does not decompress never loads them. Malformed data raises
InvalidRecordError, data beyond the limit RecordTooLargeError. Source: Kafka's CompressionType and *Compression classes.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import Protocol

from ..common.lazy_imports import lazy_imports
from .buffers import Buffer
from .errors import InvalidRecordError, RecordTooLargeError

with lazy_imports:
    from . import gzip_codec, lz4_codec, snappy_codec, zstd_codec

# The default limit for the decompressed bytes of one batch. Kafka has no such limit, because it decompresses a stream.
DEFAULT_MAX_DECOMPRESSED_SIZE = 128 * 1024 * 1024
CHUNK_SIZE = 64 * 1024
MAX_HELD_BYTES = 32 * 1024 * 1024
MAX_HELD_RATIO = 32


class CompressionType(IntEnum):
    """The compression of a batch's records: the lowest three attribute bits."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_BY_ID = tuple(CompressionType)
COMPRESSION_NAMES = tuple(kind.name.lower() for kind in CompressionType)
"""The names in the config compression.type; the index is the id."""


def compression_type_of(type_id: int) -> CompressionType:
    """The type with this id. Raises InvalidRecordError for an unknown id. Faster than the lookup of the enum."""
    if 0 <= type_id < len(_BY_ID):
        return _BY_ID[type_id]
    raise InvalidRecordError(f"Unknown compression type id: {type_id}")


def compression_name(type_id: int) -> str:
    """The name of the type with this id; ``unknown(5)`` for one that is not defined, which damaged bytes may have."""
    return COMPRESSION_NAMES[type_id] if 0 <= type_id < len(COMPRESSION_NAMES) else f"unknown({type_id})"


def compress(compression_type: CompressionType, data: bytes | bytearray, level: int | None = None) -> bytes:
    """Compresses `data` as Kafka's Java producer does. `level`: as compression.<type>.level; None: Kafka's default.

    Raises ValueError for a level that Kafka doesn't allow.
    """
    if compression_type == CompressionType.NONE:
        return bytes(data)
    if compression_type == CompressionType.GZIP:
        return gzip_codec.compress_gzip(data, level)
    if compression_type == CompressionType.SNAPPY:
        return snappy_codec.compress_snappy(data)
    if compression_type == CompressionType.LZ4:
        return lz4_codec.compress_lz4(data, level)
    return zstd_codec.compress_zstd(data, level)


class Compressor(Protocol):
    """Compresses a stream in bounded memory."""

    def add(self, data: Buffer) -> bytes:
        """Takes more of the stream; returns the compressed bytes that are complete, possibly none."""

    def finish(self) -> bytes:
        """Returns the rest of the compressed bytes; nothing may be added afterwards."""


class Uncompressed:
    """The compressor of CompressionType.NONE."""

    def add(self, data: Buffer) -> bytes:
        """The same bytes."""
        return bytes(data)

    def finish(self) -> bytes:
        """Returns nothing: all bytes were returned by `add`."""
        return b""


def compressor(compression_type: CompressionType, level: int | None = None) -> Compressor:
    """Returns a compressor for a stream; see `compress`. Raises ValueError for a level that Kafka doesn't allow."""
    if compression_type == CompressionType.NONE:
        return Uncompressed()
    if compression_type == CompressionType.GZIP:
        return gzip_codec.GzipCompressor(level)
    if compression_type == CompressionType.SNAPPY:
        return snappy_codec.SnappyCompressor()
    if compression_type == CompressionType.LZ4:
        return lz4_codec.Lz4Compressor(level)
    return zstd_codec.ZstdCompressor(level)


def decompress(compression_type: CompressionType, data: bytes, max_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE) -> bytes:
    """Decompresses the records section of a batch. Never returns or allocates more than `max_size` bytes.

    Raises InvalidRecordError for malformed data, RecordTooLargeError beyond `max_size`.
    """
    if compression_type == CompressionType.NONE:
        if len(data) > max_size:
            raise RecordTooLargeError(f"the records have {len(data)} bytes, the limit is {max_size}")
        return data
    return b"".join(decompressed_chunks(compression_type, data, max_size))


def decompressed_chunks(
    compression_type: CompressionType, data: Buffer, max_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE
) -> Iterator[bytes]:
    """As `decompress`, but yields one chunk at a time: at most 64 KiB for data that Kafka has written, else 4 MiB.

    zstd, and snappy without snappy-java's framing, are exceptions: they decompress everything before the first chunk.
    """
    if compression_type == CompressionType.NONE:
        if len(data) > max_size:
            raise RecordTooLargeError(f"the records have {len(data)} bytes, the limit is {max_size}")
        return _slices(data)
    if compression_type == CompressionType.GZIP:
        return gzip_codec.gzip_chunks(data, max_size)
    if compression_type == CompressionType.SNAPPY:
        return snappy_codec.snappy_chunks(data, max_size)
    if compression_type == CompressionType.LZ4:
        return lz4_codec.lz4_chunks(data, max_size)
    return zstd_codec.zstd_chunks(data, max_size)


def most_decompressed(compression_type: CompressionType, size: int) -> int:
    """The limit for decompressing `size` bytes from a client, which bounds the memory that a broker needs for them.

    DEFAULT_MAX_DECOMPRESSED_SIZE for types that are decompressed in chunks. zstd is not: for it, 32 MiB or 32 times
    `size` if that is more.
    """
    if compression_type != CompressionType.ZSTD:
        return DEFAULT_MAX_DECOMPRESSED_SIZE
    return min(DEFAULT_MAX_DECOMPRESSED_SIZE, max(MAX_HELD_BYTES, MAX_HELD_RATIO * size))


def _slices(data: Buffer) -> Iterator[bytes]:
    view = memoryview(data)
    for start in range(0, len(view), CHUNK_SIZE):
        yield bytes(view[start : start + CHUNK_SIZE])
