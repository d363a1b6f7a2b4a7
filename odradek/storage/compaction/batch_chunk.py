"""Reads and checks a segment in chunks of whole batches, for a pass over a partition.

Never decodes a record, but for messages of format 0 and 1: these become batches as they are read, as Kafka's cleaner
writes them. Memory: one chunk, or one batch if that is larger. Invariants: every batch of a chunk is whole, and its
base offset is after the previous batch's last offset; its CRC is right, if CRCs are checked. Source: Kafka's Cleaner
(readBuffer, which grows to the largest batch: growBuffersOrFail), which does not check CRCs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    CONTROL_FLAG,
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    batch_size,
    check_crc,
    read_header,
)
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.errors import CorruptRecordError
from odradek.protocol.records.up_conversion import up_convert

from ..files.files import READ_ONLY, Files
from .cleaned_indexes import IndexedBatches
from .pace import Pace

_LEAST_LENGTH = BATCH_HEADER_SIZE - LOG_OVERHEAD


class BatchChunk:
    """Adjacent whole batches. `position`: the byte in the file where the first one begins."""

    __slots__ = (
        "data",
        "first_record",
        "headers",
        "is_converted",
        "is_plain",
        "path",
        "position",
        "record_count",
        "starts",
    )

    def __init__(self, path: Path, position: int, data: memoryview, first_record: int) -> None:
        self.path = path
        self.position = position
        self.data = data
        self.first_record = first_record
        """The number of records before this chunk in its segment, from the batch headers."""
        self.record_count = 0
        """The number of records in this chunk, from the batch headers."""
        self.starts: Sequence[int] = []
        self.headers: Sequence[BatchHeader] = []
        self.is_plain = False
        """True if all batches hold data, none is transactional and none is empty."""
        self.is_converted = False
        """True if the file has messages of format 0 or 1 in place of these batches."""

    def take_batches(self, least: int, size: int, *, checks_crcs: bool) -> tuple[int, int]:
        """Parses the whole batches in the data.

        `least`: the lowest valid offset of the first batch; `size`: the size of the file in bytes. Returns (offset
        after the last batch, index after it). Stops before a message of format 0 or 1. Raises CorruptRecordError.
        """
        headers: list[BatchHeader] = []
        starts: list[int] = []
        self.headers, self.starts = headers, starts
        try:
            least, end = _take_batches(self, headers, starts, least, size)
        except KafkaError:
            self.check_crcs()  # a damaged batch before it may be the cause
            raise
        if checks_crcs:
            self.check_crcs()
        self.record_count = sum(max(header.records_count, 0) for header in headers)
        special = CONTROL_FLAG | TRANSACTIONAL_FLAG
        self.is_plain = all(
            header.records_count > 0 and header.last_offset_delta >= 0 and not header.attributes & special
            for header in headers
        )
        return least, end

    def check_crcs(self) -> None:
        """Raises CorruptRecordError for the first batch with a wrong CRC."""
        for index, header in enumerate(self.headers):
            computed = crc32c(self.batch(index)[ATTRIBUTES_POSITION:])
            if computed != header.crc:
                raise CorruptRecordError(
                    f"{self.place(index)}: Record is corrupt (stored crc = {header.crc}, computed crc = {computed})"
                )

    def batch(self, index: int) -> memoryview:
        """The bytes of a batch, header included."""
        start = self.starts[index]
        return self.data[start : start + self.headers[index].batch_length + LOG_OVERHEAD]

    def first_records(self) -> list[int]:
        """For each batch, the number of records before it in its segment."""
        count = self.first_record
        counts = []
        for header in self.headers:
            counts.append(count)
            count += max(header.records_count, 0)
        return counts

    def next_offset(self, index: int) -> int:
        """The offset after a batch."""
        return self.headers[index].next_offset

    def has_producer_id(self, index: int) -> bool:
        """Whether a batch has a producer id."""
        return self.headers[index].has_producer_id

    def indexed(self, first: int, end: int) -> IndexedBatches:
        """The index data of the batches from `first` to `end` (exclusive)."""
        return [(header.last_offset, header.max_timestamp, header.size_in_bytes) for header in self.headers[first:end]]

    def place(self, index: int) -> str:
        """The place of a batch, for messages."""
        return place_of(self.path, self.position + self.starts[index], self.headers[index].base_offset)

    def refusal(self, index: int, error: KafkaError) -> KafkaError:
        """The same error with the batch's place before its text."""
        return KafkaError(error.error_code, f"{self.place(index)}: {error.message}")


def place_of(path: Path, position: int, offset: int) -> str:
    """A place in a log, for messages."""
    return f"{path}, position {position}, offset {offset}"


def read_chunks(
    files: Files,
    path: Path,
    base_offset: int,
    size: int,
    buffer_bytes: int,
    pace: Pace,
    chunk_type: type[BatchChunk] = BatchChunk,
    *,
    checks_crcs: bool = True,
) -> Iterator[BatchChunk]:
    """The batches of a segment's file of `size` bytes, about `buffer_bytes` of them at a time.

    A caller may skip the CRCs if it reads the same batches again before it uses the result (latest_records.py). Raises
    CorruptRecordError and InvalidRecordError that name file, position and offset; OSError.
    """
    fd = files.open(path, READ_ONLY)
    try:
        least = base_offset
        position = records = 0
        read_bytes = buffer_bytes
        while position < size:
            data = files.read(fd, min(read_bytes, size - position), position)
            if len(data) < min(read_bytes, size - position):
                raise CorruptRecordError(f"{path}: the file ends at {position + len(data)}, not at {size}")
            converted, end = _converted(path, position, memoryview(data), size)
            chunk = chunk_type(path, position, memoryview(converted if end else data), records)
            if end:
                chunk.is_converted = True
                least, _ = chunk.take_batches(least, position + len(converted), checks_crcs=False)
            elif not _is_legacy(chunk.data):
                least, end = chunk.take_batches(least, size, checks_crcs=checks_crcs)
            if chunk.headers:
                pace.read(position + end)
                records += chunk.record_count
                yield chunk
            read_bytes = buffer_bytes if end else _wanted(chunk, buffer_bytes)
            position += end
    finally:
        files.close(fd)


def _wanted(chunk: BatchChunk, buffer_bytes: int) -> int:
    """The size of the first batch, which is larger than the chunk."""
    size = batch_size(chunk.data)
    assert size is not None
    return max(size, buffer_bytes)


def _is_legacy(data: memoryview) -> bool:
    return len(data) > MAGIC_POSITION and data[MAGIC_POSITION] < MAGIC


def _converted(path: Path, position: int, data: memoryview, size: int) -> tuple[bytes, int]:
    """The batches for the whole messages of format 0 or 1 at the start of `data`, and the number of bytes they have.

    `size`: the size of the file. Raises CorruptRecordError, InvalidRecordError, RecordTooLargeError with the place.
    """
    batches: list[bytes] = []
    start = 0
    while _is_legacy(data[start:]):
        offset = int.from_bytes(data[start : start + 8], "big", signed=True)
        try:
            message_size = batch_size(data, start)
            assert message_size is not None, "its magic lies in the data"
            if position + start + message_size > size:
                left = size - position - start
                raise CorruptRecordError(f"the batch has {message_size} bytes, only {left} are left")
            if start + message_size > len(data):
                break
            header = read_header(data, start)
            check_crc(data, start, header)
            batches.append(up_convert(data, header, start))
        except KafkaError as error:
            raise KafkaError(
                error.error_code, f"{place_of(path, position + start, offset)}: {error.message}"
            ) from error
        start += message_size
    return b"".join(batches), start


def _take_batches(
    chunk: BatchChunk, headers: list[BatchHeader], starts: list[int], least: int, size: int
) -> tuple[int, int]:
    """Fills the lists of a chunk. Returns (offset after the last batch, index after it)."""
    data = chunk.data
    unpack, make, count = HEADER.unpack_from, BatchHeader._make, len(data)
    start = 0
    while start + BATCH_HEADER_SIZE <= count:
        header = make(unpack(data, start))
        length = header.batch_length
        if header.magic != MAGIC or length < _LEAST_LENGTH:
            if headers and 0 <= header.magic < MAGIC:
                return least, start
            raise _refusal(chunk, start, size)
        end = start + length + LOG_OVERHEAD
        if end > count:
            if chunk.position + end > size:
                raise _refusal(chunk, start, size)
            return least, start
        if header.base_offset < least:  # the CRC does not cover it
            where = place_of(chunk.path, chunk.position + start, header.base_offset)
            raise CorruptRecordError(f"{where}: expected offset {least} or higher")
        headers.append(header)
        starts.append(start)
        least = header.base_offset + header.last_offset_delta + 1
        start = end
    if start < count and chunk.position + count == size and not (headers and _is_legacy(data[start:])):
        raise _refusal(chunk, start, size)
    return least, start


def _refusal(chunk: BatchChunk, start: int, size: int) -> CorruptRecordError:
    """The error for the bytes at `start`, which do not begin a complete batch."""
    position = chunk.position + start
    rest = chunk.data[start:]
    offset = int.from_bytes(rest[:8], "big", signed=True) if len(rest) >= 8 else -1
    where = place_of(chunk.path, position, offset)
    try:
        claimed = batch_size(rest)
    except CorruptRecordError as error:
        return CorruptRecordError(f"{where}: {error.message}")
    if claimed is None or len(rest) < BATCH_HEADER_SIZE:
        return CorruptRecordError(f"{where}: {len(rest)} bytes are left, fewer than a batch header has")
    return CorruptRecordError(f"{where}: the batch has {claimed} bytes, only {size - position} are left")
