"""`make bench-alternatives` works: its smallest round, with the contenders that need neither Java, Go nor a network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = {
    "start, ms",
    "start, CPU ms",
    "memory at the start, MB",
    "round trip, ms",
    "memory after the round trips, MB",
    "first record of a later group, ms",
    "clean broker, ms",
}


OURS, SERVED, MOCK = "Odradek, in the test's process", "Odradek, `odradek serve`", "librdkafka's mock cluster"


@pytest.mark.parametrize(
    "contenders", [{"odradek": OURS}, pytest.param({"odradek-serve": SERVED, "mock": MOCK}, marks=pytest.mark.nightly)]
)
def test_a_small_round(tmp_path: Path, contenders: dict[str, str]) -> None:
    output = tmp_path / "benchmarks.json"
    output.write_text(json.dumps({"another": {"results": {}}}))
    words = ["--rounds", "1", "--round-trips", "3", "--only", *contenders, "tansu"]
    words += ["--odradek", str(Path(sys.executable).parent / "odradek"), "--output", str(output)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT / 'bench'}"}
    environment.pop("TANSU", None)
    done = subprocess.run(
        [sys.executable, "-m", "alternatives.run", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "tansu is left out" in done.stdout, "its binary is not known"
    written = json.loads(output.read_text())
    assert set(written) == {"another", "alternatives"}
    results = written["alternatives"]["results"]
    assert list(results) == list(contenders.values())
    for name, samples in results.items():
        assert set(samples) == FIGURES, name
        assert all(len(one["samples"]) == 1 and one["median"] >= 0 for one in samples.values()), name
        assert f"| {name} |" in done.stdout
