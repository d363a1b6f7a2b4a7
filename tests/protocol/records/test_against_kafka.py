"""Equality with Apache Kafka's own classes: they read our bytes, we read theirs, and both refuse the same."""

import random
from typing import Any

import pytest

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import (
    CRC_POSITION,
    UINT32,
    BatchHeader,
    check_crc,
    crc_of,
    read_header,
)
from odradek.protocol.records.builder import BatchBuilder, encode_empty_batch
from odradek.protocol.records.compression import CompressionType, compress, decompress
from odradek.protocol.records.control import (
    ControlRecordType,
    EndTransactionMarker,
    control_record_key,
    encode_control_batch,
    encode_end_transaction_batch,
)
from odradek.protocol.records.record import Record, decode_records, iterate_records
from odradek.protocol.records.validation import (
    read_produced_header,
    validate_client_batch,
)
from odradek.storage.log.append_plan import AppendOrigin, plan_append
from odradek.storage.log.log_config import LogConfig
from support.data.random_records import random_compression, random_records

from .record_batches import FOREVER, NOW, JavaRecordBatches, java_code
from .refused_records import refused_records

pytestmark = pytest.mark.java

CASES = 150


def hex_or_none(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def for_java(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": hex_or_none(record.key),
        "value": hex_or_none(record.value),
        "headers": [[key, hex_or_none(value)] for key, value in record.headers],
    }


def random_builder(rng: random.Random) -> tuple[BatchBuilder, list[Record], dict[str, Any]]:
    """A builder with records, and the same input for Java."""
    base_offset = rng.choice((0, 0, 17, 2**40))
    is_control = rng.random() < 0.1
    has_producer = is_control or rng.random() < 0.5
    records = random_records(rng, base_offset=base_offset, gaps=rng.random() < 0.2)
    if is_control:
        records = [r._replace(key=control_record_key(rng.choice(list(ControlRecordType)[1:]))) for r in records]
    fields: dict[str, Any] = {
        "base_offset": base_offset,
        "partition_leader_epoch": rng.choice((-1, 0, 5)),
        "producer_id": rng.randrange(2**50) if has_producer else -1,
        "producer_epoch": rng.randrange(2**15) if has_producer else -1,
        "base_sequence": rng.choice((0, 2**31 - 1, rng.randrange(2**31))) if has_producer else -1,
        "is_transactional": has_producer and rng.random() < 0.5,
        "is_control": is_control,
        "log_append_time_ms": rng.choice((None, None, NOW)),
        "delete_horizon_ms": rng.choice((None, None, None, NOW)),
    }
    builder = BatchBuilder(compression=random_compression(rng), **fields)
    for record in records:
        builder.append(record.timestamp, record.key, record.value, record.headers, record.offset)
    append_time = fields["log_append_time_ms"]
    request = {
        "compression": builder.compression_type.name.lower(),
        "timestampType": "CreateTime" if append_time is None else "LogAppendTime",
        "logAppendTime": -1 if append_time is None else append_time,
        "baseOffset": base_offset,
        "producerId": fields["producer_id"],
        "producerEpoch": fields["producer_epoch"],
        "baseSequence": fields["base_sequence"],
        "transactional": fields["is_transactional"],
        "control": is_control,
        "leaderEpoch": fields["partition_leader_epoch"],
        "deleteHorizon": -1 if fields["delete_horizon_ms"] is None else fields["delete_horizon_ms"],
        "records": [for_java(record) for record in records],
    }
    if append_time is not None:
        records = [record._replace(timestamp=append_time) for record in records]
    return builder, records, request


def header_for_java(header: BatchHeader) -> dict[str, Any]:
    horizon = header.delete_horizon_ms
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "nextOffset": header.next_offset,
        "size": header.size_in_bytes,
        "leaderEpoch": header.partition_leader_epoch,
        "crc": header.crc,
        "compression": header.compression_type.name.lower(),
        "timestampType": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "baseTimestamp": header.base_timestamp,
        "maxTimestamp": header.max_timestamp,
        "deleteHorizon": -1 if horizon is None else horizon,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "count": header.records_count,
    }


@pytest.mark.parametrize("seed", range(CASES))
def test_batches_are_equal(kafka: JavaRecordBatches, seed: int) -> None:
    builder, records, request = random_builder(random.Random(seed))
    ours, theirs = builder.build(), kafka.ask_bytes("build", **request)
    if builder.compression_type == CompressionType.NONE:
        assert ours == theirs
    assert read_header(theirs) == read_header(ours)._replace(
        batch_length=read_header(theirs).batch_length, crc=read_header(theirs).crc
    )
    assert decode_records(theirs) == records
    read = kafka.ask("read", bytes=ours)["batches"]
    assert read == [header_for_java(read_header(ours)) | {"records": [for_java(record) for record in records]}]


def test_a_last_offset_beyond_the_records(kafka: JavaRecordBatches) -> None:
    for seed in range(20):
        builder, _, request = random_builder(random.Random(seed))
        builder.compression_type = CompressionType.NONE
        last_offset = builder.last_offset + 7
        theirs = kafka.ask_bytes("build", **request | {"compression": "none", "lastOffset": last_offset})
        assert builder.build(last_offset) == theirs


def test_empty_batches(kafka: JavaRecordBatches) -> None:
    for append_time, transactional, control in ((False, False, False), (True, True, False), (False, True, True)):
        ours = encode_empty_batch(
            base_offset=10,
            last_offset=30,
            max_timestamp=NOW,
            partition_leader_epoch=2,
            producer_id=3,
            producer_epoch=4,
            base_sequence=5,
            is_log_append_time=append_time,
            is_transactional=transactional,
            is_control=control,
        )
        theirs = kafka.ask_bytes(
            "empty",
            baseOffset=10,
            lastOffset=30,
            timestamp=NOW,
            leaderEpoch=2,
            producerId=3,
            producerEpoch=4,
            baseSequence=5,
            timestampType="LogAppendTime" if append_time else "CreateTime",
            transactional=transactional,
            control=control,
        )
        assert ours == theirs


@pytest.mark.parametrize("commit", [True, False])
def test_end_transaction_markers(kafka: JavaRecordBatches, commit: bool) -> None:
    marker = EndTransactionMarker(ControlRecordType.COMMIT if commit else ControlRecordType.ABORT, 1_000_000)
    ours = encode_end_transaction_batch(
        marker, timestamp=NOW, producer_id=2**40, producer_epoch=9, base_offset=77, partition_leader_epoch=3
    )
    assert ours == kafka.ask_bytes(
        "marker",
        commit=commit,
        coordinatorEpoch=1_000_000,
        timestamp=NOW,
        producerId=2**40,
        producerEpoch=9,
        baseOffset=77,
        leaderEpoch=3,
    )


@pytest.mark.parametrize("record_type", list(ControlRecordType)[3:], ids=lambda t: t.name)
def test_kraft_control_batches(kafka: JavaRecordBatches, record_type: ControlRecordType) -> None:
    theirs = kafka.ask_bytes("kraft", type=record_type.name, timestamp=NOW, baseOffset=12, leaderEpoch=4)
    record = decode_records(theirs)[0]
    assert record.key == control_record_key(record_type)
    assert record.value is not None
    ours = encode_control_batch([(record_type, record.value)], timestamp=NOW, base_offset=12, partition_leader_epoch=4)
    assert ours == theirs


@pytest.mark.parametrize("compression", list(CompressionType)[1:], ids=lambda c: c.name)
def test_compressed_streams_are_read_both_ways(kafka: JavaRecordBatches, compression: CompressionType) -> None:
    rng = random.Random(compression)
    name = compression.name.lower()
    for size in (1, 30, 5000, 32 * 1024, 70_000, 140_000):
        for data in (rng.randbytes(size), (rng.randbytes(50) * size)[:size]):
            assert kafka.ask_bytes("decompress", compression=name, bytes=compress(compression, data)) == data
            theirs = kafka.ask_bytes("compress", compression=name, bytes=data)
            assert decompress(compression, theirs) == data
            twice = theirs + kafka.ask_bytes("compress", compression=name, bytes=b"second") + b"\x01"
            answer = kafka.ask("decompress", compression=name, bytes=twice)
            if "error" in answer:
                with pytest.raises(KafkaError):
                    decompress(compression, twice)
            elif compression != CompressionType.GZIP or len(theirs) % 512 not in range(20):
                assert decompress(compression, twice) == bytes.fromhex(answer["bytes"])


@pytest.mark.parametrize("compression", list(CompressionType)[1:], ids=lambda c: c.name)
@pytest.mark.parametrize("seed", range(10))
def test_damaged_streams_are_refused_alike(kafka: JavaRecordBatches, compression: CompressionType, seed: int) -> None:
    """We read the same from a damaged stream as Kafka, and refuse the same."""
    rng = random.Random(seed)
    packed = compress(compression, (rng.randbytes(40) * 100)[: rng.randrange(1, 4000)])
    for _ in range(10):
        damaged = bytearray(packed)
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if rng.random() < 0.3:
            del damaged[rng.randrange(len(damaged)) :]
        answer = kafka.ask("decompress", compression=compression.name.lower(), bytes=bytes(damaged))
        try:
            ours = decompress(compression, bytes(damaged))
        except KafkaError:
            assert "error" in answer, bytes(damaged).hex()
        else:
            assert bytes.fromhex(answer.get("bytes", "")) == ours, (bytes(damaged).hex(), answer)


def mutated_header(rng: random.Random, batch: bytes) -> bytes:
    """`batch` with one header field changed, and mostly with a matching CRC.

    The highest length is 2^31-13: above it Kafka's sum overflows, and the answer is UNKNOWN_SERVER_ERROR.
    """
    buffer = bytearray(batch)
    header = read_header(batch)
    field = rng.choice(("base_offset", "magic", "length", "delta", "count", "producer", "attributes", "crc", "none"))
    if field == "base_offset":
        buffer[:8] = rng.choice((0, 1, -1)).to_bytes(8, "big", signed=True)
        buffer[12:16] = bytes(4)  # the leader's epoch
    elif field == "magic":
        buffer[16] = rng.choice((0, 1, 3, 200))
    elif field == "length":
        buffer[8:12] = rng.choice((-1, 13, 48, header.batch_length - 1, 2**31 - 13)).to_bytes(4, "big", signed=True)
    elif field == "delta":
        buffer[23:27] = rng.choice((-1, 0, header.records_count, 2**31 - 1)).to_bytes(4, "big", signed=True)
    elif field == "count":
        buffer[57:61] = rng.choice((-1, 0, header.records_count + 1, 2**31 - 1)).to_bytes(4, "big", signed=True)
    elif field == "producer":
        buffer[43:51] = rng.choice((-1, 0, 5)).to_bytes(8, "big", signed=True)
        buffer[53:57] = rng.choice((-2, -1, 0)).to_bytes(4, "big", signed=True)
    elif field == "attributes":
        buffer[21] = rng.choice((0, 0x80, 0x01))
        buffer[22] = (header.attributes & 7) | rng.choice((0, 0x08, 0x10, 0x18, 0x20, 0x30, 0x80))
    if field not in ("crc", "magic", "length"):
        UINT32.pack_into(buffer, CRC_POSITION, crc_of(buffer, 0, header))
    elif field == "crc":
        buffer[17] ^= 1
    return bytes(buffer)


@pytest.mark.parametrize("seed", range(60))
def test_produced_batches_are_refused_with_kafkas_code(kafka: JavaRecordBatches, seed: int) -> None:
    rng = random.Random(seed)
    builder = BatchBuilder(compression=random_compression(rng))
    for _ in range(rng.choice((1, 3))):
        builder.append(NOW - rng.choice((0, 10, 1000)), rng.choice((b"k", b"k", None)), b"value")
    batch = mutated_header(rng, builder.build())
    if rng.random() < 0.2:
        batch += batch[: rng.choice((10, len(batch)))]
    version = rng.choice((3, 6, 7, 11))
    compacted, append_time = rng.random() < 0.3, rng.random() < 0.3
    before, after = rng.choice(((FOREVER, FOREVER), (500, 0)))

    expected = java_code(kafka.ask("produce", bytes=batch, version=version))
    base_offset = int.from_bytes(batch[:8], "big", signed=True)
    if expected == "NONE" and base_offset != 0:
        expected = "INVALID_RECORD"  # UnifiedLog.analyzeAndValidateRecords needs a complete log
    if expected == "NONE":
        answer = kafka.ask(
            "validate",
            bytes=batch,
            timestampType="LogAppendTime" if append_time else "CreateTime",
            compacted=compacted,
            now=NOW,
            before=before,
            after=after,
            leaderEpoch=8,
            offset=1000,
        )
        expected = java_code(answer)
    assert our_code(batch, version, compacted, append_time, before, after) == expected


def our_code(batch: bytes, version: int, compacted: bool, append_time: bool, before: int, after: int) -> str:
    """The name of the error code of our checks, in the order of a leader."""
    try:
        header = read_produced_header(batch, version)
        check_crc(batch, 0, header)
        validate_client_batch(header)
        limits = {"now_ms": NOW, "before_max_ms": before, "after_max_ms": after}
        refused = refused_records(batch, header, is_compacted=compacted, is_log_append_time=append_time, **limits)
        codes = {record.error_code.name for record in refused}
        if codes:
            return "INVALID_TIMESTAMP" if "INVALID_TIMESTAMP" in codes else "INVALID_RECORD"
    except KafkaError as error:
        return error.error_code.name
    return "NONE"


@pytest.mark.parametrize("compression", list(CompressionType), ids=lambda c: c.name)
@pytest.mark.parametrize("append_time", [True, False])
def test_what_a_leader_stamps_equals_kafkas_bytes(
    kafka: JavaRecordBatches, compression: CompressionType, append_time: bool
) -> None:
    builder = BatchBuilder(compression=compression, producer_id=1, producer_epoch=0, base_sequence=0)
    for timestamp in (NOW - 3, NOW - 1, NOW - 2):
        builder.append(timestamp, b"key", b"value")
    produced = builder.build()
    timestamp_type = "LogAppendTime" if append_time else "CreateTime"
    answer = kafka.ask_bytes(
        "validate",
        bytes=produced,
        timestampType=timestamp_type,
        compacted=False,
        now=NOW,
        before=FOREVER,
        after=FOREVER,
        leaderEpoch=8,
        offset=1000,
    )
    config = LogConfig(message_timestamp_type=timestamp_type)
    plan = plan_append(produced, 1000, 8, NOW, config, AppendOrigin.CLIENT)
    assert b"".join(plan.parts) == answer
    assert len(list(iterate_records(answer))) == 3
