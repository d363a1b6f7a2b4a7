"""An audit of zeros at a log's end, and of a metadata log that lost its end."""

from pathlib import Path

import pytest

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.reading.options import Mode, Pruning, parse_options
from odradek.pipeline.reading.split_reader import Reading, read_split
from odradek.pipeline.reading.splits import plan_records
from odradek.storage.files.checkpoints import write_epoch_checkpoint
from odradek.storage.files.files import Files
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory


def audited(directory: AuditedDirectory) -> AuditResult:
    directory.set_times(NOW_MS)
    return audit_directories([directory.root], LOCAL, now_ms=NOW_MS)


def wrong(result: AuditResult) -> list[tuple[str, str]]:
    return [(one.name, Path(one.file).name) for one in result.findings if one.check.severity is not Severity.INFO]


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("zeros", [1, 17, 18, 60, 61, 10 << 20])
def test_zeros_at_the_end_are_damage_after_a_clean_stop_alone(tmp_path: Path, zeros: int, *, is_clean: bool) -> None:
    directory = AuditedDirectory(tmp_path)
    if not is_clean:
        (tmp_path / ".kafka_cleanshutdown").unlink()
    before = audited(directory)
    path = directory.segment(2)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + zeros)  # sparse
    result = audited(directory)
    name = "log-end-unreadable" if zeros > 17 else "batch-incomplete"  # test_damage_as_kafka.py asks a real Kafka
    assert wrong(result) == ([(name, path.name)] if is_clean else [])
    assert result.partitions[0].size == before.partitions[0].size
    assert result.partitions[0].log_end_offset == before.partitions[0].log_end_offset


def test_the_data_source_reads_up_to_the_zeros(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path)
    path = directory.segment(2)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + (1 << 20))
    reading = Reading(("offset", "_corrupt_record"), Mode.FAILFAST)
    splits = [
        split for portion in plan_records(parse_options({"path": str(tmp_path)}), Pruning()).tasks for split in portion
    ]
    assert sum(rows.num_rows for split in splits for rows in read_split(split, reading))


@pytest.mark.parametrize("kept", [0, 30, -10])
def test_a_metadata_log_that_lost_its_end(tmp_path: Path, kept: int) -> None:
    directory = AuditedDirectory(tmp_path)
    metadata = tmp_path / "__cluster_metadata-0"
    log = metadata / f"{0:020d}.log"
    write_epoch_checkpoint(Files(), metadata / "leader-epoch-checkpoint", [(1, 0), (2, 1)], sync=False)
    assert wrong(audited(directory)) == []
    data = log.read_bytes()
    log.write_bytes(data[:kept] if kept else b"")
    found = wrong(audited(directory))
    assert ("metadata-log-damaged", log.name) in found
    assert not [name for name, _ in found if name.startswith("partition-")]
