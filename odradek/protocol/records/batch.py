"""The header of a record batch: reads it, checks it, and writes offset and leader epoch in place.

Owns: the 61 bytes before the records (described in docs/developers/log-format.md), and the fields of a message of
format 0 or 1 before its key. Such a message counts as a batch: of one record, or of those that are compressed in its
value (a wrapper). Kafka before 0.11 wrote them; nothing here writes them but the conversion for old clients and the
cleaner.
Never does: decompressing, reading a record. Invariants: if `read_header` returns, the whole batch lies inside the
buffer; malformed bytes raise only the errors of `errors.py`. Source: KIP-98, KIP-32, Kafka's DefaultRecordBatch,
AbstractLegacyRecordBatch, ByteBufferLogInputStream.

Costs: reading a header is one unpack (under 1 us); CRC-32C runs at about 10 GB/s; `stamp` is two writes.
"""

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from .buffers import Buffer as Buffer
from .checksum import crc32c
from .compression import CompressionType, compression_type_of
from .errors import CorruptRecordError, UnknownMagicError

# Bytes from the start of the batch.
BASE_OFFSET_POSITION = 0
BATCH_LENGTH_POSITION = 8
PARTITION_LEADER_EPOCH_POSITION = 12
MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
LAST_OFFSET_DELTA_POSITION = 23
BASE_TIMESTAMP_POSITION = 27
MAX_TIMESTAMP_POSITION = 35
PRODUCER_ID_POSITION = 43
PRODUCER_EPOCH_POSITION = 51
BASE_SEQUENCE_POSITION = 53
RECORDS_COUNT_POSITION = 57
BATCH_HEADER_SIZE = 61
LOG_OVERHEAD = 12  # the bytes of base offset and batch length, which batch_length does not count
HEADER_UP_TO_MAGIC_SIZE = 17

MAGIC = 2
SMALLEST_LENGTHS = (14, 22, BATCH_HEADER_SIZE - LOG_OVERHEAD)
"""By magic: the smallest value of the length field. Messages of format 0 and 1 have it with null key and value."""
UNKNOWN_COUNT = -1
"""The records_count of a wrapper: it must be decompressed to know."""
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_PARTITION_LEADER_EPOCH = -1
MAX_SEQUENCE = 0x7FFFFFFF

COMPRESSION_TYPE_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

HEADER = Struct(">qiibIhiqqqhii")
_MESSAGE = Struct(">qiIbb")
"""A message of format 0 or 1 up to its attributes: offset, length of what follows, CRC-32, magic, attributes. In format
1 the timestamp follows.
"""
_LEGACY_CRC_END = 16
_LEGACY_TIMESTAMP_POSITION = 18
_LEGACY_ATTRIBUTES_MASKS = (COMPRESSION_TYPE_MASK, COMPRESSION_TYPE_MASK | LOG_APPEND_TIME_FLAG)
INT64 = Struct(">q")
INT32 = Struct(">i")
UINT32 = Struct(">I")


class BatchHeader(NamedTuple):
    """The fields of a batch header, in the order of the bytes. Times are ms since 1970; -1 means none.

    A message of format 0 or 1 has no epoch, producer or sequence (-1). Of a wrapper (`is_wrapper`) only the last
    offset is known: it is the base offset too, and records_count is UNKNOWN_COUNT.
    """

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_in_bytes(self) -> int:
        """The size of the whole batch, including the header."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        """The last offset of the batch when it was written. Compaction keeps it, even if it removes the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the last one of the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; wraps from 2^31-1 to 0; -1 without sequence."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression_type(self) -> CompressionType:
        """The compression of the records. Raises InvalidRecordError for the ids 5 to 7, which Kafka does not define."""
        return compression_type_of(self.attributes & COMPRESSION_TYPE_MASK)

    @property
    def is_compressed(self) -> bool:
        """Whether the records are compressed, with any compression type."""
        return self.attributes & COMPRESSION_TYPE_MASK != 0

    @property
    def is_legacy(self) -> bool:
        """Whether this is a message of format 0 or 1."""
        return self.magic < MAGIC

    @property
    def is_wrapper(self) -> bool:
        """Whether this is a compressed message of format 0 or 1, which has other messages as its value."""
        return self.magic < MAGIC and self.attributes & COMPRESSION_TYPE_MASK != 0

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker has set the time: the timestamp of every record is then max_timestamp (LogAppendTime)."""
        return self.attributes & LOG_APPEND_TIME_FLAG != 0

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        """Whether the batch holds control records, such as transaction markers, not data of an application."""
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether base_timestamp is the delete horizon: the time from which tombstones and abort markers in the batch
        may be removed (KIP-534).
        """
        return self.attributes & DELETE_HORIZON_FLAG != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time (ms) from which tombstones and abort markers in the batch may be removed, or None (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def has_producer_id(self) -> bool:
        """Whether an idempotent or transactional producer wrote the batch (Kafka: producer_id > -1)."""
        return self.producer_id > NO_PRODUCER_ID


def increment_sequence(sequence: int, increment: int) -> int:
    """The sequence number `increment` later; 0 follows 2^31-1."""
    return (sequence + increment) & MAX_SEQUENCE


def decrement_sequence(sequence: int, decrement: int) -> int:
    """The sequence number `decrement` earlier; 2^31-1 precedes 0."""
    return (sequence - decrement) & MAX_SEQUENCE


def batch_size(buffer: Buffer, position: int = 0, end: int | None = None) -> int | None:
    """The size in bytes of the batch at `position`, with header; None if there are fewer than the 17 bytes up to magic.

    The batch itself may be incomplete. Raises CorruptRecordError for an impossible length, UnknownMagicError for a
    magic above 2.
    """
    limit = len(buffer) if end is None else end
    if limit - position < HEADER_UP_TO_MAGIC_SIZE:
        return None
    length = INT32.unpack_from(buffer, position + BATCH_LENGTH_POSITION)[0]
    magic = buffer[position + MAGIC_POSITION]
    if magic > MAGIC or length < SMALLEST_LENGTHS[magic]:
        raise _not_a_batch(length, magic, position)
    return int(length) + LOG_OVERHEAD


def leader_epoch_at(buffer: Buffer, position: int) -> int:
    """The partition leader epoch of the batch at `position`, -1 for a message of format 0 or 1.

    Call :func:`batch_size` first, which checks the batch.
    """
    if buffer[position + MAGIC_POSITION] < MAGIC:
        return NO_PARTITION_LEADER_EPOCH
    return int(INT32.unpack_from(buffer, position + PARTITION_LEADER_EPOCH_POSITION)[0])


def read_header(buffer: Buffer, position: int = 0, end: int | None = None) -> BatchHeader:
    """The header of the whole batch that starts at `position` and lies before `end` (None: the end of the buffer).

    Raises CorruptRecordError when the batch is cut short or its length impossible, UnknownMagicError for a magic above
    2. The CRC is not checked.
    """
    limit = len(buffer) if end is None else end
    available = limit - position
    if available >= BATCH_HEADER_SIZE:
        fields = HEADER.unpack_from(buffer, position)
        if fields[3] == MAGIC and SMALLEST_LENGTHS[MAGIC] <= fields[1] <= available - LOG_OVERHEAD:
            return tuple.__new__(BatchHeader, fields)  # _make and properties would be three Python calls
    size = batch_size(buffer, position, limit)
    if size is None:
        raise CorruptRecordError(f"{available} bytes are left at {position}, a batch header has {BATCH_HEADER_SIZE}")
    if size > available:
        raise CorruptRecordError(f"the batch at {position} has {size} bytes, only {available} are left")
    return legacy_header(buffer, position)


def legacy_header(buffer: Buffer, position: int) -> BatchHeader:
    """The header of the message of format 0 or 1 at `position`. Its first 26 bytes must lie in the buffer."""
    offset, length, crc, magic, attributes = _MESSAGE.unpack_from(buffer, position)
    timestamp = INT64.unpack_from(buffer, position + _LEGACY_TIMESTAMP_POSITION)[0] if magic else NO_TIMESTAMP
    attributes &= _LEGACY_ATTRIBUTES_MASKS[magic]
    count = UNKNOWN_COUNT if attributes & COMPRESSION_TYPE_MASK else 1
    none = NO_PARTITION_LEADER_EPOCH
    return BatchHeader(
        offset, length, none, magic, crc, attributes, 0, timestamp, timestamp, none, none, none, count
    )  # fmt: skip


def iterate_headers(buffer: Buffer, position: int = 0, end: int | None = None) -> Iterator[tuple[int, BatchHeader]]:
    """Yields (position, header) for each whole batch in `buffer[position:end]`.

    Stops without an error before an incomplete last batch, since a fetch response may end with one. To detect that, a
    caller compares the last position plus size_in_bytes with `end`. Raises what `batch_size` raises.
    """
    limit = len(buffer) if end is None else end
    unpack, new = HEADER.unpack_from, tuple.__new__
    while limit - position >= BATCH_HEADER_SIZE:
        header = new(BatchHeader, unpack(buffer, position))
        size = header.batch_length + LOG_OVERHEAD
        if header.magic != MAGIC or size < BATCH_HEADER_SIZE:
            break
        if size > limit - position:
            return
        yield position, header
        position += size
    # A message of format 0 or 1, bytes that are not a batch, or fewer bytes than a batch header.
    while (found := batch_size(buffer, position, limit)) is not None and found <= limit - position:
        yield position, read_header(buffer, position, limit)
        position += found


def crc_of(buffer: Buffer, position: int, header: BatchHeader) -> int:
    """The checksum of the bytes that the batch's CRC field covers: CRC-32C of those after it.

    It does not cover base offset, length and leader epoch. Messages of format 0 and 1 have CRC-32.
    """
    end = position + header.batch_length + LOG_OVERHEAD
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    if header.magic < MAGIC:
        return zlib.crc32(view[position + _LEGACY_CRC_END : end])
    return crc32c(view[position + ATTRIBUTES_POSITION : end])


def check_crc(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Raises CorruptRecordError if the CRC in the header does not match the bytes."""
    computed = crc_of(buffer, position, header)
    if computed != header.crc:
        raise CorruptRecordError(f"Record is corrupt (stored crc = {header.crc}, computed crc = {computed})")


def stamp(buffer: bytearray | memoryview, position: int, base_offset: int, partition_leader_epoch: int) -> None:
    """Writes the base offset and the leader epoch, which the leader assigns, in place. The CRC covers neither."""
    INT64.pack_into(buffer, position + BASE_OFFSET_POSITION, base_offset)
    INT32.pack_into(buffer, position + PARTITION_LEADER_EPOCH_POSITION, partition_leader_epoch)


def _not_a_batch(length: int, magic: int, position: int) -> CorruptRecordError:
    """The error for a length or magic that no batch has."""
    if magic > MAGIC:
        return UnknownMagicError(f"Invalid magic found in record: {magic} at {position}")
    return CorruptRecordError(
        f"the length field of the batch at {position} says {length + LOG_OVERHEAD} bytes, fewer than a batch header has"
    )
