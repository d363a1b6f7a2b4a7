"""A stream into Parquet or Delta has each record once, though its process is killed after commits."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from deltalake import DeltaTable

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from support.eventually import eventually

pytestmark = [pytest.mark.java, pytest.mark.nightly]
DRIVER = Path(__file__).parent / "streaming_driver.py"
RECORDS = 60
KILLS = 2


def write_log(root: Path) -> Path:
    """A batch for each record, so that micro-batches can end after each."""
    (root / "orders-0").mkdir(parents=True)
    batches = [
        encode_batch([Record(offset, 1_700_000_000_000, None, b"%d" % offset, [])], base_offset=offset)
        for offset in range(RECORDS)
    ]
    (root / "orders-0" / "00000000000000000000.log").write_bytes(b"".join(batches))
    (root / "meta.properties").write_text("version=1\n")
    return root


def commits(out: Path) -> int:
    """The micro-batches that Spark has committed."""
    found = out / "checkpoint" / "commits"
    return sum(path.name.isdigit() for path in found.iterdir()) if found.is_dir() else 0


def start(logs: Path, out: Path, sink: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(DRIVER), str(logs), str(out), sink]
    with (out.parent / f"{sink}.log").open("ab") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=log, start_new_session=True, env=os.environ | {"PYSPARK_PYTHON": sys.executable}
        )


def offsets_in(table: Path, sink: str) -> list[int]:
    if sink == "delta":
        return sorted(DeltaTable(str(table)).to_pyarrow_table().column("offset").to_pylist())
    entries = [
        line for path in (table / "_spark_metadata").glob("[0-9]*") for line in path.read_text().splitlines()[1:]
    ]
    files = {Path(json.loads(line)["path"].removeprefix("file://")) for line in entries}
    return sorted(offset for file in files for offset in parquet.read_table(file).column("offset").to_pylist())


def kill_after_a_commit(running: subprocess.Popen[bytes], out: Path, before: int) -> None:
    eventually("a commit", lambda: commits(out) > before or running.poll() is not None, patience_s=600)
    assert running.poll() is None, "it ended before it was killed"
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()


@pytest.mark.parametrize("sink", ["parquet", "delta"])
def test_killed_after_commits_each_record_is_there_once(tmp_path: Path, sink: str) -> None:
    logs, out = write_log(tmp_path / "logs"), tmp_path / "out"
    out.mkdir()
    for _ in range(KILLS):
        kill_after_a_commit(start(logs, out, sink), out, commits(out))
    assert 0 < commits(out) < RECORDS // 10 + 1, "it was killed in the middle"
    last = start(logs, out, sink)
    assert last.wait() == 0, (tmp_path / f"{sink}.log").read_text()[-3_000:]
    assert offsets_in(out / "table", sink) == list(range(RECORDS))
