"""The scenarios (see compaction_scenarios.py) about transactions: aborted data, markers and empty batches."""

from dataclasses import replace

from support.pipeline.compaction_log import COMPACTED, HOUR_MS, CompactionLog, read_batches

from .compaction_scenarios import Clean, Rounds


def aborted_between(log: CompactionLog) -> list[tuple[int, int, int]]:
    """(producer, first offset, last offset) of the transaction indexes."""
    entries = log.log.aborted_transactions(0, log.end)
    log.close()
    return [(entry.producer_id, entry.first_offset, entry.last_offset) for entry in entries]


def basic(log: CompactionLog) -> Rounds:
    log.send(1, 2, transaction=1)
    log.send(2, 3, transaction=2)
    log.send(3, 4, transaction=1)
    log.abort(1)
    log.commit(2)
    log.send(2, transaction=1)
    log.commit(1)
    aborted = aborted_between(log)
    log.roll()
    found = yield Clean()
    assert found.keys == [3, 2]
    assert found.offsets == [3, 6, 7, 8, 9]
    assert aborted_between(log) == aborted == [(1, 0, 6)]


def spanning_segments(log: CompactionLog) -> Rounds:
    log.send(1, 2, transaction=1)
    log.send(2, 3, transaction=3)
    log.send(3, 4, transaction=2)
    log.roll()
    log.send(5, 6, transaction=2)
    log.send(6, 7, transaction=3)
    log.send(7, 8, transaction=1)
    log.abort(2)
    log.send(8, 9, transaction=3)
    log.commit(3)
    log.send(9, 10, transaction=1)
    log.abort(1)
    yield Clean()
    assert read_batches(log.directory).keys == [2, 3, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10], "only the first segment is clean"
    log.roll()
    log.send(11, transaction=2)
    log.send(12, transaction=1)
    found = yield Clean()
    assert found.keys == [2, 3, 6, 7, 8, 9, 11, 12]


def several_passes_of_a_full_map(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, delete_retention_ms=50_000)
    log.send(1, 2, transaction=1)
    log.send(2, 3, transaction=2)
    log.send(3, 4, transaction=1)
    log.commit(1)
    log.commit(2)
    log.send(2, 3, transaction=1)
    log.abort(1)
    log.send(4, 5, transaction=2)
    log.send(5, 6, transaction=1)
    log.commit(1)
    log.abort(2)
    log.send(6, 7, transaction=2)
    log.commit(2)
    log.roll()
    aborted = [(1, 8, 10), (2, 11, 16)]
    assert aborted_between(log) == aborted
    found = yield Clean(max_keys=3)
    assert found.offsets == [0, 2, 3, 4, 5, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19]
    assert aborted_between(log) == aborted
    found = yield Clean(max_keys=3)
    assert found.offsets == [0, 2, 4, 5, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19]
    assert aborted_between(log) == [], "markers without data need no entry"
    found = yield Clean(50_000, max_keys=3)
    assert found.offsets == [0, 2, 4, 5, 6, 7, 13, 15, 17, 18, 19]


def commit_marker_goes(log: CompactionLog) -> Rounds:
    log.send(1, transaction=1)
    log.send(2, 3, transaction=1)
    log.commit(1)
    log.send(2, transaction=1)
    log.commit(1)
    log.roll()
    found = yield Clean()
    assert (found.keys, found.offsets) == ([1, 3, 2], [0, 2, 3, 4, 5])
    log.send(1, 3, transaction=1)
    log.commit(1)
    log.roll()
    for _ in range(2):
        found = yield Clean()
        assert (found.keys, found.offsets) == ([2, 1, 3], [3, 4, 5, 6, 7, 8])
    yield Clean(is_whole=True)
    found = yield Clean(HOUR_MS, is_whole=True)
    assert (found.keys, found.offsets) == ([2, 1, 3], [4, 5, 6, 7, 8])


def abort_marker_goes(log: CompactionLog) -> Rounds:
    log.send(1, transaction=1)
    log.send(2, 3, transaction=1)
    log.abort(1)
    log.send(3, transaction=1)
    log.commit(1)
    log.roll()
    found = yield Clean()
    assert (found.keys, found.offsets) == ([3], [3, 4, 5])
    yield Clean()
    found = yield Clean(HOUR_MS + 1)
    assert (found.keys, found.offsets) == ([3], [4, 5])


def deleted_batches_without_records(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=1000, max_message_bytes=100)
    log.send(1, transaction=1)
    log.abort(1)
    log.send(2, transaction=1)
    log.send(2, transaction=1)
    log.commit(1)
    log.roll()
    found = yield Clean()
    assert (found.keys, found.offsets) == ([2], [1, 3, 4])
    yield Clean(is_whole=True)
    found = yield Clean(HOUR_MS + 1, is_whole=True)
    assert (found.keys, found.offsets) == ([2], [3, 4])


def commit_marker_with_an_empty_batch(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=256)
    log.send(2, 3, transaction=1)
    log.roll()
    log.send(2, 3, transaction=2)
    log.commit(2)
    log.roll()
    log.send(2)
    log.send(3)
    log.commit(1)
    log.roll()
    for _ in range(2):
        found = yield Clean()
        assert (found.keys, found.offsets) == ([2, 3], [4, 5, 6, 7])
        assert found.last_offsets == [1, 3, 4, 5, 6, 7], "the empty batches hold the last sequences"
    log.send(1, transaction=2)
    log.commit(2)
    log.roll()
    found = yield Clean()
    assert (found.keys, found.offsets) == ([2, 3, 1], [4, 5, 6, 7, 8, 9])
    assert found.last_offsets == [1, 4, 5, 6, 7, 8, 9]
    yield Clean()
    found = yield Clean(HOUR_MS + 1)
    assert found.offsets == [5, 6, 7, 8, 9]
    assert found.last_offsets == [1, 5, 6, 7, 8, 9]


def abort_marker_with_an_empty_batch(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=256)
    log.send(2, 3, transaction=1)
    log.abort(1)
    log.roll()
    assert aborted_between(log) == [(1, 0, 2)]
    for after in (0, 0, HOUR_MS + 1):
        found = yield Clean(after)
        assert aborted_between(log) == [(1, 0, 2)]
        assert (found.offsets, found.last_offsets) == ([2], [1, 2])
    log.send(1, transaction=1)
    log.roll()
    log.commit(1)
    log.roll()
    found = yield Clean()
    assert aborted_between(log) == [(1, 0, 2)]
    assert found.last_offsets == [2, 3, 4], "the marker stays since the empty batch was read in this pass"
    yield Clean()
    found = yield Clean(HOUR_MS + 1)
    assert found.last_offsets == [3, 4]
    assert aborted_between(log) == []


def empty_control_batch(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=256)
    log.commit(1)
    log.send(2)
    log.send(3)
    log.roll()
    yield Clean()
    for after in (HOUR_MS + 1, 10 * HOUR_MS):
        found = yield Clean(after)
        assert (found.keys, found.offsets) == ([2, 3], [1, 2])
        assert found.last_offsets == [0, 1, 2], "a header keeps the producer's epoch"


def empty_batches_of_a_replica(log: CompactionLog) -> Rounds:
    log.empty_batch(1, offsets=3)
    log.empty_batch(2, is_control=True)
    log.send(1, transaction=3)
    log.empty_batch(3)
    log.abort(3)
    log.empty_batch(1)
    log.send(1)
    log.roll()
    found = yield Clean()
    assert found.last_offsets == [5, 6, 7, 8], "an empty control batch says nothing of its producer's epoch"


def committed_across_segments(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=128)
    log.send(1, transaction=1)
    log.roll()
    log.commit(1)
    log.roll()
    yield Clean()
    found = yield Clean(HOUR_MS + 1)
    assert found.offsets == found.last_offsets == [0, 1]


def aborted_across_segments(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=128)
    log.send(1, transaction=1)
    log.roll()
    log.abort(1)
    log.roll()
    for after in (0, 20 * HOUR_MS):
        found = yield Clean(after, is_whole=True)
        assert (found.offsets, found.last_offsets) == ([1], [0, 1])


def aborted_behind_the_cleaned_part(log: CompactionLog) -> Rounds:
    log.send(1)
    log.roll()
    log.send(1, 2, transaction=1)
    log.roll()
    log.send(1, transaction=1)
    log.abort(1)
    log.send(2)
    log.roll()
    found = yield Clean()
    assert (found.keys, found.offsets) == ([1, 2], [0, 4, 5])
    log.send(3, transaction=1)
    found = yield Clean(HOUR_MS)
    assert (found.keys, found.offsets) == ([1, 2, 3], [0, 4, 5, 6])
