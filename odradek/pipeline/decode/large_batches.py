"""Decodes one large batch in windows of records, because a few compressed bytes can hold gigabytes of rows.

Pure. The batch is decompressed twice: first to check all of its records, because a batch with a malformed record gets
no rows, then to return the rows. Memory: one window of records, or the largest record (sizes.py). The caller
limits the decompressed bytes of a batch. Arrow, which decompresses zstd in pieces, is imported only for the first large
zstd batch. Source: protocol/records/record.py for the malformed records that are refused.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BATCH_HEADER_SIZE
from odradek.protocol.records.compression import CompressionType, compression_type_of, decompressed_chunks
from odradek.protocol.records.errors import InvalidRecordError, RecordTooLargeError

from ..engine.compiled import compiled
from . import record_walk, vector_walk
from .batch_table import BatchTable
from .damage import Damage, DamageKind
from .spans import BYTES_REMAIN, ENDS_INSIDE, FAULTS, LONG_NUMBER, Bytes, Sections, Spans, WalkedRecords


class DecodeSizes(NamedTuple):
    """Sizes in bytes, after decompression. Tests make them small, so that a few records are many."""

    group: int = 4 << 20
    """A group of batches, unless one batch has more. Larger groups would leave the cache."""
    large_batch: int = 4 << 20
    """A batch with more bytes than this is decoded in parts (large_batches.py)."""
    piece: int = 1 << 20
    """What is walked at once of a large batch."""
    most_record: int = 32 << 20
    """The maximum of one record of a large batch. Kafka's default of max.message.bytes is 1 MiB for a whole batch."""


USUAL_SIZES = DecodeSizes()


_SMALLEST_RECORD = 7


class _Window(NamedTuple):
    """Consecutive whole records, and their number."""

    payload: Bytes
    records: int


@compiled
def _whole_records(data: Bytes) -> tuple[int, int, int]:
    """(end of the whole records in `data`, their number, size of the next record including its length field).

    The size is -1 if the next length field is incomplete, -2 if it is invalid.
    """
    position = 0
    count = 0
    limit = len(data)
    while True:
        value = 0
        shift = 0
        at = position
        while True:
            if at >= limit:
                return position, count, -1
            byte = int(data[at])
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 28:
                return position, count, -2
        length = ((value & 0xFFFFFFFF) >> 1) ^ -(value & 1)
        if length < 0:
            return position, count, -2
        if at + length > limit:
            return position, count, at - position + length
        position = at + length
        count += 1


def walk_large(
    chunk: BatchTable, index: int, max_size: int, sizes: DecodeSizes, *, is_compiled: bool
) -> Iterator[WalkedRecords | Damage]:
    """Yields the spans of a batch's records in several parts, or only its damage."""
    count = int(chunk.table["records_count"][index])
    try:
        if count < 0 or count * _SMALLEST_RECORD > max_size:
            raise InvalidRecordError(f"the header says {count} records, which do not fit into {max_size} bytes")
        _check(chunk, index, count, max_size, sizes, is_compiled=is_compiled)
    except RecordTooLargeError as error:
        yield damage_of(chunk, index, DamageKind.TOO_LARGE, str(error))
        return
    except KafkaError as error:
        yield damage_of(chunk, index, DamageKind.RECORDS, str(error))
        return
    is_packed = int(chunk.table["attributes"][index]) & 7 != CompressionType.NONE
    left = count
    for window in _windows(chunk, index, max_size, sizes):
        left -= window.records
        spans = _with_batch(chunk, index, _walk(chunk, index, window, is_compiled=is_compiled))
        unpacked = len(window.payload) if is_packed else 0
        yield WalkedRecords(window.payload, spans, unpacked, is_part=True, is_last=left == 0)


def damage_of(chunk: BatchTable, index: int, kind: DamageKind, message: str) -> Damage:
    """The damage of a batch whose records can't be decoded."""
    position = int(chunk.places[index])
    offset = int(chunk.table["base_offset"][index])
    text = f"the records of the batch at {position} can't be decoded: {message}"
    return Damage(kind, position, int(chunk.disk_sizes[index]), offset, text)


def _check(chunk: BatchTable, index: int, count: int, max_size: int, sizes: DecodeSizes, *, is_compiled: bool) -> None:
    """Raises InvalidRecordError or RecordTooLargeError if any record is malformed."""
    seen = 0
    for window in _windows(chunk, index, max_size, sizes):
        seen += window.records
        if seen > count:
            raise InvalidRecordError(FAULTS[BYTES_REMAIN])
        fault = int(_walk(chunk, index, window, is_compiled=is_compiled).faults[0])
        if fault:
            raise InvalidRecordError(FAULTS[fault])
    if seen < count:
        raise InvalidRecordError(FAULTS[ENDS_INSIDE])


def _walk(chunk: BatchTable, index: int, window: _Window, *, is_compiled: bool) -> Spans:
    walk_records = record_walk.walk_records if is_compiled else vector_walk.walk_records
    numbers = [0, len(window.payload), window.records]
    numbers += [int(chunk.table[name][index]) for name in ("base_offset", "base_timestamp")]
    return walk_records(window.payload, Sections(*(numpy.array([number], numpy.int64) for number in numbers)))


def _with_batch(chunk: BatchTable, index: int, spans: Spans) -> Spans:
    """The spans with the batch's place in the chunk, and its append time if it has one."""
    spans = spans._replace(batches=numpy.full(len(spans.offsets), index, numpy.int64))
    if not int(chunk.table["attributes"][index]) & 8:
        return spans
    append_time = int(chunk.table["max_timestamp"][index])
    return spans._replace(timestamps=numpy.full(len(spans.offsets), append_time, numpy.int64))


def _windows(chunk: BatchTable, index: int, max_size: int, sizes: DecodeSizes) -> Iterator[_Window]:
    """The batch's records in windows. Raises InvalidRecordError, RecordTooLargeError."""
    rest: Bytes = numpy.empty(0, numpy.uint8)
    for piece in _pieces(chunk, index, max_size, sizes.piece):
        for start in range(0, len(piece), sizes.piece):
            more = numpy.frombuffer(piece, numpy.uint8)[start : start + sizes.piece]
            data = numpy.concatenate([rest, more]) if len(rest) else more
            end, count, following = _whole_records(data)
            if following == -2:
                raise InvalidRecordError(FAULTS[LONG_NUMBER])
            if following > sizes.most_record:
                raise RecordTooLargeError(f"a record has {following} bytes, more than the limit of {sizes.most_record}")
            if count:
                yield _Window(data[:end], count)
            rest = data[end:].copy()
    if len(rest):
        raise InvalidRecordError(FAULTS[ENDS_INSIDE])


def _pieces(chunk: BatchTable, index: int, max_size: int, piece_bytes: int) -> Iterator[Any]:
    start = int(chunk.positions[index]) + BATCH_HEADER_SIZE
    section = chunk.view[start : int(chunk.positions[index]) + int(chunk.sizes[index])]
    codec = compression_type_of(int(chunk.table["attributes"][index]) & 7)
    if codec == CompressionType.NONE:
        return iter([section])
    if codec == CompressionType.ZSTD:
        return _zstd_pieces(section, max_size, piece_bytes)
    return _joined(decompressed_chunks(codec, section, max_size), piece_bytes)


def _joined(chunks: Iterator[bytes], piece_bytes: int) -> Iterator[bytes]:
    """Joins the chunks into pieces of about `piece_bytes`, because each piece costs a walk."""
    some: list[bytes] = []
    size = 0
    for chunk in chunks:
        some.append(chunk)
        size += len(chunk)
        if size >= piece_bytes:
            yield b"".join(some)
            some, size = [], 0
    if some:
        yield b"".join(some)


def _zstd_pieces(section: memoryview, max_size: int, piece_bytes: int) -> Iterator[Any]:
    import pyarrow as pa

    size = 0
    try:
        with pa.input_stream(pa.py_buffer(section), compression="zstd") as stream:
            while piece := stream.read(piece_bytes):
                size += len(piece)
                if size > max_size:
                    raise RecordTooLargeError(f"the records decompress to more than {max_size} bytes")
                yield piece
    except OSError as error:  # Arrow raises it for a malformed frame
        raise InvalidRecordError(f"malformed zstd stream: {error}") from error
