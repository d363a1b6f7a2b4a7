"""Compression types and their codecs, as Kafka's CompressionType names them; cramjam is imported on first use."""

from enum import IntEnum

from .errors import InvalidRecordError


class CompressionType(IntEnum):
    """The compression of a batch's records: the lowest three attribute bits."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_BY_ID = tuple(CompressionType)


def compression_type_of(type_id: int) -> CompressionType:
    """The type with this id; InvalidRecordError for ids that are not defined. Faster than the enum's own look-up."""
    if 0 <= type_id < len(_BY_ID):
        return _BY_ID[type_id]
    raise InvalidRecordError(f"Unknown compression type id: {type_id}")
