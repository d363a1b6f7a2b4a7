"""`odradek storage snapshot` and `restore`: what a broker under load was at one instant, whatever happens meanwhile."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.pipeline.audit.command import audit
from odradek.pipeline.directories.file_access import path_of
from odradek.pipeline.snapshot.broker_link import BrokerLink, SnapshotError
from odradek.pipeline.snapshot.command import lines_of_progress, restore_command, snapshot
from odradek.pipeline.snapshot.manifest import MANIFEST
from odradek.pipeline.snapshot.restore import read_snapshot, restore
from odradek.pipeline.snapshot.stores import store_at
from odradek.pipeline.snapshot.take import Taken, take_snapshot
from odradek.storage.directory.snapshot_door import socket_name
from odradek.testing.broker.in_process import InProcessBroker
from support.disks.small_disk import SmallDisk
from support.eventually import eventually

from .busy_broker import COMPACTED, CONFIGS, DELETED, GROUP, KEPT_FROM, SMALL_SEGMENTS, Load, busy_broker

ANOTHER_USER = 65534
CLOSED = 40
"""The number of segments of a topic that no client of the load writes to."""


def quiet(done: int, total: int, size: int) -> None:
    """A progress that shows nothing."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[InProcessBroker]:
    with InProcessBroker(tmp_path / "broker", CONFIGS) as running:
        yield running


def take(broker: InProcessBroker, root: Path, progress: Callable[[int, int, int], None] = quiet) -> Taken:
    store = store_at(root)
    try:
        return take_snapshot(broker.log_dir, store, progress)
    finally:
        store.close()


def restored(taken: Path, directory: Path) -> InProcessBroker:
    """A broker on a copy of a snapshot. It is not started."""
    restore(taken, read_snapshot(taken), [directory / "logs"], quiet)
    return InProcessBroker(directory, CONFIGS)


def assert_of_one_instant(taken: Taken, directory: Path, acknowledged_before: int) -> None:
    """A broker starts on a copy. Its offsets are those of the cut; records, groups and transactions fit together."""
    with restored(taken.path, directory) as copy:
        copied = [record.value for record in copy.records("out", isolation_level="read_committed")]
        numbers = [record.value for record in copy.records("in")]
        assert numbers == [str(number).encode() for number in range(len(numbers))]
        assert len(numbers) >= acknowledged_before
        assert copied == numbers[: len(copied)]
        committed = copy.committed(GROUP)
        assert list(committed.values()) == [len(copied)]
        by_name = {partition.name: (partition.start, partition.end) for partition in taken.manifest.partitions}
        assert by_name["in-0"] == (0, len(numbers))
        assert by_name[f"{DELETED}-0"] == (KEPT_FROM, KEPT_FROM * 2)
        assert [int(record.value or b"") for record in copy.records(DELETED)] == [*range(KEPT_FROM, KEPT_FROM * 2)]
        latest = {record.key: record.value for record in copy.records(COMPACTED)}
        assert all(value == str(int(value[: len(value) // 20])).encode() * 20 for value in latest.values() if value)


def wait_for_copies(load: Load, count: int) -> None:
    eventually("the copier goes on", lambda: bool(load.failures) or load.copies >= count)
    assert not load.failures


def test_a_snapshot_is_what_the_broker_was_at_one_instant(broker: InProcessBroker, tmp_path: Path) -> None:
    with busy_broker(broker) as load:
        taken = []
        for _ in range(3):
            wait_for_copies(load, load.copies + 5)
            taken.append((load.acknowledged, take(broker, tmp_path / "snapshots")))
            broker.compact(COMPACTED)
        wait_for_copies(load, load.copies + 5)
    for number, (acknowledged, snapshot_) in enumerate(taken):
        assert_of_one_instant(snapshot_, tmp_path / f"copy-{number}", acknowledged)
        assert audit([str(snapshot_.path / "0"), "--ignore", "consumer-falling-behind"]) == 0


def test_files_that_the_cleaner_renames_meanwhile_are_found(broker: InProcessBroker, tmp_path: Path) -> None:
    with busy_broker(broker) as load:
        wait_for_copies(load, 10)
        cleanings: list[int] = []

        def clean(done: int, total: int, size: int) -> None:
            if not cleanings:
                cleanings.append(done)
                broker.compact(COMPACTED)
                broker.apply_retention()

        taken = take(broker, tmp_path / "snapshots", clean)
        assert cleanings
    assert_of_one_instant(taken, tmp_path / "copy", 0)
    broker.delete_topic(COMPACTED)
    eventually("deleted files are removed again", lambda: not list(broker.log_dir.glob(f"{COMPACTED}*")))


def test_closed_segments_are_saved_once(broker: InProcessBroker, tmp_path: Path) -> None:
    elsewhere = Path("/dev/shm") / f"odradek-{os.getpid()}-{tmp_path.name}"
    assert os.stat("/dev/shm").st_dev != os.stat(tmp_path).st_dev
    broker.create_topic("closed", configs=SMALL_SEGMENTS)
    for _ in range(CLOSED):
        broker.produce("closed", bytes(4000))
    with busy_broker(broker) as load:
        wait_for_copies(load, 5)
    for root in (tmp_path / "links", elsewhere, path_of(f"memory://{tmp_path.name}")):
        first, second = take(broker, root), take(broker, root)
        assert second.manifest.size > CLOSED * 4000
        assert second.new_bytes < second.manifest.size / 2
        assert (first.new_bytes > CLOSED * 4000) == (root != tmp_path / "links")
        assert_of_one_instant(second, tmp_path / f"copy-of-{second.path.name}", load.acknowledged)
    closed = [file for file in (tmp_path / "links").glob("*/0/closed-0/*.log") if file.stat().st_nlink == 3]
    assert len(closed) >= CLOSED
    subprocess.run(["rm", "-r", str(elsewhere)], check=True)


KILLED = """
import os, signal, sys
from pathlib import Path
from odradek.pipeline.snapshot.stores import store_at
from odradek.pipeline.snapshot.take import take_snapshot

def kill(done, total, size):
    if done == total // 2:
        os.kill(os.getpid(), signal.SIGKILL)

take_snapshot(Path(sys.argv[1]), store_at(Path(sys.argv[2])), kill)
"""


def test_a_command_that_is_killed_leaves_nothing_behind(broker: InProcessBroker, tmp_path: Path) -> None:
    with busy_broker(broker) as load:
        wait_for_copies(load, 5)
        root = tmp_path / "snapshots"
        ended = subprocess.run([sys.executable, "-c", KILLED, str(broker.log_dir), str(root)], check=False)
        assert ended.returncode == -signal.SIGKILL
        assert [path.suffix for path in root.iterdir() if path.is_dir()] == [".unfinished"]
        wait_for_copies(load, load.copies + 5)
        taken = take(broker, root)
        assert [path.name for path in root.iterdir() if path.is_dir()] == [taken.path.name]
    assert_of_one_instant(taken, tmp_path / "copy", 0)


def test_a_broker_that_is_killed_ends_the_snapshot(broker: InProcessBroker, tmp_path: Path) -> None:
    broker.create_topic("some", partitions=300)
    broker.produce("some", *map(str, range(1000)))

    def kill(done: int, total: int, size: int) -> None:
        if done > 5 and broker.is_running:
            broker.kill()

    with pytest.raises(SnapshotError, match="the broker has ended"):
        take(broker, tmp_path / "snapshots", kill)
    assert not [path for path in (tmp_path / "snapshots").iterdir() if path.is_dir()]
    broker.start()
    assert len(broker.records("some")) == 1000
    taken = take(broker, tmp_path / "snapshots")
    with restored(taken.path, tmp_path / "copy") as copy:
        assert len(copy.records("some")) == 1000


RESTORE_KILLED = """
import os, signal, sys
from pathlib import Path
from odradek.pipeline.snapshot.restore import read_snapshot, restore

def kill(done, total, size):
    if done == total // 2:
        os.kill(os.getpid(), signal.SIGKILL)

restore(Path(sys.argv[1]), read_snapshot(Path(sys.argv[1])), [Path(sys.argv[2])], kill)
"""


def test_a_restore_that_is_killed_makes_no_directory(broker: InProcessBroker, tmp_path: Path) -> None:
    with busy_broker(broker) as load:
        wait_for_copies(load, 5)
        taken = take(broker, tmp_path / "snapshots")
    into = tmp_path / "copy" / "logs"
    ended = subprocess.run([sys.executable, "-c", RESTORE_KILLED, str(taken.path), str(into)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not into.exists()
    assert list(into.parent.iterdir())
    assert_of_one_instant(taken, tmp_path / "copy", 0)
    assert [path.name for path in into.parent.iterdir()] == ["logs"]


def test_the_commands(broker: InProcessBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broker.create_topic("orders")
    broker.produce("orders", "a", "b")
    root = str(tmp_path / "snapshots")
    for _ in range(3):
        assert snapshot([str(broker.log_dir), "--to", root, "--keep", "2"]) == 0
    printed = capsys.readouterr()
    assert "the broker's clients waited" in printed.out
    assert not printed.err
    names = sorted(path.name for path in (tmp_path / "snapshots").iterdir() if path.is_dir())
    assert len(names) == 2
    assert restore_command([f"{root}/{names[1]}", str(tmp_path / "new")]) == 0
    assert "partitions" in capsys.readouterr().out
    for arguments, said in (
        ([f"{root}/{names[1]}", str(tmp_path / "new")], "it has something in it"),
        ([f"{root}/{names[1]}", str(tmp_path / "a"), str(tmp_path / "b")], "name as many"),
        ([f"{root}/none", str(tmp_path / "a")], f"it has no {MANIFEST}"),
    ):
        assert restore_command(arguments) == 1
        assert said in capsys.readouterr().err
    assert snapshot([str(broker.log_dir), "--to", root, "--keep", "0"]) == 2
    assert "--keep: at least 1" in capsys.readouterr().err
    broker.stop()
    assert snapshot([str(broker.log_dir), "--to", root]) == 1
    assert "no broker of Odradek answers" in capsys.readouterr().err


def test_one_snapshot_at_a_time(broker: InProcessBroker, tmp_path: Path) -> None:
    with BrokerLink(broker.log_dir) as first:
        first.cut()
        with BrokerLink(broker.log_dir) as second, pytest.raises(SnapshotError, match="another snapshot"):
            second.cut()
    store = store_at(tmp_path / "snapshots")
    with pytest.raises(SnapshotError, match="another command"):
        store_at(tmp_path / "snapshots")
    store.close()
    eventually("the first has ended", lambda: bool(take(broker, tmp_path / "snapshots")))


@pytest.mark.parametrize("request_", [b"{}\n", b"nonsense\n", b'{"ask": "page"}\n', b'{"ask": "other"}\n', b"[]\n"])
def test_a_request_that_is_not_understood_gets_an_error(broker: InProcessBroker, request_: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(socket_name(broker.log_dir))
        connection.sendall(request_)
        assert b'"error"' in connection.recv(10_000)


def test_another_user_gets_no_answer(broker: InProcessBroker) -> None:
    """The child of a fork, since only root may become another user."""
    if os.geteuid():
        pytest.skip("only root may become another user")
    name = socket_name(broker.log_dir)
    child = os.fork()
    if not child:
        answer = b"none"
        try:
            os.setuid(ANOTHER_USER)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(name)
                connection.sendall(b'{"ask": "cut"}\n')
                answer = connection.recv(100)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        finally:
            os._exit(len(answer))
    assert os.waitpid(child, 0)[1] == 0


def test_a_full_disk_is_named_and_nothing_is_kept(broker: InProcessBroker, tmp_path: Path) -> None:
    broker.create_topic("large")
    broker.produce("large", *[bytes(900_000)] * 30)
    with SmallDisk(tmp_path / "small", 20 << 20) as disk:
        root = disk.mount_point / "snapshots"
        words = [sys.executable, "-m", "odradek", "storage", "snapshot", str(broker.log_dir), "--to", str(root)]
        ended = subprocess.run([*disk.prefix, *words], check=False, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert "No space left" in ended.stderr
        assert "nothing was kept" in ended.stderr
        left = subprocess.run([*disk.prefix, "ls", str(root)], check=True, capture_output=True)
        assert not left.stdout


def test_the_progress_has_one_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 61.0, 62.0, 122.0])
    report = lines_of_progress("snapshot", "partitions", lambda: next(times))
    for done in range(4):
        report(done, 9, done * 100_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "snapshot: 1 of 9 partitions, 100 MB, 2 MB/s",
        "snapshot: 3 of 9 partitions, 300 MB, 2 MB/s",
    ]
