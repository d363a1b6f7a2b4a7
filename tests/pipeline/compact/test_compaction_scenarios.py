"""Each case of Kafka's own cleaner tests as a directory: our cleaner leaves the offsets of Kafka's test, byte by byte.

The table names the test of Apache Kafka for each scenario; without a class it is one of LogCleanerTest.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.pipeline.compact.partition_job import CompactionTask, compact_partition
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.compaction.grouping import SegmentInfo
from odradek.storage.compaction.order import discard_cleaned
from odradek.storage.compaction.pace import full_speed
from odradek.storage.compaction.splitting import split_overflowed_segment
from odradek.storage.files.files import Files
from support.pipeline.compaction_log import COMPACTED, START_MS, CompactionLog, read_batches
from support.pipeline.compaction_rounds import (
    CleanerOracle,
    CleanOnce,
    RoundOrder,
    check_equal,
    clean_compiled,
    clean_in_ranges,
    clean_live,
    clean_offline,
    contents,
    kafka_mistakes_an_abort,
)

from .compaction_play import play
from .compaction_scenarios import (
    Scenario,
    deletes,
    duplicate_check,
    expired_producer,
    hanging_transaction,
    keys_like_those_of_markers,
    last_empty_batch,
    last_sequence,
    last_sequence_of_an_aborted_transaction,
    latest_of_each_key,
    new_epoch_of_a_producer,
    records_without_a_key,
    sequence_reuse,
    sequence_wrap,
    tombstone_with_another_time,
    undecided_transaction,
    younger_than_the_lag,
)
from .compaction_scenarios_legacy import (
    legacy_messages_become_batches,
    legacy_tombstones,
    legacy_wrappers_become_batches,
)
from .compaction_scenarios_segments import (
    batches_of_each_kind,
    beyond_missing_offsets,
    checkpoint_beyond_the_log,
    delete_horizon,
    each_codec,
    gaps_within_segments,
    grouping_by_index_size,
    grouping_by_size,
    index_without_entries,
    large_batches,
    larger_than_max_message_bytes,
    part_of_a_batch,
    part_of_a_segment,
    sparse_offsets,
    sparse_offsets_and_empty_segments,
    uncleanable_section,
)
from .compaction_scenarios_transactions import (
    abort_marker_goes,
    abort_marker_with_an_empty_batch,
    aborted_across_segments,
    aborted_behind_the_cleaned_part,
    basic,
    commit_marker_goes,
    commit_marker_with_an_empty_batch,
    committed_across_segments,
    deleted_batches_without_records,
    empty_batches_of_a_replica,
    empty_control_batch,
    several_passes_of_a_full_map,
    spanning_segments,
)

TABLE: dict[Scenario, str] = {
    latest_of_each_key: "testCleanSegments",
    deletes: "testCleaningWithDeletes",
    tombstone_with_another_time: "testCleanTombstone",
    duplicate_check: "testDuplicateCheckAfterCleaning",
    last_sequence: "testLogCleanerRetainsProducerLastSequence",
    last_sequence_of_an_aborted_transaction: "testLogCleanerRetainsLastSequenceEvenIfTransactionAborted",
    sequence_reuse: "testEmptyBatchRemovalWithSequenceReuse (KAFKA-8335)",
    sequence_wrap: "none: sequence numbers that begin at 0 again behind 2147483647",
    new_epoch_of_a_producer: "none: a producer that was fenced; the marker that holds an epoch",
    expired_producer: "none: producer.id.expiration.ms",
    basic: "testBasicTransactionAwareCleaning",
    spanning_segments: "testCleanWithTransactionsSpanningSegments",
    several_passes_of_a_full_map: "testMultiPassSegmentCleaningWithAbortedTransactions",
    commit_marker_goes: "testCommitMarkerRemoval",
    abort_marker_goes: "testAbortMarkerRemoval",
    commit_marker_with_an_empty_batch: "testCommitMarkerRetentionWithEmptyBatch",
    abort_marker_with_an_empty_batch: "testAbortMarkerRetentionWithEmptyBatch",
    empty_control_batch: "testCleanEmptyControlBatch",
    empty_batches_of_a_replica: "MemoryRecordsTest.testEmptyBatchRetention, testEmptyBatchDeletion",
    deleted_batches_without_records: "testDeletedBatchesWithNoMessagesRead",
    committed_across_segments: "testCommittedTransactionSpanningSegments",
    aborted_across_segments: "testAbortedTransactionSpanningSegments",
    aborted_behind_the_cleaned_part: "none: data in a clean segment, its marker in the active one",
    keys_like_those_of_markers: "testCleaningWithKeysConflictingWithTxnMarkerKeys",
    records_without_a_key: "testCleaningWithUnkeyedMessages",
    last_empty_batch: "testCleanSegmentsRetainingLastEmptyBatch (KAFKA-17076)",
    undecided_transaction: "LogCleanerManagerTest.testUndecidedTransactionalDataNotCleanable",
    hanging_transaction: "the same, for ever",
    younger_than_the_lag: "LogCleanerManagerTest.testCleanableOffsetsForTime",
    checkpoint_beyond_the_log: "LogCleanerManagerTest.testLogsWithSegmentsToDelete… (dirty offset reset)",
    uncleanable_section: "testCleaningWithUncleanableSection",
    part_of_a_segment: "testPartialSegmentClean, testBuildPartialOffsetMap",
    part_of_a_batch: "none: a map that gets full in the middle of a batch",
    beyond_missing_offsets: "testCleaningBeyondMissingOffsets",
    gaps_within_segments: "none: gaps before batches, as in a log that was compacted elsewhere",
    grouping_by_size: "testSegmentGrouping",
    grouping_by_index_size: "testSegmentGrouping",
    sparse_offsets_and_empty_segments: "testSegmentGroupingWithSparseOffsetsAndEmptySegments",
    sparse_offsets: "testSegmentGroupingWithSparseOffsets",
    index_without_entries: "testSegmentGroupingFollowingLoadOfZeroIndex",
    delete_horizon: "MemoryRecordsTest.testBaseTimestampToDeleteHorizonConversion",
    batches_of_each_kind: "MemoryRecordsTest: BatchDiscard, AlreadyCompactedLog, PreservesProducerInfo, LogAppendTime",
    each_codec: "MemoryRecordsTest: every compression type (records and headers are compared)",
    large_batches: "testLargeMessage",
    larger_than_max_message_bytes: "testMessageLargerThanMaxMessageSize",
    legacy_messages_become_batches: "MemoryRecordsTest.testFilterToAlreadyCompactedLog, of magic 0 and 1",
    legacy_wrappers_become_batches: "the same, compressed",
    legacy_tombstones: "testLegacyTombstones… (Cleaner.cleanSegments: retainLegacyDeletesAndTxnMarkers)",
}
"""Tested elsewhere: testMessageLargerThanMaxMessageSizeWithCorruptHeader,
testCorruptMessageSizeLargerThanBytesAvailable and testSegmentWithOffsetOverflow below; testRecoveryAfterCrash and
LogLoaderTest's leftovers in test_compact_killed.py; testLogToClean… (ratios) in
tests/storage/compaction/test_selection.py.

Not expressed: testCleanCorruptMessageSet. testCleanSegmentsWithConcurrentSegmentDeletion, …WithAbort and the tests of
metrics and throttling are about threads of the broker (tests/storage/compaction/test_live_round.py).
"""


@pytest.mark.parametrize("scenario", TABLE)
def test_it_leaves_what_kafkas_test_expects(tmp_path: Path, scenario: Scenario) -> None:
    play(scenario, tmp_path, clean_offline, None)


@pytest.mark.java
@pytest.mark.parametrize("scenario", TABLE)
def test_every_byte_equals_kafkas(tmp_path: Path, cleaner_oracle: CleanerOracle, scenario: Scenario) -> None:
    play(scenario, tmp_path, clean_offline, cleaner_oracle)


@pytest.mark.nightly
@pytest.mark.java
@pytest.mark.parametrize("clean", [clean_in_ranges, clean_compiled, clean_live])
@pytest.mark.parametrize("scenario", TABLE)
def test_every_byte_equals_kafkas_however_it_is_cleaned(
    tmp_path: Path, cleaner_oracle: CleanerOracle, scenario: Scenario, clean: CleanOnce
) -> None:
    play(scenario, tmp_path, clean, cleaner_oracle)


@pytest.mark.java
def test_an_abort_that_ended_in_front_of_the_round_hides_no_committed_record(
    tmp_path: Path, cleaner_oracle: CleanerOracle
) -> None:
    """Ours keeps only the latest record of a key, while Kafka's cleaner also keeps an older one (docs/differences.md).

    `kafka_mistakes_an_abort` has the reason.
    """
    config = replace(COMPACTED, index_interval_bytes=1)
    ours, kafkas = tmp_path / "ours" / "t-0", tmp_path / "kafkas" / "t-0"
    log = CompactionLog(ours, config)
    log.send(5, transaction=7)
    log.abort(7)
    log.send(6)
    log.send(8)
    log.send(8, transaction=7)
    log.commit(7)
    log.roll()
    log.close()
    shutil.copytree(ours, kafkas)
    order = RoundOrder(START_MS + 1, cleaned_up_to=3)
    assert kafka_mistakes_an_abort(ours, 3)
    assert clean_offline(ours, config, order) == cleaner_oracle.clean(kafkas, config, order) == 6
    assert read_batches(ours).keys == [6, 8]
    assert read_batches(kafkas).keys == [6, 8, 8]


# Refusals ---------------------------------------------------------------------


def five_records(directory: Path) -> Path:
    """Writes a sealed segment; returns its file."""
    log = CompactionLog(directory)
    for key in range(5):
        log.send(key % 2)
    log.roll()
    log.send(9)
    log.close()
    return directory / f"{0:020d}.log"


def wrong_magic(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[16] = 0xFF
    path.write_bytes(data)


def length_beyond_the_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def offset_too_far(path: Path) -> None:
    offset = 1 << 32
    record = Record(offset, 1, b"key", b"value", [])
    path.write_bytes(path.read_bytes() + encode_batch([record], base_offset=offset, partition_leader_epoch=0))
    for suffix in (".log", ".index", ".timeindex"):  # the active segment begins after it
        active = path.with_name(f"{5:020d}{suffix}")
        active.rename(path.with_name(f"{offset + 1:020d}{suffix}"))
    for leftover in (*path.parent.glob("*.snapshot"), path.with_name(f"{offset + 1:020d}.log")):
        leftover.unlink()
    later = Record(offset + 1, 1, b"key", b"value", [])
    path.with_name(f"{offset + 1:020d}.log").write_bytes(
        encode_batch([later], base_offset=offset + 1, partition_leader_epoch=0)
    )


@pytest.mark.java
@pytest.mark.parametrize("damage", [wrong_magic, length_beyond_the_end, offset_too_far])
def test_what_kafkas_cleaner_refuses_is_refused_and_left_as_it_was(
    tmp_path: Path, cleaner_oracle: CleanerOracle, damage: object
) -> None:
    """A segment whose offsets are too far from each other is split after such a round: see the next test."""
    path = five_records(tmp_path / "ours" / "t-0")
    assert callable(damage)
    damage(path)
    shutil.copytree(path.parent, tmp_path / "kafkas" / "t-0")
    before = contents(path.parent)
    order = RoundOrder(CompactionLog(path.parent).now_ms)
    with pytest.raises(KafkaError):
        clean_offline(path.parent, COMPACTED, order)
    discard_cleaned(Files(), path.parent)
    assert contents(path.parent) == before
    refusal = cleaner_oracle.refusal(tmp_path / "kafkas" / "t-0", COMPACTED, order)
    assert "Exception" in refusal


@pytest.mark.java
def test_a_segment_whose_offsets_are_too_far_from_its_base_is_split_as_by_kafka(
    tmp_path: Path, cleaner_oracle: CleanerOracle
) -> None:
    path = five_records(tmp_path / "ours" / "t-0")
    offset_too_far(path)
    kafkas, whole_run = tmp_path / "kafkas" / "t-0", tmp_path / "run" / "t-0"
    for copy in (kafkas, whole_run):
        shutil.copytree(path.parent, copy)
    order = RoundOrder(CompactionLog(path.parent).now_ms)
    assert "LogCleaningAbortedException" in cleaner_oracle.refusal(kafkas, COMPACTED, order)
    segment = SegmentInfo(0, path.stat().st_size, 0, 0, 0)
    interval = COMPACTED.index_interval_bytes
    assert split_overflowed_segment(Files(), path.parent, segment, interval, full_speed(), 4096) == [0, 1 << 32]
    check_equal(path.parent, kafkas, "split")
    cleaned_up_to = cleaner_oracle.clean(kafkas, COMPACTED, order)
    assert clean_compiled(path.parent, COMPACTED, order) == cleaned_up_to
    check_equal(path.parent, kafkas, "cleaned")
    task = CompactionTask("t", 0, whole_run, COMPACTED, order.now_ms, None, 0, None, 1 << 20, float("inf"), False)
    outcomes = [compact_partition(replace(task, is_dry_run=is_dry_run)) for is_dry_run in (True, False)]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].refusal is None
    check_equal(whole_run, kafkas, "a whole run")


@pytest.mark.java
@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.ZSTD, CompressionType.NONE])
@pytest.mark.parametrize("is_later", [True, False])
def test_records_beyond_max_decompressed_message_bytes_are_refused_as_by_kafka(
    tmp_path: Path, cleaner_oracle: CleanerOracle, codec: CompressionType, *, is_later: bool
) -> None:
    """The limit was lowered after they were written. It holds for the part that is clean already, too."""
    log = CompactionLog(tmp_path / "ours" / "t-0")
    log.append([(b"a", b"1"), (b"b", bytes(200))], codec=codec)
    log.roll()
    log.append([(b"a", b"2"), (b"c", b"3")], codec=codec)
    log.roll()
    log.send(9)
    log.close()
    ours, kafkas = log.directory, tmp_path / "kafkas" / "t-0"
    shutil.copytree(ours, kafkas)
    before = contents(ours)
    order = RoundOrder(log.now_ms, cleaned_up_to=2 if is_later else None)
    config = replace(COMPACTED, max_decompressed_message_bytes=100)
    if codec is CompressionType.NONE:
        assert clean_offline(ours, config, order) == cleaner_oracle.clean(kafkas, config, order)
        assert read_batches(ours) == read_batches(kafkas)
        return
    assert "exceeds the configured maximum record size of 100" in cleaner_oracle.refusal(kafkas, config, order)
    for clean in (clean_offline, clean_compiled, clean_live):
        with pytest.raises(KafkaError, match="exceeds the configured maximum record size of 100"):
            clean(ours, config, order)
        discard_cleaned(Files(), ours)
        assert contents(ours) == before
