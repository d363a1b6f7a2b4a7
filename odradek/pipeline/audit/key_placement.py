"""Finds partitions whose keys belong to another partition of the topic: the directories of two were exchanged.

Pure. The files of a partition do not have its number, so only its keys tell. State: the first keys. A partition is
suspicious if all of MOST_KEYS different keys belong to one other partition, by Java's partitioner or by librdkafka's.
With a partitioner of its own, a producer spreads its keys over all partitions by both of these. A topic that got more
partitions has older keys that belong to several ones now, and is not suspicious. Source: ``BuiltInPartitioner``;
librdkafka's ``consistent_random``, the CRC-32 of the key.
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.java.murmur2 import partition_for_key

from ..decode.spans import Bytes, Fields, Int64s

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

    __slots__ = ("_count", "_keys", "_looked_at", "_own", "_places")

    def __init__(self, own: int, count: int) -> None:
        """``own``: the index of the partition. ``count``: the number of partitions of its topic, 0 if unknown."""
        self._own = own
        self._count = count
        self._keys: set[bytes] = set()
        self._looked_at = 0
        self._places: dict[str, int] = dict.fromkeys(_PARTITIONERS, -1)
        """The other partition of all keys so far, by partitioner; -1 before the first one."""

    def read(self, payload: Bytes, keys: Fields, rows: Int64s) -> None:
        """Looks at the keys of some rows until the answer is known: for most partitions after a few."""
        if self._count < 2:
            return
        for row in rows[: _LOOKED_AT - self._looked_at].tolist():
            if not self._places or len(self._keys) >= MOST_KEYS:
                return
            self._looked_at += 1
            key = payload[keys.bounds[2 * row] : keys.bounds[2 * row + 1]].tobytes()
            if key and key not in self._keys:  # librdkafka spreads empty keys
                self._keys.add(key)
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
