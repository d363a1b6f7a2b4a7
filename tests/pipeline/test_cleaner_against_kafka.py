"""The cleaner's core against Kafka's own Cleaner class, on the same directories at the same clock."""

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import decode_records
from odradek.storage.compaction.cleaning import PartitionCleaner
from odradek.storage.compaction.grouping import cleanable_range
from odradek.storage.compaction.live_round import clean_log
from odradek.storage.compaction.partition_facts import read_partition
from odradek.storage.descriptors import DescriptorCache
from odradek.storage.log import Log
from odradek.storage.log_config import LogConfig
from support.java import java_arguments, java_or_skip, java_source
from support.log_histories import HistoryWriter
from support.unsynced_files import UnsyncedFiles

HOUR_MS = 3_600_000
CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=1 << 20)
COMPARED = (".log", ".index", ".timeindex", ".txnindex")


class CleanerOracle:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [*java_arguments(), str(java_source("CleanerOracle"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def clean(self, directory: Path, first_dirty: int, now_ms: int, config: LogConfig) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        words = [
            str(directory),
            str(first_dirty),
            str(now_ms),
            f"internal.segment.bytes={config.segment_bytes}",
            f"delete.retention.ms={config.delete_retention_ms}",
        ]
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split(" ", 1)
        assert answer[0] == "ok", answer
        return int(answer[1])

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)


@pytest.fixture(scope="module")
def oracle() -> Iterator[CleanerOracle]:
    java_or_skip()
    oracle = CleanerOracle()
    yield oracle
    oracle.close()


def clean_once(directory: Path, first_dirty: int, now_ms: int, config: LogConfig) -> int:
    files = UnsyncedFiles()
    facts = read_partition(files, directory, now_ms=now_ms, producer_id_expiration_ms=24 * HOUR_MS)
    stable = facts.first_unstable_offset
    offsets = cleanable_range(
        facts.segments,
        cleaned_up_to=first_dirty,
        log_start_offset=0,
        log_end_offset=facts.log_end_offset,
        last_stable_offset=facts.log_end_offset if stable is None else stable,
        min_compaction_lag_ms=0,
        now_ms=now_ms,
    )
    cleaner = PartitionCleaner(files, directory, config, now_ms)
    return cleaner.clean(facts, offsets, max_map_entries=1_000_000).cleaned_up_to


def clean_once_live(directory: Path, first_dirty: int, now_ms: int, config: LogConfig) -> int:
    """The round as the broker does it: over an open log, which goes on with the cleaned segments."""
    files = UnsyncedFiles()
    log = Log.open(directory, config, now_ms=now_ms, clean_shutdown=True, descriptors=DescriptorCache(files))
    cleaned_up_to = clean_log(log, cleaned_up_to=first_dirty, now_ms=now_ms).result.cleaned_up_to
    log.remove_deleted_files(now_ms + config.file_delete_delay_ms)
    log.close()
    return cleaned_up_to


def contents(directory: Path, suffixes: tuple[str, ...]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.suffix in suffixes}


def decoded(directory: Path) -> list[object]:
    """Headers (without size and CRC) and records of every batch: codecs of two libraries give other bytes."""
    found: list[object] = []
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_headers(data):
            found.append((path.name, header._replace(batch_length=0, crc=0), decode_records(data, header, position)))
    return found


def compare_with_kafka(
    tmp_path: Path, oracle: CleanerOracle, seed: int, clean: Callable[[Path, int, int, LogConfig], int] = clean_once
) -> None:
    rng = random.Random(seed)
    ours = tmp_path / "ours" / "topic-0"
    is_compressed = seed % 3 == 2
    codecs = tuple(CompressionType) if is_compressed else (CompressionType.NONE,)
    config = replace(CONFIG, segment_bytes=rng.choice((2000, 6000, 1 << 20)), delete_retention_ms=HOUR_MS)
    writer = HistoryWriter(rng, ours, codecs=codecs, keys=rng.choice((3, 20, 200)))
    writer.write(rng.choice((30, 150)))
    writer.roll()
    writer.close()
    kafkas = tmp_path / "kafkas" / "topic-0"
    shutil.copytree(ours, kafkas)
    now_ms = writer.end_ms
    size = sum(len(data) for data in contents(ours, (".log",)).values())
    for _ in range(2):
        now_ms += rng.choice((1000, HOUR_MS + 1))
        expected = oracle.clean(kafkas, 0, now_ms, config)
        assert clean(ours, 0, now_ms, config) == expected, f"seed {seed}"
        if is_compressed:
            assert decoded(ours) == decoded(kafkas), f"seed {seed}"
        else:
            assert contents(ours, COMPARED) == contents(kafkas, COMPARED), f"seed {seed}"
    assert sum(len(data) for data in contents(ours, (".log",)).values()) < size, "nothing was cleaned"


@pytest.mark.java
@pytest.mark.parametrize("seed", range(9))
def test_every_file_equals_kafkas(tmp_path: Path, oracle: CleanerOracle, seed: int) -> None:
    compare_with_kafka(tmp_path, oracle, seed)


@pytest.mark.ci
@pytest.mark.java
@pytest.mark.parametrize("seed", range(9, 60))
def test_every_file_equals_kafkas_in_more_histories(tmp_path: Path, oracle: CleanerOracle, seed: int) -> None:
    compare_with_kafka(tmp_path, oracle, seed)


@pytest.mark.java
@pytest.mark.parametrize("seed", range(100, 106))
def test_the_live_cleaner_leaves_what_kafkas_does(tmp_path: Path, oracle: CleanerOracle, seed: int) -> None:
    compare_with_kafka(tmp_path, oracle, seed, clean_once_live)


@pytest.mark.ci
@pytest.mark.java
@pytest.mark.parametrize("seed", range(106, 150))
def test_the_live_cleaner_leaves_what_kafkas_does_in_more_histories(
    tmp_path: Path, oracle: CleanerOracle, seed: int
) -> None:
    compare_with_kafka(tmp_path, oracle, seed, clean_once_live)
