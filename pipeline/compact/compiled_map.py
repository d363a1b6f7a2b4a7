"""The offset map of the compiled steps: a hash table in arrays (key_table.py) that grows up to its limit.

Exact. Beside the table one bit for each offset says whether it was put and not superseded, so that the records of the
dirty part need no second look-up; given up where offsets lie far apart.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy

from ...protocol.records.record import Record
from ...storage.compaction.batch_chunk import BatchChunk
from ...storage.compaction.offset_map import KeyLimit, KeyRange
from ...storage.compaction.record_steps import record_windows
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
from .record_rows import COLUMNS, KEY, KEY_SIZE, LEAST_PAYLOAD, OFFSET, RecordRows, Rows, walk

LEAST_SLOTS = 1 << 5
LEAST_WORDS = 1 << 6
MAX_WORDS = 1 << 32
"""A slot has 32 bits for where an entry begins."""
LEAST_FLAGS = 1 << 17
MAX_OFFSETS_PER_KEY = 256
"""The average distance of offsets above which the map keeps no bits."""


class CompiledOffsetMap:
    """See OffsetMap."""

    def __init__(self, limit: KeyLimit, key_range: KeyRange, seed: int) -> None:
        self.key_range = key_range
        self.latest_offset = -1
        self._limit = limit
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
        """Bytes of the table."""
        return int(self._slots.nbytes) + int(self._state[USED]) * 8

    def put(self, chunk: BatchChunk, batches: Sequence[int], start_offset: int) -> int:
        """See OffsetMap."""
        if self._first_flag < 0:
            self._first_flag = start_offset
            if not self.key_range.bits:
                self._flags = numpy.zeros(LEAST_FLAGS, dtype=numpy.uint8)
        done = 0
        while done < len(batches):
            walked = walk(chunk, batches[done:])
            count = len(walked.is_walked)
            taken = self._put_some(chunk, batches[done : done + count], walked, start_offset)
            done += taken
            if taken < count:
                break
        return done

    def _put_some(self, chunk: BatchChunk, batches: Sequence[int], walked: RecordRows, start_offset: int) -> int:
        """Takes in batches that `walked` has; how many."""
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
        """Takes in neighbouring batches that were walked; how many."""
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
        """Takes in batches that only the plain steps read; how many."""
        for taken, number in enumerate(numbers):
            for records in record_windows(chunk, batches[number]):
                packed = pack(records)
                if self._put_rows(packed.payload, packed.rows, start_offset) is not None:
                    self.advance_to(int(self._state[LAST_OFFSET]))
                    return taken
            self.advance_to(chunk.headers[batches[number]].last_offset)
        return len(numbers)

    def _put_rows(self, payload: Bytes, rows: Rows, start_offset: int) -> int | None:
        """Puts rows, growing as need be; the row at which the map was full, None when all are in."""
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
        """See OffsetMap."""
        self.key_range = key_range
        self._flags = self._flags[:0]
        keep_range(self._entries, self._state, self._seed, *key_range)
        self._refill_slots(len(self._slots))

    def advance_to(self, offset: int) -> None:
        """See OffsetMap."""
        self.latest_offset = max(self.latest_offset, offset)

    # Growing -------------------------------------------------------------------

    def _grow_slots(self) -> bool:
        """Twice the slots; False where the limit forbids it."""
        slots = len(self._slots) * 2
        if slots + int(self._state[USED]) > self._limit_words and slots > LEAST_SLOTS:
            return False
        self._refill_slots(slots)
        return True

    def _refill_slots(self, slots: int) -> None:
        self._slots = numpy.zeros(0, dtype=numpy.uint64)  # the old ones go before the new ones come
        self._slots = numpy.zeros(slots, dtype=numpy.uint64)
        fill_slots(self._slots, self._entries, self._state, self._seed)

    def _grow_entries(self, key_size: int) -> bool:
        """Room for one more key at least; False where the limit forbids it and there is another key.

        Sizes are the limit's halves, quarters and so on: copying then never takes more than the limit.
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
        """A bit for each offset up to this one, unless there are too many."""
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
    """Rows of decoded records, as far as the map needs them."""
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
