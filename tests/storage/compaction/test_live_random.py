"""Seeded random operations on a compacted log: appends, cleaning rounds in steps, retention, deletions, crashes.

After every step the log is read as a consumer reads it, and compared with what was written: every record was written at
its offset, and the latest record of each key exists unless it was deleted.
"""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record, decode_records
from odradek.storage.compaction.live_round import LiveRound, range_of, sealed_and_active
from odradek.storage.compaction.order import CleaningOutcome, carry_out
from odradek.storage.compaction.pace import CleaningStoppedError, full_speed
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.log.log import FileRegion, Log
from odradek.storage.log.log_config import LogConfig
from support.data.cleaned_log import UNLIMITED, clean_log
from support.disks.unsynced_files import UnsyncedFiles

HOUR_MS = 3_600_000


class LiveLog:
    """A log, and the records that were written to it."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.directory = directory
        self.now_ms = 1_780_000_000_000
        self.config = LogConfig(
            cleanup_policy=frozenset(self.random.choice((("compact",), ("compact", "delete")))),
            segment_bytes=self.random.choice((1200, 3000, 9000)),
            index_interval_bytes=self.random.choice((1, 300)),
            retention_bytes=5000,
            retention_ms=-1,
            delete_retention_ms=HOUR_MS,
            file_delete_delay_ms=1000,
        )
        self.written: dict[int, Record] = {}
        self.decoded: dict[bytes, list[Record]] = {}
        """A cache of decoded batches, because most are read after every step."""
        self.keys = self.random.choice((3, 30))
        self.cleaned_up_to: int | None = None
        self.round: tuple[LiveRound, CleaningOutcome] | None = None
        self.sequences: dict[int, int] = {}
        self.log = self.open()

    def open(self, *, clean_shutdown: bool = True) -> Log:
        start = max(self.written, default=0) and self.log.log_start_offset
        return Log.open(
            self.directory,
            self.config,
            now_ms=self.now_ms,
            descriptors=DescriptorCache(UnsyncedFiles()),
            clean_shutdown=clean_shutdown,
            log_start_offset=start,
        )

    def run(self, steps: int) -> None:
        choices = [self.append] * 8 + [
            self.begin_round,
            self.swap_a_group,
            self.swap_a_group,
            self.whole_round,
            self.delete_records,
            self.retain,
            self.change_policy,
            self.reopen,
            self.crash,
        ]
        for step in range(steps):
            operation = self.random.choice(choices)
            operation()
            self.check(f"step {step}: {operation.__name__}")
        self.log.close()

    def append(self) -> None:
        for _ in range(self.random.choice((1, 4, 12))):
            self.now_ms += self.random.randrange(1000)
            records = [
                Record(
                    index,
                    self.now_ms,
                    b"key-%d" % self.random.randrange(self.keys),
                    None if self.random.random() < 0.1 else self.random.randbytes(self.random.choice((0, 40, 200))),
                    [],
                )
                for index in range(self.random.choice((1, 1, 4)))
            ]
            producer = self.random.choice((-1, -1, 7, 8))
            sequence = self.sequences.get(producer, 0)
            self.sequences[producer] = sequence + len(records)
            batch = encode_batch(
                records,
                compression=self.random.choice((CompressionType.NONE, CompressionType.NONE, CompressionType.LZ4)),
                producer_id=producer,
                producer_epoch=0 if producer >= 0 else -1,
                base_sequence=sequence if producer >= 0 else -1,
            )
            first = self.log.appender.append_as_leader(batch, 0, self.now_ms).first_offset
            self.written |= {first + r.offset: r._replace(offset=first + r.offset) for r in records}

    def begin_round(self) -> None:
        if self.round is None and self.log.config.is_compacted:
            self.log.flusher.flush()
            offsets = range_of(self.log, sealed_and_active(self.log), self.cleaned_up_to, self.now_ms)
            begun = LiveRound(self.log, offsets, self.now_ms, UNLIMITED)
            self.round = begun, carry_out(begun.order, begun.files, full_speed())

    def swap_a_group(self) -> None:
        """Swaps in one more group of the current round. Other operations may run between its steps."""
        if self.round is None:
            return
        begun, outcome = self.round
        try:
            if outcome.groups:
                group = outcome.groups.pop(0)
                begun.stage(group)
                self.perhaps_disturb()
                begun.commit(group, self.now_ms)
                self.perhaps_disturb()
                begun.rename()
            else:
                self.cleaned_up_to = outcome.result.cleaned_up_to
                self.end_round()
        except CleaningStoppedError:
            self.end_round()

    def perhaps_disturb(self) -> None:
        self.random.choice((self.append, self.delete_records, self.retain, lambda: None))()
        self.check("between two steps")

    def end_round(self) -> None:
        if self.round is not None:
            self.round[0].close(is_done=False)
            self.round = None

    def whole_round(self) -> None:
        if self.round is None and self.log.config.is_compacted:
            self.log.flusher.flush()
            outcome = clean_log(self.log, cleaned_up_to=self.cleaned_up_to, now_ms=self.now_ms)
            self.cleaned_up_to = outcome.result.cleaned_up_to
            self.now_ms += self.random.choice((0, 0, HOUR_MS + 1))

    def delete_records(self) -> None:
        if self.random.random() < 0.3:
            start, end = self.log.log_start_offset, self.log.log_end_offset
            self.log.offsets.increment_log_start_offset(self.random.randint(start, min(end, start + 50)))

    def retain(self) -> None:
        self.log.delete_old_segments(self.now_ms)
        self.log.remove_deleted_files(self.now_ms)

    def change_policy(self) -> None:
        policy = self.random.choice((("compact",), ("delete",), ("compact", "delete")))
        self.config = replace(self.config, cleanup_policy=frozenset(policy))
        self.log.update_config(self.config)

    def reopen(self) -> None:
        self.end_round()
        self.log.close()
        self.log = self.open()

    def crash(self) -> None:
        """Kills the process at any point of the round. Everything written to files is kept."""
        self.log.log_files.cleaning = None  # the cleaner is dead, so it does not undo its round
        self.round = None
        self.log.abort()
        self.log = self.open(clean_shutdown=False)
        if self.cleaned_up_to is not None and not (
            self.log.log_start_offset <= self.cleaned_up_to <= self.log.log_end_offset
        ):
            self.cleaned_up_to = None

    def check(self, where: str) -> None:
        start, end = self.log.log_start_offset, self.log.log_end_offset
        assert end == max(self.written, default=-1) + 1, where
        found = self.read()
        assert all(self.written[offset] == record for offset, record in found.items()), where
        latest = {record.key: record for _, record in sorted(self.written.items())}
        missing = [r for r in latest.values() if r.offset >= start and r.offset not in found and r.value is not None]
        assert not missing, f"{where}: {missing}"
        cleaned = {record.key: record for _, record in sorted(found.items())}
        resurrected = [
            key
            for key, record in cleaned.items()
            if record.value is not None and latest[key].value is None and latest[key].offset >= start
        ]
        assert not resurrected, f"{where}: {resurrected} were deleted"

    def read(self) -> dict[int, Record]:
        found: dict[int, Record] = {}
        offset = self.log.log_start_offset
        while offset < self.log.log_end_offset:
            data = self.log.read(offset, 10_000).data
            assert not isinstance(data, FileRegion)
            if not data:
                break  # nothing remains: the last batch may have been an empty header that retention removed
            for position, header in iterate_headers(data):
                if position + header.size_in_bytes > len(data):
                    break
                batch = data[position : position + header.size_in_bytes]
                if batch not in self.decoded:
                    self.decoded[batch] = decode_records(batch, header)
                for record in self.decoded[batch]:
                    if record.offset >= self.log.log_start_offset:
                        found[record.offset] = record
                offset = header.next_offset
        return found


def live(directory: Path, seed: int, steps: int) -> None:
    try:
        LiveLog(directory / "topic-0", seed).run(steps)
    except Exception as difference:
        difference.add_note(
            f"replay: LiveLog(directory, {seed}).run({steps})  # tests/storage/compaction/test_live_random.py"
        )
        raise


@pytest.mark.parametrize("seed", range(6))
def test_a_compacted_log_keeps_what_it_must(tmp_path: Path, seed: int) -> None:
    live(tmp_path, seed, 50)


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(6, 20))
def test_a_compacted_log_keeps_what_it_must_more_seeds(tmp_path: Path, seed: int) -> None:
    live(tmp_path, seed, 80)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_a_compacted_log_keeps_what_it_must_many_seeds(tmp_path: Path, seed: int) -> None:
    live(tmp_path, seed, 200)
