"""Every intermediate state of a directory. Opening it gives the old log or the new one, never a mixture.

The states are those between two renames of the cleaner's exchange (LocalLog.replaceSegments), and those that deletions
leave. Kafka's own classes find the same segments and batches in the same directories.
"""

import random
import shutil
import subprocess
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.compaction.cleaning import PartitionCleaner
from odradek.storage.compaction.grouping import CleanableRange
from odradek.storage.compaction.offset_map import KeyLimit
from odradek.storage.compaction.partition_facts import read_partition
from odradek.storage.files.file_names import SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.disks.simulated_disk import Crash, SimulatedDisk
from support.disks.unsynced_files import UnsyncedFiles
from support.kafka.java import java_arguments, java_class, java_or_skip

from ..crashes.model import check_parts, found_batches

NOW = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=420, index_interval_bytes=1, cleanup_policy=frozenset({"compact"}))
BASES = (0, 5, 10, 15)


def batch(number: int, **fields: Any) -> bytes:
    return encode_batch([Record(0, NOW, b"k%d" % (number % 3), b"%d" % number, [])], **fields)


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with segments 0, 5, 10 and an active one, and the `.cleaned` files that replace the first three."""
    directory = tmp_path_factory.mktemp("half-done") / "t-0"
    log = Log.open(directory, CONFIG, now_ms=NOW)
    for number in range(12):
        fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number, "is_transactional": True}
        log.appender.append_as_leader(batch(number, **fields), number // 6, NOW)
        if number % 4 == 3:
            kind = ControlRecordType.ABORT if number == 3 else ControlRecordType.COMMIT
            marker = EndTransactionMarker(kind, 1)
            end = encode_end_transaction_batch(marker, timestamp=NOW, producer_id=7, producer_epoch=0)
            log.appender.append_as_leader(end, number // 6, NOW, origin=AppendOrigin.COORDINATOR)
            log.roll(NOW)
    log.appender.append_as_leader(batch(99), 2, NOW)
    assert tuple(log.segments.base_offsets) == BASES
    log.close()
    files = UnsyncedFiles()
    facts = read_partition(files, directory, now_ms=NOW, producer_id_expiration_ms=CONFIG.producer_id_expiration_ms)
    cleaner = PartitionCleaner(files, directory, LogConfig(index_interval_bytes=1), NOW)
    _, groups = cleaner.write_cleaned(facts, CleanableRange(0, 15), KeyLimit(entries=100))
    assert [[source.base_offset for source in group.sources] for group in groups] == [[0, 5, 10]]
    return directory


def renamings() -> list[tuple[str, str]]:
    """The renames of the exchange, step by step."""
    new = [f"{0:020d}{suffix}" for suffix in SEGMENT_SUFFIXES]
    old = [f"{base:020d}{suffix}" for base in BASES[:3] for suffix in SEGMENT_SUFFIXES]
    return [
        *((f"{name}.cleaned", f"{name}.swap") for name in new),
        *((name, f"{name}.deleted") for name in old),
        *((f"{name}.swap", name) for name in new),
    ]


STATES = {f"{done} of {len(renamings())} renamings": done for done in range(len(renamings()) + 1)}
LEFTOVERS = {
    "deleted files of every kind": [
        f"{base:020d}{suffix}.deleted" for base in (0, 3) for suffix in (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX)
    ],
    "cleaned files of another segment": [f"{5:020d}{suffix}.cleaned" for suffix in SEGMENT_SUFFIXES],
    "indexes without a log": [f"{12:020d}{suffix}" for suffix in SEGMENT_SUFFIXES[1:]],
    "a swapped log behind a cleaned one": [f"{5:020d}.log.cleaned", f"{10:020d}.log.swap"],
    "a temporary checkpoint": ["leader-epoch-checkpoint.tmp"],
}


def make_state(cleaned: Path, target: Path, name: str) -> Path:
    """A directory in the state of that name."""
    shutil.copytree(cleaned, target)
    if name in STATES:
        for source, renamed in renamings()[: STATES[name]]:
            if (target / source).exists():
                (target / source).rename(target / renamed)
    else:
        for path in target.glob("*.cleaned"):
            path.unlink()
        for leftover in LEFTOVERS[name]:
            (target / leftover).write_bytes(b"")
    return target


def describe(log: Log) -> str:
    """Describes a log as OpenLog.java does."""
    batches = found_batches(log)
    segments = []
    for base in log.segments.base_offsets:
        ranges = [f"{b.header.base_offset}-{b.header.last_offset}" for b in batches if b.segment == base]
        segments.append(f"{base}[{' '.join(ranges)}]")
    return " ".join((str(log.log_start_offset), str(log.log_end_offset), *segments))


ALL = [*STATES, *LEFTOVERS]
TAKEN_BACK = {f"taken back, {left} indexes left": left for left in (3, 2, 1)}
"""A group that was staged and then dropped: its log is `.cleaned` again, and some of its indexes still exist."""


def on_disk(directory: Path, target: Path) -> SimulatedDisk:
    """The directory on a new simulated disk, completely durable."""
    disk = SimulatedDisk(target)
    disk.make_directory(target / "t-0")
    disk.sync_directory(target)
    for path in directory.iterdir():
        disk.put(target / "t-0" / path.name, path.read_bytes())
    return disk


def open_on(disk: SimulatedDisk, root: Path) -> Log:
    """Opens the log as after a kill. The recovery point is the log's end, as when a round begins."""
    return Log.open(root / "t-0", CONFIG, now_ms=NOW, files=disk, recovery_point=16)


def half_done(cleaned: Path, root: Path, name: str) -> SimulatedDisk:
    """A disk on which the process died in that state. Operations since its last sync are not durable."""
    disk = on_disk(cleaned, root)
    done = renamings()[: STATES.get(name, 4)]
    for number, (source, target) in enumerate(done):
        if number in (4, 16, 19):  # where the exchange syncs, and where it syncs for the transaction index
            disk.sync_directory(root / "t-0")
        if disk.exists(root / "t-0" / source):
            disk.rename(root / "t-0" / source, root / "t-0" / target)
    if name in TAKEN_BACK:
        log = root / "t-0" / f"{0:020d}.log.swap"
        disk.rename(log, log.with_suffix(".cleaned"))
        disk.sync_directory(root / "t-0")
        for suffix in SEGMENT_SUFFIXES[TAKEN_BACK[name] + 1 :]:
            disk.remove(root / "t-0" / f"{0:020d}{suffix}.swap")
    return disk


@pytest.mark.parametrize("name", [*STATES, *TAKEN_BACK])
def test_a_power_failure_while_it_is_opened_changes_nothing(cleaned: Path, tmp_path: Path, name: str) -> None:
    """The process dies in an intermediate state, and a power failure ends the next start at each write point."""
    chance = random.Random(name)
    outcomes = [describe(open_on(half_done(cleaned, tmp_path, state), tmp_path)) for state in (ALL[0], [*STATES][-1])]
    crash_at = 0
    while True:
        disk = half_done(cleaned, tmp_path, name)
        disk.crash_at = disk.operations + crash_at
        try:
            open_on(disk, tmp_path)
            break
        except Crash:
            crash_at += 1
        for _ in range(4):
            log = open_on(disk.survivors(tmp_path, chance, has_power=False), tmp_path)
            check_parts(log)
            assert describe(log) in outcomes, f"crashed at write point {crash_at - 1} of opening"
    assert crash_at >= 2


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("name", ALL)
def test_the_old_log_or_the_new_one(cleaned: Path, tmp_path: Path, name: str, is_clean: bool) -> None:
    results: list[str] = []
    for state in (ALL[0], name, ALL[len(STATES) - 1]):
        directory = make_state(cleaned, tmp_path / str(len(results)), state)
        log = Log.open(directory, CONFIG, now_ms=NOW, clean_shutdown=is_clean)
        check_parts(log)
        results.append(describe(log))
        log.close()
        left = [path.name for path in directory.iterdir() if path.suffix in (".cleaned", ".swap", ".deleted", ".tmp")]
        assert not left
        again = Log.open(directory, CONFIG, now_ms=NOW, clean_shutdown=True)
        assert describe(again) == results[-1]
        again.close()
    before, found, after = results
    assert before != after
    assert found in (before, after)
    if name in LEFTOVERS:
        assert found == before


class OpenLog:
    """The running program OpenLog.java."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [*java_arguments(), java_class("OpenLog")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def open(self, directory: Path, *, is_clean: bool) -> str:
        """Opens a directory's log with Kafka's classes; returns its description."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{directory} {str(is_clean).lower()}\n")
        self.process.stdin.flush()
        status, _, answer = self.process.stdout.readline().strip().partition(" ")
        assert status == "ok", answer
        return answer

    def close(self) -> None:
        """Ends the program."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def kafka() -> Iterator[OpenLog]:
    java_or_skip()
    program = OpenLog()
    yield program
    program.close()


@pytest.mark.ci
@pytest.mark.java
def test_kafka_comes_to_the_same(cleaned: Path, tmp_path: Path, kafka: OpenLog) -> None:
    for number, (name, is_clean) in enumerate(chain.from_iterable(((n, True), (n, False)) for n in ALL)):
        theirs = make_state(cleaned, tmp_path / f"kafka-{number}" / "t-0", name)
        ours = make_state(cleaned, tmp_path / f"ours-{number}" / "t-0", name)
        expected = kafka.open(theirs, is_clean=is_clean)
        log = Log.open(ours, CONFIG, now_ms=NOW, clean_shutdown=is_clean)
        assert describe(log) == expected, f"{name}, clean: {is_clean}"
        log.close()
