"""A partition that lives on several brokers between two audits. Followers lag, roll and delete on their own.

A replica may get another batch than the others: in a closed or in the active segment, with another CRC or another
leader epoch. It stays.
"""

import random
from pathlib import Path

from odradek.protocol.records.batch import iterate_headers
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import write_partition_metadata
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.cleaned_log import clean_log
from support.data.log_histories import HISTORY_START_MS, HistoryWriter
from support.disks.unsynced_files import UnsyncedFiles
from support.pipeline.audited_directory import (
    CLEANER,
    HIGH_WATERMARK,
    LOG_START,
    RECOVERY,
    TOPIC_ID,
    AuditedDirectory,
    stamp,
)

from .living_history import HOUR_MS, Copied, age_files, show_files
from .two_brokers import CLUSTER, belongs_to

EPOCH_POSITION, CRC_COVERED_POSITION = 12, 27
KEY = ("t", 0)


class Replica:
    """One broker's replica: `root` is its log directory, written at `origin` and copied."""

    def __init__(self, root: Path, broker: int, configs: dict[str, str]) -> None:
        self.root = root
        self.partition = root / "t-0"
        self.origin = root.with_name(f"{root.name}-origin") / "t-0"
        self.cleaned: int | None = None
        self._copied: Copied = {}
        self._times = broker
        directory = AuditedDirectory(root, partitions=())
        belongs_to(root, CLUSTER, broker)
        directory.write_metadata(configs, brokers=(1, 2, 3))

    def open(self, config: LogConfig) -> Log:
        """A follower's log."""
        descriptors = DescriptorCache(UnsyncedFiles())
        return Log.open(self.origin, config, now_ms=HISTORY_START_MS, descriptors=descriptors)

    def show(self, log: Log, high_watermark: int, log_start: int) -> None:
        """Copies what has changed, and writes the checkpoints."""
        write_partition_metadata(Files(), self.origin, TOPIC_ID)
        self._copied = show_files(self.origin, self.partition, self._copied)
        offsets = {RECOVERY: log.log_end_offset, HIGH_WATERMARK: min(high_watermark, log.log_end_offset)}
        offsets |= {LOG_START: log_start} if log_start else {}
        offsets |= {CLEANER: self.cleaned} if self.cleaned is not None else {}
        for name in (RECOVERY, HIGH_WATERMARK, LOG_START, CLEANER):
            write_offset_checkpoint(Files(), self.root / name, {KEY: offsets[name]} if name in offsets else {})

    def age(self) -> None:
        """Gives new files a time in the past."""
        self._times = age_files(self.partition, self._times)


class ReplicatedHistory:
    """`replicas`: the leader's and those of two followers."""

    def __init__(self, place: Path, chance: random.Random) -> None:
        self._chance = chance
        self._is_compacted = chance.random() < 0.3
        configs = {"cleanup.policy": "compact"} if self._is_compacted else {}
        self._config = LogConfig(cleanup_policy=frozenset({"compact"})) if self._is_compacted else LogConfig()
        self.replicas = [Replica(place / f"broker-{broker}", broker, configs) for broker in (1, 2, 3)]
        leader, *followers = self.replicas
        self._writer = HistoryWriter(chance, leader.origin, keys=50, config=self._config)
        self._logs = [self._writer.log, *(replica.open(self._config) for replica in followers)]
        self._log_start = 0

    @property
    def roots(self) -> list[Path]:
        """The log directories."""
        return [replica.root for replica in self.replicas]

    @property
    def now_ms(self) -> int:
        """The time of the last record."""
        return self._writer.end_ms

    def live(self) -> list[str]:
        """Lets some time pass. Returns what was done."""
        chance, leader = self._chance, self._logs[0]
        done = []
        if chance.random() < 0.85:
            steps = chance.choice((5, 60, 200))
            self._writer.write(steps)
            done.append(f"{steps} steps")
        if chance.random() < 0.3:
            self._writer.leader_epoch += 1
            leader.assign_epoch(self._writer.leader_epoch)
            done.append(f"epoch {self._writer.leader_epoch}")
        for number, log in enumerate(self._logs):
            if number:
                done += self._follow(number)
            if chance.random() < 0.3 and log.log_end_offset > log.segments.active.base_offset:
                log.roll(self.now_ms)
                done.append(f"{number} rolls")
            done += self._delete(number)
        high_watermark = chance.choice((1 << 62, min(log.log_end_offset for log in self._logs)))
        if chance.random() < 0.2:
            self._log_start = chance.randrange(self._log_start, leader.log_end_offset + 1)
            done.append(f"records before {self._log_start} deleted")
        for replica, log in zip(self.replicas, self._logs, strict=True):
            replica.show(log, high_watermark, self._log_start)
        return done

    def _follow(self, number: int) -> list[str]:
        """Appends what the leader has more, or a part of it; sometimes rolls in between."""
        chance, log = self._chance, self._logs[number]
        batches = []
        for path in sorted(self.replicas[0].origin.glob("*.log")):
            data = path.read_bytes()
            for at, header in iterate_headers(data):
                if header.base_offset >= log.log_end_offset:
                    batches.append(data[at : at + header.size_in_bytes])
        if chance.random() < 0.3:
            batches = batches[: chance.randrange(len(batches) + 1)]
        for batch in batches:
            log.appender.append_as_follower(batch, self.now_ms)
            if chance.random() < 0.02:
                log.roll(self.now_ms)
        return [f"{number} follows to {log.log_end_offset}"]

    def _delete(self, number: int) -> list[str]:
        chance, log, replica = self._chance, self._logs[number], self.replicas[number]
        if self._is_compacted:
            if chance.random() < 0.5:
                outcome = clean_log(log, cleaned_up_to=replica.cleaned, now_ms=self.now_ms)
                replica.cleaned = outcome.result.cleaned_up_to
                return [f"{number} cleaned up to {replica.cleaned}"]
        elif chance.random() < 0.2:
            log.update_config(LogConfig(retention_ms=chance.randrange(200_000), file_delete_delay_ms=0))
            log.delete_old_segments(self.now_ms)
            log.remove_deleted_files(self.now_ms + HOUR_MS)
            log.update_config(self._config)
            return [f"{number} deleted up to {log.log_start_offset}"]
        return []

    def diverge(self) -> list[str]:
        """Changes a batch of one replica. Returns what was done."""
        chance = self._chance
        replica = chance.choice(self.replicas)
        path = chance.choice(sorted(replica.partition.glob("*.log")))
        data = bytearray(path.read_bytes())
        places = list(iterate_headers(bytes(data)))
        if not places:
            return []
        at, header = chance.choice(places)
        batch = data[at : at + header.size_in_bytes]
        if chance.random() < 0.5:
            batch[EPOCH_POSITION : EPOCH_POSITION + 4] = (header.partition_leader_epoch + 1).to_bytes(4, "big")
        else:
            stamp(batch, CRC_COVERED_POSITION, ">q", header.base_timestamp - 1)
        data[at : at + header.size_in_bytes] = batch
        path.write_bytes(data)
        return [f"another batch at {header.base_offset} of {path}"]
