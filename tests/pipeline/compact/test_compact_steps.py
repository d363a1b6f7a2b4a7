"""Both implementations of a compaction's heavy steps, and key ranges in turn, write the same bytes."""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from odradek.pipeline.compact.compiled_map import CompiledOffsetMap
from odradek.pipeline.compact.compiled_steps import CompiledSteps
from odradek.pipeline.compact.record_rows import WalkLimits
from odradek.pipeline.compact.table_chunk import TableChunk
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import HEADER
from odradek.protocol.records.builder import assemble_batch, encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.compaction.batch_chunk import read_chunks
from odradek.storage.compaction.cleaning import PartitionCleaner, RoundResult
from odradek.storage.compaction.grouping import CleanableRange, cleanable_range
from odradek.storage.compaction.offset_map import UNLIMITED, KeyLimit, KeyRange
from odradek.storage.compaction.pace import full_speed
from odradek.storage.compaction.partition_facts import PartitionFacts, read_partition
from odradek.storage.compaction.plain_steps import FilterLimits, PlainSteps
from odradek.storage.compaction.record_steps import RecordSteps
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_histories import HISTORY_START_MS, HistoryWriter
from support.disks.unsynced_files import UnsyncedFiles

HOUR_MS = 3_600_000
CLEANED_FILES = (".log", ".index", ".timeindex", ".txnindex")


@dataclass(frozen=True)
class Way:
    """One way to run a round."""

    steps: Callable[[], RecordSteps]
    map_bytes: int = UNLIMITED
    map_entries: int = UNLIMITED
    buffer_bytes: int = 1 << 20


SMALL = FilterLimits(records_held=3, records_filtered=7, bytes_filtered=200)
"""Limits with which a few records are many."""
SMALL_WALKS = WalkLimits(rows=9, payload_bytes=300)
WAYS = {
    "plain": Way(PlainSteps),
    "compiled": Way(CompiledSteps),
    "plain, in turns": Way(PlainSteps, map_bytes=700),
    "compiled, in turns": Way(CompiledSteps, map_bytes=1200),
    "compiled, batch by batch": Way(CompiledSteps, buffer_bytes=64),
    "plain, in windows": Way(partial(PlainSteps, SMALL), map_bytes=700),
    "compiled, in windows": Way(partial(CompiledSteps, None, SMALL, SMALL_WALKS)),
    "compiled, in windows and turns": Way(partial(CompiledSteps, None, SMALL, SMALL_WALKS), map_bytes=1200),
}


def survey(directory: Path, cleaned_up_to: int, now_ms: int) -> tuple[PartitionFacts, CleanableRange]:
    """The facts of a partition, and the range that may be cleaned."""
    facts = read_partition(UnsyncedFiles(), directory, now_ms=now_ms, producer_id_expiration_ms=24 * HOUR_MS)
    stable = facts.first_unstable_offset
    offsets = cleanable_range(
        facts.segments,
        cleaned_up_to=cleaned_up_to,
        log_start_offset=0,
        log_end_offset=facts.log_end_offset,
        last_stable_offset=facts.log_end_offset if stable is None else stable,
        min_compaction_lag_ms=0,
        now_ms=now_ms,
    )
    return facts, offsets


def clean(directory: Path, way: Way, cleaned_up_to: int, now_ms: int, config: LogConfig) -> RoundResult:
    """Runs one round."""
    facts, offsets = survey(directory, cleaned_up_to, now_ms)
    cleaner = PartitionCleaner(
        UnsyncedFiles(), directory, config, now_ms, steps=way.steps(), buffer_bytes=way.buffer_bytes
    )
    return cleaner.clean(facts, offsets, max_map_entries=way.map_entries, max_map_bytes=way.map_bytes)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.suffix in CLEANED_FILES}


def compare_ways(tmp_path: Path, seed: int) -> int:
    """Runs three rounds each way over one history; returns the maximum number of key ranges."""
    rng = random.Random(seed)
    original = tmp_path / "original" / "t-0"
    codecs = rng.choice((tuple(CompressionType), (CompressionType.NONE,)))
    writer = HistoryWriter(rng, original, codecs=codecs, keys=rng.choice((3, 20, 200)))
    writer.write(rng.choice((30, 150, 300)))
    writer.roll()
    writer.close()
    segment_bytes = rng.choice((2000, 6000, 1 << 20))
    config = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=segment_bytes, delete_retention_ms=HOUR_MS)
    directories = {name: tmp_path / name / "t-0" for name in WAYS}
    for directory in directories.values():
        shutil.copytree(original, directory)
    now_ms, cleaned_up_to, turns = writer.end_ms, 0, 1
    for _ in range(3):
        now_ms += rng.choice((1000, HOUR_MS + 1))
        results = {
            name: clean(directory, WAYS[name], cleaned_up_to, now_ms, config) for name, directory in directories.items()
        }
        expected = contents(directories["plain"])
        for name, directory in directories.items():
            replay = f"replay: compare_ways(tmp_path, {seed}): {name}  # tests/pipeline/compact/test_compact_steps.py"
            assert contents(directory) == expected, replay
            result = results[name]
            turns = max(turns, result.key_ranges)
            result.key_ranges = results["plain"].key_ranges
            assert result == results["plain"], replay
        cleaned_up_to = rng.choice((0, results["plain"].cleaned_up_to // 2, results["plain"].cleaned_up_to))
    shutil.rmtree(tmp_path)
    return turns


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(more, marks=pytest.mark.nightly) for more in range(2, 6))])
def test_every_way_leaves_the_same_bytes(tmp_path: Path, seed: int) -> None:
    compare_ways(tmp_path / "histories", seed)


@pytest.mark.nightly
def test_every_way_leaves_the_same_bytes_in_more_histories(tmp_path: Path) -> None:
    assert max(compare_ways(tmp_path / "histories", seed) for seed in range(6, 12)) > 20, "no limit was ever met"


@pytest.mark.long
def test_every_way_leaves_the_same_bytes_in_very_many_histories(tmp_path: Path) -> None:
    for seed in range(12, 1040):
        compare_ways(tmp_path / "histories", seed)


@pytest.mark.parametrize("steps", [PlainSteps, CompiledSteps])
@pytest.mark.parametrize("max_entries", [1, 2, 3, 4])
def test_a_map_of_few_keys_ends_a_round_at_the_record(
    tmp_path: Path, steps: Callable[[], RecordSteps], max_entries: int
) -> None:
    """Kafka's Cleaner.buildOffsetMapForSegment: it stops at the first keyed record once the map has as many keys."""
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    writer.append_records([(b"a", b"1"), (b"b", b"2"), (None, b"3"), (b"a", b"4"), (b"c", b"5")])
    writer.append_records([(b"d", b"6"), (b"a", b"7")])
    writer.roll()
    writer.close()
    facts, offsets = survey(tmp_path / "t-0", 0, writer.end_ms)
    cleaner = PartitionCleaner(UnsyncedFiles(), tmp_path / "t-0", LogConfig(), writer.end_ms, steps=steps())
    result = cleaner.clean(facts, offsets, max_map_entries=max_entries)
    assert result.cleaned_up_to == {1: 1, 2: 2, 3: 5, 4: 6}[max_entries]


def test_the_compiled_map_keeps_within_its_bytes(tmp_path: Path) -> None:
    """A full map does not exceed its limit. Reduced to half of the keys, it accepts keys again."""
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    for number in range(60):
        writer.append_records([(b"key-%d-%d" % (number, record), b"v") for record in range(100)])
    writer.close()
    path = tmp_path / "t-0" / f"{0:020d}.log"
    [chunk] = read_chunks(UnsyncedFiles(), path, 0, path.stat().st_size, 1 << 20, full_speed(), TableChunk)
    limit = 100_000
    offset_map = CompiledOffsetMap(KeyLimit(size=limit), KeyRange(), seed=3)
    batches = list(range(len(chunk.headers)))
    taken = offset_map.put(chunk, batches, 0)
    assert 0 < taken < len(batches)
    assert limit / 2 < offset_map.size <= limit
    held = len(offset_map)
    offset_map.narrow(KeyRange().halves[0])
    assert held / 3 < len(offset_map) < held * 2 / 3
    assert offset_map.put(chunk, batches[taken:], 0) > 0
    assert offset_map.size <= limit


def unusual_batches() -> list[bytes]:
    """Batches that our builder does not encode but a log may hold; each with the key "k"."""

    def batch(section: bytes, base_timestamp: int = HISTORY_START_MS, records: int = 1) -> bytes:
        return assemble_batch(
            section,
            records_count=records,
            attributes=0,
            base_offset=0,
            last_offset=records - 1,
            base_timestamp=base_timestamp,
            max_timestamp=HISTORY_START_MS,
            partition_leader_epoch=0,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
        )

    key = b"\x02k"
    plain = b"\x00\x00\x00" + key + b"\x02v\x00"
    return [
        batch(bytes([2 * (len(plain) + 1)]) + b"\x00\x80\x00\x00" + key + b"\x02v\x00"),  # a delta with an extra byte
        batch(bytes([2 * len(plain)]) + b"\x07" + plain[1:]),  # undefined attributes
        batch(bytes([2 * (len(plain) + 5)]) + plain[:-1] + b"\x02\x04\xff\xfe\x02x"),  # a header's key is not UTF-8
        batch(bytes([2 * len(plain)]) + plain, base_timestamp=HISTORY_START_MS - (1 << 40)),
        batch(bytes([2 * (len(plain) - 1)]) + b"\x00\x00\x00" + key + b"\x01\x00"),  # a tombstone
        encode_batch([Record(0, HISTORY_START_MS, bytes(40), b"v", [("é", b"x")]), Record(1, 5, b"k", b"", [])]),
    ]


@pytest.mark.parametrize("name", [name for name in WAYS if name != "plain"])
def test_unusual_records_are_treated_alike(tmp_path: Path, name: str) -> None:
    rng = random.Random(4)
    original = tmp_path / "plain" / "t-0"
    log = Log.open(original, LogConfig(), now_ms=HISTORY_START_MS, descriptors=DescriptorCache(UnsyncedFiles()))
    for number in range(60):
        batch = rng.choice(unusual_batches())
        log.appender.append_as_leader(batch, 0, HISTORY_START_MS, origin=AppendOrigin.COORDINATOR)
        if number % 10 == 9:
            log.roll(HISTORY_START_MS)
    log.close()
    other = tmp_path / "other" / "t-0"
    shutil.copytree(original, other)
    now_ms = HISTORY_START_MS + HOUR_MS
    for directory, way in ((original, WAYS["plain"]), (other, WAYS[name])):
        clean(directory, way, 0, now_ms, LogConfig())
    assert contents(other) == contents(original)


@pytest.mark.parametrize("steps", [PlainSteps, CompiledSteps])
def test_records_that_cannot_be_decoded_are_refused_with_their_place(
    tmp_path: Path, steps: Callable[[], RecordSteps]
) -> None:
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    writer.append_records([(b"a", b"1"), (b"b", b"2")])
    writer.append_records([(b"a", b"1"), (b"b", b"2")])
    writer.roll()
    writer.close()
    path = tmp_path / "t-0" / f"{0:020d}.log"
    data = path.read_bytes()
    second = len(data) // 2
    header = HEADER.unpack_from(data, second)
    broken = assemble_batch(
        b"\x0c" + data[second + 62 : len(data)],
        records_count=2,
        attributes=0,
        base_offset=2,
        last_offset=3,
        base_timestamp=header[7],
        max_timestamp=header[8],
        partition_leader_epoch=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
    )
    path.write_bytes(data[:second] + broken)
    before = contents(tmp_path / "t-0")
    with pytest.raises(KafkaError, match=rf"{path.name}, position {second}, offset 2: "):
        clean(tmp_path / "t-0", Way(steps), 0, writer.end_ms, LogConfig())
    assert contents(tmp_path / "t-0") == before


@pytest.mark.parametrize("steps", [PlainSteps, CompiledSteps])
def test_thousands_of_small_batches_are_written_at_a_time(tmp_path: Path, steps: Callable[[], RecordSteps]) -> None:
    """The system accepts 1024 parts in one write. Every second batch is removed, so each remaining one is a part."""
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    for number in range(3000):
        writer.append_records([(b"key-%d" % number if number % 2 else b"same", b"v")])
    writer.roll()
    writer.close()
    result = clean(tmp_path / "t-0", Way(steps), 0, writer.end_ms, LogConfig())
    assert result.records_kept == 1501
