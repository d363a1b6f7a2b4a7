"""A log directory that lives between two audits: appends, rolls, retention, the cleaner, DeleteRecords, moves.

The log is written in one folder and copied to the audited one as a disk would show it: a file that did not change
keeps its inode and its time, a file that was exchanged gets another inode. Damage stays until it is mended.
"""

import os
import random
import shutil
from pathlib import Path

from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import write_partition_metadata
from odradek.storage.log.log_config import LogConfig
from support.data.cleaned_log import clean_log
from support.data.log_histories import HistoryWriter
from support.pipeline.audited_directory import CLEANER, HIGH_WATERMARK, LOG_START, RECOVERY, TOPIC_ID, AuditedDirectory

HOUR_MS = 3_600_000
FIRST_TIME_NS = 1_700_000_000_000_000_007
CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"cleanup.policy": "compact"},
    {"message.timestamp.before.max.ms": "1500"},
    {"retention.ms": "1000000"},
)


class LivingHistory:
    """`root`: the log directory. `partition`: the one of its topic. `now_ms`: the clock of the next audit."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.partition = root / "t-0"
        self._chance = chance
        self._directory = AuditedDirectory(root, partitions=())
        self._configs = chance.choice(CONFIGS)
        self._topic_id = TOPIC_ID
        self._directory.write_metadata(self._configs)
        self._origin = root.parent / "origin"
        self._copied: Copied = {}
        self._times = 0
        self._number = 0
        self._log_start = 0
        self._cleaned: int | None = None
        self._begin()

    @property
    def _is_compacted(self) -> bool:
        return self._configs.get("cleanup.policy") == "compact"

    @property
    def now_ms(self) -> int:
        """Some hours after the last record."""
        return self._writer.end_ms + self._idle_ms

    def _begin(self) -> None:
        self._number += 1
        config = LogConfig(cleanup_policy=frozenset({"compact"})) if self._is_compacted else LogConfig()
        path = self._origin / str(self._number) / "t-0"
        self._writer = HistoryWriter(
            self._chance, path, keys=50, with_null_keys=self._chance.random() < 0.5, config=config
        )
        write_partition_metadata(Files(), path, self._topic_id)
        self._idle_ms = self._chance.choice((0, HOUR_MS, 24 * HOUR_MS, 24 * 10 * HOUR_MS))

    def live(self) -> list[str]:
        """Lets some hours pass. Returns what was done."""
        chance, log = self._chance, self._writer.log
        done = []
        if chance.random() < 0.85:
            steps = chance.choice((5, 30, 60))
            self._writer.write(steps)
            done.append(f"{steps} steps")
        if chance.random() < 0.3:
            self._writer.leader_epoch += 1
            log.assign_epoch(self._writer.leader_epoch)
            done.append(f"epoch {self._writer.leader_epoch}")
        if chance.random() < 0.4 and log.log_end_offset > 0:
            self._writer.roll()
            done.append("roll")
        if self._is_compacted and chance.random() < 0.5:
            outcome = clean_log(log, cleaned_up_to=self._cleaned, now_ms=self._writer.end_ms)
            self._cleaned = outcome.result.cleaned_up_to
            done.append(f"cleaned up to {self._cleaned}")
        if not self._is_compacted and chance.random() < 0.3:
            log.update_config(LogConfig(retention_ms=chance.randrange(200_000), file_delete_delay_ms=0))
            log.delete_old_segments(self._writer.end_ms)
            log.remove_deleted_files(self._writer.end_ms + HOUR_MS)
            log.update_config(LogConfig())
            done.append(f"retention up to {log.log_start_offset}")
        if not self._is_compacted and chance.random() < 0.2:
            self._log_start = chance.randrange(log.log_start_offset, log.log_end_offset + 1)
            done.append(f"records before {self._log_start} deleted")
        if chance.random() < 0.07:
            self._delete_topic()
            done.append("another topic of that name")
        if chance.random() < 0.1:
            self._copied.clear()
            done.append("moved")
        self._show()
        return done

    def _delete_topic(self) -> None:
        self._writer.close()
        self._topic_id = bytes(reversed(self._topic_id))
        self._configs, self._cleaned, self._log_start = {}, None, 0
        self._directory.write_metadata_of(self._topic_id)
        shutil.rmtree(self.partition, ignore_errors=True)
        self._copied.clear()
        self._begin()
        self._writer.write(20)

    def _show(self) -> None:
        """Copies what has changed, and writes the checkpoints."""
        log = self._writer.log
        self._copied = show_files(self._origin / str(self._number) / "t-0", self.partition, self._copied)
        key = ("t", 0)
        offsets = {RECOVERY: log.log_end_offset, HIGH_WATERMARK: log.log_end_offset}
        offsets |= {LOG_START: self._log_start} if self._log_start else {}
        offsets |= {CLEANER: self._cleaned} if self._cleaned is not None else {}
        for name in (RECOVERY, HIGH_WATERMARK, LOG_START, CLEANER):
            write_offset_checkpoint(Files(), self.root / name, {key: offsets[name]} if name in offsets else {})
        stopped = self.root / ".kafka_cleanshutdown"
        stopped.unlink(missing_ok=True)
        if self._chance.random() < 0.7:
            stopped.write_text('{"version":0,"brokerEpoch":1}')

    def age(self) -> None:
        """Gives each file that was written since the last call a time in the past, which no other file had."""
        self._times = age_files(self.partition, self._times)


Copied = dict[str, tuple[int, int, int]]
"""The size, time and inode that each file had when it was copied."""


def show_files(origin: Path, partition: Path, copied: Copied) -> Copied:
    """Copies the files that are not as in `copied`, as a disk would show them. Returns what is there now."""
    partition.mkdir(exist_ok=True)
    there = {}
    for path in origin.iterdir():
        status = path.stat()
        there[path.name] = (status.st_size, status.st_mtime_ns, status.st_ino)
        known, copy = copied.get(path.name), partition / path.name
        if known == there[path.name]:
            continue
        if known is None or known[2] != status.st_ino:
            copy.unlink(missing_ok=True)
        shutil.copyfile(path, copy)
    for name in copied.keys() - there.keys():
        (partition / name).unlink(missing_ok=True)
    return there


def age_files(partition: Path, times: int) -> int:
    """Gives each new file a time after `times`. Returns the last of them."""
    for path in sorted(partition.iterdir()):
        if path.stat().st_mtime_ns > FIRST_TIME_NS + (1 << 40):
            times += 1_000_001
            os.utime(path, ns=(FIRST_TIME_NS + times,) * 2)
    return times
