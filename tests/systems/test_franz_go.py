"""franz-go's own tests of share groups, unmodified, of the module of Go's proxy.

They consume a pipeline of two share groups with twenty consumers that accept, release and reject records, leave in the
middle and close without a poll, and alter, describe and delete the offsets of a group. With ``KGO_TEST_CHAOS`` the
client's connections fail at random.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker

FRANZ_GO = "v1.22.3"
RECORDS = 50_000
TESTS = {
    "TestShareGroup",
    "TestShareGroupETL",
    "TestShareGroupAckOnClose",
    "TestShareGroupOffsetsAdmin",
    "TestConsumeRegexShareSkipsInternal",
}
"""The tests that need a broker. Each of them passes with Kafka 4.4.0, too."""

pytestmark = pytest.mark.nightly


def run(command: list[str], directory: Path, **variables: str) -> str:
    """The output of a program, which must exit with 0."""
    done = subprocess.run(
        command, cwd=directory, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    return done.stdout


@pytest.fixture
def module(tmp_path: Path) -> tuple[str, Path]:
    """Go's program, and the directory of a module that has franz-go and what its tests need."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs go")
    run([go, "mod", "init", "example.com/share"], tmp_path)
    run([go, "get", "-t", f"github.com/twmb/franz-go/pkg/kgo@{FRANZ_GO}"], tmp_path)
    return go, tmp_path


@pytest.mark.parametrize("chaos", ["0", "1"])
def test_share_groups(module: tuple[str, Path], chaos: str) -> None:
    go, directory = module
    settings = {"KGO_TEST_RF": "1", "KGO_TEST_RECORDS": str(RECORDS), "KGO_LOG_LEVEL": "none", "KGO_TEST_CHAOS": chaos}
    command = [go, "test", "-json", "-count=1", "-run", f"^({'|'.join(TESTS)})$", "github.com/twmb/franz-go/pkg/kgo"]
    with OurBroker(directory) as broker:
        told = run(command, directory, KGO_SEEDS=broker.bootstrap_servers, **settings)
        assert " ERROR " not in broker.log()
    results = [json.loads(line) for line in told.splitlines()]
    assert {one["Test"] for one in results if one["Action"] == "pass" and "Test" in one} >= TESTS
    assert not [one for one in results if one["Action"] in ("fail", "skip")]
