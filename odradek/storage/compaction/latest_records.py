"""Finds the latest record of each key: the passes over a log's dirty part at the start of a round.

Keys of control batches and of aborted transactions don't count. If a map of all keys gets too large, there are two
ways. With a limit of keys, as in Kafka's cleaner, the round ends early and another one follows. With a limit of bytes,
the keys are split into ranges of their hashes. Each range has its own map, which marks the latest records, and the log
is read once for each range. The output is then the same as with one map of all keys. (With rounds
that end early it may differ: a tombstone may stay in the first round, which then gives its batch a delete horizon, and
only the second round finds a later record of its key.) Both ways are exact.

These passes do not check CRCs. The pass that rewrites reads every one of these batches again, checks it before its
result is used, and ends the round if one is damaged. Source: Kafka's Cleaner.buildOffsetMap.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG

from .batch_chunk import BatchChunk
from .batch_records import control_content
from .grouping import CleanableRange, SegmentInfo
from .offset_map import HASH_BITS, KeyLimit, KeyRange, OffsetMap
from .partition_facts import PartitionFacts
from .record_marks import RecordMarks
from .record_steps import Latest, RecordSteps
from .transactions import CleanedTransactions

Chunks = Callable[[SegmentInfo], Iterator[BatchChunk]]
"""Reads the batches of a segment in chunks."""


@dataclass(slots=True)
class LatestRecords:
    """The latest records of a round. `latest_offset`: the last offset covered; `entries`: the number of keys."""

    latest_offset: int
    entries: int
    ranges: int
    """The number of ranges that the keys were split into; 1 for a map of all keys."""
    offset_map: OffsetMap | None = None
    marks: dict[int, RecordMarks] = field(default_factory=dict)
    """The marks of each segment by base offset, if there is more than one range."""

    def of_segment(self, base_offset: int) -> Latest:
        """The map or the marks that apply to a segment."""
        return self.marks[base_offset] if self.offset_map is None else self.offset_map


def find_latest(
    steps: RecordSteps, chunks: Chunks, facts: PartitionFacts, offsets: CleanableRange, limit: KeyLimit
) -> LatestRecords:
    """Finds the latest record of each key in the range `offsets`. Raises KafkaError for damage, OSError."""
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
    """Fills the map. Returns the ranges of keys that did not fit."""
    start, end, _ = offsets
    left_out: list[KeyRange] = []
    if start >= end:
        offset_map.advance_to(end - 1)  # nothing is dirty: the round only removes tombstones whose horizon has passed
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
                chunk.check_crcs()  # no later pass does if the map ends before this segment: it is not rewritten
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
    """Puts the keys of these batches into the map. Returns the batch at which the limit of keys was reached, or None.

    A map that reaches the limit of bytes is narrowed; the ranges that it drops are added to `left_out`.
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
    """On an error, checks the CRCs first: a wrong CRC is then the error, since it may be the cause."""
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
            transactions.is_discardable(header, control_content(chunk, index).first_key)
        elif not (header.attributes & TRANSACTIONAL_FLAG and transactions.is_aborted(header)):
            found.append(index)
    return found


def _mark(steps: RecordSteps, chunks: Iterator[BatchChunk], offset_map: OffsetMap, marks: RecordMarks) -> None:
    """Marks the latest records of the map's range in one segment. Aborted records may be marked; they are removed
    anyway.
    """
    for chunk in chunks:
        marks.reserve(chunk.first_record + chunk.record_count)
        data: Sequence[int] = range(len(chunk.headers))
        if not chunk.is_plain:
            data = [index for index in data if not chunk.headers[index].attributes & CONTROL_FLAG]
        with _damage_named_first(chunk):
            steps.mark(chunk, data, offset_map, marks)
