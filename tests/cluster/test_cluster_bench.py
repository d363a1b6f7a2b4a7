"""`make bench-cluster` runs against both clusters and writes its table."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.java, pytest.mark.nightly]

ROOT = Path(__file__).parent.parent.parent
QUICK = ["--quick", "--rounds", "1", "--fail-overs", "1", "--scale", "0.005", "--partitions", "30"]
PAGE = "before\n<!-- make bench-cluster writes the table below -->\nold\n<!-- end of the table -->\nafter\n"


def test_the_bench_measures_every_row_of_both_clusters(tmp_path: Path) -> None:
    """Every row has a positive figure of each cluster, and the page gets the table."""
    page, output = tmp_path / "benchmarks.md", tmp_path / "benchmarks.json"
    page.write_text(PAGE)
    output.write_text('{"scale": 1}')
    command = [
        sys.executable,
        "bench/run_cluster.py",
        *QUICK,
        "--executable",
        str(Path(sys.executable).parent / "odradek"),
    ]
    command += ["--output", str(output), "--document", str(page)]
    environment = {**os.environ, "PYTHONPATH": "tests"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    saved = json.loads(output.read_text())
    results = saved["cluster"]["results"]
    assert saved["scale"] == 1
    assert results["odradek"].keys() == results["kafka"].keys()
    for figures in results.values():
        assert all(sample > 0 for row in figures.values() for sample in row["samples"]), figures
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    assert sum(line.startswith("| leader killed") for line in lines) == 1
