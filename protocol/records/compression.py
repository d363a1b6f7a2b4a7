"""Compression of a batch's records: gzip, snappy, lz4 and zstd as Apache Kafka writes and reads them.

Never trusts a claimed size: `decompress` allocates at most the caller's limit, whatever the bytes claim
(CVE-2023-34455). cramjam (and zlib, for gzip) is imported on first use: a broker that only serves bytes never loads
them. Malformed data is InvalidRecordError, too much of it RecordTooLargeError. Source: Kafka's CompressionType and
*Compression classes.
"""

from enum import IntEnum

from .errors import InvalidRecordError, RecordTooLargeError

# Decompressed bytes of one batch that a reader takes unless it says otherwise. Kafka has no such limit: it streams.
DEFAULT_MAX_DECOMPRESSED_SIZE = 128 * 1024 * 1024


class CompressionType(IntEnum):
    """The compression of a batch's records: the lowest three attribute bits."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_BY_ID = tuple(CompressionType)
COMPRESSION_NAMES = tuple(kind.name.lower() for kind in CompressionType)
"""The names as compression.type has them, by id."""


def compression_type_of(type_id: int) -> CompressionType:
    """The type with this id; InvalidRecordError for ids that are not defined. Faster than the enum's own look-up."""
    if 0 <= type_id < len(_BY_ID):
        return _BY_ID[type_id]
    raise InvalidRecordError(f"Unknown compression type id: {type_id}")


def compression_name(type_id: int) -> str:
    """The name of the type with this id; ``unknown(5)`` for one that is not defined, which damaged bytes may have."""
    return COMPRESSION_NAMES[type_id] if 0 <= type_id < len(COMPRESSION_NAMES) else f"unknown({type_id})"


def compress(compression_type: CompressionType, data: bytes | bytearray, level: int | None = None) -> bytes:
    """`data` compressed as by Kafka's Java producer; `level` as compression.<type>.level, None for Kafka's default.

    Raises ValueError for a level that Kafka doesn't allow.
    """
    if compression_type == CompressionType.NONE:
        return bytes(data)
    if compression_type == CompressionType.GZIP:
        from .gzip_codec import compress_gzip

        return compress_gzip(data, level)
    if compression_type == CompressionType.SNAPPY:
        from .snappy_codec import compress_snappy

        return compress_snappy(data)
    if compression_type == CompressionType.LZ4:
        from .lz4_codec import compress_lz4

        return compress_lz4(data, level)
    from .zstd_codec import compress_zstd

    return compress_zstd(data, level)


def decompress(compression_type: CompressionType, data: bytes, max_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE) -> bytes:
    """The records section of a batch, decompressed; never more than `max_size` bytes, and never more allocated.

    Raises InvalidRecordError for malformed data and RecordTooLargeError beyond `max_size`.
    """
    if compression_type == CompressionType.NONE:
        if len(data) > max_size:
            raise RecordTooLargeError(f"{len(data)} bytes of records, more than {max_size}")
        return data
    if compression_type == CompressionType.GZIP:
        from .gzip_codec import decompress_gzip

        return decompress_gzip(data, max_size)
    if compression_type == CompressionType.SNAPPY:
        from .snappy_codec import decompress_snappy

        return decompress_snappy(data, max_size)
    if compression_type == CompressionType.LZ4:
        from .lz4_codec import decompress_lz4

        return decompress_lz4(data, max_size)
    from .zstd_codec import decompress_zstd

    return decompress_zstd(data, max_size)
