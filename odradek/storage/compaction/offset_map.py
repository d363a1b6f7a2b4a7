"""Maps a key to the offset of its latest record, which decides which records of a compacted log stay.

Exact: it compares the keys themselves, while Kafka's SkimpyOffsetMap relies on MD5 hashes. Pure. Bounded by a number of
keys, as in Kafka (in the broker, a full map ends a round), or by bytes (`odradek compact`: a full map is narrowed to a
smaller range of key hashes, and other passes take the rest: latest_records.py). Source: Kafka's SkimpyOffsetMap,
Cleaner.buildOffsetMapForSegment.

Sketch of costs: about 100 bytes and the key for each key; 5 million keys of 20 bytes take 0.7 GB.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.record import iterate_outlines

from .batch_chunk import BatchChunk

UNLIMITED = 1 << 62
BYTES_OF_AN_ENTRY = 110
"""The memory of a key in the dictionary besides its own bytes: the slot, the object, the offset."""
HASH_BITS = 32


class KeyLimit(NamedTuple):
    """The limits of a map: the number of keys, the bytes of memory."""

    entries: int = UNLIMITED
    size: int = UNLIMITED


class KeyRange(NamedTuple):
    """The keys whose hash begins with the `bits` bits of `value`; all keys if `bits` is 0."""

    bits: int = 0
    value: int = 0

    @property
    def halves(self) -> tuple["KeyRange", "KeyRange"]:
        """The range in two."""
        return KeyRange(self.bits + 1, self.value * 2), KeyRange(self.bits + 1, self.value * 2 + 1)

    def holds(self, key_hash: int) -> bool:
        """Whether a hash of 32 bits belongs to the range."""
        return key_hash >> (HASH_BITS - self.bits) == self.value


class OffsetMap(Protocol):
    """The latest offset of each key in the part of the log that has not been cleaned yet."""

    latest_offset: int
    """The last offset that the map covers. Later records are always kept."""
    key_range: KeyRange

    def __len__(self) -> int:
        """The number of keys."""
        ...

    def put(self, chunk: BatchChunk, batches: Sequence[int], start_offset: int) -> int:
        """Adds the keys of these batches of a chunk with the offsets of their records, from `start_offset` on.

        Returns how many batches were added completely. If fewer than given, the map is full: as in Kafka, it stops at a
        record inside the batch, and `latest_offset` is the offset of the last record that was added. Raises
        InvalidRecordError for records that can't be decoded.
        """
        ...

    def narrow(self, key_range: KeyRange) -> None:
        """Forgets the keys outside of a range, and ignores them from now on."""
        ...

    def advance_to(self, offset: int) -> None:
        """Notes that everything up to `offset` has been read."""
        ...


class DictionaryOffsetMap:
    """An OffsetMap in a Python dictionary, for `PlainSteps`."""

    __slots__ = ("_limit", "_offsets", "_size", "key_range", "latest_offset")

    def __init__(self, limit: KeyLimit, key_range: KeyRange) -> None:
        self._limit = limit
        self._offsets: dict[bytes, int] = {}
        self._size = 0
        self.key_range = key_range
        self.latest_offset = -1

    def __len__(self) -> int:
        return len(self._offsets)

    def put(self, chunk: BatchChunk, batches: Sequence[int], start_offset: int) -> int:
        """Adds the keys of batches, as `OffsetMap.put`: stops inside a batch if the map is full."""
        offsets, limit, key_range = self._offsets, self._limit, self.key_range
        for taken, index in enumerate(batches):
            header = chunk.headers[index]
            try:
                for offset, _, key, _, _ in iterate_outlines(chunk.batch(index), header):
                    if key is None or offset < start_offset or (key_range.bits and not key_range.holds(crc32c(key))):
                        continue
                    if len(offsets) >= limit.entries:
                        return taken
                    if key not in offsets:
                        size = self._size + BYTES_OF_AN_ENTRY + len(key)
                        if size > limit.size and offsets:
                            return taken
                        self._size = size
                    offsets[key] = self.latest_offset = offset
            except KafkaError as error:
                raise chunk.refusal(index, error) from error
            self.advance_to(header.last_offset)
        return len(batches)

    def get(self, key: bytes) -> int:
        """The latest offset of `key`, -1 if the map does not hold it."""
        return self._offsets.get(key, -1)

    def holds(self, key: bytes) -> bool:
        """Whether a key belongs to the map's range."""
        return not self.key_range.bits or self.key_range.holds(crc32c(key))

    def narrow(self, key_range: KeyRange) -> None:
        """Forgets the keys outside of a range, and ignores them from now on."""
        self.key_range = key_range
        self._offsets = {key: offset for key, offset in self._offsets.items() if key_range.holds(crc32c(key))}
        self._size = sum(BYTES_OF_AN_ENTRY + len(key) for key in self._offsets)

    def advance_to(self, offset: int) -> None:
        """Notes that everything up to `offset` has been read."""
        self.latest_offset = max(self.latest_offset, offset)
