"""SIGTERM during recovery: the broker stops soon and cleanly, and the next start continues."""

import subprocess
import sys
from pathlib import Path

import pytest

from odradek.broker.replicas.directories.recovery import RecoveryProgress, RecoveryStopped
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.checkpoints import RECOVERY_POINT_CHECKPOINT, read_offset_checkpoint
from odradek.storage.files.files import Files
from odradek.storage.log.log_config import LogConfig
from support.brokers.asking import Asking
from support.brokers.our_broker import OurBroker

PARTITIONS = 12
NOW_MS = 1_700_000_000_000
CONFIGS = {"offsets.topic.num.partitions": "1", "num.recovery.threads.per.data.dir": "1"}

STOPPED_WHILE_IT_RECOVERS = """
import os, signal, sys
from odradek.broker.replicas.directories import recovery
from odradek.broker.server import serve_options

class Progress(recovery.RecoveryProgress):
    def _log_done(self, directory, key, done, total):
        if done == 4:
            os.kill(os.getpid(), signal.SIGTERM)
            assert self._stop.wait(60), "the event loop does not hear the signal"
        super()._log_done(directory, key, done, total)

import odradek.broker.server.broker_server
odradek.broker.server.broker_server.RecoveryProgress = Progress
sys.exit(serve_options.serve(sys.argv[1:]))
"""


def test_a_stop_during_recovery_keeps_what_was_recovered(tmp_path: Path) -> None:
    broker = OurBroker(tmp_path, CONFIGS)
    with broker:
        asking = Asking(broker.port)
        assert asking.create("t", PARTITIONS) == 0
        for index in range(PARTITIONS):
            assert asking.produce("t", index, b"first") == 0
        broker.kill()
        assert recovery_points(broker.log_dir) == {}
        ready = tmp_path / "never"
        overrides = [f"listeners=PLAINTEXT://127.0.0.1:{broker.port}", f"log.dirs={broker.log_dir}"]
        overrides += [f"{key}={value}" for key, value in CONFIGS.items()]
        options = [part for override in overrides for part in ("--override", override)]
        command = [sys.executable, "-c", STOPPED_WHILE_IT_RECOVERS, *options, "--ready-file", str(ready)]
        stopped = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert stopped.returncode == 0, stopped.stderr
        assert "recovery was stopped after 4 logs" in stopped.stderr
        assert "Traceback" not in stopped.stderr
        assert "listens on" not in stopped.stdout
        assert not ready.exists()
        assert not (broker.log_dir / ".kafka_cleanshutdown").exists()
        assert len(recovery_points(broker.log_dir)) == 4, "the next start need not check these again"
        broker.start()
        assert f"Recovered {PARTITIONS} logs" in broker.log()
        for index in range(PARTITIONS):
            assert asking.fetch("t", index) == (0, [b"first"])
        assert broker.stop() == 0


class StopsAtTheThird(RecoveryProgress):
    """Stops after three checked batches."""

    checked = 0

    def _checked(self, path: str, position: int, size: int, new_bytes: int) -> None:
        self.checked += 1
        if self.checked == 3:
            self.stop()
        super()._checked(path, position, size, new_bytes)


def test_a_stop_within_one_log_leaves_it_to_the_next_start(tmp_path: Path) -> None:
    directory = LogDirectory.open(tmp_path)
    log = directory.open_log("t", 0, LogConfig(), NOW_MS)
    for number in range(6):
        log.appender.append_as_leader(encode_batch([Record(0, NOW_MS, b"k", b"%d" % number, [])]), 0, NOW_MS)
    directory.abort()

    def recover(progress: RecoveryProgress) -> int:
        directories = LogDirectories.open([tmp_path], lambda _: Files())
        try:
            directories.find_logs(NOW_MS, lambda *_: False)
            progress.recover(directories, lambda _: LogConfig(), NOW_MS, 1)
            return directories.online[0].logs["t", 0].log_end_offset
        finally:
            directories.abort()

    stopped = StopsAtTheThird(lambda: 0.0, report_bytes=1)
    with pytest.raises(RecoveryStopped):
        recover(stopped)
    assert stopped.checked == 3
    assert recover(RecoveryProgress(lambda: 0.0)) == 6


def recovery_points(log_dir: Path) -> dict[tuple[str, int], int]:
    """The recovery points of a directory's checkpoint, without those that are 0."""
    found = read_offset_checkpoint(Files(), log_dir / RECOVERY_POINT_CHECKPOINT)
    return {key: offset for key, offset in found.items() if offset}
