"""Finds partitions whose keys belong to another partition of the topic: the directories of two were exchanged.

Pure. The files of a partition do not have its number, so only its keys tell. State: the first keys. A partition is
suspicious if all of MOST_KEYS different keys belong to one other partition, by Java's partitioner or by librdkafka's.
With a partitioner of its own, a producer spreads its keys over all partitions by both of these. A topic that got more
partitions has older keys that belong to several ones now, and is not suspicious. Source: ``BuiltInPartitioner``;
librdkafka's ``consistent_random``, the CRC-32 of the key.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from odradek.protocol.java.murmur2 import partition_for_key

from ..decode.spans import Bytes, Fields, Int64s
from .sums import PlacedKey

MOST_KEYS = 40
"""By chance they belong to one other partition with a probability below 10^-11."""
_LOOKED_AT = 10_000
"""The records that are looked at until there are so many different keys."""


class Placement(NamedTuple):
    """The partition to which all keys belong, by the partitioner of that name."""

    partition: int
    partitioner: str


def _crc32(key: bytes, count: int) -> int:
    return zlib.crc32(key) % count


_PARTITIONERS: dict[str, Callable[[bytes, int], int]] = {"Java": partition_for_key, "librdkafka": _crc32}


class KeyPlacement:
    """The check of one partition."""

    __slots__ = ("_count", "_keys", "_own", "_places", "looked_at", "placed")

    def __init__(self, own: int, count: int) -> None:
        """``own``: the index of the partition. ``count``: the number of partitions of its topic, 0 if unknown."""
        self.placed: list[PlacedKey] = []
        """The different keys, in order."""
        self._own = own
        self._count = count
        self._keys: set[bytes] = set()
        self.looked_at = 0
        self._places: dict[str, int] = dict.fromkeys(_PARTITIONERS, -1)
        """The other partition of all keys so far, by partitioner; -1 before the first one."""

    def read(self, payload: Bytes, keys: Fields, rows: Int64s) -> None:
        """Looks at the keys of some rows until the answer is known: for most partitions after a few."""
        if self._count < 2:
            return
        for row in rows[: _LOOKED_AT - self.looked_at].tolist():
            if self.is_decided:
                return
            self.looked_at += 1
            key = payload[keys.bounds[2 * row] : keys.bounds[2 * row + 1]].tobytes()
            if key and key not in self._keys:  # librdkafka spreads empty keys
                self._add(key)

    @property
    def is_decided(self) -> bool:
        """Whether further keys change nothing."""
        return self._count < 2 or not self._places or len(self._keys) >= MOST_KEYS or self.looked_at >= _LOOKED_AT

    def take(self, placed: Sequence[PlacedKey], looked_at: int) -> None:
        """Looks at the keys of a part of the log that another check has looked at: its `placed` and `looked_at`."""
        if self.is_decided:
            return
        before = self.looked_at
        for number, key in placed:
            if self.is_decided or before + number > _LOOKED_AT:
                break
            self.looked_at = before + number
            if key not in self._keys:
                self._add(key)
        self.looked_at = min(before + looked_at, _LOOKED_AT)

    def _add(self, key: bytes) -> None:
        self._keys.add(key)
        self.placed.append(PlacedKey(self.looked_at, key))
        self._place(key)

    def _place(self, key: bytes) -> None:
        for name in list(self._places):
            place = _PARTITIONERS[name](key, self._count)
            if place == self._own or self._places[name] not in (-1, place):
                del self._places[name]
            else:
                self._places[name] = place

    def found(self) -> Placement | None:
        """The other partition to which the keys belong; None if there is none."""
        if len(self._keys) < MOST_KEYS:
            return None
        return next((Placement(place, name) for name, place in self._places.items()), None)
