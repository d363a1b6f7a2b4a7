"""compression.type of a topic: the stored batch, and the refusal of a batch that becomes too large."""

import tracemalloc
from random import Random

import pytest

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.framing.growing_buffer import MAPPED_BYTES, MAPPED_FROM_BYTES
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.errors import InvalidRecordError, RecordTooLargeError
from odradek.protocol.records.record import Record, decode_records
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.record_inspection import inspect_batch, wants_inspection

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


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4])
@pytest.mark.parametrize("limit", [70_005, 70_006, 70_007])
def test_a_record_of_a_compressed_batch_is_limited(codec: CompressionType, limit: int) -> None:
    value = bytes(70_006 - 9)  # attributes, two deltas, a key and its length, three bytes of length, no headers
    batch = encode_batch([Record(index, NOW, b"k", value, []) for index in range(3)], compression=codec)
    config = LogConfig(max_decompressed_message_bytes=limit)
    assert wants_inspection(read_header(batch), NOW, config)
    steps = inspect_batch(batch, read_header(batch), NOW, config)
    if limit >= 70_006:
        assert run_to_end(steps).batch == batch
        return
    sentence = f"Invalid record size: 70006 exceeds the configured maximum record size of {limit}."
    with pytest.raises(InvalidRecordError, match=sentence):
        run_to_end(steps)


@pytest.mark.parametrize("codec", list(CompressionType)[1:])
def test_no_more_is_decompressed_than_small_records_can_have(codec: CompressionType) -> None:
    """A few kB that become 100 MB are refused after a few kB of them, or of zstd, without any."""
    batch = encode_batch([Record(0, NOW, b"k", bytes(100_000_000), [])], compression=codec)
    config = LogConfig(max_decompressed_message_bytes=1000)
    tracemalloc.start()
    with pytest.raises(InvalidRecordError, match="exceeds the configured maximum record size of 1000"):
        run_to_end(inspect_batch(batch, read_header(batch), NOW, config))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10_000_000


def test_a_limit_inspects_only_compressed_batches() -> None:
    limited, default = LogConfig(max_decompressed_message_bytes=10), LogConfig()
    for codec in CompressionType:
        header = read_header(encode_batch([Record(0, NOW, b"k", b"v", [])], compression=codec))
        assert wants_inspection(header, NOW, limited) is (codec is not CompressionType.NONE)
        assert not wants_inspection(header, NOW, default)
