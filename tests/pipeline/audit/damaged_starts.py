"""Injections that change what readers get or what the next start of Kafka does, and that no CRC shows.

The real Kafka was asked about each (test_damage_as_kafka.py).
"""

import shutil

from odradek.protocol.records.batch import BATCH_HEADER_SIZE
from odradek.storage.segment.transaction_index import AbortedTransaction, TransactionIndex
from support.pipeline.audited_directory import AuditedDirectory, stamp

from .audit_injections import Injection, Where

KEY_POSITION = BATCH_HEADER_SIZE + 5
"""The key of the record in a batch of one marker; after it come one byte and the value."""


def _control(directory: AuditedDirectory, position: int, number: int) -> Where:
    batches = directory.batches()
    index, place, header = directory.find(is_control=True)
    stamp(batches[index], position, ">h", number)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def a_marker_with_a_later_key(directory: AuditedDirectory) -> Where:
    return _control(directory, KEY_POSITION, 9)


def a_marker_with_a_later_value(directory: AuditedDirectory) -> Where:
    return _control(directory, KEY_POSITION + 5, 9)


def a_marker_of_an_unknown_type(directory: AuditedDirectory) -> Where:
    return _control(directory, KEY_POSITION + 2, 9)


def an_index_entry_that_begins_early(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".txnindex")
    entries = TransactionIndex(0, path.read_bytes()).entries
    markers = [header for _, header in directory.places() if header.is_control]
    for number, entry in enumerate(entries):
        ends = [one.base_offset for one in markers if one.producer_id == entry.producer_id]
        earlier = [offset for offset in ends if offset < entry.first_offset]
        if earlier:
            return _with_entry(directory, number, entry._replace(first_offset=earlier[-1]))
    raise AssertionError("no aborted transaction follows another one of its producer")


def an_index_entry_that_begins_late(directory: AuditedDirectory) -> Where:
    entries = TransactionIndex(0, directory.segment(0, ".txnindex").read_bytes()).entries
    number, entry = next(found for found in enumerate(entries) if found[1].last_offset - found[1].first_offset > 2)
    return _with_entry(directory, number, entry._replace(first_offset=entry.first_offset + 1))


def _with_entry(directory: AuditedDirectory, number: int, entry: AbortedTransaction) -> Where:
    path = directory.segment(0, ".txnindex")
    index = TransactionIndex(0, path.read_bytes())
    index.entries[number] = entry
    path.write_bytes(index.to_bytes())
    return Where(path, 34 * number, entry.last_offset)


def an_abort_that_became_a_commit(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".txnindex")
    [*_, entry] = TransactionIndex(0, path.read_bytes()).entries
    batches = directory.batches()
    index, _, header = directory.find(base_offset=entry.last_offset)
    stamp(batches[index], KEY_POSITION + 2, ">h", 1)
    directory.write_batches(batches)
    return Where(path, path.stat().st_size - 34, header.base_offset)


def a_batch_without_its_bit(directory: AuditedDirectory) -> Where:
    batches = directory.batches()
    index, place, header = directory.find(is_transactional=True, is_control=False, after=20)
    stamp(batches[index], 21, ">h", header.attributes & ~0x10)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def a_first_batch_without_its_bit(directory: AuditedDirectory) -> Where:
    batches = directory.batches()
    index, place, header = directory.find(is_transactional=True, is_control=False)
    stamp(batches[index], 21, ">h", header.attributes & ~0x10)
    directory.write_batches(batches)
    return Where(directory.segment(), place, header.base_offset)


def no_first_segment(directory: AuditedDirectory) -> Where:
    for path in directory.partition.glob(f"{directory.segment().stem}.*"):
        path.unlink()
    return Where(directory.partition / "leader-epoch-checkpoint", None, 0)


def a_damaged_swap(directory: AuditedDirectory) -> Where:
    batches = directory.batches()
    at = sum(map(len, batches[:10]))
    batches[10][40] ^= 1
    path = directory.segment().with_suffix(".log.swap")
    path.write_bytes(b"".join(batches))
    return Where(path, at, 0)


def a_swap_that_ends_early(directory: AuditedDirectory) -> Where:
    path = directory.segment().with_suffix(".log.swap")
    path.write_bytes(b"".join(directory.batches()[:10]))
    return Where(path, -1, 0)


def a_directory_without_a_partition(directory: AuditedDirectory) -> Where:
    path = directory.root / "lost+found"
    path.mkdir()
    return Where(path)


def a_second_directory_of_a_partition(directory: AuditedDirectory) -> Where:
    path = directory.root / "t-00"
    shutil.copytree(directory.partition, path)
    return Where(path)


def _quorum_state(directory: AuditedDirectory, text: str) -> Where:
    path = directory.root / "__cluster_metadata-0" / "quorum-state"
    path.write_text(text)
    return Where(path, 0)


def nonsense_in_the_quorum_state(directory: AuditedDirectory) -> Where:
    return _quorum_state(directory, "nonsense")


def no_quorum_state_in_its_file(directory: AuditedDirectory) -> Where:
    return _quorum_state(directory, "")


def a_quorum_state_of_another_version(directory: AuditedDirectory) -> Where:
    return _quorum_state(directory, '{"leaderId":1,"leaderEpoch":3,"votedId":-1,"data_version":7}')


def exchanged_segments(directory: AuditedDirectory) -> Where:
    first, second = (directory.segment(number) for number in (0, 1))
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)
    return Where(second, 0, 0)


def an_impossible_length_at_the_end(directory: AuditedDirectory) -> Where:
    *_, (position, header) = directory.places(2)
    data = bytearray(directory.segment(2).read_bytes())
    data[position + 8 : position + 12] = b"\xff\xff\xff\xff"
    directory.segment(2).write_bytes(data)
    return Where(directory.segment(2), position, header.base_offset)


def an_empty_topic_id(directory: AuditedDirectory) -> Where:
    path = directory.partition / "partition.metadata"
    path.write_bytes(b"")
    return Where(path)


def zeros_at_the_end(directory: AuditedDirectory) -> Where:
    path = directory.segment(2)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(18))
    return Where(path, size)


def a_checkpoint_named_as_a_swap(directory: AuditedDirectory) -> Where:
    path = directory.partition / "leader-epoch-checkpoint.swap"
    path.write_bytes(b"")
    return Where(path)


def a_segment_without_an_offset(directory: AuditedDirectory) -> Where:
    path = directory.partition / "copy.log"
    path.write_bytes(b"")
    return Where(path)


def an_offset_that_no_index_can_name(directory: AuditedDirectory) -> Where:
    *_, (position, header) = directory.places(2)
    data = bytearray(directory.segment(2).read_bytes())
    data[position : position + 8] = (header.base_offset + (1 << 32)).to_bytes(8, "big")
    directory.segment(2).write_bytes(data)
    return Where(directory.segment(2), position, header.base_offset + (1 << 32))


def a_closed_segment_without_batches(directory: AuditedDirectory) -> Where:
    directory.segment(1).write_bytes(b"")
    return Where(directory.segment(1).with_suffix(".timeindex"))


START_INJECTIONS = [
    Injection("offset-beyond-segment", an_offset_that_no_index_can_name),
    Injection("segment-emptied", a_closed_segment_without_batches, {"cleanup.policy": "compact"}),
    Injection("file-name-invalid", a_checkpoint_named_as_a_swap),
    Injection("file-name-invalid", a_segment_without_an_offset),
    Injection("log-end-unreadable", zeros_at_the_end),
    Injection("offset-before-segment", exchanged_segments),
    Injection("checkpoint-unreadable", an_empty_topic_id),
    Injection("log-end-unreadable", an_impossible_length_at_the_end),
    Injection("transaction-marker-unknown", a_marker_with_a_later_key),
    Injection("transaction-marker-unknown", a_marker_with_a_later_value),
    Injection("transaction-marker-unknown", a_marker_of_an_unknown_type),
    Injection("transaction-index-wrong", an_index_entry_that_begins_early),
    Injection("transaction-index-wrong", an_index_entry_that_begins_early, {"cleanup.policy": "compact"}),
    Injection("transaction-index-wrong", an_index_entry_that_begins_late),
    Injection("transaction-outcome-contradicted", an_abort_that_became_a_commit),
    Injection("transactional-bit-lost", a_batch_without_its_bit),
    Injection("transactional-bit-lost", a_first_batch_without_its_bit),
    Injection("first-segments-missing", no_first_segment),
    Injection("swap-loses-records", a_damaged_swap),
    Injection("swap-loses-records", a_damaged_swap, {"cleanup.policy": "compact"}),
    Injection("swap-loses-records", a_swap_that_ends_early),
    Injection("directory-name-invalid", a_directory_without_a_partition),
    Injection("directory-name-invalid", a_second_directory_of_a_partition),
    Injection("quorum-state-unreadable", nonsense_in_the_quorum_state),
    Injection("quorum-state-unreadable", no_quorum_state_in_its_file),
    Injection("quorum-state-unreadable", a_quorum_state_of_another_version),
]
