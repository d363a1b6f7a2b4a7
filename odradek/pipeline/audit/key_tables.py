"""Counts distinct keys, the records of the most frequent key, and duplicates, by hash and in bounded memory.

Pure. A key's hash has 64 bits. If a set grows beyond MOST_KEYS, it keeps only the keys in half of the hash range, then
in a quarter and so on. A duplicate among billions of keys may therefore be missed. A false duplicate needs two kept
keys with the same hash, which has a probability below 10^-6. Works without numba, but slowly.

Cost: 1 ns a byte to hash a key, 10 ns to count it, 20 ns to look it up.
"""

import numpy
from numpy.typing import NDArray

from ..decode.spans import Bytes, Fields, Flags, Int32s, Int64s
from ..engine.compiled import compiled
from .packed_arrays import PackedArray

Hashes = NDArray[numpy.int64]

MOST_KEYS = 1 << 21
_BUCKETS = 1 << 16
_BITS = 1 << 20
_FIRST_SLOTS = 1 << 12
_FEW = 4096
"""Up to this number of records their hashes are kept instead of tables, which have 1.5 MB."""
_PRIME, _SEED, _MIX = 0x100000001B3, -0x340D631B7BDDDCDB, -0x00AE502812AA7333


@compiled
def _hash_keys(payload: Bytes, bounds: Int32s, rows: Int64s, hashes: Hashes) -> None:
    """Hashes the key of each row: FNV-1a, then the mixing step of murmur3."""
    for index in range(len(rows)):
        row = rows[index]
        value = numpy.int64(_SEED)
        for position in range(bounds[2 * row], bounds[2 * row + 1]):
            value = (value ^ numpy.int64(payload[position])) * numpy.int64(_PRIME)
        value ^= (value >> numpy.int64(33)) & numpy.int64(0x7FFFFFFF)
        value *= numpy.int64(_MIX)
        value ^= (value >> numpy.int64(33)) & numpy.int64(0x7FFFFFFF)
        hashes[index] = value


def hash_keys(payload: Bytes, keys: Fields, rows: Int64s) -> Hashes:
    """The hashes of the keys of some rows."""
    hashes = numpy.empty(len(rows), numpy.int64)
    with numpy.errstate(over="ignore"):
        _hash_keys(payload, keys.bounds, rows, hashes)
    return hashes


@compiled
def _count(hashes: Hashes, buckets: NDArray[numpy.int32], bits: NDArray[numpy.uint8]) -> None:
    """Counts each hash in two rows of buckets and sets its bit."""
    for value in hashes:
        buckets[0, value & 0xFFFF] += 1
        buckets[1, (value >> 16) & 0xFFFF] += 1
        bits[(value >> 32) & 0xFFFFF] = 1


class KeyCounts:
    """Estimates the number of different keys, and an upper bound of the records of the most frequent key.

    The counts of two parts of a log add up to those of the whole. Source: linear counting (Whang 1990), count-min
    sketch (Cormode 2005).
    """

    __slots__ = ("_few", "_tables", "records")

    def __init__(self) -> None:
        self.records = 0
        self._few: list[Hashes] = []
        self._tables: tuple[NDArray[numpy.int32], NDArray[numpy.uint8]] | None = None

    @property
    def buckets(self) -> NDArray[numpy.int32]:
        """The counts of the sketch."""
        return self._made_tables()[0]

    @property
    def bits(self) -> NDArray[numpy.uint8]:
        """1 for each bit that a key has set."""
        return self._made_tables()[1]

    def _made_tables(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint8]]:
        if self._tables is None:
            self._tables = numpy.zeros((2, _BUCKETS), numpy.int32), numpy.zeros(_BITS, numpy.uint8)
            for hashes in self._few:
                _count(hashes, *self._tables)
            self._few = []
        return self._tables

    def add(self, hashes: Hashes) -> None:
        """Counts keys."""
        if not len(hashes):
            return
        self.records += len(hashes)
        if self._tables is None and self.records <= _FEW:
            self._few.append(hashes)
        else:
            _count(hashes, *self._made_tables())

    def merge(self, other: "KeyCounts") -> None:
        """Adds the counts of another part of the log."""
        if other._tables is None:
            for hashes in other._few:
                self.add(hashes)
        else:
            self._merge_tables(other.records, *other._tables)

    def _merge_tables(self, records: int, buckets: NDArray[numpy.int32], bits: NDArray[numpy.uint8]) -> None:
        """Adds the counts of another part of the log."""
        if records:
            self.records += records
            mine, my_bits = self._made_tables()
            mine += buckets
            my_bits |= bits

    def merge_packed(self, records: int, buckets: PackedArray, bits: PackedArray) -> None:
        """Adds the counts of another part of the log; `bits` has eight in each number."""
        if not records:
            return
        few, few_bits = buckets.entries(), bits.entries()
        if few is None or few_bits is None:
            self._merge_tables(records, buckets.values().reshape(2, -1), numpy.unpackbits(bits.values()))
            return
        self.records += records
        mine, my_bits = self._made_tables()
        mine.reshape(-1)[few[0]] += few[1].astype(mine.dtype)
        my_bits.reshape(-1, 8)[few_bits[0]] |= numpy.unpackbits(few_bits[1][:, None], axis=1)

    @property
    def most(self) -> int:
        """No key has more records than this."""
        if self._tables is None and self._few:
            hashes = numpy.concatenate(self._few)
            rows = (hashes & 0xFFFF, (hashes >> 16) & 0xFFFF)
            return int(min(numpy.unique(row, return_counts=True)[1].max() for row in rows))
        return int(self.buckets.max(axis=1).min()) if self.records else 0

    @property
    def distinct(self) -> int:
        """The estimated number of different keys; good up to some millions."""
        if not self.records:
            return 0
        if self._tables is None:
            full = len(numpy.unique((numpy.concatenate(self._few) >> 32) & 0xFFFFF))
        else:
            full = int(numpy.count_nonzero(self.bits))
        empty = max(_BITS - full, 1)
        return min(round(-_BITS * float(numpy.log(empty / _BITS))), self.records)


@compiled
def _put(hashes: Hashes, mask: int, slots: Hashes, seen: Flags, counts: Int64s, start: int) -> int:
    """Adds the hashes from row `start` on that pass the mask, and marks in `seen` those that were already there.

    Returns the first row that did not fit, or the number of rows. `counts`: the number of full slots, and its maximum.
    """
    full = counts[0]
    for row in range(start, len(hashes)):
        value = hashes[row]
        if value == 0:
            value = 1
        if (value >> 40) & mask:
            continue
        slot = value & (len(slots) - 1)
        while slots[slot] != 0 and slots[slot] != value:
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] == value:
            seen[row] = True
        elif full >= counts[1]:
            counts[0] = full
            return row
        else:
            slots[slot] = value
            full += 1
    counts[0] = full
    return len(hashes)


@compiled
def _has_any(hashes: Hashes, mask: int, slots: Hashes) -> bool:
    """Whether one of the hashes that pass the mask is in the slots."""
    for value in hashes:
        if value == 0:
            value = 1
        if (value >> 40) & mask:
            continue
        slot = value & (len(slots) - 1)
        while slots[slot] != 0:
            if slots[slot] == value:
                return True
            slot = (slot + 1) & (len(slots) - 1)
    return False


class KeySet:
    """A set of keys. `share`: 1 if it holds all keys, 2 if it holds the keys in half of the hash range, …"""

    __slots__ = ("_counts", "_most_keys", "_slots", "share")

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._most_keys = most_keys
        self.share = 1
        self._slots = numpy.zeros(_FIRST_SLOTS, numpy.int64)
        self._counts = numpy.array([0, _FIRST_SLOTS // 2])

    def add(self, hashes: Hashes) -> Int64s:
        """Adds keys. Returns the rows of those that the set already had."""
        seen = numpy.zeros(len(hashes), numpy.bool_)
        row = 0
        while (row := int(_put(hashes, self.share - 1, self._slots, seen, self._counts, row))) < len(hashes):
            self._grow()
        return numpy.flatnonzero(seen)

    def has_any(self, hashes: Hashes) -> bool:
        """Whether the set has one of the keys."""
        return bool(len(hashes)) and bool(_has_any(hashes, self.share - 1, self._slots))

    def _grow(self) -> None:
        kept = self._slots[self._slots != 0]
        size = len(self._slots)
        if size // 2 >= self._most_keys:
            self.share *= 2
        else:
            size *= 2
        self._slots = numpy.zeros(size, numpy.int64)
        self._counts = numpy.array([0, size // 2])
        _put(kept, self.share - 1, self._slots, numpy.zeros(len(kept), numpy.bool_), self._counts, 0)
