"""Record batches as messages of format 0 and 1: bytes, limits, refusals, and equality with Apache Kafka 3.9."""

import random
from collections.abc import Iterator

import pytest

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.down_conversion import ConvertedRecords, down_convert
from odradek.protocol.records.record import Record
from support.data.random_records import random_records
from support.kafka.java import OLD_KAFKA_VERSION, java_or_skip

from .record_batches import JavaRecordBatches

UNLIMITED = 1 << 40
MARKER = encode_end_transaction_batch(
    EndTransactionMarker(ControlRecordType.COMMIT, coordinator_epoch=0),
    base_offset=2,
    timestamp=5,
    producer_id=9,
    producer_epoch=0,
    partition_leader_epoch=0,
)


def records(first: int, count: int = 2) -> list[Record]:
    return [Record(offset, 1000 + offset, b"k", b"value", [("h", b"x")]) for offset in range(first, first + count)]


def batch(first: int, count: int = 2, compression: CompressionType = CompressionType.NONE) -> bytes:
    return encode_batch(records(first, count), base_offset=first, compression=compression)


def converted(data: bytes, magic: int, first: int, limit: int, **more: int) -> ConvertedRecords:
    return run_to_end(down_convert(data, magic, first, limit, **more))


@pytest.mark.parametrize("magic", [0, 1])
def test_uncompressed_records_before_the_offset_are_left_out(magic: int) -> None:
    data = batch(0, 3)
    assert (
        converted(data, magic, 1, UNLIMITED).data
        == converted(data, magic, 0, UNLIMITED).data[len(converted(batch(0, 1), magic, 0, UNLIMITED).data) :]
    )
    assert converted(data, magic, 1, UNLIMITED).next_offset == 3


def test_control_batches_are_left_out_and_passed() -> None:
    assert converted(MARKER, 1, 2, UNLIMITED) == ConvertedRecords(b"", 3)
    both = converted(batch(0) + MARKER + batch(3), 1, 0, UNLIMITED)
    assert both == ConvertedRecords(
        converted(batch(0), 1, 0, UNLIMITED).data + converted(batch(3), 1, 0, UNLIMITED).data, 5
    )


def test_the_limit_holds_but_for_the_first_batch() -> None:
    data = batch(0) + batch(2) + batch(4)
    first = converted(batch(0), 1, 0, UNLIMITED).data
    assert converted(data, 1, 0, 1) == ConvertedRecords(first, 2)
    assert converted(data, 1, 0, 2 * len(first) - 1) == ConvertedRecords(first, 2)
    assert converted(data, 1, 0, 2 * len(first)).next_offset == 4


def test_a_last_batch_that_is_cut_is_left_to_the_next_answer() -> None:
    assert converted(batch(0) + batch(2)[:-1], 0, 0, UNLIMITED) == converted(batch(0), 0, 0, UNLIMITED)


@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_is_refused_or_ends_the_conversion(magic: int) -> None:
    zstd = batch(2, compression=CompressionType.ZSTD)
    with pytest.raises(KafkaError) as refused:
        converted(zstd, magic, 2, UNLIMITED)
    assert refused.value.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert converted(batch(0) + zstd, magic, 0, UNLIMITED).next_offset == 2


def test_a_batch_that_unpacks_to_more_than_the_limit_is_refused() -> None:
    bomb = encode_batch([Record(0, 1, None, bytes(100_000), [])], compression=CompressionType.GZIP)
    with pytest.raises(KafkaError) as refused:
        converted(bomb, 1, 0, UNLIMITED, max_decompressed_size=50_000)
    assert refused.value.error_code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.fixture(scope="module")
def kafka() -> Iterator[JavaRecordBatches]:
    java_or_skip(OLD_KAFKA_VERSION)
    program = JavaRecordBatches("DownConversion", OLD_KAFKA_VERSION)
    yield program
    program.close()


def random_batches(rng: random.Random) -> bytes:
    """Batches of all kinds except zstd, one after another."""
    parts = []
    offset = rng.choice((0, 3, 2**40))
    for _ in range(rng.choice((1, 1, 3))):
        if rng.random() < 0.2:
            parts.append(
                encode_end_transaction_batch(
                    EndTransactionMarker(rng.choice((ControlRecordType.COMMIT, ControlRecordType.ABORT)), 0),
                    base_offset=offset,
                    timestamp=5,
                    producer_id=9,
                    producer_epoch=0,
                )
            )
            offset += 1
            continue
        chosen = random_records(rng, base_offset=offset, gaps=rng.random() < 0.3)
        compression = rng.choice([kind for kind in CompressionType if kind != CompressionType.ZSTD])
        append_time = rng.choice((None, None, 1_800_000_000_000))
        parts.append(encode_batch(chosen, base_offset=offset, compression=compression, log_append_time_ms=append_time))
        offset = chosen[-1].offset + rng.choice((1, 1, 7))
    return b"".join(parts)


@pytest.mark.java
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("seed", range(60))
def test_kafka_converts_the_same_and_reads_ours(kafka: JavaRecordBatches, seed: int, magic: int) -> None:
    rng = random.Random(seed)
    data = random_batches(rng)
    first = int.from_bytes(data[:8], "big") + rng.choice((0, 0, 1, 2, 50))
    theirs = kafka.ask_bytes("convert", bytes=data, magic=magic, first=first)
    ours = converted(data, magic, first, UNLIMITED).data
    read = kafka.ask("read", bytes=ours)
    assert "error" not in read
    assert read == kafka.ask("read", bytes=theirs)
    if all(one["compression"] == "none" for one in read["batches"]):
        assert ours == theirs


@pytest.mark.java
def test_kafka_refuses_zstd_too(kafka: JavaRecordBatches) -> None:
    zstd = batch(0, compression=CompressionType.ZSTD)
    assert kafka.ask("convert", bytes=zstd, magic=1, first=0) == {"error": "UnsupportedCompressionTypeException"}


@pytest.mark.java
@pytest.mark.parametrize("magic", [0, 1])
def test_the_frame_of_lz4_has_the_checksum_that_clients_of_the_format_expect(
    kafka: JavaRecordBatches, magic: int
) -> None:
    data = batch(0, 50, CompressionType.LZ4)
    frames = []
    for frame in (
        converted(data, magic, 0, UNLIMITED).data,
        kafka.ask_bytes("convert", bytes=data, magic=magic, first=0),
    ):
        start = frame.index(b"\x04\x22\x4d\x18")
        frames.append(frame[start : start + 7])
    assert frames[0] == frames[1]
