"""Converts messages of format 0 and 1 to record batches: the cleaner and the jobs work on batches only.

A message becomes a batch of one record, a wrapper a batch of its records in the same compression. Leader epoch,
producer and sequence stay unset; records of format 0 have no timestamp. Pure. Source: Kafka's MemoryRecords.filterTo
and buildRetainedRecordsInto, which the cleaner writes instead of old messages.
"""

from collections.abc import Iterable

from .batch import BatchHeader, Buffer
from .builder import BatchBuilder
from .compression import DEFAULT_MAX_DECOMPRESSED_SIZE
from .errors import InvalidRecordError
from .record import Record, iterate_records


def up_convert(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
) -> bytes:
    """The batch for the message of format 0 or 1 at `position`. The CRC is not checked.

    Raises InvalidRecordError for malformed records; RecordTooLargeError if they decompress to more than
    `max_decompressed_size` bytes.
    """
    return converted_batch(
        header, iterate_records(buffer, header, position, max_decompressed_size=max_decompressed_size)
    )


def converted_batch(header: BatchHeader, records: Iterable[Record], delete_horizon_ms: int | None = None) -> bytes:
    """A batch of these records, with the compression and the timestamp type of `header`, from the first offset to the
    last one. Raises InvalidRecordError if a batch can't hold them.
    """
    builder: BatchBuilder | None = None
    try:
        for offset, timestamp, key, value, headers in records:
            if builder is None:
                builder = BatchBuilder(
                    compression=header.compression_type,
                    base_offset=offset,
                    log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
                    delete_horizon_ms=delete_horizon_ms,
                    keeps_any_time=True,
                )
            builder.append(timestamp, key, value, headers, offset)
    except ValueError as error:
        raise InvalidRecordError(f"the records do not fit into a batch: {error}") from error
    return b"" if builder is None else builder.build()
