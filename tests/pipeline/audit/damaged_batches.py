"""Injections into batches and records: bytes, offsets, epochs, times, producers, transactions."""

import struct

from odradek.protocol.records.builder import BatchBuilder, encode_batch
from odradek.protocol.records.record import Record, iterate_records
from odradek.storage.files.file_names import segment_path
from odradek.storage.producers.producer_snapshots import decode_snapshot, encode_snapshot
from odradek.storage.segment.transaction_index import TransactionIndex
from support.data.log_histories import HISTORY_START_MS
from support.pipeline.audited_directory import CLEANER, HIGH_WATERMARK, NOW_MS, AuditedDirectory, header_of, stamp

from .audit_injections import COMPACT, Injection, Where

ATTRIBUTES, LAST_DELTA, BASE_TIME, MAX_TIME, PRODUCER_EPOCH, SEQUENCE, COUNT = 21, 23, 27, 35, 51, 53, 57
PLAIN = {"attributes": 0}
IDEMPOTENT = {"producer_id": 100, "is_transactional": False}


def stamped(directory: AuditedDirectory, position: int, layout: str, value: int, **fields: int) -> Where:
    """Writes a header field of the first batch after the third one that has these fields."""
    index, place, header = directory.find(after=3, **fields)
    batches = directory.batches()
    stamp(batches[index], position, layout, value)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def a_flipped_bit(directory: AuditedDirectory) -> Where:
    position, header = list(directory.places())[2]
    data = bytearray(directory.segment().read_bytes())
    data[position + 40] ^= 4
    directory.segment().write_bytes(data)
    return Where(directory.segment(), position, header.base_offset)


def a_length_too_small(directory: AuditedDirectory) -> Where:
    position, header = list(directory.places())[3]
    data = bytearray(directory.segment().read_bytes())
    struct.pack_into(">i", data, position + 8, 3)
    directory.segment().write_bytes(data)
    return Where(directory.segment(), position, header.base_offset)


def another_magic(directory: AuditedDirectory) -> Where:
    position, header = list(directory.places())[1]
    data = bytearray(directory.segment().read_bytes())
    data[position + 16] = 3
    directory.segment().write_bytes(data)
    return Where(directory.segment(), position, header.base_offset)


def a_cut_in_a_closed_segment(directory: AuditedDirectory) -> Where:
    position, header = list(directory.places())[-1]
    directory.segment().write_bytes(directory.segment().read_bytes()[:-1])
    return Where(directory.segment(), position, header.base_offset)


def a_torn_tail(directory: AuditedDirectory) -> Where:
    (directory.root / ".kafka_cleanshutdown").unlink()
    position, header = list(directory.places(2))[-1]
    directory.segment(2).write_bytes(directory.segment(2).read_bytes()[:-3])
    return Where(directory.segment(2), position, header.base_offset)


def more_records_than_offsets(directory: AuditedDirectory) -> Where:
    return stamped(directory, COUNT, ">i", 77, **PLAIN)


def a_transaction_without_producer(directory: AuditedDirectory) -> Where:
    return stamped(directory, ATTRIBUTES, ">h", 0x10, **PLAIN, producer_id=-1)


def a_record_of_another_length(directory: AuditedDirectory) -> Where:
    return stamped(directory, 61, ">B", 1, **PLAIN)


def offsets_outside_of_the_batch(directory: AuditedDirectory) -> Where:
    return stamped(directory, LAST_DELTA, ">i", 1, **PLAIN, records_count=3)


def an_unknown_codec(directory: AuditedDirectory) -> Where:
    return stamped(directory, ATTRIBUTES, ">h", 5, **PLAIN)


def unknown_attributes(directory: AuditedDirectory) -> Where:
    return stamped(directory, ATTRIBUTES, ">h", 0x200, **PLAIN)


def another_greatest_time(directory: AuditedDirectory) -> Where:
    return stamped(directory, MAX_TIME, ">q", HISTORY_START_MS + 999_999, **PLAIN)


def no_time(directory: AuditedDirectory) -> Where:
    return stamped(directory, MAX_TIME, ">q", -1, **PLAIN)


def a_time_in_the_future(directory: AuditedDirectory) -> Where:
    return stamped(directory, MAX_TIME, ">q", NOW_MS + 36_000_000, **PLAIN)


def a_time_before_the_limit(directory: AuditedDirectory) -> Where:
    return stamped(directory, MAX_TIME, ">q", HISTORY_START_MS - 10_000_000, **PLAIN)


def append_times_that_go_back(directory: AuditedDirectory) -> Where:
    batches = directory.batches()
    first, *_ = directory.find(after=3, **PLAIN)
    second, place, header = directory.find(after=first + 1, **PLAIN)
    for index, time in ((first, NOW_MS), (second, NOW_MS - 60_000)):
        stamp(batches[index], ATTRIBUTES, ">h", 8)
        stamp(batches[index], MAX_TIME, ">q", time)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def batches_in_another_order(directory: AuditedDirectory) -> Where:
    batches = directory.batches()
    position, header = list(directory.places())[1]
    batches[1:3] = batches[2], batches[1]
    directory.write_batches(batches)
    return Where(directory.segment(), position + len(batches[1]), header.base_offset)


def a_batch_taken_out(directory: AuditedDirectory) -> Where:
    batches = directory.batches()
    position, header = list(directory.places())[10]
    del batches[10]
    directory.write_batches(batches)
    return Where(directory.segment(), position, header.base_offset)


def a_later_epoch_in_between(directory: AuditedDirectory) -> Where:
    batches = directory.batches()
    struct.pack_into(">i", batches[5], 12, 3)
    directory.write_batches(batches)
    position, header = list(directory.places())[6]
    return Where(directory.segment(), position, header.base_offset)


def a_lost_sequence(directory: AuditedDirectory) -> Where:
    first, _, _ = directory.find(**IDEMPOTENT)
    index, place, header = directory.find(after=first + 1, **IDEMPOTENT)
    batches = directory.batches()
    stamp(batches[index], SEQUENCE, ">i", header.base_sequence + 5)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def a_repeated_sequence(directory: AuditedDirectory) -> Where:
    first, _, _ = directory.find(**IDEMPOTENT)
    index, place, header = directory.find(after=first + 1, **IDEMPOTENT)
    batches = directory.batches()
    stamp(batches[index], SEQUENCE, ">i", 0)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def a_sequence_repeated_in_the_next_segment(directory: AuditedDirectory) -> Where:
    index, place, header = directory.find(1, producer_id=100)
    batches = directory.batches(1)
    stamp(batches[index], SEQUENCE, ">i", 0)
    directory.write_batches(batches, 1)
    return Where(directory.segment(1), place, header.base_offset)


def an_older_producer_epoch(directory: AuditedDirectory) -> Where:
    first, _, _ = directory.find(**IDEMPOTENT)
    _, place, header = directory.find(after=first + 1, **IDEMPOTENT)
    batches = directory.batches()
    stamp(batches[first], PRODUCER_EPOCH, ">h", 3)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def a_snapshot_of_another_log(directory: AuditedDirectory) -> Where:
    base_offset = int(directory.segment(1).stem)
    path = segment_path(directory.partition, base_offset, ".snapshot")
    entries = decode_snapshot(path.read_bytes())
    entry = next(entry for entry in entries if entry.producer_id == 100)
    entry.batches = [entry.batches[-1]._replace(last_sequence=entry.last_sequence + 9)]
    path.write_bytes(encode_snapshot(entries))
    return Where(path, None, base_offset)


def an_open_transaction(directory: AuditedDirectory) -> Where:
    end = directory.ends["t", 0]
    batch = encode_batch(
        [Record(0, HISTORY_START_MS, b"k", b"v", [])],
        producer_id=999,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    data = bytearray(batch)
    struct.pack_into(">q", data, 0, end)
    struct.pack_into(">i", data, 12, 0)
    path = directory.segment(2)
    place = path.stat().st_size
    path.write_bytes(path.read_bytes() + data)
    return Where(path, place, end)


def markers_that_the_cleaner_dropped(directory: AuditedDirectory) -> Where:
    """As after KAFKA-8351: the data is kept, and the marker in a later group of segments was removed."""
    for number in range(3):
        kept = [batch for batch in directory.batches(number) if not _is_marker_of(batch, 200)]
        directory.write_batches(kept, number)
    directory.checkpoint(CLEANER, int(directory.segment(1).stem))
    _, place, header = directory.find(producer_id=200)
    return Where(directory.segment(), place, header.base_offset)


def a_new_epoch_without_a_marker(directory: AuditedDirectory) -> Where:
    """The abort marker was removed, and the producer continued with its next epoch (KAFKA-13727)."""
    batches = [batch for batch in directory.batches() if not _is_marker_of(batch, 201)]
    directory.write_batches(batches)
    first, place, header = directory.find(producer_id=201)
    second, _, _ = directory.find(after=first + 1, producer_id=201)
    stamp(batches[second], PRODUCER_EPOCH, ">h", 1)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def _is_marker_of(batch: bytearray, producer_id: int) -> bool:
    header = header_of(batch)
    return header.is_control and header.producer_id == producer_id


def aborted_records_below_the_cleaner(directory: AuditedDirectory) -> Where:
    directory.checkpoint(CLEANER, int(directory.segment(1).stem))
    entry = TransactionIndex(0, directory.segment(0, ".txnindex").read_bytes()).entries[0]
    _, place, header = directory.find(base_offset=entry.first_offset)
    return Where(directory.segment(), place, header.base_offset)


def a_record_without_key(directory: AuditedDirectory) -> Where:
    index, place, header = directory.find(after=3, **PLAIN, producer_id=-1, records_count=1)
    builder = BatchBuilder(base_offset=header.base_offset, partition_leader_epoch=0)
    builder.append(header.max_timestamp, None, b"v")
    batches: list[bytes | bytearray] = [*directory.batches()]
    batches[index] = builder.build()
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def keys_that_the_cleaner_left_twice(directory: AuditedDirectory) -> Where:
    directory.checkpoint(CLEANER, int(directory.segment(1).stem))
    data = directory.segment().read_bytes()
    seen: set[bytes] = set()
    for place, header in directory.places():
        for record in [] if header.is_control else list(iterate_records(data, header, place)):
            if record.key in seen:
                return Where(directory.segment(), place, record.offset)
            seen.add(record.key or b"")
    raise AssertionError("no key stands twice")


def an_old_tombstone(directory: AuditedDirectory) -> Where:
    data = directory.segment().read_bytes()
    for index, (place, header) in enumerate(directory.places()):
        if header.attributes != 0:
            continue
        tombstones = [record for record in iterate_records(data, header, place) if record.value is None]
        if tombstones:
            batches = directory.batches()
            stamp(batches[index], ATTRIBUTES, ">h", 0x40)
            stamp(batches[index], BASE_TIME, ">q", NOW_MS - 8 * 86_400_000)
            directory.write_batches(batches)
            return Where(directory.segment(), place, tombstones[0].offset)
    raise AssertionError("no tombstone")


def a_lost_tail(directory: AuditedDirectory) -> Where:
    for path in sorted(directory.partition.glob("*.log"))[1:]:
        for sibling in directory.partition.glob(path.stem + ".*"):
            sibling.unlink()
    return Where(directory.root / HIGH_WATERMARK, None, directory.ends["t", 0])


BATCH_INJECTIONS = [
    Injection("batch-crc-mismatch", a_flipped_bit),
    Injection("batch-length-invalid", a_length_too_small),
    Injection("batch-magic-unknown", another_magic),
    Injection("batch-incomplete", a_cut_in_a_closed_segment),
    Injection("log-tail-torn", a_torn_tail),
    Injection("batch-header-invalid", more_records_than_offsets),
    Injection("batch-header-invalid", a_transaction_without_producer),
    Injection("records-malformed", a_record_of_another_length),
    Injection("record-offsets-invalid", offsets_outside_of_the_batch),
    Injection("batch-codec-unknown", an_unknown_codec),
    Injection("batch-attributes-unknown", unknown_attributes),
    Injection("batch-max-timestamp-wrong", another_greatest_time),
    Injection("timestamp-negative", no_time),
    Injection("timestamp-in-future", a_time_in_the_future),
    Injection("timestamp-before-limit", a_time_before_the_limit, {"message.timestamp.before.max.ms": "1000"}),
    Injection("append-time-decreasing", append_times_that_go_back),
    Injection("offsets-not-increasing", batches_in_another_order),
    Injection("offset-gap", a_batch_taken_out),
    Injection("leader-epoch-decreasing", a_later_epoch_in_between),
    Injection("producer-sequence-gap", a_lost_sequence),
    Injection("producer-sequence-duplicate", a_repeated_sequence),
    Injection("producer-sequence-duplicate", a_sequence_repeated_in_the_next_segment),
    Injection("producer-epoch-decreasing", an_older_producer_epoch),
    Injection("producer-snapshot-mismatch", a_snapshot_of_another_log),
    Injection("transaction-hanging", an_open_transaction),
    Injection("transaction-marker-missing", markers_that_the_cleaner_dropped, COMPACT),
    Injection("transaction-marker-missing", a_new_epoch_without_a_marker),
    Injection("aborted-records-kept", aborted_records_below_the_cleaner, COMPACT),
    Injection("null-key-in-compacted-topic", a_record_without_key, COMPACT),
    Injection("duplicate-keys-in-clean-part", keys_that_the_cleaner_left_twice, COMPACT),
    Injection("tombstones-past-horizon", an_old_tombstone, COMPACT),
    Injection("checkpoint-beyond-log", a_lost_tail),
]
