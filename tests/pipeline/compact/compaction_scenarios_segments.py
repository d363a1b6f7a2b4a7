"""The scenarios (see compaction_scenarios.py) about segments, offsets far apart, full maps and batches."""

from dataclasses import replace

from odradek.protocol.records.compression import CompressionType
from support.pipeline.compaction_log import COMPACTED, HOUR_MS, CompactionLog, read_headers

from .compaction_scenarios import SMALL, Clean, Rounds

MAX_INT32 = 0x7FFFFFFF


# A full map, missing offsets ----------------------------------------------------------


def part_of_a_segment(log: CompactionLog) -> Rounds:
    for key in (0, 1, 0, 1, 0):
        log.send(key)
    log.roll()
    found = yield Clean(max_keys=1)
    assert found.offsets[-1] == 4
    for _ in range(6):
        found = yield Clean(max_keys=1)
    assert found.offsets == [3, 4]


def part_of_a_batch(log: CompactionLog) -> Rounds:
    log.send(0, 1, 0, 2, 1, 3)
    log.send(3, 4, 5, 0, 1)
    log.roll()
    log.send(5, 2)
    log.roll()
    for _ in range(8):
        found = yield Clean(max_keys=3)
    assert found.keys == [3, 4, 0, 1, 5, 2]


def beyond_missing_offsets(log: CompactionLog) -> Rounds:
    for key in range(10):
        log.send(key)
    log.roll(at=15)
    for key in range(15, 25):
        log.send(key % 10, at=key)
    log.roll(at=30)
    log.send(1015, at=30)
    found = yield Clean()
    assert found.segments[-1] == 30
    assert found.offsets == [*range(15, 25), 30]


def gaps_within_segments(log: CompactionLog) -> Rounds:
    for index in range(12):
        log.send(index % 5, index % 3, at=log.end + index * 7)
        if index % 4 == 3:
            log.roll()
    yield Clean(max_keys=2)
    yield Clean(max_keys=2)
    found = yield Clean()
    assert len(found.keys) == 5


def checkpoint_beyond_the_log(log: CompactionLog) -> Rounds:
    log.send(1)
    log.send(1)
    log.roll()
    yield Clean()
    log.send(1)
    log.roll()
    found = yield Clean(from_offset=1000)
    assert found.offsets == [2], "a checkpoint beyond the log counts as none"


# Merged segments ----------------------------------------------------------------------


def grouping_by_size(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=300, index_interval_bytes=1)
    while len(log.log.segments) < 10:
        log.send(b"hello", value=b"hello")
    yield Clean()
    log.config = replace(log.config, segment_bytes=700)
    found = yield Clean(is_whole=True)
    assert len(found.segments) < 10


def grouping_by_index_size(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=300, index_interval_bytes=1)
    while len(log.log.segments) < 10:
        log.send(log.end)
    log.close()
    log.config = replace(log.config, segment_bytes=1 << 20, segment_index_bytes=70)
    found = yield Clean()
    assert 2 < len(found.segments) < 10


def sparse_offsets_and_empty_segments(log: CompactionLog) -> Rounds:
    for number in range(3):
        log.send(b"key")
        log.send(b"key", at=(number + 1) * (MAX_INT32 + 1) - 1)
    log.send(b"key")
    yield Clean(is_whole=True)
    yield Clean(is_whole=True)
    log.roll()
    found = yield Clean(is_whole=True)
    assert found.offsets == [3 * (MAX_INT32 + 1)]


def sparse_offsets(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=400, index_interval_bytes=1)
    while len(log.log.segments) == 1:
        log.send(b"hello", log.end, value=b"hello")
    log.send(b"hello", at=MAX_INT32 - 1)
    log.send(b"hello")
    log.send(b"hello")
    while len(log.log.segments) < 4:
        log.send(b"hello", log.end)
    yield Clean()
    found = yield Clean(is_whole=True)
    assert len(found.segments) >= 2


def index_without_entries(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=400, index_interval_bytes=400)
    log.send(b"hello", at=0)
    log.send(b"other", at=1)
    log.roll(at=MAX_INT32 // 2)
    log.send(b"hello", at=MAX_INT32 // 2)
    log.send(b"third", at=MAX_INT32 + 1)
    log.roll()
    found = yield Clean()
    assert len(found.segments) == 3, "the second reaches too far for the first one's relative offsets"


# Outcomes for a batch -----------------------------------------------------------------


def delete_horizon(log: CompactionLog) -> Rounds:
    first, second = log.now_ms - 5000, log.now_ms + 7000
    log.append([(b"a", b"1"), (b"b", None), (b"c", b"3")], times=[first, second, log.now_ms])
    log.append([(b"d", None)], times=[-1])
    log.append([(b"e", None)], has_append_time=True, times=[first])
    log.roll()
    yield Clean()
    headers = [header for _, _, header, _ in read_headers(log.directory)]
    horizon = log.now_ms + HOUR_MS
    assert [header.delete_horizon_ms for header in headers] == [horizon] * 3
    assert [header.max_timestamp for header in headers] == [second, -1, log.now_ms], "the base timestamp is the horizon"
    found = yield Clean(HOUR_MS - 1, is_whole=True)
    assert len(found.keys) == 5
    found = yield Clean(HOUR_MS, is_whole=True)
    assert found.keys == [b"a", b"c"]


def batches_of_each_kind(log: CompactionLog) -> Rounds:
    """Batches that are kept completely, partly, as a header, or removed; with both timestamp types, producers and
    epochs.
    """
    for number in range(40):
        log.leader_epoch = number // 10
        log.now_ms += 1000
        keys = [b"%d" % (number * step % 11) for step in (1, 3, 7)]
        records: list[tuple[bytes | None, bytes | None]] = [
            (key, None if number % 9 == 4 else b"value-%d" % number) for key in keys
        ]
        log.append(
            records,
            number % 4 - 1,
            number // 20,
            has_append_time=number % 3 == 0,
            times=[log.now_ms + delta for delta in (3, -2, 0)],
            headers=[("h", b"1"), ("null", None)] if number % 5 == 0 else (),
        )
        if number % 13 == 12:
            log.roll()
    log.roll()
    for after in (0, 1000, HOUR_MS + 1, 2 * HOUR_MS):
        yield Clean(after, is_whole=True)


def each_codec(log: CompactionLog) -> Rounds:
    for codec in CompressionType:
        records: list[tuple[bytes | None, bytes | None]] = [(b"%d" % key, b"value" * 50) for key in range(codec, 40)]
        log.append(records, codec=codec)
        log.append([(b"%d" % codec, None)], codec=codec)
    log.roll()
    yield Clean()
    codecs = [header.compression_type for _, _, header, _ in read_headers(log.directory)]
    assert codecs[-2:] == [CompressionType.ZSTD, CompressionType.ZSTD]
    yield Clean(HOUR_MS, is_whole=True)


# Large batches -----------------------------------------------------------------------


def large_batches(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=8 << 20, max_message_bytes=2 << 20)
    for number in range(12):
        log.append([(b"%d" % (number % 5), b"x" * (1 << 20)), (b"small-%d" % number, b"y")])
    log.roll()
    found = yield Clean(buffer_bytes=1024)
    assert found.keys[-2:] == [1, b"small-11"]


def larger_than_max_message_bytes(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, segment_bytes=8 << 20, max_message_bytes=2 << 20)
    for number in range(6):
        log.append([(b"%d" % (number % 2), b"x" * (1 << 20))])
    log.roll()
    log.close()
    log.config = replace(log.config, max_message_bytes=1 << 19)
    found = yield Clean(buffer_bytes=1024)
    assert found.offsets == [4, 5]


def uncleanable_section(log: CompactionLog) -> Rounds:
    log.config = SMALL
    while len(log.log.segments) <= 2:
        log.send(log.end % 10)
    log.send(0, transaction=1)
    uncleanable = log.log.segments.active.base_offset
    while len(log.log.segments) < 6:
        log.send(log.end % 10)
    end = log.end
    found = yield Clean()
    assert found.offsets[-(end - uncleanable) :] == list(range(uncleanable, end))
    assert len(found.offsets) < end
