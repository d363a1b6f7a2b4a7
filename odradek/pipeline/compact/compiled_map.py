"""Maps each key to its latest offset, in a hash table of arrays (key_table.py) that grows up to a limit.

Exact. The map also has a bit for each offset: set if the record at that offset is the latest of its key so far. Records
of the dirty part therefore need no second look-up of their key. If offsets lie far apart, the bits are dropped.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy

from odradek.protocol.records.record import Record
from odradek.storage.compaction.batch_chunk import BatchChunk
from odradek.storage.compaction.batch_records import record_windows
from odradek.storage.compaction.offset_map import KeyLimit, KeyRange
from odradek.storage.compaction.plain_steps import FILTER_LIMITS, FilterLimits

from ..decode.spans import Bytes, Flags
from .key_table import (
    COUNT,
    DONE,
    LAST_OFFSET,
    NO_SLOT,
    NO_SPACE,
    ROW,
    USED,
    Words,
    fill_slots,
    find_rows,
    keep_range,
    put_rows,
    unaligned_words,
)
from .record_rows import COLUMNS, KEY, KEY_SIZE, LEAST_PAYLOAD, OFFSET, WALK_LIMITS, RecordRows, Rows, WalkLimits, walk

LEAST_SLOTS = 1 << 5
LEAST_WORDS = 1 << 6
MAX_WORDS = 1 << 32
"""The maximum size of `entries` in words: a slot has 32 bits for the index of an entry."""
LEAST_FLAGS = 1 << 17
MAX_OFFSETS_PER_KEY = 256
"""If the offsets of a map are further apart than this on average, the map keeps no bits."""


class CompiledOffsetMap:
    """An OffsetMap (storage/compaction/offset_map.py) whose loops over records are compiled."""

    def __init__(
        self,
        limit: KeyLimit,
        key_range: KeyRange,
        seed: int,
        filter_limits: FilterLimits = FILTER_LIMITS,
        walk_limits: WalkLimits = WALK_LIMITS,
    ) -> None:
        self.key_range = key_range
        self.latest_offset = -1
        self._limit = limit
        self._filter_limits = filter_limits
        self._walk_limits = walk_limits
        self._limit_words = min(limit.size // 8, MAX_WORDS)
        self._seed = numpy.uint64(seed)
        self._slots: Words = numpy.zeros(LEAST_SLOTS, dtype=numpy.uint64)
        self._entries: Words = numpy.empty(LEAST_WORDS, dtype=numpy.uint64)
        self._state = numpy.array([0, 1, 0, -1], dtype=numpy.int64)
        self._flags: Bytes = numpy.zeros(0, dtype=numpy.uint8)
        self._first_flag = -1

    def __len__(self) -> int:
        return int(self._state[COUNT])

    @property
    def size(self) -> int:
        """Bytes of the table in use."""
        return int(self._slots.nbytes) + int(self._state[USED]) * 8

    def put(self, chunk: BatchChunk, batches: Sequence[int], start_offset: int) -> int:
        """Puts the keys of batches, as many as fit. Returns the number of batches whose records are all in the map."""
        if self._first_flag < 0:
            self._first_flag = start_offset
            if not self.key_range.bits:
                self._flags = numpy.zeros(LEAST_FLAGS, dtype=numpy.uint8)
        done = 0
        while done < len(batches):
            walked = walk(chunk, batches[done:], self._walk_limits)
            count = len(walked.is_walked)
            taken = self._put_some(chunk, batches[done : done + count], walked, start_offset)
            done += taken
            if taken < count:
                break
        return done

    def _put_some(self, chunk: BatchChunk, batches: Sequence[int], walked: RecordRows, start_offset: int) -> int:
        """Puts the batches that `walked` has. Returns the number of batches that fitted."""
        changes = numpy.flatnonzero(walked.is_walked[1:] != walked.is_walked[:-1]) + 1
        for first, end in pairwise([0, *changes.tolist(), len(batches)]):
            numbers = range(first, end)
            if walked.is_walked[first]:
                taken = self._put_walked(chunk, batches, numbers, walked, start_offset)
            else:
                taken = self._put_plain(chunk, batches, numbers, start_offset)
            if taken < len(numbers):
                return first + taken
        return len(batches)

    def _put_walked(
        self, chunk: BatchChunk, batches: Sequence[int], numbers: range, walked: RecordRows, start_offset: int
    ) -> int:
        """Puts adjacent batches whose records were walked. Returns the number of batches that fitted."""
        bounds = walked.bounds[numbers[0] : numbers[-1] + 2]
        stopped_at = self._put_rows(walked.payload, walked.rows[bounds[0] : bounds[-1]], start_offset)
        is_done = stopped_at is None
        taken = len(numbers)
        if stopped_at is not None:
            taken = int(numpy.searchsorted(bounds - bounds[0], stopped_at, side="right")) - 1
        if taken:
            self.advance_to(chunk.headers[batches[numbers[taken - 1]]].last_offset)
        if not is_done:
            self.advance_to(int(self._state[LAST_OFFSET]))
        return taken

    def _put_plain(self, chunk: BatchChunk, batches: Sequence[int], numbers: range, start_offset: int) -> int:
        """Puts adjacent batches that only Python can decode. Returns the number of batches that fitted."""
        for taken, number in enumerate(numbers):
            for records in record_windows(chunk, batches[number], self._filter_limits.records_held):
                packed = pack(records)
                if self._put_rows(packed.payload, packed.rows, start_offset) is not None:
                    self.advance_to(int(self._state[LAST_OFFSET]))
                    return taken
            self.advance_to(chunk.headers[batches[number]].last_offset)
        return len(numbers)

    def _put_rows(self, payload: Bytes, rows: Rows, start_offset: int) -> int | None:
        """Puts rows, enlarging the arrays as needed. Returns the row at which the map was full; None if all fitted."""
        if not len(rows):
            return None
        self._reserve_flags(int(rows[:, OFFSET].max()))
        self._state[ROW] = 0
        words = unaligned_words(payload)
        while True:
            ended = put_rows(
                self._slots,
                self._entries,
                self._state,
                self._seed,
                words,
                rows,
                start_offset,
                self._limit.entries,
                max(self._limit_words - len(self._slots), LEAST_WORDS),
                *self.key_range,
                self._flags,
            )
            if ended == DONE:
                return None
            if (ended == NO_SLOT and self._grow_slots()) or (
                ended == NO_SPACE and self._grow_entries(int(rows[self._state[ROW], KEY_SIZE]))
            ):
                continue
            return int(self._state[ROW])

    def find(self, walked: RecordRows) -> tuple[Flags, Flags]:
        """For each row: whether no later record of its key is in the map, and whether the key is in the map's range."""
        is_latest = numpy.empty(len(walked.rows), dtype=numpy.bool_)
        is_held = numpy.empty(len(walked.rows), dtype=numpy.bool_)
        find_rows(
            self._slots,
            self._entries,
            self._seed,
            unaligned_words(walked.payload),
            walked.rows,
            *self.key_range,
            self._flags,
            self._first_flag,
            self.latest_offset,
            is_latest,
            is_held,
        )
        return is_latest, is_held

    def narrow(self, key_range: KeyRange) -> None:
        """Forgets the keys outside of a range, and ignores them from now on."""
        self.key_range = key_range
        self._flags = self._flags[:0]
        keep_range(self._entries, self._state, self._seed, *key_range)
        self._refill_slots(len(self._slots))

    def advance_to(self, offset: int) -> None:
        """Notes that everything up to `offset` has been read."""
        self.latest_offset = max(self.latest_offset, offset)

    # Growing -------------------------------------------------------------------

    def _grow_slots(self) -> bool:
        """Doubles the number of slots. Returns False if that would exceed the limit."""
        slots = len(self._slots) * 2
        if slots + int(self._state[USED]) > self._limit_words and slots > LEAST_SLOTS:
            return False
        self._refill_slots(slots)
        return True

    def _refill_slots(self, slots: int) -> None:
        self._slots = numpy.zeros(0, dtype=numpy.uint64)  # frees the old array before the new one is allocated
        self._slots = numpy.zeros(slots, dtype=numpy.uint64)
        fill_slots(self._slots, self._entries, self._state, self._seed)

    def _grow_entries(self, key_size: int) -> bool:
        """Makes room for at least one more key. Returns False if that would exceed the limit and the map is not empty.

        The size is the limit, its half, its quarter and so on. The old and new arrays together then fit the limit while
        entries are copied.
        """
        needed = int(self._state[USED]) + 2 + (key_size + 7) // 8
        most = max(self._limit_words - len(self._slots), LEAST_WORDS)
        if needed > most and self._state[COUNT]:
            return False
        words = max(most, needed)
        while words // 2 >= max(needed, len(self._entries) + 1, LEAST_WORDS):
            words //= 2
        entries = numpy.empty(words, dtype=numpy.uint64)
        used = int(self._state[USED])
        entries[:used] = self._entries[:used]
        self._entries = entries
        return True

    def _reserve_flags(self, last_offset: int) -> None:
        """Makes room for a bit for each offset up to this one. Drops all bits if that takes too much memory."""
        needed = ((last_offset - self._first_flag) >> 3) + 1
        if not len(self._flags) or needed <= len(self._flags):
            return
        if needed > LEAST_FLAGS + len(self) * MAX_OFFSETS_PER_KEY // 8:
            self._flags = self._flags[:0]
            return
        flags = numpy.zeros(max(needed, 2 * len(self._flags)), dtype=numpy.uint8)
        flags[: len(self._flags)] = self._flags
        self._flags = flags


def pack(records: Sequence[Record]) -> RecordRows:
    """Rows of decoded records, with only the columns that the map needs."""
    keys = [record.key or b"" for record in records]
    rows = numpy.zeros((len(records), COLUMNS), dtype=numpy.int64)
    position = 0
    for number, record in enumerate(records):
        rows[number, OFFSET] = record.offset
        rows[number, KEY] = position
        rows[number, KEY_SIZE] = -1 if record.key is None else len(record.key)
        position += len(keys[number])
    payload = numpy.frombuffer(b"".join([*keys, bytes(LEAST_PAYLOAD)]), dtype=numpy.uint8)
    bounds = numpy.array([0, len(records)], dtype=numpy.int64)
    return RecordRows(payload, rows, bounds, numpy.ones(1, dtype=numpy.bool_), numpy.zeros((1, 0), dtype=numpy.int64))
