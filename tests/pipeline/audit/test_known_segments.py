"""`audit --state`: an audit that takes known segments from the state has the report of one that reads everything."""

import random
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.state_run import begin_run
from odradek.pipeline.audit.tasks import BATCHES, GROUP_TOPICS, RECORDS
from odradek.pipeline.engine.engines import LOCAL
from support.data import old_formats

from .living_history import LivingHistory
from .random_damage import damage
from .test_audit_exactly_once import ARCHIVE

HISTORIES = 50
ROUNDS = 5


def outcome(result: AuditResult) -> dict[str, Any]:
    """All of a result but what was read, and the one finding that only a state has."""
    found = asdict(result)
    for name in ("readings", "notes", "changes", "compared_bytes"):
        del found[name]
    for report in found["partitions"]:
        del report["reading"]
        report["findings"] = [finding for finding in report["findings"] if finding[0] != "closed-segment-changed"]
    found["findings"] = [finding for finding in result.findings if finding.name != "closed-segment-changed"]
    return found


def known_bytes(result: AuditResult) -> int:
    return sum(reading.bytes_known for reading in result.readings)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_random_history_has_the_report_of_a_full_audit(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    history = LivingHistory(tmp_path / "logs", chance)
    level = BATCHES if seed % 5 == 4 else RECORDS
    for turn in range(ROUNDS):
        done = history.live()
        if chance.random() < 0.4 and any(path.stat().st_size for path in history.partition.glob("*.log")):
            shutil.copytree(history.partition, tmp_path / "older", dirs_exist_ok=True)
            done += [damage(chance, history.partition, tmp_path / "older")]
        history.age()
        full = audit_directories([history.root], LOCAL, now_ms=history.now_ms, level=level)
        state = begin_run(tmp_path / "state", scrub_every=chance.choice((0, 0, 10)))
        result = audit_directories([history.root], LOCAL, now_ms=history.now_ms, level=level, state=state)
        assert outcome(result) == outcome(full), f"seed {seed}, round {turn}: {done}"
        assert result.notes == []


def exactly_once(directory: Path) -> Path:
    """The directory of a Kafka 4.4 with exactly-once consumers."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(directory, filter="data")
    return directory / "logs"


@pytest.mark.parametrize("level", [BATCHES, RECORDS])
@pytest.mark.parametrize("unpack", [exactly_once, old_formats.unpack])
def test_logs_of_kafka_have_the_report_of_a_full_audit(
    tmp_path: Path, unpack: Callable[[Path], Path], level: str
) -> None:
    """Exactly-once consumers, and the message formats 0 to 2 of Kafka 2.8. An empty active segment is added to each."""
    root = unpack(tmp_path / "kafka")
    for report in audit_directories([root], LOCAL).partitions:
        (root / f"{report.topic}-{report.partition}" / f"{report.log_end_offset:020d}.log").touch()
    full = audit_directories([root], LOCAL, level=level)
    first, second = (
        audit_directories([root], LOCAL, level=level, state=begin_run(tmp_path / "state")) for _ in range(2)
    )
    assert outcome(first) == outcome(second) == outcome(full)
    groups = sum(report.size for report in full.partitions if report.topic in GROUP_TOPICS)
    assert known_bytes(second) == sum(report.size for report in full.partitions) - groups > 0
