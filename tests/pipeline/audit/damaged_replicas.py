"""Injections into one of two replicas of a partition: different or missing records, or a shorter log."""

import shutil

from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.record import iterate_records
from support.pipeline.audited_directory import CLEANER, HIGH_WATERMARK, AuditedDirectory

from .audit_injections import COMPACT, Injection, Where


def _copy(directory: AuditedDirectory) -> AuditedDirectory:
    """The directory of another broker, with the same bytes."""
    root = directory.root.with_name("other")
    shutil.copytree(directory.root, root)
    copy = object.__new__(AuditedDirectory)
    copy.root, copy.partition, copy.ends = root, root / "t-0", directory.ends
    return copy


def _with_another_record(directory: AuditedDirectory) -> Where:
    copy = _copy(directory)
    index, place, header = copy.find(after=20, attributes=0, records_count=1)
    builder = BatchBuilder(base_offset=header.base_offset, partition_leader_epoch=0)
    builder.append(header.max_timestamp, b"key", b"another")
    batches: list[bytes | bytearray] = [*copy.batches()]
    batches[index] = builder.build()
    copy.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset, (copy.root,))


def another_record_in_one_replica(directory: AuditedDirectory) -> Where:
    return _with_another_record(directory)


def another_record_above_the_high_watermark(directory: AuditedDirectory) -> Where:
    directory.checkpoint(HIGH_WATERMARK, 3)
    return _with_another_record(directory)


def a_shorter_replica(directory: AuditedDirectory) -> Where:
    copy = _copy(directory)
    copy.write_batches([], 2)
    end = int(copy.segment(2).stem)
    copy.checkpoint(HIGH_WATERMARK, end)
    return Where(copy.partition, None, end, (copy.root,))


def a_key_lost_in_one_replica(directory: AuditedDirectory) -> Where:
    """Both were cleaned. One of them lost the only record of a key."""
    directory.checkpoint(CLEANER, int(directory.segment(1).stem))
    copy = _copy(directory)
    records: dict[bytes | None, list[int]] = {}
    for number in range(3):
        data = copy.segment(number).read_bytes()
        for place, header in copy.places(number):
            for record in [] if header.is_control else list(iterate_records(data, header, place)):
                records.setdefault(record.key, []).append(record.offset)
    data = copy.segment().read_bytes()
    for index, (place, header) in enumerate(copy.places()):
        if header.records_count != 1 or header.producer_id >= 0:
            continue
        [record] = iterate_records(data, header, place)
        if record.value is not None and len(records[record.key]) == 1:
            batches = copy.batches()
            del batches[index]
            copy.write_batches(batches)
            return Where(copy.partition, None, record.offset, (copy.root,))
    raise AssertionError("no key stands only once")


REPLICA_INJECTIONS = [
    Injection("replicas-diverge", another_record_in_one_replica),
    Injection("replica-tail-differs", another_record_above_the_high_watermark),
    Injection("replica-behind", a_shorter_replica),
    Injection("replica-keys-missing", a_key_lost_in_one_replica, COMPACT),
]
