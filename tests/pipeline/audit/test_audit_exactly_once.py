"""The audit of healthy directories with exactly-once consumers, of Kafka 4.4.0 and of ours: it finds nothing."""

import tarfile
from pathlib import Path

import pytest

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.protocol.records.batch import iterate_headers
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory, header_of, stamp

ARCHIVE = Path(__file__).parent / "kafka_4_3_exactly_once.tar.gz"
"""Five transactions of a consumer and producer, each with offsets, and a clean stop of Apache Kafka 4.4.0."""


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "logs"


@pytest.mark.parametrize("level", ["batches", "records"])
def test_offsets_that_are_committed_in_transactions_are_no_finding(log_dir: Path, level: str) -> None:
    [path] = (log_dir / "__consumer_offsets-0").glob("*.log")
    headers = [header for _, header in iterate_headers(path.read_bytes())]
    assert [header.base_sequence for header in headers if header.is_transactional and not header.is_control] == [0] * 5
    result = audit_directories([log_dir], LOCAL, level=level)
    assert result.findings == []


def test_a_batch_that_is_there_twice_is_still_found(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    batches = directory.batches()
    number = next(index for index, batch in enumerate(batches) if header_of(batch).base_sequence > 0)
    stamp(batches[number], 53, ">i", 0)
    directory.write_batches(batches)
    names = {found.name for found in audit_directories([directory.root], LOCAL, now_ms=NOW_MS).findings}
    assert "producer-sequence-duplicate" in names
