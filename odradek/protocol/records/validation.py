"""The checks of a batch before the leader appends it, in Kafka's order and with Kafka's error codes.

They read only the header and the CRC, not the records. Kafka reads every record, so it also detects a malformed record,
or a max_timestamp that no record has; these checks do not. `RecordRules` is for the batches whose records are read
(storage/log/record_inspection.py). Source: ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords,
LogValidator.validateBatch.
"""

from typing import NamedTuple

from ..errors import ErrorCode
from .batch import (
    BATCH_HEADER_SIZE,
    COMPRESSION_TYPE_MASK,
    CONTROL_FLAG,
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    batch_size,
    read_header,
)
from .compression import CompressionType
from .errors import (
    InvalidRecordError,
    UnsupportedCompressionTypeError,
)
from .first_record import check_count
from .record import SMALLEST_RECORD_SIZE

FIRST_PRODUCE_VERSION_WITH_ZSTD = 7
ZSTD: int = CompressionType.ZSTD.value
MAX_TIME = 1 << 64
LENGTH_OF_HEADER = BATCH_HEADER_SIZE - LOG_OVERHEAD
"""The bytes of the header that the batch length includes."""


def read_produced_header(buffer: Buffer, produce_version: int) -> BatchHeader:
    """The header of the one batch that a Produce request (version 3 or later) may carry for a partition.

    Raises InvalidRecordError for none, more than one, or a batch of message format 0 or 1; CorruptRecordError for bytes
    that are not a batch; UnsupportedCompressionTypeError for zstd before version 7. Bytes after the batch that are not
    another whole batch are left to the caller (Kafka trims them): size_in_bytes says where it ends.
    """
    if len(buffer) >= BATCH_HEADER_SIZE:
        # Inlined for speed, since every Produce request comes here: _make and properties would be four Python calls.
        fields = HEADER.unpack_from(buffer)
        if fields[3] == MAGIC and fields[1] == len(buffer) - LOG_OVERHEAD:
            compression = fields[5] & COMPRESSION_TYPE_MASK
            if compression < ZSTD or (compression == ZSTD and produce_version >= FIRST_PRODUCE_VERSION_WITH_ZSTD):
                # nearly every request; the code below finds the error of the others
                return tuple.__new__(BatchHeader, fields)
    size = batch_size(buffer)
    if size is None or size > len(buffer):
        raise InvalidRecordError(
            f"Produce requests with version {produce_version} must have at least one record batch per partition"
        )
    header = read_header(buffer)
    if header.is_legacy:
        raise InvalidRecordError(
            f"Produce requests with version {produce_version} are only allowed to contain record batches with "
            "magic version 2"
        )
    if header.compression_type == CompressionType.ZSTD and produce_version < FIRST_PRODUCE_VERSION_WITH_ZSTD:
        raise UnsupportedCompressionTypeError(
            f"Produce requests with version {produce_version} are not allowed to use ZStandard compression"
        )
    following = batch_size(buffer, size)
    if following is not None and following <= len(buffer) - size:
        raise InvalidRecordError(
            f"Produce requests with version {produce_version} are only allowed to contain exactly one record batch "
            "per partition"
        )
    return header


def validate_client_batch(header: BatchHeader) -> None:
    """Further checks of a batch from a client (Kafka's AppendOrigin.CLIENT). Raises InvalidRecordError."""
    if header.base_offset != 0:
        raise InvalidRecordError(f"The baseOffset of the record batch should be 0, but it is {header.base_offset}")
    count = header.records_count
    if header.last_offset_delta < 0:
        raise InvalidRecordError(f"Batch has an invalid offset range: [0, {header.last_offset}]")
    if count <= 0:
        raise InvalidRecordError(f"Invalid reported count for record batch: {count}")
    if header.last_offset_delta + 1 != count:
        raise InvalidRecordError(
            f"Inconsistent batch offset range [0, {header.last_offset}] and count of records {count}"
        )
    if count * SMALLEST_RECORD_SIZE > header.batch_length - LENGTH_OF_HEADER:
        check_count(header)
    if header.attributes & CONTROL_FLAG:
        raise InvalidRecordError("Clients are not allowed to write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise InvalidRecordError(
            f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id}"
        )


class RefusedRecord(NamedTuple):
    """A record that violates the topic's rules, for record_errors (batch_index, message) in ProduceResponse."""

    batch_index: int
    error_code: ErrorCode
    message: str


class RecordRules(NamedTuple):
    """The rules of a topic for each record (LogValidator.validateRecord); times and durations in ms.

    In a compacted topic records must have keys. With CreateTime, a timestamp must be in range. With LogAppendTime, and
    for a record without a timestamp, the producer must not have set the timestamp type LogAppendTime in the batch
    (`claims_log_append_time`).
    """

    is_compacted: bool
    is_log_append_time: bool
    claims_log_append_time: bool
    now_ms: int
    before_max_ms: int
    after_max_ms: int

    def accepted_times(self) -> tuple[int, int]:
        """The lowest and highest timestamp that `check` accepts, apart from a missing key. The lowest is above the
        highest if each record must be checked.
        """
        if self.is_log_append_time and not self.claims_log_append_time:
            return -MAX_TIME, MAX_TIME
        if self.is_log_append_time or self.claims_log_append_time:
            return MAX_TIME, -MAX_TIME  # each must be checked
        return self.now_ms - self.before_max_ms, self.now_ms + self.after_max_ms

    def check(self, index: int, offset: int, timestamp: int, has_key: bool) -> RefusedRecord | None:
        """Checks a record; returns its error, or None. Kafka answers INVALID_TIMESTAMP for the batch if any record has
        this error.
        """
        if self.is_compacted and not has_key:
            return RefusedRecord(index, ErrorCode.INVALID_RECORD, "Compacted topic cannot accept message without key")
        if timestamp != NO_TIMESTAMP and not self.is_log_append_time:
            if not -self.after_max_ms <= self.now_ms - timestamp <= self.before_max_ms:
                message = out_of_range(timestamp, offset, self.now_ms, self.before_max_ms, self.after_max_ms)
                return RefusedRecord(index, ErrorCode.INVALID_TIMESTAMP, message)
        elif self.claims_log_append_time:
            message = (
                f"Invalid timestamp type in message with offset {offset}. Producer should not set timestamp "
                "type to LogAppendTime."
            )
            return RefusedRecord(index, ErrorCode.INVALID_TIMESTAMP, message)
        return None


def out_of_range(timestamp: int, offset: int, now_ms: int, before_max_ms: int, after_max_ms: int) -> str:
    """Kafka's error message for a timestamp out of the topic's range."""
    return (
        f"Timestamp {timestamp} of message with offset {offset} is out of range. The timestamp should be within "
        f"[{now_ms - before_max_ms}, {now_ms + after_max_ms}]"
    )
