"""``odradek test-broker`` as a process, as tests in other languages use it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from odradek.testing.admin.options import test_broker as start_test_broker
from support.eventually import eventually


def test_it_serves_until_sigterm(tmp_path: Path) -> None:
    """The ready file has both addresses, and is removed when the process ends."""
    ready = tmp_path / "ready.json"
    command = [
        "test-broker",
        "--port",
        "0",
        "--admin-port",
        "0",
        "--create-topic",
        "orders:2",
        "--ready-file",
        str(ready),
    ]
    process = subprocess.Popen([sys.executable, "-m", "odradek", *command], stdout=subprocess.PIPE, text=True)
    try:
        eventually("a ready file", ready.exists)
        said = json.loads(ready.read_text())
        with urlopen(f"{said['admin']}/topics/orders") as answer:
            assert len(json.load(answer)["partitions"]) == 2
        process.send_signal(signal.SIGTERM)
        line, _ = process.communicate()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert line == f"Kafka clients: {said['bootstrap_servers']}; tests: {said['admin']}; Ctrl-C or SIGTERM stops it\n"
    assert not ready.exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--override", "num.partitions"], "--override num.partitions: must be KEY=VALUE"),
        (["--override", "listeners=PLAINTEXT://:1"], "listeners can't be set"),
        (["--override", "num.partitons=1"], "num.partitions"),
        (["--create-topic", "orders:three"], "'orders:three' does not name a topic"),
    ],
)
def test_what_it_refuses(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert start_test_broker([*arguments, "--port", "0", "--admin-port", "0"]) == 1
    assert reason in capsys.readouterr().err
