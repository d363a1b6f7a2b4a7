"""`audit --throttle`: the results of an audit at full speed, at the pace and the priority that were asked for."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.job import audit_directories, begin_of_workers
from odradek.pipeline.directories.background_reading import READING, BackgroundReading
from odradek.pipeline.engine.engines import LOCAL, POOL
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

PROGRAM = """
import os, sys
from odradek.pipeline.audit.command import audit
code = audit(sys.argv[1:])
print("priority", os.getpriority(os.PRIO_PROCESS, 0))
sys.exit(code)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return AuditedDirectory(tmp_path / "logs", partitions=(0, 1)).root


def test_it_has_the_lowest_priority_and_the_same_report(root: Path) -> None:
    words = [sys.executable, "-c", PROGRAM, str(root), "--now", str(NOW_MS)]
    slow, fast = (
        subprocess.run([*words, *more], capture_output=True, text=True, check=True).stdout.splitlines()
        for more in (["--throttle", "50m"], [])
    )
    assert slow[-1] == "priority 19"
    assert slow[:-1] == fast[:-1] != []


@pytest.mark.parametrize("engine", [LOCAL, POOL])
def test_all_workers_together_keep_the_pace(root: Path, engine: str) -> None:
    """The time since the pace was set allows no more bytes than were read, whatever the machine does besides."""
    size = sum(path.stat().st_size for path in root.glob("t-*/*.log"))
    token = READING.set(BackgroundReading(4 * size))
    begun = time.monotonic()
    try:
        slow = audit_directories([root], engine, now_ms=NOW_MS, portion_replicas=1)
    finally:
        READING.reset(token)
    assert time.monotonic() - begun >= 0.1
    assert slow == audit_directories([root], engine, now_ms=NOW_MS, portion_replicas=1)
    assert begin_of_workers() is None


def test_executors_of_spark_have_their_own_priority(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert audit([str(root), "--engine", "spark", "--throttle", "1m"]) == 3
    assert "--throttle needs --engine local" in capsys.readouterr().err
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
