"""Several log directories in a running broker: placement, failures, and their handling at a start.

The expected error codes and metadata records are those of a real Kafka 4.3.1 in the same states. The parity tests
compare them again.
"""

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.topics import DeleteTopicsRequest
from odradek.storage.files.disk_reserve import ReservedFiles
from odradek.storage.files.files import Buffer
from odradek.testing.broker.files import FullDisk
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking
from support.eventually import eventually

from .two_log_dirs import PARTITIONS, TwoLogDirs


def test_new_partitions_go_where_the_fewest_are(two: TwoLogDirs) -> None:
    two.fill()
    assert (len(two.in_(two.a)), len(two.in_(two.b))) == (3, 3)
    described = two.asking.log_dirs()
    assert list(described) == [str(two.a), str(two.b)]
    for path in (two.a, two.b):
        one = described[str(path)]
        assert (one.error_code, one.is_cordoned) == (0, False)
        assert 0 < one.usable_bytes <= one.total_bytes
        [topic] = one.topics
        assert [(p.partition_index, p.offset_lag, p.is_future_key) for p in topic.partitions] == [
            (index, 0, False) for index in two.in_(path)
        ]
        assert all(
            p.partition_size == (path / f"t-{p.partition_index}" / f"{0:020d}.log").stat().st_size > 0
            for p in topic.partitions
        )


def test_a_failed_directory_takes_only_its_own_partitions_along(two: TwoLogDirs) -> None:
    records = two.fill()
    lost, kept = two.in_(two.b), two.in_(two.a)
    away = two.b.with_name("away")
    two.b.rename(away)  # the next checkpoint does not find the directory, as with a removed disk
    eventually("the failure is noticed", lambda: two.asking.log_dirs()[str(two.b)].error_code != 0)
    offline = ErrorCode.KAFKA_STORAGE_ERROR
    described = two.asking.log_dirs()[str(two.b)]
    assert (described.error_code, described.topics, described.total_bytes) == (offline, [], -1)
    for index in lost:
        assert two.asking.produce("t", index, b"x") == offline
        assert two.asking.fetch("t", index) == (offline, [])
        assert two.asking.end_offset("t", index)[0] == offline
        assert two.asking.partition("t", index) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [], [1])
        assert two.asking.move("t", index, str(two.a)) == offline
    for index in kept:
        assert two.asking.produce("t", index, b"more") == 0
        assert two.asking.fetch("t", index) == (0, [*records[index], b"more"])
        assert two.asking.partition("t", index) == (0, 1, [1], [])
        assert two.asking.move("t", index, str(two.b)) == offline
    assert two.asking.create("later", 2) == 0
    assert two.in_(two.a, "later") == [0, 1], "new partitions go where there is a disk"

    # A start while a file is at the directory's path: the other directories are served.
    two.broker.stop()
    two.b.write_text("a disk that could not be mounted")
    two.broker.start()
    for index in lost:
        assert two.asking.produce("t", index, b"x") == ErrorCode.NOT_LEADER_OR_FOLLOWER, "as Kafka after a restart"
        assert two.asking.partition("t", index) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [], [1])
    for index in kept:
        assert two.asking.fetch("t", index) == (0, [*records[index], b"more"])
    assert two.asking.log_dirs()[str(two.b)].error_code == offline

    # The disk is back, and its partitions are, too.
    two.broker.stop()
    two.b.unlink()
    away.rename(two.b)
    two.broker.start()
    for index in lost:
        assert two.asking.fetch("t", index) == (0, records[index])
        assert two.asking.produce("t", index, b"again") == 0
        assert two.asking.partition("t", index) == (0, 1, [1], [])


class FailingFiles(ReservedFiles):
    """Operations in directory b fail with EIO, as on a failing disk."""

    failing = ""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._is_b = directory.name == "b"

    def _check(self, operation: str) -> None:
        if self._is_b and operation == FailingFiles.failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        self._check("write")
        return super().write(descriptor, parts, position)

    def sync(self, descriptor: int) -> None:
        self._check("sync")
        super().sync(descriptor)

    def read(self, descriptor: int, size: int, position: int) -> bytes:
        self._check("read")
        return super().read(descriptor, size, position)


@pytest.mark.parametrize("operation", ["write", "sync", "read"])
def test_an_input_output_error_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    monkeypatch.setattr(FullDisk, "files_for", lambda disk, directory: FailingFiles(directory))
    two = TwoLogDirs(tmp_path, {"odradek.acks.all.fsync": "true"})
    try:
        records = two.fill()
        [lost, *_], [kept, *_] = two.in_(two.b), two.in_(two.a)
        FailingFiles.failing = operation
        if operation == "read":
            assert two.asking.fetch("t", lost) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
        else:
            assert two.asking.produce("t", lost, b"x") == ErrorCode.KAFKA_STORAGE_ERROR
        eventually("no leader", lambda: two.asking.partition("t", lost)[1] == -1)
        assert two.asking.produce("t", kept, b"more") == 0
        assert two.asking.fetch("t", kept) == (0, [*records[kept], b"more"])
        FailingFiles.failing = ""
        assert two.asking.produce("t", lost, b"x") == ErrorCode.KAFKA_STORAGE_ERROR, "until the next start"
        two.broker.restart()
        code, values = two.asking.fetch("t", lost)
        assert (code, values[:1]) == (0, records[lost])
    finally:
        FailingFiles.failing = ""
        two.broker.stop()


def test_without_the_directory_of_the_metadata_the_broker_ends(
    two: TwoLogDirs, caplog: pytest.LogCaptureFixture
) -> None:
    two.fill()
    two.a.rename(two.a.with_name("away"))
    eventually("the broker stops", lambda: "the metadata log dir" in caplog.text)
    assert f"Shutdown broker because the metadata log dir {two.a} has failed" in caplog.text
    with pytest.raises(OSError, match=r"refused|reset"):  # reset, if the request arrives before the listener is closed
        two.asking.log_dirs()


def cordon(two: TwoLogDirs, value: str) -> int:
    return two.configure("cordoned.log.dirs", value)


def test_nothing_new_goes_to_a_cordoned_directory(two: TwoLogDirs) -> None:
    assert cordon(two, str(two.b)) == 0
    cordoned = {path: one.is_cordoned for path, one in two.asking.log_dirs().items()}
    assert cordoned == {str(two.a): False, str(two.b): True}
    two.fill()
    assert two.in_(two.a) == list(range(PARTITIONS))
    assert two.asking.move("t", 0, str(two.b)) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    two.broker.restart()
    assert two.asking.log_dirs()[str(two.b)].is_cordoned
    assert cordon(two, "*") == 0
    assert two.asking.create("nowhere", 1) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert cordon(two, "/nowhere") == ErrorCode.INVALID_REQUEST
    assert cordon(two, "") == 0
    assert two.asking.move("t", 0, str(two.b)) == 0
    two.moved("t", 0, two.b)


def test_a_partition_in_two_directories_stops_the_start(two: TwoLogDirs) -> None:
    two.fill()
    two.broker.stop()
    home = two.home_of("t", 0)
    shutil.copytree(home / "t-0", two.other(home) / "t-0")
    with pytest.raises(Exception, match="Duplicate log directories for t-0 are found in both"):
        two.broker.start()
    shutil.rmtree(two.other(home) / "t-0")
    two.broker.start()
    assert two.asking.fetch("t", 0) == (0, [b"0"])


def test_what_lies_elsewhere_than_the_metadata_says_is_served_from_there(two: TwoLogDirs) -> None:
    records = two.fill()
    two.broker.stop()
    home = two.home_of("t", 0)
    shutil.move(home / "t-0", two.other(home) / "t-0")
    # And a meta.properties of Kafka before 3.7, without directory.id.
    meta = two.b / "meta.properties"
    meta.write_text("".join(line for line in meta.read_text().splitlines(True) if "directory.id" not in line))
    two.broker.start()
    for index, values in records.items():
        assert two.asking.fetch("t", index) == (0, values)
        assert two.asking.produce("t", index, b"more") == 0
    assert "directory.id" in meta.read_text()


def test_a_directory_more_and_a_directory_less(tmp_path: Path) -> None:
    two = TwoLogDirs(tmp_path)
    records = two.fill()
    kept = two.in_(two.a)
    two.broker.stop()
    c = tmp_path / "c"
    three = InProcessBroker(tmp_path, {**two.configs, "log.dirs": f"{two.a},{two.b},{c}"})
    three.start()
    asking = Asking(three.port)
    assert asking.create("new", 3) == 0
    assert len(list(c.glob("new-*"))) == 3, "it has the fewest"
    three.stop()
    one = InProcessBroker(tmp_path, {**two.configs, "log.dirs": f"{two.a},{c}"})
    one.start()
    asking = Asking(one.port)
    for index, values in records.items():
        if index in kept:
            assert asking.fetch("t", index) == (0, values)
        else:
            assert asking.partition("t", index) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [], [1])
    assert not list(two.a.glob("t-*-stray"))
    one.stop()
    two.broker.start()
    for index, values in records.items():
        assert two.asking.fetch("t", index) == (0, values), "put back, it is served again"
    two.broker.stop()


def test_directories_of_different_clusters_are_refused(two: TwoLogDirs) -> None:
    two.broker.stop()
    meta = two.b / "meta.properties"
    text = meta.read_text()
    lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    meta.write_text(text.replace(lines["cluster.id"], "B" * 22))
    with pytest.raises(Exception, match=r"Invalid cluster\.id in: .*b/meta\.properties"):
        two.broker.start()
    meta.write_text((two.a / "meta.properties").read_text())
    with pytest.raises(Exception, match=r"the same directory\.id"):
        two.broker.start()
    meta.write_text(text)
    two.broker.start()


@pytest.mark.parametrize("is_used", [True, False], ids=["by its first use", "in the background"])
def test_a_copy_from_before_of_a_topic_that_was_made_again_is_set_aside(
    two: TwoLogDirs, tmp_path: Path, is_used: bool
) -> None:
    """A clean start trusts the metadata about the place of replicas. A restored old directory is noticed later."""
    assert two.asking.create("t", 1) == 0
    assert two.asking.produce("t", 0, b"old") == 0
    home = two.home_of("t", 0)
    two.broker.stop()
    shutil.copytree(home / "t-0", tmp_path / "copy")
    two.broker.start()
    assert two.asking.ask(DeleteTopicsRequest([], ["t"], 10_000), 5).responses[0].error_code == 0
    assert two.asking.create("t", 1) == 0
    new_home = two.home_of("t", 0)
    two.broker.stop()
    shutil.rmtree(new_home / "t-0")
    shutil.copytree(tmp_path / "copy", new_home / "t-0")
    two.broker.start()
    if is_used:
        assert two.asking.end_offset("t", 0) == (0, 0)
    eventually("it is set aside", lambda: any(path.name.endswith("-stray") for path in new_home.glob("t-0.*")))
    assert two.asking.end_offset("t", 0) == (0, 0)
    assert two.asking.produce("t", 0, b"new") == 0
    assert two.asking.fetch("t", 0) == (0, [b"new"])


class ShortOfRoom(ReservedFiles):
    """Reports the free space of one directory that the test sets."""

    directory = Path()
    free_bytes: int | None = None

    def space(self, path: Path) -> tuple[int, int]:
        free, total = super().space(path)
        return (free if self.free_bytes is None or path != self.directory else self.free_bytes), total


@pytest.mark.parametrize("share", [0, 1], ids=["full", "low"])
def test_no_new_partition_goes_to_a_directory_without_room_while_another_has_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, share: int
) -> None:
    """``share``: the free space as a share of the threshold at which producers are refused. Below twice the threshold
    it is low.
    """
    caplog.set_level("INFO")
    monkeypatch.setattr(FullDisk, "files_for", lambda disk, directory: ShortOfRoom(directory))
    monkeypatch.setattr(ShortOfRoom, "directory", tmp_path / "b")
    two = TwoLogDirs(tmp_path, {"odradek.log.dirs.min.free.bytes": "1000000"})
    try:
        two.fill("before")
        assert (len(two.in_(two.a, "before")), len(two.in_(two.b, "before"))) == (3, 3)
        monkeypatch.setattr(ShortOfRoom, "free_bytes", share * 1_500_000)
        seen = ("Producers get KAFKA_STORAGE_ERROR", "Retention runs at once")[share]
        eventually("the disk watch sees it", lambda: seen in caplog.text)
        assert two.asking.create("t", PARTITIONS) == 0
        assert (len(two.in_(two.a)), len(two.in_(two.b))) == (PARTITIONS, 0)
        monkeypatch.setattr(ShortOfRoom, "free_bytes", None)
        eventually("room", lambda: "there is room again" in caplog.text or "there is enough room" in caplog.text)
        assert two.asking.create("after", PARTITIONS) == 0
        assert len(two.in_(two.b, "after")) == PARTITIONS, "fewer lie there"
    finally:
        two.broker.stop()
