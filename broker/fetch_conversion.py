"""Reads a log for clients from before record batches: Fetch 0 to 3, whose records are messages of format 0 or 1.

Owns: nothing. Never does: converting more than one answer carries (a batch beyond it at most). Invariants: the first
batch with records is returned whole; control batches, which these formats don't have, are stepped over, so that a
reader who stands before one gets on; what is converted at once is bounded, since it is work record by record on the
event loop. Source: Kafka 3.9's KafkaApis.maybeConvertFetchedData and LazyDownConversionRecords (KIP-283).
"""

from ..protocol.records.compression import CompressionType, compression_name
from ..protocol.records.errors import UnsupportedCompressionTypeError
from ..storage.log import Log
from ..storage.read_result import in_memory

CONVERTED_AT_ONCE_BYTES = 1 << 20
"""At most so many stored bytes of one partition are converted for one answer: what such clients ask for by default."""


def read_converted(
    log: Log, fetch_offset: int, max_bytes: int, upper_bound_offset: int, magic: int, *, min_one_batch: bool
) -> bytes:
    """Messages of format ``magic`` from ``fetch_offset`` on; b"" where there are only control batches, or nothing fits.

    Raises UnsupportedCompressionTypeError where the topic, or the first batch that is found, is compressed with zstd.
    """
    from ..protocol.records.down_conversion import down_convert  # few brokers ever need it

    if log.config.compression_type == compression_name(CompressionType.ZSTD):
        raise UnsupportedCompressionTypeError("the topic's compression.type is zstd, which the client does not know")
    limit = min(max_bytes, CONVERTED_AT_ONCE_BYTES)
    offset = fetch_offset
    while offset < upper_bound_offset:
        result = log.read(offset, limit, upper_bound_offset=upper_bound_offset, min_one_batch=min_one_batch)
        batches = in_memory(result.data)
        converted = down_convert(batches, magic, fetch_offset, limit)
        if converted.data or converted.next_offset <= offset:
            return converted.data
        offset = converted.next_offset
    return b""
