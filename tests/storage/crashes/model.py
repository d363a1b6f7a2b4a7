"""The model of what a partition must have after a crash, which the crash test compares with.

Owns: every batch that may be in the log, and what is guaranteed for it. Never does: writing to a file of the log. The
guarantee (docs/durability.md): everything acknowledged survives if the process dies, and everything below the last
flushed offset survives a power failure. Batches that survive are complete, in order and at their offsets.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.protocol.records.batch import BatchHeader, check_crc
from odradek.protocol.records.record import Record, iterate_records
from odradek.storage.log.log import Log
from odradek.storage.producers.producer_state import read_marker
from odradek.storage.segment.segment import Segment


class StoredBatch(NamedTuple):
    """A batch as the log stores it."""

    first_offset: int
    next_offset: int
    data: bytes

    def records(self) -> list[Record]:
        return list(iterate_records(self.data))


class FoundBatch(NamedTuple):
    """A batch that a log has."""

    segment: int
    position: int
    header: BatchHeader
    data: bytes


@dataclass
class PartitionModel:
    """One partition. Guaranteed offsets only rise, except for a truncation."""

    topic_id: bytes
    is_compacted: bool = False
    batches: list[StoredBatch] = field(default_factory=list)
    pending: StoredBatch | None = None
    """An append that has not returned."""
    pending_truncation: int | None = None
    """A truncation that has not returned."""
    log_start_offset: int = 0
    start_may_rise: bool = False
    """Whether old segments are being removed."""
    flushed_to: int = 0
    least_end_offset: int = 0
    """Whether an empty segment may put the log end offset after the last batch."""
    may_lack_id: bool = False
    """Whether a power failure lost the topic id, and the new file has not been flushed."""
    former: dict[int, Record] = field(default_factory=dict)
    """The batches before a crash, if the log is compacted: a copy of the replica may still have them uncleaned."""
    last_sent: dict[int, tuple[bytes, StoredBatch]] = field(default_factory=dict)
    """Producer id -> its last batch as sent and as stored."""

    @property
    def end_offset(self) -> int:
        last = self.batches[-1].next_offset if self.batches else 0
        return max(last, self.log_start_offset, self.least_end_offset)

    def truncate_to(self, offset: int) -> None:
        self.batches = [batch for batch in self.batches if batch.next_offset <= offset]
        self.flushed_to = min(self.flushed_to, offset)
        self.least_end_offset = min(self.least_end_offset, offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.last_sent = {key: sent for key, sent in self.last_sent.items() if sent[1].next_offset <= offset}

    def adopt(self, log: Log) -> None:
        """Takes the log after a crash as the new state. All of it is on the disk."""
        found = found_batches(log)
        if self.is_compacted:
            known = [*self.batches, *([] if self.pending is None else [self.pending])]
            self.former |= {record.offset: record for batch in known for record in batch.records()}
            self.former = {offset: record for offset, record in self.former.items() if offset < log.log_end_offset}
        self.batches = [StoredBatch(b.header.base_offset, b.header.next_offset, b.data) for b in found]
        self.pending = self.pending_truncation = None
        self.start_may_rise = False
        self.log_start_offset = log.log_start_offset
        self.flushed_to = log.log_end_offset
        there = set(self.batches)
        self.last_sent = {key: sent for key, sent in self.last_sent.items() if sent[1] in there}
        self.least_end_offset = log.log_end_offset
        self.may_lack_id = log.topic_id is None

    def note_flush(self, log: Log) -> None:
        """A flush has returned."""
        self.flushed_to = log.log_end_offset
        self.may_lack_id = False


def found_batches(log: Log) -> list[FoundBatch]:
    """Every batch in the segments' files. Raises CorruptRecordError for damage."""
    found = []
    for segment in log.segments:
        for position, header, batch in segment.file.batches():
            check_crc(batch, 0, header)
            found.append(FoundBatch(segment.base_offset, position, header, bytes(batch)))
    return found


def check_recovered(log: Log, model: PartitionModel, *, has_power: bool) -> None:
    """Asserts that a log that was opened after a crash keeps the guarantee, and that all its files agree."""
    found = found_batches(log)
    _check_batches(log, model, found, has_power=has_power)
    check_parts(log, found, start=max(log.log_start_offset, model.log_start_offset))


def _check_batches(log: Log, model: PartitionModel, found: list[FoundBatch], *, has_power: bool) -> None:
    known = {batch.first_offset: batch for batch in model.batches}
    if model.pending is not None:
        known[model.pending.first_offset] = model.pending
    promised = model.end_offset if has_power else model.flushed_to
    if model.pending_truncation is not None:
        promised = min(promised, model.pending_truncation)
    assert log.log_end_offset >= promised, f"ends at {log.log_end_offset}, promised are {promised}"
    most = max([model.end_offset, *(batch.next_offset for batch in known.values())])
    assert log.log_end_offset <= most, f"ends at {log.log_end_offset}, {most} is the most that was ever appended"
    if not model.start_may_rise:
        nothing_promised = not has_power and promised <= model.log_start_offset
        assert log.log_start_offset <= model.log_start_offset or nothing_promised, f"starts at {log.log_start_offset}"
    end = None
    for batch in found:
        header = batch.header
        assert end is None or header.base_offset >= end, f"offset {header.base_offset} behind {end}"
        end = header.next_offset
        assert end <= log.log_end_offset
    if model.is_compacted:
        _check_compacted(log, model, found, known, promised)
        return
    missing = dict(known)
    for batch in found:
        stored = missing.pop(batch.header.base_offset, None)
        assert stored is not None, f"a batch at {batch.header.base_offset} that was never written"
        assert stored.data == batch.data, f"the batch at {batch.header.base_offset} is another one"
    bases = set(log.segments.base_offsets)
    for stored in missing.values():
        if not log.log_start_offset < stored.next_offset <= log.log_end_offset:
            continue
        if stored.next_offset <= model.log_start_offset and not has_power:
            continue  # removed before the crash; some of the removed segments exist again
        assert stored.first_offset >= promised, f"the batch at {stored.first_offset} is gone, {promised} were promised"
        later = min((b.header.base_offset for b in found if b.header.base_offset > stored.first_offset), default=-1)
        assert not has_power, f"the batch at {stored.first_offset} is gone without a power failure"
        assert later in bases or later == -1, f"a hole at {stored.first_offset} within a segment"


def _check_compacted(
    log: Log, model: PartitionModel, found: list[FoundBatch], known: dict[int, StoredBatch], promised: int
) -> None:
    written = {record.offset: record for batch in known.values() for record in batch.records()}
    there = {record.offset: record for batch in found for record in iterate_records(batch.data, batch.header)}
    latest: dict[bytes | None, int] = {}
    for offset, record in there.items():
        assert written.get(offset, model.former.get(offset)) == record, f"the record at {offset} is another one"
        latest[record.key] = offset
    for offset, record in written.items():
        if offset in there or not log.log_start_offset <= offset < log.log_end_offset:
            continue
        if offset < model.log_start_offset or offset >= promised:
            continue
        assert latest.get(record.key, -1) > offset, f"the record at {offset}, the last of its key, is gone"


# Parts that must agree with the batches ------------------------------------------------


def check_parts(log: Log, found: list[FoundBatch] | None = None, start: int | None = None) -> None:
    """Asserts that indexes, epochs, producers and aborted transactions match the batches.

    `start`: the log start before the crash, if it is known. Producers of deleted segments that exist again are not
    known.
    """
    found = found_batches(log) if found is None else found
    for segment in log.segments:
        check_indexes(segment, [batch for batch in found if batch.segment == segment.base_offset])
    _check_epochs(log, found)
    _check_producers(log, found, log.log_start_offset if start is None else start)


def check_indexes(segment: Segment, batches: list[FoundBatch]) -> None:
    """Asserts that every entry points to a batch that does not begin after the entry's offset, and has the maximum
    timestamp up to there.

    A time entry may have any offset of its batch. Kafka before 4 wrote the offset of the record itself, and a crash
    that damages the last entry may turn one form into the other, which leads to the same batch.
    """
    by_position = {batch.position: batch.header.base_offset for batch in batches}
    greatest: dict[int, int] = {}
    highest = -1
    for batch in batches:
        highest = max(highest, batch.header.max_timestamp)
        greatest.update(dict.fromkeys(range(batch.header.base_offset, batch.header.last_offset + 1), highest))
    data = segment.indexes.offset.to_bytes()
    for at in range(0, len(data), 8):
        offset = segment.base_offset + int.from_bytes(data[at : at + 4], "big")
        position = int.from_bytes(data[at + 4 : at + 8], "big")
        assert by_position.get(position, offset + 1) <= offset, f"{segment}: {offset} is not at {position}"
    data = segment.indexes.time.to_bytes()
    for at in range(0, len(data), 12):
        timestamp = int.from_bytes(data[at : at + 8], "big")
        offset = segment.base_offset + int.from_bytes(data[at + 8 : at + 12], "big")
        assert greatest.get(offset) == timestamp, f"{segment}: the time index says {timestamp} at {offset}"


def _check_epochs(log: Log, found: list[FoundBatch]) -> None:
    entries = log.leader_epochs.entries
    assert entries == sorted(entries)
    assert not entries or entries[-1][1] <= log.log_end_offset, entries
    for batch in found:
        if batch.header.next_offset > log.log_start_offset:
            offset = max(batch.header.base_offset, log.log_start_offset)
            assert log.offsets.epoch_of(offset) == batch.header.partition_leader_epoch, f"epoch at {offset}: {entries}"


@dataclass
class _ReplayedProducer:
    epoch: int = -1
    last_sequence: int = -1
    last_offset: int = -1
    open_from: int | None = None


def _replayed(found: list[FoundBatch], start: int) -> tuple[dict[int, _ReplayedProducer], dict[tuple[int, int], int]]:
    """Producers, and (producer id, offset of the marker) -> first offset of aborted ones, from `start` on."""
    producers: dict[int, _ReplayedProducer] = {}
    aborted = {}
    for batch in found:
        header = batch.header
        if header.producer_id < 0 or header.next_offset <= start:
            continue
        producer = producers.setdefault(header.producer_id, _ReplayedProducer())
        if header.producer_epoch != producer.epoch:
            producer.epoch, producer.last_sequence, producer.last_offset = header.producer_epoch, -1, -1
        if not header.is_control:
            producer.last_sequence, producer.last_offset = header.last_sequence, header.last_offset
            if header.is_transactional and producer.open_from is None:
                producer.open_from = header.base_offset
            continue
        marker = read_marker(batch.data, header)
        assert marker is not None
        if not marker[0].is_commit and producer.open_from is not None:
            aborted[header.producer_id, header.base_offset] = producer.open_from
        producer.open_from = None
    return producers, aborted


def _check_producers(log: Log, found: list[FoundBatch], start: int) -> None:
    first = found[0].header.base_offset if found else log.log_end_offset
    whole, aborted = _replayed(found, 0)
    served, _ = _replayed(found, start)
    from_log_start, _ = _replayed(found, log.log_start_offset)
    states = log.producer_state.producers
    for producer_id, state in states.items():
        is_in_log = producer_id in whole
        assert state.last_offset < first or is_in_log, f"{state} of a batch that is not there"
    for producer_id, producer in served.items():
        known = states.get(producer_id)
        assert known is not None, f"producer {producer_id} was forgotten"
        assert known.producer_epoch == producer.epoch, f"{known}, {producer}"
        from_base = whole[producer_id]
        if producer.last_offset >= 0 or known.last_offset >= first:
            ends = {(one.last_sequence, one.last_offset) for one in (producer, from_base, from_log_start[producer_id])}
            assert (known.last_sequence, known.last_offset) in ends, f"{known} instead of {ends}"
        starts = {producer.open_from, from_base.open_from, from_log_start[producer_id].open_from}
        assert known.transaction_first_offset in starts or (
            known.transaction_first_offset is not None and known.transaction_first_offset < first
        ), f"{known}: the transaction is open from {starts}"
    entries = {
        (entry.producer_id, entry.last_offset): entry.first_offset
        for segment in log.segments
        for entry in segment.indexes.transaction.entries
    }
    markers = {batch.header.base_offset for batch in found if batch.header.is_control}
    for (producer_id, last_offset), first_offset in entries.items():
        assert last_offset in markers, (
            f"an aborted transaction of {producer_id} ends at {last_offset}, without a marker"
        )
        expected = aborted.get((producer_id, last_offset))
        assert expected is None or expected <= first_offset < last_offset, (
            f"{producer_id} from {first_offset}: {aborted}"
        )
    for (producer_id, last_offset), first_offset in aborted.items():
        if first_offset >= start:
            assert entries.get((producer_id, last_offset)) == first_offset, (
                f"the abort of {producer_id} from {first_offset} to {last_offset} is in no transaction index: {entries}"
            )
