"""Inspects every record of a batch before the append, and compresses the batch as the topic requires.

Owns: nothing; bytes, configuration and time go in, the batch to append comes out. Never does: holding all records in
memory. They are read as they are decompressed. Invariants: memory is bounded by two chunks of records and the batch in
the topic's compression (and by MAX_HELD_BYTES for zstd); each step is short, so that one thread can work on several
batches in turn. Source: Kafka's LogValidator.

Kafka inspects every record of every batch. Here only batches that need it are inspected (`wants_inspection`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.framing.growing_buffer import GrowingBuffer
from odradek.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    COMPRESSION_TYPE_MASK,
    CRC_POSITION,
    HEADER,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    UINT32,
    BatchHeader,
    Buffer,
)
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.compression import (
    DEFAULT_MAX_DECOMPRESSED_SIZE,
    CompressionType,
    compressor,
    most_decompressed,
)
from odradek.protocol.records.consumed_pages import consumer_of
from odradek.protocol.records.errors import InvalidRecordError, RecordTooLargeError
from odradek.protocol.records.record import RECORDS_A_STEP
from odradek.protocol.records.record_facts import UNLIMITED_RECORD, bounded_chunks, facts_in
from odradek.protocol.records.validation import RecordRules, RefusedRecord

from ..errors import RecordListTooLargeError, RecordValidationError
from .log_config import PRODUCER_COMPRESSION, LogConfig

UNCOMPRESSED = "uncompressed"
MAX_RECORD_ERRORS = 1000
"""Inspection ends after this number of refused records. Kafka names all of them."""


class InspectedBatch(NamedTuple):
    """A batch that may be appended to a log of this configuration. ``max_timestamp`` (ms) is the records' greatest."""

    batch: Buffer
    max_timestamp: int
    config: LogConfig


def wants_inspection(header: BatchHeader, now_ms: int, config: LogConfig) -> bool:
    """Whether the records of a client's batch must be inspected.

    True for a compacted topic, which needs keys; if a timestamp may be out of range; if the batch claims to have
    LogAppendTime; if the topic has another compression, or limits the records of compressed batches; or if the
    configuration requires it for every batch.
    """
    if config.has_rules_for_records or header.attributes & config.inspected_attributes:
        return True
    oldest, newest = now_ms - config.message_timestamp_before_max_ms, now_ms + config.message_timestamp_after_max_ms
    return not (oldest <= header.base_timestamp <= newest and oldest <= header.max_timestamp <= newest) or (
        config.compression_type != PRODUCER_COMPRESSION and wants_compression(header, config)
    )


def wants_compression(header: BatchHeader, config: LogConfig) -> bool:
    """Whether the topic stores these records in another compression than the producer's."""
    return (
        config.compression_type != PRODUCER_COMPRESSION
        and header.compression_type != target_compression(config)
        and not (header.is_control and not header.is_compressed)
    )


def target_compression(config: LogConfig) -> CompressionType:
    """The compression of a topic whose ``compression.type`` is not the producer's."""
    name = config.compression_type
    return CompressionType.NONE if name == UNCOMPRESSED else CompressionType[name.upper()]


def inspect_batch(
    buffer: Buffer,
    header: BatchHeader,
    now_ms: int,
    config: LogConfig,
    max_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
    *,
    consumes: bool = False,
) -> Steps[InspectedBatch]:
    """Inspects the records of the batch that fills ``buffer``. The caller has checked its header and CRC.

    ``consumes``: the records in ``buffer`` are not read again after this, so that their memory may go while they are
    compressed: a batch of 90 MB is never in memory twice.

    Raises RecordValidationError with the refused records; InvalidRecordError for malformed records, and for a record of
    a compressed batch beyond max.decompressed.message.bytes; RecordTooLargeError if they decompress to more than
    ``max_size`` bytes or more than ``most_decompressed`` allows, or if they are larger than max.message.bytes in the
    topic's compression.
    """
    rules = RecordRules(
        is_compacted=config.is_compacted,
        is_log_append_time=config.is_log_append_time,
        claims_log_append_time=header.is_log_append_time,
        now_ms=now_ms,
        before_max_ms=config.message_timestamp_before_max_ms,
        after_max_ms=config.message_timestamp_after_max_ms,
    )
    max_size = min(max_size, most_decompressed(header.compression_type, header.size_in_bytes))
    max_record_size = config.max_decompressed_message_bytes if header.is_compressed else UNLIMITED_RECORD
    chunks = bounded_chunks(buffer, header, 0, max_size, max_record_size)
    writer = _Recompressed(header, config) if wants_compression(header, config) else None
    if writer is not None:
        chunks = writer.copy(chunks)
        if consumes and not header.is_compressed:
            chunks = _consuming(chunks, memoryview(buffer)[BATCH_HEADER_SIZE : header.size_in_bytes])
    refused: list[RefusedRecord] = []
    newest = NO_TIMESTAMP if header.records_count else header.max_timestamp
    lowest, highest = rules.accepted_times()
    needs_key = config.is_compacted
    counts_offsets = header.is_compressed or writer is not None
    for index, (offset, timestamp, has_key) in enumerate(facts_in(chunks, header, max_record_size)):
        if timestamp > newest:
            newest = timestamp
        if counts_offsets and offset != header.base_offset + index:
            raise InvalidRecordError(
                f"record {index} of a compressed batch has offset {offset}, not {header.base_offset + index}"
            )
        if not lowest <= timestamp <= highest or (needs_key and not has_key):
            found = rules.check(index, offset, timestamp, has_key)
            if found is not None:
                refused.append(found)
                if len(refused) == MAX_RECORD_ERRORS:
                    break
        if not index % RECORDS_A_STEP:
            yield
    if refused:
        raise _validation_error(refused)
    if writer is None:
        return InspectedBatch(buffer, newest, config)
    return InspectedBatch(writer.finish(newest), newest, config)


def _consuming(chunks: Iterator[bytes], section: memoryview) -> Iterator[bytes]:
    """Yields the chunks, which are copies of the bytes of ``section``, and returns the memory of those already used."""
    consumed = consumer_of(section)
    count = 0
    for chunk in chunks:
        count += len(chunk)
        yield chunk
        consumed(count)


def _validation_error(refused: list[RefusedRecord]) -> RecordValidationError:
    errors = [(record.batch_index, record.message) for record in refused]
    if any(record.error_code is ErrorCode.INVALID_TIMESTAMP for record in refused):
        message = "One or more records have been rejected due to invalid timestamp"
        return RecordValidationError(ErrorCode.INVALID_TIMESTAMP, message, errors)
    return RecordValidationError(
        ErrorCode.INVALID_RECORD,
        f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing the "
        f"first three errors at most: {errors[:3]}",
        errors,
    )


class _Recompressed:
    """The same records in the topic's compression. The bytes of the records do not change."""

    def __init__(self, header: BatchHeader, config: LogConfig) -> None:
        self._header = header
        self._config = config
        self._target = target_compression(config)
        self._compressor = compressor(self._target, _compression_level(config, self._target))
        self._batch = GrowingBuffer(
            BATCH_HEADER_SIZE, max(BATCH_HEADER_SIZE, config.max_message_bytes), filled=BATCH_HEADER_SIZE
        )

    def copy(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the chunks unchanged, and compresses them."""
        for chunk in chunks:
            self._add(self._compressor.add(chunk))
            yield chunk

    def finish(self, max_timestamp: int) -> memoryview:
        """The whole batch. Raises RecordTooLargeError, RecordListTooLargeError."""
        self._add(self._compressor.finish())
        batch = self._batch.view()
        if len(batch) > self._config.segment_bytes:
            raise larger_than_a_segment(len(batch), self._config)
        header = self._header._replace(
            batch_length=len(batch) - LOG_OVERHEAD,
            attributes=self._header.attributes & ~COMPRESSION_TYPE_MASK | self._target,
            max_timestamp=max_timestamp,
        )
        HEADER.pack_into(batch, 0, *header)
        UINT32.pack_into(batch, CRC_POSITION, crc32c(batch[ATTRIBUTES_POSITION:]))
        return batch

    def _add(self, compressed: bytes) -> None:
        size = self._batch.filled + len(compressed)
        if size > self._config.max_message_bytes:
            raise RecordTooLargeError(
                f"Message batch size is {size} bytes in append, which exceeds the maximum configured size "
                f"of {self._config.max_message_bytes}"
            )
        self._batch.add(compressed)


def _compression_level(config: LogConfig, target: CompressionType) -> int | None:
    levels = {
        CompressionType.GZIP: config.compression_gzip_level,
        CompressionType.LZ4: config.compression_lz4_level,
        CompressionType.ZSTD: config.compression_zstd_level,
    }
    level = levels.get(target)
    return None if level == -1 and target is CompressionType.GZIP else level


def larger_than_a_segment(size: int, config: LogConfig) -> RecordListTooLargeError:
    """The error for a batch that no segment can hold."""
    return RecordListTooLargeError(
        f"Message batch size is {size} bytes in append, which exceeds the maximum configured segment size of "
        f"{config.segment_bytes}"
    )
