"""Batches with a valid header and CRC but with other records are refused as Kafka refuses them."""

import random
from collections.abc import Iterator

import pytest

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.compression import CompressionType, compress
from odradek.storage.log.append_plan import AppendOrigin, check_batch
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.record_inspection import inspect_batch
from support.data.lying_batches import lying_batch

from .record_batches import FOREVER, NOW, JavaRecordBatches, java_code


def lying_batches() -> Iterator[tuple[str, bytes]]:
    """Batches with a valid header and CRC, whose records are not those that the header says."""
    section = b"".join(bytes.fromhex("0e0000") + bytes((2 * delta, 1, 2)) + b"v\0" for delta in range(10))
    for kind in CompressionType:
        packed = compress(kind, section)
        for count in (10, 9, 11, 1_000, 20_000_000, 2**31 - 1):
            yield f"{kind.name} {count} records", lying_batch(packed, count, kind, timestamp_ms=NOW)
        for size in (70, 300):
            noise = random.Random(size).randbytes(size)
            yield f"{kind.name} {size} random bytes", lying_batch(noise, 10, kind, timestamp_ms=NOW)
        yield f"{kind.name} nothing", lying_batch(b"", 10, kind, timestamp_ms=NOW)
        for what, damaged in (
            ("damaged in the middle", section[:40] + b"\xff\xff\xff" + section[43:]),
            ("the same offset", section[:8] * 10),
            ("cut", section[:-3]),
        ):
            yield f"{kind.name} {what}", lying_batch(compress(kind, damaged), 10, kind, timestamp_ms=NOW)


@pytest.mark.java
@pytest.mark.parametrize("named", list(lying_batches()), ids=lambda named: named[0])
def test_batches_that_lie_are_refused_as_kafka_refuses_them(kafka: JavaRecordBatches, named: tuple[str, bytes]) -> None:
    batch = named[1]
    answer = kafka.ask(
        "validate",
        bytes=batch,
        timestampType="CreateTime",
        compacted=False,
        now=NOW,
        before=FOREVER,
        after=FOREVER,
        leaderEpoch=8,
        offset=1000,
    )
    config = LogConfig(check_records=True)
    header = read_header(batch)
    try:
        check_batch(batch, header, config, AppendOrigin.CLIENT)
        run_to_end(inspect_batch(batch, header, NOW, config))
        code = "NONE"
    except KafkaError as error:
        code = error.error_code.name
    # Kafka's own errors while it reads mean that the batch is at fault.
    assert code == java_code(answer).replace("UNKNOWN_SERVER_ERROR", "INVALID_RECORD")
