"""Unmodified Quix Streams and Celery, in a separate environment."""

import json
import subprocess
from pathlib import Path

import pytest

from odradek.testing import InProcessBroker
from systems.process import SystemProcess
from systems.python_environment import python_systems

PROGRAMS = Path(__file__).parent / "programs"
READINGS = 60
KEYS = 4
TASKS = 20

pytestmark = pytest.mark.nightly


def run(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROGRAMS, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    return done.stdout


def write_readings(kafka: InProcessBroker, first: int, totals: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Writes readings; returns the expected totals, sorted by key."""
    expected = []
    for number in range(first, first + READINGS):
        key = b"key-%d" % (number % KEYS)
        kafka.produce("readings", json.dumps({"value": number}).encode(), key=key)
        totals[key] = totals.get(key, 0) + number
        expected.append((key, b'{"total":%d}' % totals[key]))
    return expected


@pytest.mark.kafka(topics=["readings:3", "totals:3"])
def test_quix_streams_counts_exactly_once(kafka: InProcessBroker, tmp_path: Path) -> None:
    """The second run has no state on disk, and restores it from the changelog topic."""
    python = python_systems()
    totals: dict[bytes, int] = {}
    expected: list[tuple[bytes, bytes]] = []
    for number in range(2):
        expected += write_readings(kafka, number * READINGS, totals)
        state = tmp_path / f"state-{number}"
        run(python, PROGRAMS / "quix_totals.py", kafka.bootstrap_servers, state, str(READINGS))
        assert by_key(found_totals(kafka)) == by_key(expected)
    assert sum(kafka.committed("totals").values()) >= 2 * READINGS


def found_totals(kafka: InProcessBroker) -> list[tuple[bytes, bytes]]:
    return [(record.key or b"", record.value or b"") for record in kafka.records("totals")]


def by_key(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, list[bytes]]:
    return {key: [value for other, value in pairs if other == key] for key, _ in pairs}


def test_celery_runs_tasks(kafka: InProcessBroker, tmp_path: Path) -> None:
    """The worker gets tasks from the topic ``sums``, and writes results to files. Each task is committed once it is
    done.
    """
    python = python_systems()
    environment = {"BROKER": f"confluentkafka://{kafka.bootstrap_servers}", "RESULTS": str(tmp_path)}
    environment |= {"PYTHONPATH": str(PROGRAMS)}
    worker: list[str | Path] = [
        python,
        "-m",
        "celery",
        "-A",
        "celery_sums",
        "worker",
        "--pool=solo",
        "--without-mingle",
    ]
    sender = (
        "from celery_sums import add\n"
        f"results = [add.delay(number, number) for number in range({TASKS})]\n"
        "print([result.get(timeout=300) for result in results])\n"
    )
    with SystemProcess([*worker, "--without-gossip"], tmp_path, "celery", environment) as process:
        printed = run(python, "-c", sender, environment=environment)
        assert json.loads(printed) == [2 * number for number in range(TASKS)]
        process.wait_for("all is committed", lambda: sum(kafka.committed("sums-consumer-group").values()) == TASKS)
        process.stop()
