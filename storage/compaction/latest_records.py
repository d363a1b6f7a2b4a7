"""Which records are the latest of their keys: the passes over a log's dirty part that a round begins with.

Keys of control batches and of aborted transactions don't count. When a map of all keys gets too large there are two
ways. With a limit of keys, as Kafka's cleaner has, the round ends early and another one follows. With a limit of bytes
the keys are taken in ranges of their hashes, as many as need be, each with a map of its own that marks the latest
records: the log is read once more for each range, and the round ends in the bytes that a map of all keys would have
left (rounds that end early would not: a tombstone that only the next round finds superseded has given its batch a
delete horizon by then). Exact in both.

CRCs are left to the pass that rewrites: it reads every batch once more that these passes have read, checks it before
anything comes of it, and ends the round where one is damaged. Source: Kafka's Cleaner.buildOffsetMap.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...protocol.errors import KafkaError
from ...protocol.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG
from .batch_chunk import BatchChunk
from .grouping import CleanableRange, SegmentFacts
from .offset_map import HASH_BITS, KeyLimit, KeyRange, OffsetMap
from .partition_facts import PartitionFacts
from .record_marks import RecordMarks
from .record_steps import Latest, RecordSteps, decode
from .transactions import CleanedTransactions

Chunks = Callable[[SegmentFacts], Iterator[BatchChunk]]
"""Reads a segment."""


@dataclass(slots=True)
class LatestRecords:
    """What a round knows of keys. `latest_offset`: the last offset it speaks for; `entries`: how many keys it met."""

    latest_offset: int
    entries: int
    ranges: int
    """Into how many ranges the keys were split, 1 for a map of all."""
    offset_map: OffsetMap | None = None
    marks: dict[int, RecordMarks] = field(default_factory=dict)
    """For each segment by base offset, where there is more than one range."""

    def of_segment(self, base_offset: int) -> Latest:
        """What decides about the records of a segment."""
        return self.marks[base_offset] if self.offset_map is None else self.offset_map


def find_latest(
    steps: RecordSteps, chunks: Chunks, facts: PartitionFacts, offsets: CleanableRange, limit: KeyLimit
) -> LatestRecords:
    """Reads the range. Raises KafkaError for damage, OSError."""
    pending = [KeyRange()]
    found = LatestRecords(-1, 0, 0)
    while pending:
        offset_map = steps.offset_map(limit, pending.pop())
        pending += _build(steps, chunks, facts, offsets, offset_map, limit)
        found.ranges += 1
        found.entries += len(offset_map)
        found.latest_offset = offset_map.latest_offset
        if not pending and found.ranges == 1:
            found.offset_map = offset_map
            break
        for segment in facts.segments:
            if segment.base_offset < offsets.first_uncleanable_offset:
                marks = found.marks.setdefault(segment.base_offset, RecordMarks())
                _mark(steps, chunks(segment), offset_map, marks)
        del offset_map  # before the next is made
    return found


def _build(
    steps: RecordSteps,
    chunks: Chunks,
    facts: PartitionFacts,
    offsets: CleanableRange,
    offset_map: OffsetMap,
    limit: KeyLimit,
) -> list[KeyRange]:
    """Fills the map; the ranges of keys that it had to leave out."""
    start, end = offsets
    left_out: list[KeyRange] = []
    if start >= end:
        offset_map.advance_to(end - 1)  # nothing is dirty: only horizons that have passed are looked for
        return left_out
    transactions = CleanedTransactions()
    transactions.add_aborted(facts.aborted_between(start, end))
    dirty = [s for s in facts.segments if s.base_offset < end and facts.next_offsets[s.base_offset] > start]
    for index, segment in enumerate(dirty):
        for chunk in chunks(segment):
            with _damage_named_first(chunk):
                batches = _batches_with_keys(chunk, transactions, start)
                stopped_at = _put(chunk, batches, offset_map, start, limit, left_out)
            if stopped_at is not None:
                chunk.check_crcs()  # the last offset may lie in front of its segment, which is then not rewritten
            taken = len(chunk.headers) if stopped_at is None else stopped_at
            if taken and chunk.headers[taken - 1].last_offset >= start:
                offset_map.advance_to(chunk.headers[taken - 1].last_offset)
            if stopped_at is not None:
                return left_out
        offset_map.advance_to((dirty[index + 1].base_offset if index + 1 < len(dirty) else end) - 1)
    return left_out


def _put(
    chunk: BatchChunk,
    batches: Sequence[int],
    offset_map: OffsetMap,
    start_offset: int,
    limit: KeyLimit,
    left_out: list[KeyRange],
) -> int | None:
    """Puts the keys of these batches; None, or the batch at which there were as many as there may be.

    A map that is full otherwise is narrowed; what it leaves out is added to `left_out`.
    """
    taken = 0
    while batches and (taken := taken + offset_map.put(chunk, batches[taken:], start_offset)) < len(batches):
        if limit.entries <= len(offset_map):
            return batches[taken]
        assert offset_map.key_range.bits < HASH_BITS, "a map of one hash is never full"
        kept, other = offset_map.key_range.halves
        left_out.append(other)
        offset_map.narrow(kept)
    return None


@contextmanager
def _damage_named_first(chunk: BatchChunk) -> Iterator[None]:
    """What goes wrong may come of bytes whose CRC was not checked yet: then that is what is said."""
    try:
        yield
    except KafkaError:
        chunk.check_crcs()
        raise


def _batches_with_keys(chunk: BatchChunk, transactions: CleanedTransactions, start_offset: int) -> Sequence[int]:
    """The data batches of a chunk that reach `start_offset` and were not aborted."""
    if chunk.is_plain and chunk.headers[0].last_offset >= start_offset:
        return range(len(chunk.headers))
    found = []
    for index, header in enumerate(chunk.headers):
        if header.last_offset < start_offset:
            continue
        if header.attributes & CONTROL_FLAG:
            records = decode(chunk, index)
            transactions.is_discardable(header, records[0].key if records else None)
        elif not (header.attributes & TRANSACTIONAL_FLAG and transactions.is_aborted(header)):
            found.append(index)
    return found


def _mark(steps: RecordSteps, chunks: Iterator[BatchChunk], offset_map: OffsetMap, marks: RecordMarks) -> None:
    """Marks the latest records of the map's range in one segment, aborted ones too: those go anyway."""
    for chunk in chunks:
        marks.reserve(chunk.first_record + chunk.record_count)
        data: Sequence[int] = range(len(chunk.headers))
        if not chunk.is_plain:
            data = [index for index in data if not chunk.headers[index].attributes & CONTROL_FLAG]
        with _damage_named_first(chunk):
            steps.mark(chunk, data, offset_map, marks)
