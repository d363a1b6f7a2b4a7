"""Records of a batch: the value class, and decoding.

    record   varint length of what follows; int8 attributes (0); varlong timestamp delta; varint offset delta;
             varint key length, key; varint value length, value; varint number of headers, headers
    header   varint key length, key (UTF-8); varint value length, value

A length below 0 means null (a header's key can't be null). Deltas are relative to the batch's base timestamp and base
offset. Malformed bytes raise InvalidRecordError. Messages of format 0 and 1 (:mod:`.legacy`) are records without
headers. Source: Kafka's DefaultRecord and DefaultRecordBatch.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

from .batch import BATCH_HEADER_SIZE, BatchHeader, Buffer, read_header
from .compression import DEFAULT_MAX_DECOMPRESSED_SIZE, decompress, decompressed_chunks
from .cut_record import CutRecord
from .errors import InvalidRecordError
from .legacy import iterate_messages
from .varint import MAX_INT64, MAX_VARINT_SIZE, MAX_VARLONG_SIZE, decode_varint, decode_varlong, wrap_int64

SMALLEST_RECORD_SIZE = 7  # one byte for each of length, attributes, two deltas, key, value and headers
RECORDS_A_STEP = 512
"""The number of records that are processed in one step of long work (:mod:`..common.steps`)."""

_LEAST_USUAL_TIME, _GREATEST_USUAL_TIME = -0x8000000000000000 + 64, MAX_INT64 - 64
"""The range of base timestamps to which the delta of one byte can be added without a check: it is at most 64."""
_FIRST_ROWS = 16
"""The most records of the first rows of a batch; of later ones twice as many, up to RECORDS_A_STEP."""

Row: TypeAlias = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]
"""The fields of a :class:`Record`, without the class: it takes a fifth of the time of decoding."""


class Record(NamedTuple):
    """A record as a client sees it; timestamp in ms since 1970, -1 if the producer gave none."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


_AS_RECORDS = partial(map, partial(tuple.__new__, Record))
"""The records of rows."""


def decode_records(
    buffer: Buffer,
    header: BatchHeader | None = None,
    position: int = 0,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> list[Record]:
    """All records of the batch at `position`. Raises what `iterate_records` raises."""
    return list(iterate_records(buffer, header, position, max_decompressed_size=max_decompressed_size))


def iterate_records(
    buffer: Buffer,
    header: BatchHeader | None = None,
    position: int = 0,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> Iterator[Record]:
    """Yields the records of the batch at `position`, whose header is read if it isn't given. The CRC is not checked.

    Raises what `read_header` raises; InvalidRecordError for malformed records or compression; RecordTooLargeError when
    the records decompress to more than `max_decompressed_size` bytes.
    """
    if header is None:
        header = read_header(buffer, position)
    if header.is_legacy:
        return _legacy_records(buffer, header, position, max_decompressed_size)
    if header.records_count == 0:
        return iter(())
    return _records_in(section_chunks(buffer, header, position, max_decompressed_size), header)


def iterate_rows(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> Iterator[list[Row]]:
    """As `iterate_records`, but yields lists of rows, none of them empty: the fastest way to many records.

    A list has at most RECORDS_A_STEP rows. Those before a malformed record are yielded before the error is raised.
    """
    if header.is_legacy:
        return ([record] for record in _legacy_records(buffer, header, position, max_decompressed_size))
    if header.records_count == 0:
        return iter(())
    return _rows_in(section_chunks(buffer, header, position, max_decompressed_size), header)


def first_offset(buffer: Buffer, position: int = 0) -> int:
    """The base offset of the batch at `position`; that of a wrapper (message format 0 or 1) is its first record's.

    A wrapper is decompressed. Raises what `iterate_records` raises.
    """
    header = read_header(buffer, position)
    return next(iterate_records(buffer, header, position)).offset if header.is_wrapper else header.base_offset


def iterate_outlines(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> Iterator[Record]:
    """As `iterate_records`, but each value that is not null is b"", so that a large value is not held in memory."""
    if header.is_legacy:
        records = _legacy_records(buffer, header, position, max_decompressed_size)
    elif header.records_count == 0:
        return iter(())
    else:
        records = _records_in(section_chunks(buffer, header, position, max_decompressed_size), header, _outline)
    return (record if not record.value else record._replace(value=b"") for record in records)


def iterate_in_parts(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> Iterator[tuple[Record, list[bytes] | None]]:
    """As `iterate_records`, but yields (record, parts): the value of a record that spans several chunks is in parts.

    Such a record has b"" as its value. For a record within one chunk, parts is None and the value is in the record.
    """
    if header.is_legacy:
        for record in _legacy_records(buffer, header, position, max_decompressed_size):
            yield record, None
        return
    if header.records_count == 0:
        return
    parts: list[bytes] | None = None

    def read_parts(cut: CutRecord) -> bytes | None:
        nonlocal parts
        length = cut.number(MAX_VARINT_SIZE)
        if length < 0:
            return None
        parts = list(cut.pieces(length))
        return b""

    for record in _records_in(section_chunks(buffer, header, position, max_decompressed_size), header, read_parts):
        of_this, parts = parts, None
        yield record, of_this


def section_chunks(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> Iterator[bytes]:
    """Yields the bytes after the header, decompressed, in chunks. Raises what `decompressed_chunks` raises."""
    section = memoryview(buffer)[position + BATCH_HEADER_SIZE : position + header.size_in_bytes]
    return decompressed_chunks(header.compression_type, section, max_decompressed_size)


def records_section(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> bytes:
    """The bytes after the header, decompressed: all records. Raises what `decompress` raises."""
    with memoryview(buffer) as view:
        section = bytes(view[position + BATCH_HEADER_SIZE : position + header.size_in_bytes])
    return decompress(header.compression_type, section, max_decompressed_size)


def _legacy_records(buffer: Buffer, header: BatchHeader, position: int, max_decompressed_size: int) -> Iterator[Record]:
    for offset, timestamp, key, value in iterate_messages(buffer, header, position, max_decompressed_size):
        yield Record(offset, timestamp, key, value, [])


def _outline(cut: CutRecord) -> bytes | None:
    return b"" if cut.skip_value() else None


def _records_in(
    chunks: Iterator[bytes], header: BatchHeader, read_value: Callable[[CutRecord], bytes | None] = CutRecord.value
) -> Iterator[Record]:
    """The records in `chunks`, as `_rows_in`."""
    return chain.from_iterable(map(_AS_RECORDS, _rows_in(chunks, header, read_value)))


def _rows_in(
    chunks: Iterator[bytes], header: BatchHeader, read_value: Callable[[CutRecord], bytes | None] = CutRecord.value
) -> Iterator[list[Row]]:
    """Yields the records in `chunks`; a record may span chunks. Holds one chunk and one copy of its records in memory.

    `read_value` reads the values of records that end in a later chunk. Such a record is yielded alone.
    """
    base_offset, base_timestamp, count, append_time = check_base(header)
    if not has_usual_times(header):
        usual = _rows_in(chunks, header._replace(base_timestamp=0), read_value)
        yield from usual if append_time is not None else _shifted(usual, base_timestamp)
        return
    data, position, limit = b"", 0, 0
    left, most = count, _FIRST_ROWS
    try:
        while left:
            if limit - position < SMALLEST_RECORD_SIZE:
                data, position, limit = _gather(data, position, chunks)
            rows = None
            if count > 1:
                rows, position = _whole_rows(data, position, min(left, most), base_offset, base_timestamp)
            if rows:
                left -= len(rows)
                most = min(2 * most, RECORDS_A_STEP)
                if append_time is not None:
                    rows = [(offset, append_time, key, value, headers) for offset, _, key, value, headers in rows]
                yield rows
                continue
            left -= 1
            size = data[position]
            if size < 0x80:
                position += 1
                size = (size >> 1) ^ -(size & 1)
            else:
                size, position = decode_varint(data, position)
            end = position + size
            if end > limit:
                cut = CutRecord(data, position, size, chunks)
                data = b""  # releases the chunk, which must not stay in memory beside a large value
                yield [_cut_record(cut, base_offset, base_timestamp, append_time, read_value)]
                data, position, limit = cut.data, cut.position, len(cut.data)
                continue
            timestamp, offset, at, key_size, length, position = read_fields(data, position, base_offset, base_timestamp)
            key = data[at : at + key_size] if key_size >= 0 else None
            value = data[position - length : position] if length >= 0 else None
            headers: list[tuple[str, bytes | None]] = []
            if data[position]:
                headers, position = _decode_headers(data, position, end)
            else:
                position += 1
            if position != end:
                raise InvalidRecordError(f"record of {size} bytes ends at {position}, not at {end}")
            yield [(offset, timestamp if append_time is None else append_time, key, value, headers)]
    except IndexError:
        raise InvalidRecordError(f"records end inside a record at {position} of {len(data)} bytes") from None
    refuse_rest(limit - position + sum(map(len, chunks)), count)


def _whole_rows(data: bytes, position: int, most: int, base_offset: int, base_timestamp: int) -> tuple[list[Row], int]:
    """Decodes up to `most` records. Returns them and the position after them.

    It stops before a record that is malformed, incomplete or larger than 1 MiB. Numbers are decoded inline for speed.
    """
    rows: list[Row] = []
    headers: list[tuple[str, bytes | None]]
    append, limit, start = rows.append, len(data), position
    try:
        for _ in range(most):
            start = position
            number, position = data[position], position + 1
            if number >= 0x80:
                number, position = number & 0x7F | data[position] << 7, position + 1
                if number >= 0x4000:
                    number, position = _third_byte(number, data, position)
            end = position + (number >> 1)
            if number & 1 or end > limit:
                break
            number, position = data[position + 1], position + 2  # after the attributes
            if number >= 0x80:
                number, position = decode_varlong(data, position - 1)
                timestamp = wrap_int64(base_timestamp + number)
            else:
                timestamp = base_timestamp + ((number >> 1) ^ -(number & 1))
            number, position = data[position], position + 1
            if number >= 0x80:
                number, position = number & 0x7F | data[position] << 7, position + 1
                if number >= 0x4000:
                    number, position = _third_byte(number, data, position)
            offset = base_offset + ((number >> 1) ^ -(number & 1))
            number, position = data[position], position + 1
            if number >= 0x80:
                number, position = number & 0x7F | data[position] << 7, position + 1
            key, stop = None, position + (number >> 1)
            if number != 1:  # not null
                if number & 1 or number >= 0x4000:
                    break
                key, position = data[position:stop], stop
            number, position = data[position], position + 1
            if number >= 0x80:
                number, position = number & 0x7F | data[position] << 7, position + 1
                if number >= 0x4000:
                    number, position = _third_byte(number, data, position)
            value, stop = None, position + (number >> 1)
            if number != 1:
                if number & 1:
                    break
                value, position = data[position:stop], stop
            headers, position = [], position + 1
            if data[position - 1]:
                headers, position = _decode_headers(data, position - 1, end)
            if position != end:
                break
            append((offset, timestamp, key, value, headers))
        else:
            return rows, position
    except (IndexError, InvalidRecordError):
        pass
    return rows, start


def _third_byte(number: int, data: bytes, position: int) -> tuple[int, int]:
    """Adds the third byte at `position` to an unsigned number of two bytes. Returns it and the position after it.

    Raises IndexError if the number is longer.
    """
    if data[position] >= 0x80:
        raise IndexError
    return number & 0x3FFF | data[position] << 14, position + 1


def _shifted(usual: Iterator[list[Row]], base_timestamp: int) -> Iterator[list[Row]]:
    """Adds a base timestamp near the limits of 64 bits to the records' timestamps, which are deltas. As in Java, a sum
    beyond the limit wraps.
    """
    for rows in usual:
        yield [(row[0], wrap_int64(base_timestamp + row[1]), *row[2:]) for row in rows]


def read_fields(
    data: bytes, position: int, base_offset: int, base_timestamp: int
) -> tuple[int, int, int, int, int, int]:
    """Reads the fields of the record whose attributes are at `position`, up to its value.

    Returns (timestamp, offset, position of the key, key size, value size, position after the value). A size below 0
    means null. Copies nothing; the caller must check where the record ends. Short numbers are decoded inline, because a
    call for each would double the time. Raises InvalidRecordError for a malformed number, IndexError if `data` ends.
    """
    position += 1  # attributes: none are defined
    number = data[position]
    if number < 0x80:
        position += 1
        timestamp = base_timestamp + ((number >> 1) ^ -(number & 1))
    else:
        number, position = decode_varlong(data, position)
        timestamp = wrap_int64(base_timestamp + number)
    number = data[position]
    if number < 0x80:
        position += 1
        offset = base_offset + ((number >> 1) ^ -(number & 1))
    elif (following := data[position + 1]) < 0x80:
        position += 2
        number = number & 0x7F | following << 7
        offset = base_offset + ((number >> 1) ^ -(number & 1))
    else:
        number, position = decode_varint(data, position)
        offset = base_offset + number
    key_size = data[position]
    if key_size < 0x80:
        position += 1
        key_size = (key_size >> 1) ^ -(key_size & 1)
    else:
        key_size, position = decode_varint(data, position)
    key_position = position
    if key_size > 0:
        position += key_size
    value_size = data[position]
    if value_size < 0x80:
        position += 1
        value_size = (value_size >> 1) ^ -(value_size & 1)
    elif (following := data[position + 1]) < 0x80:
        position += 2
        value_size = value_size & 0x7F | following << 7
        value_size = (value_size >> 1) ^ -(value_size & 1)
    else:
        value_size, position = decode_varint(data, position)
    if value_size > 0:
        position += value_size
    return timestamp, offset, key_position, key_size, value_size, position


def refuse_rest(remaining: int, count: int) -> None:
    """Raises InvalidRecordError if bytes remain after the records of a batch."""
    if remaining:
        raise InvalidRecordError(f"{remaining} bytes remain after the {count} records of the batch")


def _gather(data: bytes, position: int, chunks: Iterator[bytes]) -> tuple[bytes, int, int]:
    """Drops the bytes before `position`, and appends chunks until there are SMALLEST_RECORD_SIZE bytes, or no chunk.

    Returns (data, 0, length of data).
    """
    data = data[position:]
    while len(data) < SMALLEST_RECORD_SIZE and (chunk := next(chunks, None)) is not None:
        data += chunk
    return data, 0, len(data)


def _cut_record(
    cut: CutRecord,
    base_offset: int,
    base_timestamp: int,
    append_time: int | None,
    read_value: Callable[[CutRecord], bytes | None],
) -> Record:
    """Reads a record that ends in a later chunk."""
    cut.skip(1)  # attributes
    timestamp = wrap_int64(base_timestamp + cut.number(MAX_VARLONG_SIZE))
    offset = base_offset + cut.number(MAX_VARINT_SIZE)
    key, value = cut.value(), read_value(cut)
    headers = []
    for _ in range(cut.header_count()):
        name = cut.take(cut.header_key_size()).decode("utf-8", "replace")
        headers.append((name, cut.value()))
    cut.finish()
    return Record(offset, timestamp if append_time is None else append_time, key, value, headers)


def has_usual_times(header: BatchHeader) -> bool:
    """Whether any delta of one byte can be added to the base timestamp without exceeding 64 bits."""
    return _LEAST_USUAL_TIME <= header.base_timestamp <= _GREATEST_USUAL_TIME


def check_base(header: BatchHeader) -> tuple[int, int, int, int | None]:
    """(base offset, base timestamp, number of records, append time or None) of a header.

    Raises InvalidRecordError for a negative number, or if adding a delta to the offset could overflow 64 bits.
    """
    count = header.records_count
    if count < 0:
        raise InvalidRecordError(f"Found invalid record count {count} in magic v2 batch")
    if not -(1 << 31) <= header.base_offset <= MAX_INT64 - (1 << 31):
        raise InvalidRecordError(f"base offset {header.base_offset} is out of range: its offsets could exceed 64 bits")
    append_time = header.max_timestamp if header.is_log_append_time else None
    return header.base_offset, header.base_timestamp, count, append_time


def _decode_headers(data: bytes, position: int, end: int) -> tuple[list[tuple[str, bytes | None]], int]:
    """Decodes the headers of the record that ends at `end`; returns them and the position after them.

    In a key that is not UTF-8, malformed bytes become U+FFFD, as in Java.
    """
    count, position = decode_varint(data, position)
    if not 0 <= count <= end - position:
        raise InvalidRecordError(f"Found invalid number of record headers {count}")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        length, position = decode_varint(data, position)
        if not 0 <= length <= end - position:
            raise InvalidRecordError(f"Invalid header key size {length}")
        key = data[position : position + length].decode("utf-8", "replace")
        position += length
        length, position = decode_varint(data, position)
        value = None
        if length >= 0:
            value = data[position : position + length]
            position += length
        headers.append((key, value))
    return headers, position
