"""Records with any time of 64 bits, in each message format: all are read, and the audit calls none damaged.

Kafka's brokers check times only against limits that may be off, and never those of formats 0 and 1 that are stored.
"""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as dataset
import pytest

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.export.command import export
from odradek.protocol.records.batch import MAGIC, iterate_headers
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record, decode_records
from support.data.legacy_messages import LEGACY_CODECS, messages

from .kafkalog_reading import read_rows

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
TIMES = (GREATEST, GREATEST - 1, 1 << 62, 1 << 53, 1_700_000_000_000, 1, 0, -1, -2, -(1 << 62), LEAST + 1, LEAST)
FORMATS = [(MAGIC, codec) for codec in CompressionType] + [
    (magic, codec) for magic in (0, 1) for codec in LEGACY_CODECS
]


def written(root: Path, magic: int, codec: CompressionType) -> list[Record]:
    """Writes a log of batches with two or three times each; returns the records."""
    rng = random.Random(f"{magic} {codec}")
    everything: list[Record] = []
    log = b""
    for _ in range(60):
        first = len(everything)
        times = rng.sample(TIMES, rng.choice((1, 2, 3)))
        records = [Record(first + index, time, b"k", b"v", []) for index, time in enumerate(times)]
        log += batch(records, codec) if magic == MAGIC else messages(magic, records, codec)
        everything += [record._replace(timestamp=record.timestamp if magic else -1) for record in records]
    (root / "t-0").mkdir(parents=True)
    (root / "t-0" / f"{0:020d}.log").write_bytes(log)
    (root / "meta.properties").write_text("version=1\n")
    return everything


def batch(records: list[Record], codec: CompressionType) -> bytes:
    builder = BatchBuilder(base_offset=records[0].offset, compression=codec, keeps_any_time=True)
    for record in records:
        builder.append(record.timestamp, record.key, record.value, (), record.offset)
    return builder.build()


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_every_record_is_read(tmp_path: Path, magic: int, codec: CompressionType) -> None:
    root = tmp_path / "data"
    records = written(root, magic, codec)
    data = next((root / "t-0").glob("*.log")).read_bytes()
    decoded = [record for place, header in iterate_headers(data) for record in decode_records(data, header, place)]
    assert decoded == records
    most = (GREATEST // 1000 - 1) * 1000
    expected = [(record.offset, max(-most, min(most, record.timestamp * 1000))) for record in records]
    assert export([str(root), "--output", str(tmp_path / "out")]) == 0
    table = dataset.dataset(tmp_path / "out").to_table().sort_by("offset")
    times = table.column("timestamp").cast(pa.int64()).to_pylist()
    assert list(zip(table.column("offset").to_pylist(), times, strict=True)) == expected
    assert [row["offset"] for row in read_rows(root, "offset", "_corrupt_record")] == [one.offset for one in records]


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_an_audit_calls_none_damaged(tmp_path: Path, magic: int, codec: CompressionType) -> None:
    records = written(tmp_path, magic, codec)
    result = audit_directories([tmp_path], LOCAL)
    names = {found.name for found in result.findings if found.check.severity is not Severity.INFO}
    about_time = {"timestamp-in-future", "timestamp-negative"} if magic else set()
    assert names == {*about_time, "offset-index-missing", "time-index-missing"}
    assert [report.records for report in result.partitions] == [len(records)]
