"""compression.type of a topic: the stored batch, and the refusal of a batch that becomes too large."""

from random import Random

import pytest

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.framing.growing_buffer import MAPPED_BYTES, MAPPED_FROM_BYTES
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.errors import RecordTooLargeError
from odradek.protocol.records.record import Record, decode_records
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.record_inspection import inspect_batch

NOW = 1_790_000_000_000


@pytest.mark.parametrize("count", [1, 5, 20])
@pytest.mark.parametrize("name", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_the_stored_batch_holds_the_same_records(name: str, count: int) -> None:
    chance = Random(count)
    records = [Record(index, NOW, b"k", chance.randbytes(100_000), []) for index in range(count)]
    batch = encode_batch(records, compression=CompressionType.NONE if name != "uncompressed" else CompressionType.GZIP)
    config = LogConfig(compression_type=name, max_message_bytes=MAPPED_BYTES + 1)
    stored = run_to_end(inspect_batch(batch, read_header(batch), NOW, config)).batch
    assert decode_records(bytes(stored)) == records
    assert read_header(stored).size_in_bytes == len(stored)


@pytest.mark.parametrize("limit", [61, 70_000, MAPPED_FROM_BYTES, MAPPED_FROM_BYTES + 10, 1_900_000, MAPPED_BYTES + 10])
def test_a_batch_that_grows_beyond_the_limit_is_refused(limit: int) -> None:
    record = Record(0, NOW, b"k", bytes(5_000_000), [])
    batch = encode_batch([record], compression=CompressionType.GZIP)
    config = LogConfig(compression_type="uncompressed", max_message_bytes=limit)
    with pytest.raises(RecordTooLargeError, match=f"exceeds the maximum configured size of {limit}"):
        run_to_end(inspect_batch(batch, read_header(batch), NOW, config))
