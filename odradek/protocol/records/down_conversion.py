"""Converts record batches to messages of format 0 or 1, for clients older than Kafka 0.11 (Fetch versions 0 to 3).

Each uncompressed record becomes one message (:mod:`.legacy` has the layout). A compressed batch becomes one wrapper. A
stored message of the wanted format, or an older one, stays as it is. Headers, producer ids, sequences and control
batches can't be represented, and are left out. lz4 in format 0 has the wrong frame checksum that clients expect. zstd
is refused. Never writes more than one batch beyond the limit.
Source: Kafka 3.9's RecordsUtil.downConvert, MemoryRecordsBuilder, LegacyRecord; KIP-31, KIP-32.
"""

from itertools import chain
from typing import NamedTuple

from ..common.lazy_imports import lazy_imports
from ..common.steps import Steps
from .batch import LOG_APPEND_TIME_FLAG, NO_TIMESTAMP, BatchHeader, Buffer, iterate_headers
from .compression import DEFAULT_MAX_DECOMPRESSED_SIZE, CompressionType, Compressor, compressor
from .errors import CorruptRecordError, InvalidRecordError, RecordTooLargeError, UnsupportedCompressionTypeError
from .legacy import encode_message
from .record import RECORDS_A_STEP, iterate_records

with lazy_imports:
    from . import lz4_codec

MAGIC_V0 = 0

_NOT_CONVERTIBLE = (CorruptRecordError, InvalidRecordError, RecordTooLargeError, UnsupportedCompressionTypeError)


class ConvertedRecords(NamedTuple):
    """``data``: the messages. ``next_offset``: the offset after the last batch that was converted or left out."""

    data: bytes
    next_offset: int


def down_convert(
    batches: Buffer,
    magic: int,
    first_offset: int,
    max_bytes: int,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> Steps[ConvertedRecords]:
    """Converts the whole batches in ``batches`` to messages of format ``magic``, as many as fit ``max_bytes``.

    The first batch with records is always converted completely, whatever its size. Uncompressed records before
    ``first_offset`` are left out: clients of these formats rely on it. ``max_decompressed_size`` bounds each batch.
    If the first batch with records can't be converted, raises UnsupportedCompressionTypeError (zstd) or the error for
    malformed records; a later batch that can't be converted ends the conversion before it.
    """
    parts: list[bytes] = []
    size = 0
    next_offset = first_offset
    for position, header in iterate_headers(batches):
        if not header.is_control:
            try:
                converted = yield from _convert(batches, position, header, magic, first_offset, max_decompressed_size)
            except _NOT_CONVERTIBLE:
                if not parts:
                    raise
                break
            if parts and size + len(converted) > max_bytes:
                break
            if converted:
                parts.append(converted)
                size += len(converted)
        next_offset = header.next_offset
        yield
    return ConvertedRecords(b"".join(parts), next_offset)


def _convert(
    batches: Buffer, position: int, header: BatchHeader, magic: int, first_offset: int, max_decompressed_size: int
) -> Steps[bytes]:
    """Converts one batch to messages; b"" if it has no records from ``first_offset`` on."""
    if header.magic <= magic:
        return bytes(memoryview(batches)[position : position + header.size_in_bytes])
    compression = header.compression_type
    if compression == CompressionType.ZSTD:
        raise UnsupportedCompressionTypeError(f"zstd can't be converted down to message format {magic}")
    records = iterate_records(batches, header, position, max_decompressed_size=max_decompressed_size)
    time_flag = LOG_APPEND_TIME_FLAG if header.is_log_append_time and magic > MAGIC_V0 else 0
    converted = bytearray()
    messages: list[bytes] = []
    if compression == CompressionType.NONE:
        for offset, timestamp, key, value, _ in records:
            if offset >= first_offset:
                messages.append(encode_message(magic, time_flag, offset, timestamp, key, value))
                if len(messages) == RECORDS_A_STEP:
                    converted += b"".join(messages)
                    messages.clear()
                    yield
        converted += b"".join(messages)
        return bytes(converted)
    first = next(records, None)
    if first is None:
        return b""
    base_offset = first.offset if magic > MAGIC_V0 else 0
    newest = NO_TIMESTAMP
    last_offset = first.offset
    compressed = _compressor(compression, magic)
    for last_offset, timestamp, key, value, _ in chain((first,), records):
        newest = max(newest, timestamp)
        messages.append(encode_message(magic, time_flag, last_offset - base_offset, timestamp, key, value))
        if len(messages) == RECORDS_A_STEP:
            converted += compressed.add(b"".join(messages))
            messages.clear()
            yield
    converted += compressed.add(b"".join(messages))
    converted += compressed.finish()
    return encode_message(magic, compression | time_flag, last_offset, newest, None, bytes(converted))


def _compressor(compression: CompressionType, magic: int) -> Compressor:
    if compression == CompressionType.LZ4 and magic == MAGIC_V0:
        return lz4_codec.Lz4CompressorOfFormat0()
    return compressor(compression)
