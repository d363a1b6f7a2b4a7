"""A pytest plugin that records a test run for the ledger of proof (docs/protocol.md).

``make protocol-ledger`` loads it with ``-p support.ledger.plugin``. At the end of the run it writes the evidence of the
passed tests into docs/developers/protocol-ledger.json, and replaces earlier evidence of the same tests.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from odradek.broker.dispatch.dispatch import Dispatcher
from support.ledger import protocol_recorder as recorder
from tools import protocol_ledger

_failed: set[str] = set()
_passed: set[str] = set()


def pytest_configure() -> None:
    """Starts the recording, in this process and in those that tests start."""
    directory = Path(tempfile.mkdtemp(prefix="protocol-ledger-"))
    (directory / recorder.CURRENT).write_bytes(bytes(recorder.NAME_BYTES))
    (directory / recorder.SEEN).touch()
    os.environ[recorder.DIRECTORY] = str(directory)
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    recorder.record(Dispatcher)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tells all brokers the name of the test. They map the file, so it is written in place."""
    name = item.nodeid.encode()[: recorder.NAME_BYTES]
    with (Path(os.environ[recorder.DIRECTORY]) / recorder.CURRENT).open("r+b") as file:
        file.write(name.ljust(recorder.NAME_BYTES, b"\0"))
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Notes which tests passed and which failed in any phase."""
    if report.failed:
        _failed.add(report.nodeid)
    elif report.when == "call" and report.passed:
        _passed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Writes the ledger and the page."""
    directory = Path(os.environ[recorder.DIRECTORY])
    lines = (directory / recorder.SEEN).read_text().splitlines()
    shutil.rmtree(directory)
    protocol_ledger.add_run([json.loads(line) for line in lines], _passed - _failed)
