"""A seeded history of a log directory, crashed at every write point.

`CrashRun(directory, seed).run()` performs random operations on a log directory on a simulated disk. Before each write
point (chosen by `often`) it copies the disk as a crash would leave it, recovers the copy, sometimes crashes during the
recovery, and compares the result with the model. `CrashRun(directory, seed, only=K)` checks write point K only: what
survives depends on the seed and K alone.
"""

import random
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.compaction.cleaning import PartitionCleaner
from odradek.storage.compaction.grouping import cleanable_range
from odradek.storage.compaction.partition_facts import read_partition
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.disks.simulated_disk import Crash, SimulatedDisk

from .cleaning import SteppedCleaning
from .history import COMPACTED, PLAIN, SHORT_LIVED, History, Key
from .model import PartitionModel, check_parts, check_recovered, found_batches

CLUSTER_ID = "A" * 22
EPOCH_OF_BROKER = 7


class CrashRun(History):
    """A history with crashes. `points`: the number of crashes that were checked."""

    def __init__(
        self,
        directory: Path,
        seed: int,
        *,
        only: int | None = None,
        often: float = 1.0,
        disk: type[SimulatedDisk] = SimulatedDisk,
    ) -> None:
        self.image_root = directory / "image"
        self.image_root.mkdir(parents=True)
        root = directory / "live"
        root.mkdir()
        super().__init__(root, seed, disk)
        self.only = only
        self.often = often
        self.points = 0
        self.power_is_lost = False
        self.cleaning = SteppedCleaning()
        self.step = "start"
        self.disk.before = self._write_point
        self.directory = self._start(self.disk)

    def run(self, steps: int = 40) -> None:
        """Runs ``steps`` steps. Adds the line that replays the run as a note to an AssertionError."""
        with self._replayed_by("start"):
            for key in (PLAIN, COMPACTED, SHORT_LIVED):
                self._create(key)
            for _ in range(steps):
                self._attempt(self._step)
            self.step = "close"
            self._attempt(self._stop)
            self.directory.abort()

    def _attempt(self, action: Callable[[], None]) -> None:
        """Runs an operation. If it fails, its state must be as safe as after a crash."""
        try:
            action()
        except (OSError, StorageError):
            if not self.disk.faults:
                raise
            self.disk.faults = {}
            self._crash(has_power=True)

    def _weighted_steps(self) -> list[tuple[Callable[[], None], int]]:
        return [
            (self.append, 14),
            (self.append_large, 2),
            (self.append_idempotent, 6),
            (self.append_transactional, 5),
            (self.end_transaction, 4),
            (self.roll, 2),
            (self.retain, 2),
            (self.delete_records, 2),
            (self.truncate, 2),
            (self.flush_one, 2),
            (self.flush_all, 1),
            (self.checkpoint, 2),
            (self.remove_deleted, 1),
            (self.recreate, 1),
            (self.new_epoch, 1),
            (self.restart, 1),
            (self.compact, 1),
            (self.clean, 8),
            (self.crash, 1),
        ]

    def _step(self) -> None:
        weighted = self._weighted_steps()
        step = self.chance.choices([step for step, _ in weighted], [weight for _, weight in weighted])[0]
        self.step = step.__name__
        self.now_ms += self.chance.randrange(500)
        self.disk.now_ms = self.now_ms
        step()
        for key, log in self.directory.logs.items():
            assert log.log_end_offset == self.models[key].end_offset, f"{self.step}: {log}"

    def _write_point(self, number: int, what: str) -> None:
        chance = random.Random(f"{self.seed}/{number}")
        if (self.only is not None and number != self.only) or chance.random() >= self.often:
            return
        self.points += 1
        with self._replayed_by(f"{self.step}: {what}", number):
            has_power = chance.random() < 0.3
            image = self.disk.survivors(self.image_root, chance, has_power=has_power)
            self._check_image(image, chance, has_power=has_power and not self.power_is_lost)

    @contextmanager
    def _replayed_by(self, what: str, number: int | None = None) -> Any:
        try:
            yield
        except Exception as difference:
            if not hasattr(difference, "__notes__"):
                only = "" if number is None else f", only={number}"
                difference.add_note(f"crash at: {what}")
                difference.add_note(
                    f"replay: {type(self).__name__}(directory, {self.seed}{only}).run()  # tests/storage/crashes/"
                )
            raise

    def _check_image(self, image: SimulatedDisk, chance: random.Random, *, has_power: bool) -> None:
        """Recovers, sometimes crashes during the recovery, compares, and then continues for some steps."""
        for _ in range(chance.choice([0, 0, 0, 1, 2])):
            has_power_again = chance.random() < 0.3
            crash_after = int(chance.expovariate(1 / 15))
            image, crashed = self._crash_in_recovery(image, chance, crash_after, has_power=has_power_again)
            has_power = has_power and (has_power_again or not crashed)
        directory = self._start(image)
        try:
            self._check_directory(directory, has_power=has_power)
            if chance.random() < 0.3:
                self._go_on(directory, image, chance)
        finally:
            directory.abort()

    def _crash_in_recovery(
        self, image: SimulatedDisk, chance: random.Random, after: int, *, has_power: bool
    ) -> tuple[SimulatedDisk, bool]:
        image.crash_at = image.operations + after
        try:
            directory = self._start(image)
        except Crash:
            return image.survivors(self.image_root, chance, has_power=has_power), True
        directory.abort()
        image.crash_at = None
        return image, False

    def _start(self, disk: SimulatedDisk) -> LogDirectory:
        directory = LogDirectory.open(disk.root, disk, chance=random.Random(f"{self.seed}/{disk.operations}"))
        try:
            if directory.meta is None:
                directory.format(CLUSTER_ID, 1, bytes(16))
            directory.load_logs(lambda topic: self.configs[topic], self.now_ms)
        except BaseException:
            directory.abort()
            raise
        return directory

    def _check_directory(self, directory: LogDirectory, *, has_power: bool) -> None:
        for key, log in directory.logs.items():
            assert log.topic_id not in self.deleted_ids or key == self.being_deleted, f"{log}: deleted, and back"
            model = self.models.get(key)
            assert model is not None or key == self.being_created, f"{log}: it was never created"
            if model is not None:
                may_lack_id = model.may_lack_id or (model.flushed_to == 0 and not has_power)
                assert log.topic_id == model.topic_id or (log.topic_id is None and may_lack_id), log.topic_id
                check_recovered(log, model, has_power=has_power)
        for key, model in self.models.items():
            if key not in directory.logs and key != self.being_deleted:
                assert not has_power, f"partition {key} is gone"
                assert model.flushed_to == 0, f"partition {key} is gone"
        if has_power:
            self._send_again(directory)

    def _send_again(self, directory: LogDirectory) -> None:
        """A producer without an answer sends its batch again, which must not be appended twice."""
        for key, log in directory.logs.items():
            model = self.models.get(key)
            if model is None or model.pending_truncation is not None:
                continue
            for sent, stored in model.last_sent.values():
                start = max(log.log_start_offset, model.log_start_offset)
                if start <= stored.first_offset and stored.next_offset <= log.log_end_offset:
                    info = log.appender.append_as_leader(sent, self.epoch, self.now_ms)
                    assert info.duplicate, f"{log}: a batch at {stored.first_offset} was appended twice"
                    # Removed batches that exist again may have its sequence numbers, from before the log forgot the
                    # producer.
                    is_back = log.log_start_offset < model.log_start_offset
                    assert info.first_offset == stored.first_offset or is_back

    def _go_on(self, directory: LogDirectory, image: SimulatedDisk, chance: random.Random) -> None:
        """Asserts that the recovered directory accepts records, stops cleanly, and is the same after the next start."""
        for log in directory.logs.values():
            data = encode_batch([Record(0, self.now_ms, b"k", b"after the crash", [])])
            log.appender.append_as_leader(data, self.epoch, self.now_ms)
            if chance.random() < 0.3:
                log.roll(self.now_ms)
        before = {key: _facts(log) for key, log in directory.logs.items()}
        directory.close(EPOCH_OF_BROKER)
        again = self._start(image)
        try:
            assert again.was_clean
            assert {key: _facts(log) for key, log in again.logs.items()} == before
            for key, log in again.logs.items():
                model = self.models.get(key)
                start = log.log_start_offset if model is None else model.log_start_offset
                check_parts(log, start=max(log.log_start_offset, start))
        finally:
            again.abort()

    def _stop(self) -> None:
        self.cleaning.forget()
        self.directory.close(EPOCH_OF_BROKER)

    def restart(self) -> None:
        """Stops cleanly and starts. Nothing may be lost."""
        self._stop()
        for model in self.models.values():
            model.flushed_to = model.end_offset
            model.may_lack_id = False
        self.directory = self._start(self.disk)
        assert self.directory.was_clean
        for key in self.directory.logs:
            self._resume_producers(key)

    def compact(self) -> None:
        """Cleans the compacted partition, while it is closed."""
        path = self.directory.logs[COMPACTED].directory
        self._stop()
        for model in self.models.values():
            model.flushed_to = model.end_offset
        compact_partition(self.disk, path, self.configs["compacted"], self.now_ms)
        self.directory = self._start(self.disk)
        for key in self.directory.logs:
            self._resume_producers(key)

    def clean(self) -> None:
        """Runs a step of a cleaning round over the served compacted partition; sometimes all remaining steps."""
        if not self.cleaning.is_under_way:
            log, model = self.directory.logs[COMPACTED], self.models[COMPACTED]
            self._append(COMPACTED, self._batch(COMPACTED, 5, 20))
            self._append(COMPACTED, self._batch(COMPACTED, 5, 20))
            log.roll(self.now_ms)
            log.flusher.flush()
            model.note_flush(log)
        goes_through = self.chance.random() < 0.25
        self.cleaning.step(self._holder(COMPACTED), COMPACTED, self.now_ms)
        while goes_through and self.cleaning.is_under_way:
            self.cleaning.step(self._holder(COMPACTED), COMPACTED, self.now_ms)

    def _holder(self, key: Key) -> LogDirectory:
        """The log directory of a partition."""
        return self.directory

    def crash(self) -> None:
        """Crashes, and continues the history on the recovered directory."""
        self._crash(has_power=self.chance.random() < 0.5)

    def _crash(self, *, has_power: bool) -> None:
        disk = self.disk.survivors(self.disk.root, self.chance, has_power=has_power)
        disk.before, disk.operations, self.disk.before = self.disk.before, self.disk.operations, None
        self.cleaning.forget()
        self.directory.abort()
        self.disk = disk
        self.step = "recovery" if has_power else "recovery without power"
        self.directory = self._start_again(has_power=has_power)
        self._check_directory(self.directory, has_power=has_power)
        for key, log in self.directory.logs.items():
            if key not in self.models:  # it was being created
                self.models[key] = PartitionModel(log.topic_id or bytes(16), is_compacted=key == COMPACTED)
            self.deleted_ids.discard(self.models[key].topic_id)
        for key in list(self.models):
            if key in self.directory.logs:
                self.models[key].adopt(self.directory.logs[key])
                self._resume_producers(key)
            else:
                del self.models[key]
                self._forget_producers(key)
        for key, log in self.directory.logs.items():
            if log.topic_id is None:
                log.assign_topic_id(self.models[key].topic_id)
        self.being_created = self.being_deleted = None
        for key in (PLAIN, COMPACTED, SHORT_LIVED):
            if key not in self.models:
                self._create(key)

    def _start_again(self, *, has_power: bool) -> LogDirectory:
        """Recovers. A crash during this is checked like a power failure, because that may have lost data already."""
        self.power_is_lost = not has_power
        directory = self._start(self.disk)
        self.power_is_lost = False
        return directory


def compact_partition(files: Files, directory: Path, config: LogConfig, now_ms: int) -> None:
    """One round of cleaning of everything that may be cleaned."""
    facts = read_partition(files, directory, now_ms=now_ms, producer_id_expiration_ms=config.producer_id_expiration_ms)
    offsets = cleanable_range(
        facts.segments,
        cleaned_up_to=None,
        log_start_offset=facts.segments[0].base_offset,
        log_end_offset=facts.log_end_offset,
        last_stable_offset=facts.log_end_offset,
        min_compaction_lag_ms=0,
        now_ms=now_ms,
    )
    PartitionCleaner(files, directory, config, now_ms).clean(facts, offsets, max_map_entries=1000)


def _facts(log: Log) -> object:
    return log.log_start_offset, log.log_end_offset, log.leader_epochs.entries, found_batches(log)
