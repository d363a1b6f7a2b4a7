"""A log start offset beyond the log's end: the audit's finding, and what a real Kafka does at its next start.

Source: Kafka's LogLoader deletes all segments if the log ends before the checkpoint's offset, after a clean stop too.
"""

import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.storage.files.checkpoints import read_offset_checkpoint, write_offset_checkpoint
from odradek.storage.files.files import Files
from support.kafka.java import java_or_skip
from support.kafka.real_kafka import RealKafka

from ..kafkalog_reading import offsets_of, read_rows

LOG_START = "log-start-offset-checkpoint"
RECORDS = 100


def beyond_findings(log_dir: Path) -> list[tuple[str, int | None]]:
    """(topic, offset) of each finding about a log start beyond the log."""
    result = audit_directories([log_dir], LOCAL, now_ms=1 << 41)
    return [(one.topic, one.offset) for one in result.findings if one.name == "log-start-beyond-log"]


@pytest.mark.java
@pytest.mark.ci
@pytest.mark.parametrize(
    ("log_start", "is_line_removed", "records_left"),
    [(RECORDS, False, RECORDS), (RECORDS + 50, False, 0), (RECORDS + 50, True, RECORDS)],
    ids=["at-the-end", "beyond", "beyond-and-repaired"],
)
def test_kafka_deletes_all_segments(tmp_path: Path, log_start: int, is_line_removed: bool, records_left: int) -> None:
    java_or_skip()
    kafka = RealKafka(tmp_path / "kafka", {"auto.create.topics.enable": "true"})
    with kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        for _ in range(RECORDS):
            producer.produce("t", b"v", partition=0)
        assert producer.flush(60) == 0
        del producer
    checkpoint = kafka.log_dir / LOG_START
    write_offset_checkpoint(Files(), checkpoint, {("t", 0): log_start})
    assert beyond_findings(kafka.log_dir) == ([("t", log_start)] if log_start > RECORDS else [])
    if is_line_removed:
        write_offset_checkpoint(Files(), checkpoint, {})
        assert beyond_findings(kafka.log_dir) == []
    with kafka:
        pass
    assert sum(path.stat().st_size > 0 for path in (kafka.log_dir / "t-0").glob("*.log")) == (records_left > 0)
    copy = tmp_path / "copy"
    shutil.copytree(kafka.log_dir, copy)
    (copy / LOG_START).unlink(missing_ok=True)  # it hides records that are still there
    assert len(offsets_of(read_rows(copy, "offset", topics="t"))) == records_left
    if not records_left:
        assert "Deleting all segments" in kafka.output
        assert [path.name for path in (kafka.log_dir / "t-0").glob("*.log")] == [f"{log_start:020d}.log"]
    assert read_offset_checkpoint(Files(), kafka.log_dir / "recovery-point-offset-checkpoint")["t", 0] == (
        log_start if not records_left else RECORDS
    )
