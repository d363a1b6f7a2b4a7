"""Reads only the offset, the timestamp and the presence of a key of each record, for checks and searches.

Owns: iterating over the records of a batch as they are decompressed, with every check of `record.py`. Never does:
creating Record objects, copying keys or values, holding more than two chunks in memory. Malformed bytes raise
InvalidRecordError. Source: Kafka's DefaultRecord.readPartiallyFrom, LogValidator.

Cost: about 0.35 us for each record.
"""

from collections.abc import Iterable, Iterator

from .batch import BatchHeader, Buffer
from .compression import DEFAULT_MAX_DECOMPRESSED_SIZE
from .cut_record import CutRecord
from .errors import InvalidRecordError, RecordTooLargeError
from .legacy import iterate_messages
from .record import SMALLEST_RECORD_SIZE, check_base, has_usual_times, read_fields, refuse_rest, section_chunks
from .varint import MAX_VARINT_SIZE, MAX_VARLONG_SIZE, decode_varint, wrap_int64

UNLIMITED_RECORD = 0x7FFFFFFF
"""The size of a record, in bytes, that no record is larger than."""

Facts = tuple[int, int, bool]
"""(offset, timestamp in ms, whether the record has a key)"""


def iterate_facts(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
    max_record_size: int = UNLIMITED_RECORD,
) -> Iterator[Facts]:
    """Yields the facts of each record of the batch at `position`. The CRC is not checked.

    Raises InvalidRecordError for malformed records or compression, and for a record of a compressed batch that is
    larger than `max_record_size` bytes; RecordTooLargeError when the records decompress to more than
    `max_decompressed_size` bytes.
    """
    if header.is_legacy:
        messages = iterate_messages(buffer, header, position, max_decompressed_size)
        return ((offset, timestamp, key is not None) for offset, timestamp, key, _ in messages)
    if header.records_count == 0:
        return iter(())
    if not header.is_compressed:
        max_record_size = UNLIMITED_RECORD
    chunks = bounded_chunks(buffer, header, position, max_decompressed_size, max_record_size)
    return facts_in(chunks, header, max_record_size)


def bounded_chunks(
    buffer: Buffer, header: BatchHeader, position: int, max_decompressed_size: int, max_record_size: int
) -> Iterator[bytes]:
    """As `section_chunks`, for records of at most `max_record_size` bytes each. It bounds what is allocated.

    Raises InvalidRecordError if a record must be larger, and what `section_chunks` raises.
    """
    most_bytes = header.records_count * (max_record_size + MAX_VARINT_SIZE)
    if most_bytes >= max_decompressed_size:
        return section_chunks(buffer, header, position, max_decompressed_size)
    return _small_records(section_chunks(buffer, header, position, most_bytes), max_record_size)


def _small_records(chunks: Iterator[bytes], max_record_size: int) -> Iterator[bytes]:
    # zstd is decompressed as a whole: the size of the record is unknown.
    try:
        yield from chunks
    except RecordTooLargeError:
        raise InvalidRecordError(
            f"Invalid record size: a record exceeds the configured maximum record size of {max_record_size}."
        ) from None


def facts_in(chunks: Iterable[bytes], header: BatchHeader, max_record_size: int = UNLIMITED_RECORD) -> Iterator[Facts]:
    """Yields the facts of the records in `chunks`, the decompressed section of a batch. A record may span chunks.

    Raises InvalidRecordError for malformed records, and for one of more than `max_record_size` bytes.
    """
    base_offset, base_timestamp, count, append_time = check_base(header)
    if not has_usual_times(header):
        for offset, delta, has_key in facts_in(chunks, header._replace(base_timestamp=0), max_record_size):
            yield offset, delta if append_time is not None else wrap_int64(base_timestamp + delta), has_key
        return
    source = _ChunkSource(chunks)
    data, position, limit = b"", 0, 0
    for _ in range(count):
        if limit - position < SMALLEST_RECORD_SIZE:
            data, position = source.more(data, position)
            limit = len(data)
        try:
            size = data[position]
            if size < 0x80:
                position += 1
                size = (size >> 1) ^ -(size & 1)
            else:
                size, position = decode_varint(data, position)
            if size > max_record_size:
                raise InvalidRecordError(
                    f"Invalid record size: {size} exceeds the configured maximum record size of {max_record_size}."
                )
            end = position + size
            if end > limit:
                timestamp, offset, has_key, data, position = source.cut_record(data, position, size)
                limit = len(data)
                timestamp = wrap_int64(base_timestamp + timestamp)
                yield base_offset + offset, timestamp if append_time is None else append_time, has_key
                continue
            timestamp, offset, _, key_size, _, position = read_fields(data, position, base_offset, base_timestamp)
            if data[position]:
                position = _skip_headers(data, position, end)
            else:
                position += 1
        except IndexError:
            raise InvalidRecordError(f"records end inside a record at {position} of {limit} bytes") from None
        if position != end:
            raise InvalidRecordError(f"record of {size} bytes ends at {position}, not at {end}")
        yield offset, timestamp if append_time is None else append_time, key_size >= 0
    refuse_rest(limit - position + source.count_rest(), count)


def _skip_headers(data: bytes, position: int, end: int) -> int:
    """The position after the headers of the record that ends at `end`."""
    count, position = decode_varint(data, position)
    if not 0 <= count <= end - position:
        raise InvalidRecordError(f"Found invalid number of record headers {count}")
    for _ in range(count):
        length, position = decode_varint(data, position)
        if not 0 <= length <= end - position:
            raise InvalidRecordError(f"Invalid header key size {length}")
        length, position = decode_varint(data, position + length)
        if length >= 0:
            position += length
    return position


class _ChunkSource:
    """The decompressed chunks; reads records that span chunks without keeping their bytes."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)

    def more(self, data: bytes, position: int) -> tuple[bytes, int]:
        """Drops the bytes before `position`, and appends chunks until there are SMALLEST_RECORD_SIZE bytes, if any.

        Returns (data, position).
        """
        data = data[position:]
        while len(data) < SMALLEST_RECORD_SIZE:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            data += chunk
        return data, 0

    def count_rest(self) -> int:
        """The number of bytes in the chunks that were not read."""
        return sum(map(len, self._chunks))

    def cut_record(self, data: bytes, position: int, size: int) -> tuple[int, int, bool, bytes, int]:
        """(timestamp delta, offset delta, has key, data, position after it) of a record of `size` bytes.

        It begins, after its length, at `position` and ends in a later chunk.
        """
        cut = CutRecord(data, position, size, self._chunks)
        cut.skip(1)  # attributes
        timestamp = cut.number(MAX_VARLONG_SIZE)
        offset = cut.number(MAX_VARINT_SIZE)
        has_key = cut.skip_value()
        cut.skip_value()
        for _ in range(cut.header_count()):
            cut.skip(cut.header_key_size())
            cut.skip_value()
        cut.finish()
        return timestamp, offset, has_key, cut.data, cut.position
