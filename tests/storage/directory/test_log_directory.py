"""The log directory: lock, identity, checkpoints, loading, deletion, clean stop and kill."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import CorruptCheckpointError, DirectoryLockedError
from odradek.storage.files.files import EXISTING, Files
from odradek.storage.log.log_config import LogConfig
from support.data.log_model import records_of

NOW = 1_700_000_000_000
TOPIC_ID = bytes(range(16))


def batch(value: bytes) -> bytes:
    return encode_batch([Record(0, NOW, b"k", value, [])])


def fill(path: Path) -> LogDirectory:
    directory = LogDirectory.open(path, chance=random.Random(1))
    directory.format("A" * 22, 3, TOPIC_ID)
    for partition in range(2):
        log = directory.open_log("t", partition, LogConfig(), NOW, TOPIC_ID)
        for value in (b"a", b"b", b"c"):
            log.appender.append_as_leader(batch(value), 5, NOW)
    directory.logs["t", 1].offsets.increment_log_start_offset(2)
    return directory


def test_a_clean_stop_leaves_what_kafka_leaves(tmp_path: Path) -> None:
    fill(tmp_path).close(42)
    assert json.loads((tmp_path / ".kafka_cleanshutdown").read_text()) == {"version": 0, "brokerEpoch": 42}
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n2\nt 0 3\nt 1 3\n"
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\nt 1 2\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\nt 0 3\nt 1 3\n"
    assert "directory.id=AAECAwQFBgcICQoLDA0ODw" in (tmp_path / "meta.properties").read_text().split()
    assert (tmp_path / "t-0" / "partition.metadata").read_text() == "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert (tmp_path / "t-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n5 0\n"
    assert (tmp_path / "t-0" / f"{0:020d}.index").stat().st_size == 0
    assert (tmp_path / "t-0" / f"{0:020d}.timeindex").stat().st_size == 12


class CountingFiles(Files):
    """Counts the files that are opened."""

    opened = 0

    def open(self, path: Path, flags: int = EXISTING) -> int:
        self.opened += 1
        return super().open(path, flags)


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "killed"])
def test_what_the_metadata_knows_to_lie_here_is_not_read_after_a_clean_stop(tmp_path: Path, is_clean: bool) -> None:
    directory = fill(tmp_path)
    if is_clean:
        directory.close(42)
    else:
        directory.flusher.flush(list(directory.logs.values()))
        directory.abort()
    files = CountingFiles()
    directory = LogDirectory.open(tmp_path, files)
    files.opened = 0
    directory.find_logs(NOW, known_id=lambda topic, index: TOPIC_ID if index == 0 else None)
    assert files.opened == (1 if is_clean else 2), (
        "nothing is known of partition 1, and after a kill no checkpoint is trusted"
    )
    assert [one.topic_id for one in directory.found.values()] == [TOPIC_ID, TOPIC_ID]
    assert [one.is_read for one in directory.found.values()] == [not is_clean, True]
    assert directory.found["t", 0].read(files) == directory.found["t", 0]._replace(is_read=True)
    directory.abort()


def test_it_opens_again_as_it_was(tmp_path: Path) -> None:
    fill(tmp_path).close(42)
    directory = LogDirectory.open(tmp_path)
    assert (directory.was_clean, directory.previous_broker_epoch) == (True, 42)
    assert directory.meta == ("A" * 22, 3, TOPIC_ID)
    seen: list[tuple[int, int]] = []
    logs = directory.load_logs(lambda _: LogConfig(), NOW, progress=lambda _, done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    assert [(log.log_start_offset, log.log_end_offset, log.topic_id) for log in logs.values()] == [
        (0, 3, TOPIC_ID),
        (2, 3, TOPIC_ID),
    ]
    assert not (tmp_path / ".kafka_cleanshutdown").exists(), "from now on a kill is a kill"
    directory.abort()
    assert not LogDirectory.open(tmp_path).was_clean


def test_after_a_kill_nothing_is_lost(tmp_path: Path) -> None:
    directory = fill(tmp_path)
    directory.write_checkpoints()
    directory.abort()
    directory = LogDirectory.open(tmp_path)
    assert (directory.was_clean, directory.previous_broker_epoch) == (False, -1)
    logs = directory.load_logs(lambda _: LogConfig(), NOW)
    assert [r.value for r in records_of(logs["t", 0].read(0, 10_000).data)] == [b"a", b"b", b"c"]
    assert (logs["t", 1].log_start_offset, logs["t", 1].log_end_offset) == (2, 3)
    assert logs["t", 0].leader_epochs.entries == [(5, 0)]
    directory.close(1)


def test_a_second_broker_is_refused(tmp_path: Path) -> None:
    directory = fill(tmp_path)
    with pytest.raises(DirectoryLockedError):
        LogDirectory.open(tmp_path)
    program = (
        "import sys; from pathlib import Path; from odradek.storage.directory.log_directory import LogDirectory\n"
        "from odradek.storage.errors import DirectoryLockedError\n"
        "try: LogDirectory.open(Path(sys.argv[1]))\n"
        "except DirectoryLockedError: print('locked')\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "locked\n"
    directory.close(1)
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == ""


def test_a_deleted_partition_goes_later(tmp_path: Path) -> None:
    directory = fill(tmp_path)
    result = directory.logs["t", 0].read(0, 10_000)
    directory.delete_log("t", 0, NOW)
    assert ("t", 0) not in directory.logs
    [renamed] = tmp_path.glob("*-delete")
    assert renamed.name.startswith("t-0.")
    assert len(records_of(result.data)) == 3
    new = directory.open_log("t", 0, LogConfig(), NOW, bytes(reversed(TOPIC_ID)))
    assert new.log_end_offset == 0
    assert directory.remove_deleted(NOW + 59_999) == 0
    assert directory.remove_deleted(NOW + 60_000) == 1
    assert not renamed.exists()
    directory.close(1)


def test_deletion_goes_on_after_a_restart(tmp_path: Path) -> None:
    directory = fill(tmp_path)
    directory.delete_log("t", 0, NOW)
    directory.close(1)
    directory = LogDirectory.open(tmp_path)
    assert set(directory.load_logs(lambda _: LogConfig(), NOW)) == {("t", 1)}
    assert directory.remove_deleted(NOW) == 1
    assert not list(tmp_path.glob("*-delete"))
    directory.close(1)


def test_partitions_that_the_metadata_does_not_know_are_put_aside(tmp_path: Path) -> None:
    fill(tmp_path).close(1)
    directory = LogDirectory.open(tmp_path)
    logs = directory.load_logs(lambda _: LogConfig(), NOW, is_stray=lambda topic, partition, topic_id: partition == 1)
    assert set(logs) == {("t", 0)}
    [stray] = tmp_path.glob("*-stray")
    assert stray.name.startswith("t-1.")
    directory.close(1)
    directory = LogDirectory.open(tmp_path)
    assert set(directory.load_logs(lambda _: LogConfig(), NOW)) == {("t", 0)}
    assert stray.exists()
    directory.close(1)


@pytest.mark.parametrize("content", ["", "0\n0\n", "garbage", "0\n2\nt 0 3\n", "1\n0\n"])
def test_checkpoints_that_say_nothing_cost_only_a_recovery(tmp_path: Path, content: str) -> None:
    fill(tmp_path).abort()
    (tmp_path / "recovery-point-offset-checkpoint").write_text(content)
    directory = LogDirectory.open(tmp_path)
    assert directory.load_logs(lambda _: LogConfig(), NOW)["t", 0].log_end_offset == 3
    directory.close(1)


def test_a_directory_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\n")
    with pytest.raises(CorruptCheckpointError, match=r"meta\.properties"):
        LogDirectory.open(tmp_path)
    (tmp_path / "meta.properties").unlink()
    LogDirectory.open(tmp_path).abort()


def test_few_descriptors_are_enough_for_many_partitions(tmp_path: Path) -> None:
    directory = LogDirectory.open(tmp_path, max_open_files=8)
    for partition in range(40):
        log = directory.open_log("t", partition, LogConfig(), NOW)
        log.appender.append_as_leader(batch(b"%d" % partition), 0, NOW)
    for partition in range(40):
        log = directory.logs["t", partition]
        assert records_of(log.read(0, 10_000).data)[0].value == b"%d" % partition
    assert directory.open_files <= 8
    directory.close(1)
