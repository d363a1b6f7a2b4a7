"""Every small file that a start reads: unreadable, truncated, or filled with garbage.

The start continues, or ends with one line that has the file's path, never with a traceback. Other directories are
served.
"""

import errno
import logging
import os
import shutil
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from odradek.broker.server.commands import START_ERRORS
from odradek.storage.files.disk_reserve import ReservedFiles
from odradek.testing.broker.files import FullDisk
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking
from support.eventually import eventually

PARTITIONS = 4
OK, STORAGE_ERROR, NOT_LEADER = 0, 56, 6
ROOT_FILES = [
    "meta.properties",
    ".kafka_cleanshutdown",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
]
PARTITION_FILES = ["partition.metadata", "leader-epoch-checkpoint", "*.snapshot"]
FILES = [*ROOT_FILES, *PARTITION_FILES]
CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "torn": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "garbage": lambda data: bytes(range(128, 256)) * 4,
    "text": lambda data: b"0\n2\nnot a line\n",
    "negative": lambda data: b"0\n1\norders 0 -5\n",
    "huge": lambda data: b"0\n1\norders 0 " + b"9" * 30 + b"\n",
    "longer-than-python-reads": lambda data: b"0\n1\norders 0 " + b"9" * 5000 + b"\n",
    "epochs-that-fall": lambda data: b"0\n2\n5 100\n3 7\n",
    "huge-epoch": lambda data: b"0\n1\n9999999999 0\n",
    "negative-epoch": lambda data: b"0\n1\n-7 -3\n",
}
ERRORS = [errno.EIO, errno.EACCES, errno.EISDIR, errno.ELOOP, errno.ESTALE]


def in_part(cases: Iterable[Any], always: Container[Any]) -> list[Any]:
    """All cases. Those not in ``always`` take a minute together and run only in CI."""
    return [case if case in always else pytest.param(case, marks=pytest.mark.ci) for case in cases]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The directories of a broker with files of every kind, after a kill and after a stop."""
    home = tmp_path_factory.mktemp("stopped")
    broker = started(home / "clean")
    assert Asking(broker.port).create("orders", PARTITIONS) == OK
    with KafkaProducer(bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True) as producer:
        for partition in range(PARTITIONS):
            producer.send("orders", b"one", partition=partition)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id="readers")
    consumer.assign([TopicPartition("orders", 0)])
    consumer.commit()
    consumer.close()
    broker.restart()  # now producer snapshots exist
    with KafkaProducer(bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True) as producer:
        for partition in range(PARTITIONS):
            producer.send("orders", b"two", partition=partition)
    broker.kill()
    shutil.copytree(home / "clean", home / "killed")
    broker.start()
    broker.stop()
    return home / "killed", home / "clean"


def made(home: Path) -> InProcessBroker:
    return InProcessBroker(home, {"log.dirs": f"{home}/one,{home}/two"})


def started(home: Path) -> InProcessBroker:
    broker = made(home)
    broker.start()
    return broker


@pytest.fixture(params=["killed", "clean"])
def home(request: pytest.FixtureRequest, stopped: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(stopped[request.param == "clean"], tmp_path / "home"))


def victim(home: Path, directory: str, name: str) -> Path:
    """The file in a log directory, or in the first of its partitions that has one."""
    if name in ROOT_FILES:
        return home / directory / name
    found = sorted((home / directory).glob(f"orders-*/{name}"))
    return found[-1] if found else home / directory / "orders-none" / name


class RefusingFiles(ReservedFiles):
    """The disk with one file that can't be read."""

    refused: Path
    error: int

    def read_file(self, path: Path) -> bytes:
        if path == self.refused:
            raise OSError(self.error, os.strerror(self.error), str(path))
        return super().read_file(path)


def outcome(home: Path, caplog: pytest.LogCaptureFixture, path: Path) -> dict[int, int]:
    """Starts a broker and fetches everything; returns the error code of each partition."""
    broker = made(home)
    caplog.clear()
    broker.start()
    try:
        codes = {partition: Asking(broker.port).fetch("orders", partition)[0] for partition in range(PARTITIONS)}
        assert set(codes.values()) <= {OK, STORAGE_ERROR, NOT_LEADER}
        if set(codes.values()) != {OK}:
            # A fetch may be answered before the broker opens the log itself, which causes the line.
            eventually(lambda: f"no line about {path}: {caplog.messages}", lambda: is_named(caplog, path))
    finally:
        broker.stop()
        tracebacks = [record for record in caplog.records if record.exc_info]
        assert not tracebacks
    return codes


def is_named(caplog: pytest.LogCaptureFixture, path: Path) -> bool:
    return any(one.levelno >= logging.ERROR and str(path) in one.getMessage() for one in [*caplog.records])


def other_directory_serves(home: Path, directory: str, codes: dict[int, int]) -> None:
    elsewhere = {int(path.name.removeprefix("orders-")) for path in (home / directory).glob("orders-?")}
    assert elsewhere
    assert {partition: codes[partition] for partition in elsewhere} == dict.fromkeys(elsewhere, OK)


@pytest.fixture(autouse=True)
def only_warnings(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING):
        yield


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("error", in_part(ERRORS, [errno.EIO]), ids=errno.errorcode.get)
def test_a_file_that_the_disk_refuses(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, name: str, error: int
) -> None:
    path = victim(home, "two", name)
    monkeypatch.setattr(RefusingFiles, "refused", path, raising=False)
    monkeypatch.setattr(RefusingFiles, "error", error, raising=False)
    monkeypatch.setattr(FullDisk, "files_for", lambda disk, directory: RefusingFiles(directory))
    other_directory_serves(home, "one", outcome(home, caplog, path))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", in_part(CONTENTS, ["torn", "negative-epoch"]))
def test_a_file_with_other_contents(home: Path, caplog: pytest.LogCaptureFixture, name: str, content: str) -> None:
    path = victim(home, "two", name)
    if path.parent.exists():
        path.write_bytes(CONTENTS[content](path.read_bytes() if path.exists() else b"0\n0\n"))
    other_directory_serves(home, "one", outcome(home, caplog, path))


@pytest.mark.parametrize("name", ["meta.properties", ".kafka_cleanshutdown", *ROOT_FILES[2:], "partition.metadata"])
def test_a_directory_with_the_metadata_ends_the_start_with_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = victim(home, "one", name)
    if name == "partition.metadata":
        path = home / "one" / "unknown-0" / name  # of a topic that is not in the metadata, so a start reads it
        shutil.copytree(victim(home, "one", name).parent, path.parent)
    monkeypatch.setattr(RefusingFiles, "refused", path, raising=False)
    monkeypatch.setattr(RefusingFiles, "error", errno.EIO, raising=False)
    monkeypatch.setattr(FullDisk, "files_for", lambda disk, directory: RefusingFiles(directory))
    with pytest.raises(START_ERRORS) as raised:
        made(home).start()
    assert str(path) in str(raised.value)
    assert "Input/output error" in str(raised.value)
    assert "\n" not in str(raised.value)
