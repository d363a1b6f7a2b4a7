"""Reads the batch headers of a chunk into a table of numbers, in a compiled loop without a Python object per batch.

Pure. If a chunk is damaged, BatchChunk parses it again batch by batch, and raises the error that names the batch.
Layout: protocol/records/batch.py.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy

from odradek.protocol.records.batch import ATTRIBUTES_POSITION, HEADER, NO_PRODUCER_ID, BatchHeader
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.errors import CorruptRecordError
from odradek.storage.compaction.batch_chunk import BatchChunk
from odradek.storage.compaction.cleaned_indexes import IndexedBatches

from ..decode.spans import Bytes, Int64s
from ..engine.compiled import compiled, inlined

(
    BEGIN,
    SIZE,
    BASE_OFFSET,
    LAST_OFFSET,
    ATTRIBUTES,
    BASE_TIMESTAMP,
    MAX_TIMESTAMP,
    RECORDS,
    CRC,
    HAS_VALID_PRODUCER,
    PRODUCER_ID,
) = range(11)
"""Columns of the table: the position of the batch in the chunk, its size in bytes, fields of its header, and whether
BatchBuilder accepts its producer fields (as MemoryRecordsBuilder.validateProducerState)."""
COLUMNS = 11
INDEXED = [LAST_OFFSET, MAX_TIMESTAMP, SIZE]
LEAST_BATCH = 61


@inlined
def _int64(data: Bytes, position: int) -> int:
    value = 0
    for index in range(8):
        value = (value << 8) | int(data[position + index])
    return value


@inlined
def _uint32(data: Bytes, position: int) -> int:
    value = 0
    for index in range(4):
        value = (value << 8) | int(data[position + index])
    return value


@inlined
def _int32(data: Bytes, position: int) -> int:
    value = _uint32(data, position)
    return value - 0x100000000 if value > 0x7FFFFFFF else value


@compiled
def _fill(data: Bytes, least: int, left: int, table: Int64s) -> tuple[int, int, int, int, bool, bool]:
    """Fills the table with the whole batches in the data. `left`: the bytes of the file from the start of the data.

    Returns (number of batches, end of the last one, offset after it, number of records, whether the chunk is plain,
    whether it is valid). CRCs are not checked.
    """
    position = 0
    count = 0
    records = 0
    is_plain = True
    while position + 61 <= len(data):
        length = _int32(data, position + 8)
        base_offset = _int64(data, position)
        if count and data[position + 16] < 2:
            return count, position, least, records, is_plain, True
        if data[position + 16] != 2 or length < 49 or base_offset < least or base_offset > 1 << 62:
            return count, position, least, records, is_plain, False
        end = position + length + 12
        if end > len(data):
            return count, position, least, records, is_plain, end <= left
        attributes = (int(data[position + 21]) << 8) | int(data[position + 22])
        delta = _int32(data, position + 23)
        producer_id = _int64(data, position + 43)
        producer_epoch = (int(data[position + 51]) << 8) | int(data[position + 52])
        record_count = _int32(data, position + 57)
        table[count, 0] = position
        table[count, 1] = length + 12
        table[count, 2] = base_offset
        table[count, 3] = base_offset + delta
        table[count, 4] = attributes
        table[count, 5] = _int64(data, position + 27)
        table[count, 6] = _int64(data, position + 35)
        table[count, 7] = record_count
        table[count, 8] = _uint32(data, position + 17)
        if producer_id == -1:
            table[count, 9] = attributes & 0x10 == 0
        else:
            table[count, 9] = producer_epoch != 0xFFFF and _int32(data, position + 53) >= 0
        table[count, 10] = producer_id
        is_plain = is_plain and attributes & 0x30 == 0 and record_count > 0 and delta >= 0
        records += max(record_count, 0)
        least = base_offset + delta + 1
        position = end
        count += 1
    is_legacy = count > 0 and position + 16 < len(data) and data[position + 16] < 2
    return count, position, least, records, is_plain, position == len(data) or len(data) < left or is_legacy


class TableChunk(BatchChunk):
    """A BatchChunk whose headers are in `table`: a row for each batch, with the columns above."""

    __slots__ = ("table",)

    def __init__(self, path: Path, position: int, data: memoryview, first_record: int) -> None:
        super().__init__(path, position, data, first_record)
        self.table: Int64s = numpy.empty((0, COLUMNS), dtype=numpy.int64)

    def take_batches(self, least: int, size: int, *, checks_crcs: bool) -> tuple[int, int]:
        """Parses the whole batches in the data. Returns (offset after the last batch, index after it).

        `least`: the lowest valid offset of the first batch. Raises CorruptRecordError.
        """
        table = numpy.empty((len(self.data) // LEAST_BATCH, COLUMNS), dtype=numpy.int64)
        data = numpy.frombuffer(self.data, dtype=numpy.uint8)
        count, end, behind, records, is_plain, is_good = _fill(data, least, size - self.position, table)
        self.table = table[:count]
        self.starts = self.table[:, BEGIN].tolist()
        if not is_good or (checks_crcs and not self._have_crcs()):
            super().take_batches(least, size, checks_crcs=True)
            # Every other fault was raised above.
            raise CorruptRecordError(f"{self.path}: an offset is higher than {1 << 62}")
        self.headers = _Headers(self.data, self.starts)
        self.record_count, self.is_plain = int(records), bool(is_plain)
        return int(behind), int(end)

    def _have_crcs(self) -> bool:
        """True if the CRC of every batch is the one in its header."""
        data, checksum = self.data, crc32c
        ends = (self.table[:, BEGIN] + self.table[:, SIZE]).tolist()
        stored = self.table[:, CRC].tolist()
        checksums = [
            checksum(data[start + ATTRIBUTES_POSITION : end]) for start, end in zip(self.starts, ends, strict=True)
        ]
        return bool(checksums == stored)

    def rows(self, batches: Sequence[int]) -> Int64s:
        """The rows of some batches, in their order."""
        return self.table if len(batches) == len(self.table) else self.table[list(batches)]

    def first_records(self) -> list[int]:
        """For each batch, the number of records before it in its segment."""
        counts = numpy.maximum(self.table[:, RECORDS], 0)
        numbers: list[int] = (self.first_record + numpy.cumsum(counts) - counts).tolist()
        return numbers

    def next_offset(self, index: int) -> int:
        """The offset after a batch."""
        return int(self.table[index, LAST_OFFSET]) + 1

    def has_producer_id(self, index: int) -> bool:
        """Whether a batch has a producer id."""
        return bool(self.table[index, PRODUCER_ID] > NO_PRODUCER_ID)

    def indexed(self, first: int, end: int) -> IndexedBatches:
        """The index data of the batches from `first` to `end` (exclusive)."""
        return self.table[first:end, INDEXED]


class _Headers(Sequence[BatchHeader]):
    """The headers of a chunk. Each one is parsed only when it is used."""

    __slots__ = ("_data", "_starts")

    def __init__(self, data: memoryview, starts: Sequence[int]) -> None:
        self._data = data
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> BatchHeader: ...
    @overload
    def __getitem__(self, index: slice) -> list[BatchHeader]: ...
    def __getitem__(self, index: int | slice) -> BatchHeader | list[BatchHeader]:
        if isinstance(index, slice):
            return [self._read(start) for start in self._starts[index]]
        return self._read(self._starts[index])

    def _read(self, start: int) -> BatchHeader:
        return BatchHeader._make(HEADER.unpack_from(self._data, start))


assert (BEGIN, SIZE, BASE_OFFSET, LAST_OFFSET, ATTRIBUTES) == (0, 1, 2, 3, 4), "the compiled loop has them as numbers"
assert (BASE_TIMESTAMP, MAX_TIMESTAMP, RECORDS, CRC, HAS_VALID_PRODUCER, PRODUCER_ID) == (5, 6, 7, 8, 9, 10)
