"""Builds record batches, with the same bytes as Kafka's MemoryRecordsBuilder.

Owns: the records added so far. Never does: reading a clock; timestamps are passed in, in ms since 1970. Wrong arguments
are a programming error and raise ValueError.
"""

from collections.abc import Iterable, Sequence

from .batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    CONTROL_FLAG,
    CRC_POSITION,
    DELETE_HORIZON_FLAG,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    UINT32,
)
from .checksum import crc32c
from .compression import CompressionType, compress
from .record import Record
from .varint import decode_varint, encode_repeated_varlong, encode_varlong

Headers = Sequence[tuple[str, bytes | None]]

_MAX_OFFSET_DELTA = 0x7FFFFFFF
_LEAST_TIMESTAMP = -(1 << 63)
_NULL_LENGTH = b"\x01"  # -1 as varint


class BatchBuilder:
    """Collects records for one batch. `build` may be called again after more records or other producer fields.

    The producer fields are plain attributes, since a producer knows them only when it sends the batch.
    """

    __slots__ = (
        "_base_timestamp",
        "_keeps_any_time",
        "_last_offset",
        "_max_timestamp",
        "_records",
        "base_offset",
        "base_sequence",
        "compression_level",
        "compression_type",
        "delete_horizon_ms",
        "is_control",
        "is_transactional",
        "log_append_time_ms",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
        "records_count",
    )

    def __init__(
        self,
        *,
        compression: CompressionType = CompressionType.NONE,
        compression_level: int | None = None,
        base_offset: int = 0,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        log_append_time_ms: int | None = None,
        delete_horizon_ms: int | None = None,
        keeps_any_time: bool = False,
    ) -> None:
        """`log_append_time_ms`: builds a batch with LogAppendTime and this timestamp. `delete_horizon_ms`: stored as
        the base timestamp, with its flag. `keeps_any_time`: for records of a log, whose timestamps may be negative.
        """
        self.compression_type = compression
        self.compression_level = compression_level
        self.base_offset = base_offset
        self.partition_leader_epoch = partition_leader_epoch
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control
        self.log_append_time_ms = log_append_time_ms
        self.delete_horizon_ms = delete_horizon_ms
        self.records_count = 0
        self._records = bytearray()
        self._base_timestamp = delete_horizon_ms
        self._keeps_any_time = keeps_any_time
        self._max_timestamp = _LEAST_TIMESTAMP if keeps_any_time else NO_TIMESTAMP
        self._last_offset = base_offset - 1

    @property
    def size_in_bytes(self) -> int:
        """The size in bytes of the header and the records added so far, uncompressed."""
        return BATCH_HEADER_SIZE + len(self._records)

    @property
    def last_offset(self) -> int:
        """The offset of the record added last; base_offset - 1 before the first."""
        return self._last_offset

    def move_to(self, base_offset: int) -> None:
        """Changes the base offset: shifts the offsets of all records added so far."""
        self._last_offset += base_offset - self.base_offset
        self.base_offset = base_offset

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        offset: int | None = None,
    ) -> int:
        """Adds a record at `offset`, or at the next offset; returns its offset.

        Raises ValueError for a negative timestamp other than -1, unless `keeps_any_time`, and for an offset that is not
        greater than the last one or too far from the base offset.
        """
        last_offset = self._last_offset
        if offset is None:
            offset = last_offset + 1
        delta = offset - self.base_offset
        if offset <= last_offset or delta > _MAX_OFFSET_DELTA:
            raise ValueError(f"Illegal offset {offset} following {last_offset}, base offset {self.base_offset}")
        if timestamp < NO_TIMESTAMP and not self._keeps_any_time:
            raise ValueError(f"Invalid negative timestamp {timestamp}")
        base_timestamp = self._base_timestamp
        if base_timestamp is None:
            self._base_timestamp = base_timestamp = timestamp
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        varint = encode_repeated_varlong
        if key is None:
            key, key_length = b"", _NULL_LENGTH
        else:
            key_length = varint(len(key))
        if value is None:
            value, value_length = b"", _NULL_LENGTH
        else:
            value_length = varint(len(value))
        encoded_headers = _encode_headers(headers) if headers else b"\0"
        timestamp_delta = varint(timestamp - base_timestamp)
        body = b"".join((b"\0", timestamp_delta, varint(delta), key_length, key, value_length, value, encoded_headers))
        records = self._records
        records += varint(len(body))
        records += body
        self._last_offset = offset
        self.records_count += 1
        return offset

    def append_next(self, records: Iterable[tuple[int, bytes | None, bytes | None, Headers]]) -> None:
        """Adds records (timestamp, key, value, headers) at the next offsets; takes a third of the time of `append`.

        Raises what `append` raises; the records before the refused one stay added.
        """
        varint = encode_repeated_varlong
        parts: list[bytes] = []
        for timestamp, key, value, headers in records:
            base_timestamp = self._base_timestamp
            delta = self._last_offset + 1 - self.base_offset
            plain = key is None and value is not None and not headers
            if not plain or base_timestamp is None or timestamp < NO_TIMESTAMP or delta > _MAX_OFFSET_DELTA:
                self._records += b"".join(parts)
                parts.clear()
                self.append(timestamp, key, value, headers)
                continue
            assert value is not None
            if timestamp > self._max_timestamp:
                self._max_timestamp = timestamp
            head = b"\0" + varint(timestamp - base_timestamp) + varint(delta) + _NULL_LENGTH + varint(len(value))
            parts += (varint(len(head) + len(value) + 1), head, value, b"\0")
            self._last_offset += 1
            self.records_count += 1
        self._records += b"".join(parts)

    def append_encoded(self, encoded: bytes, count: int, timestamp: int) -> None:
        """Adds records, at least one, that :func:`.values.encode_values` has encoded for the next offsets.

        Their timestamp deltas are to the timestamp of the batch's first record. ``timestamp``: that of all of them.
        Raises what `append` raises; then no record was added.
        """
        if self._last_offset + count - self.base_offset > _MAX_OFFSET_DELTA:
            raise ValueError(f"Illegal offset {self._last_offset + count}, base offset {self.base_offset}")
        if timestamp < NO_TIMESTAMP:
            raise ValueError(f"Invalid negative timestamp {timestamp}")
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        self._max_timestamp = max(self._max_timestamp, timestamp)
        self._records += encoded
        self._last_offset += count
        self.records_count += count

    def append_around(
        self, timestamp: int, key: bytes | None, value_size: int, headers: Headers, offset: int
    ) -> tuple[bytes, bytes]:
        """As `append`, but does not store the record: returns its encoded bytes before and after the value."""
        start = len(self._records)
        self.append(timestamp, key, None, headers, offset)
        encoded = bytes(self._records[start:])
        del self._records[start:]
        after = _encode_headers(headers) if headers else b"\0"
        _, position = decode_varint(encoded, 0)
        before = encoded[position : -len(after) - len(_NULL_LENGTH)] + encode_varlong(value_size)
        return encode_varlong(len(before) + value_size + len(after)) + before, after

    def take_records(self) -> bytes:
        """Removes the encoded records and returns them. They are not in the next `build`, but stay in the counts."""
        taken = bytes(self._records)
        self._records.clear()
        return taken

    def build(self, last_offset: int | None = None) -> bytes:
        """The bytes of the batch; b"" without records, as Kafka's MemoryRecords.EMPTY.

        `last_offset`: the last offset of the batch if it is not that of the last record (compaction keeps the original
        one). Raises ValueError for inconsistent producer fields, such as a transactional batch without producer id.
        """
        if not self.records_count:
            return b""
        return self.build_of(compress(self.compression_type, self._records, self.compression_level), last_offset)

    def build_of(self, section: bytes, last_offset: int | None = None) -> bytes:
        """As `build`, with `section` as the records section: all records added, already encoded and compressed."""
        self._check_producer()
        return assemble_batch(
            section,
            records_count=self.records_count,
            attributes=self._attributes(),
            base_offset=self.base_offset,
            last_offset=self._last_offset if last_offset is None else last_offset,
            base_timestamp=NO_TIMESTAMP if self._base_timestamp is None else self._base_timestamp,
            max_timestamp=self._max_timestamp if self.log_append_time_ms is None else self.log_append_time_ms,
            partition_leader_epoch=self.partition_leader_epoch,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
        )

    def _attributes(self) -> int:
        return (
            self.compression_type
            | (0 if self.log_append_time_ms is None else LOG_APPEND_TIME_FLAG)
            | (TRANSACTIONAL_FLAG if self.is_transactional else 0)
            | (CONTROL_FLAG if self.is_control else 0)
            | (0 if self.delete_horizon_ms is None else DELETE_HORIZON_FLAG)
        )

    def _check_producer(self) -> None:
        """The rules of MemoryRecordsBuilder.validateProducerState."""
        if self.producer_id == NO_PRODUCER_ID:
            if self.is_transactional:
                raise ValueError("Cannot write transactional messages without a valid producer ID")
        elif self.producer_epoch == NO_PRODUCER_EPOCH:
            raise ValueError("Invalid negative producer epoch")
        elif self.base_sequence < 0 and not self.is_control:
            raise ValueError("Invalid negative sequence number used")


def _encode_headers(headers: Headers) -> bytes:
    """Encodes the count and the headers (layout: record.py). Lone surrogates in a key become "?", as in Java."""
    parts = [encode_varlong(len(headers))]
    for key, value in headers:
        encoded_key = key.encode("utf-8", "replace")
        parts += (encode_varlong(len(encoded_key)), encoded_key)
        if value is None:
            parts.append(_NULL_LENGTH)
        else:
            parts += (encode_varlong(len(value)), value)
    return b"".join(parts)


def encode_batch(
    records: Iterable[Record],
    *,
    compression: CompressionType = CompressionType.NONE,
    compression_level: int | None = None,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    log_append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """Encodes one batch of `records`. Their offsets are absolute, rising from `base_offset`. See BatchBuilder."""
    builder = BatchBuilder(
        compression=compression,
        compression_level=compression_level,
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        is_control=is_control,
        log_append_time_ms=log_append_time_ms,
        delete_horizon_ms=delete_horizon_ms,
    )
    append = builder.append
    for offset, timestamp, key, value, headers in records:
        append(timestamp, key, value, headers, offset)
    return builder.build()


def encode_values_batch(
    timestamp: int,
    encoded: bytes,
    count: int,
    *,
    compression: CompressionType = CompressionType.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
) -> bytes:
    """A batch of records that have only a value, and all the same timestamp: `BatchBuilder.append_encoded` and `build`
    with fewer copies. The caller passes at least one record and consistent producer fields.
    """
    return assemble_batch(
        compress(compression, encoded),
        records_count=count,
        attributes=compression | (TRANSACTIONAL_FLAG if is_transactional else 0),
        base_offset=0,
        last_offset=count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        partition_leader_epoch=NO_PARTITION_LEADER_EPOCH,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def assemble_batch(
    section: bytes,
    *,
    records_count: int,
    attributes: int,
    base_offset: int,
    last_offset: int,
    base_timestamp: int,
    max_timestamp: int,
    partition_leader_epoch: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
) -> bytes:
    """A batch: the header with its CRC, then `section`, the records section, already encoded and compressed."""
    batch = bytearray(
        HEADER.pack(
            base_offset,
            BATCH_HEADER_SIZE - LOG_OVERHEAD + len(section),
            partition_leader_epoch,
            MAGIC,
            0,
            attributes,
            last_offset - base_offset,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            records_count,
        )
    )
    checksum = crc32c(section, crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]))
    UINT32.pack_into(batch, CRC_POSITION, checksum)
    return bytes(batch) + section


def encode_empty_batch(
    *,
    base_offset: int,
    last_offset: int,
    max_timestamp: int,
    partition_leader_epoch: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_log_append_time: bool,
    is_transactional: bool,
    is_control: bool,
) -> bytes:
    """A batch without records. Compaction leaves it to keep the last sequence of a producer (writeEmptyHeader)."""
    attributes = (
        (LOG_APPEND_TIME_FLAG if is_log_append_time else 0)
        | (TRANSACTIONAL_FLAG if is_transactional else 0)
        | (CONTROL_FLAG if is_control else 0)
    )
    return assemble_batch(
        b"",
        records_count=0,
        attributes=attributes,
        base_offset=base_offset,
        last_offset=last_offset,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=max_timestamp,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
