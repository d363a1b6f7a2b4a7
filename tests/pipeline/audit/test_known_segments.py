"""`audit --state`: an audit that takes known segments from the state has the report of one that reads everything."""

import random
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.state_run import begin_run
from odradek.pipeline.audit.tasks import BATCHES, RECORDS
from odradek.pipeline.engine.engines import LOCAL

from .living_history import LivingHistory
from .random_damage import damage

HISTORIES = 50
ROUNDS = 5


def outcome(result: AuditResult) -> dict[str, Any]:
    """All of a result but what was read, and the one finding that only a state has."""
    found = asdict(result)
    for name in ("readings", "notes", "changes"):
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
