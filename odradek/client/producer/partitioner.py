"""Chooses the partition of a record: murmur2 of its key, the sticky partition without a key (KIP-794), round-robin.

Pure: random numbers come from a function of the caller. Equal to
``org.apache.kafka.clients.producer.internals.BuiltInPartitioner``, ``RoundRobinPartitioner`` and
``org.apache.kafka.common.utils.Utils.murmur2``, so that producers in all languages send a key to the same partition.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from odradek.protocol.java.murmur2 import partition_for_key

Partitioner = Callable[[str, bytes | None, Sequence[int], Sequence[int]], int | None]
"""A user's partitioner: (topic, key, all partitions, partitions with a leader) -> partition; None: the default one."""


class StickyPartitioner:
    """Partitions records without a key: stays with one partition for ``batch_size`` bytes, then chooses a random one.

    With ``loads`` (waiting batches of each partition), partitions with fewer waiting batches are chosen more often, so
    that a slow broker gets fewer records (``partitioner.adaptive.partitioning.enable``).
    """

    def __init__(self, batch_size: int, below: Callable[[int], int]) -> None:
        """``below(n)`` returns a random number from 0 to n - 1, like ``random.randrange``."""
        self._batch_size = max(1, batch_size)
        self._below = below
        self._sticky: dict[str, tuple[int, int, Sequence[int]]] = {}
        """Topic -> its partition, the bytes sent to that, and the partitions that it was chosen among."""

    def partition(
        self,
        topic: str,
        size: int,
        partitions: Sequence[int],
        available: Sequence[int],
        loads: Callable[[Sequence[int]], list[int]] | None = None,
    ) -> int:
        """The partition for a record of ``size`` bytes; ``available`` are the partitions that have a leader."""
        candidates = available or partitions
        partition, sent, among = self._sticky.get(topic, (-1, 0, ()))
        # Only with new metadata the candidates are other ones: a topic may have thousands.
        if sent >= self._batch_size or (among is not candidates and partition not in candidates):
            partition, sent = self._choose(candidates, loads), 0
        self._sticky[topic] = (partition, sent + size, candidates)
        return partition

    def _choose(self, candidates: Sequence[int], loads: Callable[[Sequence[int]], list[int]] | None) -> int:
        waiting = loads(candidates) if loads is not None and len(candidates) > 1 else []
        if len(set(waiting)) < 2:
            return candidates[self._below(len(candidates))]
        # The weight of a partition is (longest queue - its queue + 1). The + 1 gives the longest queue a chance too.
        table = list(accumulate(max(waiting) + 1 - count for count in waiting))
        return candidates[bisect_right(table, self._below(table[-1]))]


class RoundRobinPartitioner:
    """Sends each record to the next partition with a leader and ignores keys (``RoundRobinPartitioner``)."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def __call__(self, topic: str, _key: bytes | None, partitions: Sequence[int], available: Sequence[int]) -> int:
        """The partition of the topic's next record."""
        count = self._counts.get(topic, 0)
        self._counts[topic] = count + 1
        candidates = available or partitions
        return candidates[count % len(candidates)]


class PartitionChoice:
    """Chooses the partition of each record: by the user's partitioner, else by the key, else the sticky one."""

    def __init__(
        self,
        sticky: StickyPartitioner,
        loads: Callable[[str, Sequence[int]], list[int]] | None,
        partitioner: Partitioner | None = None,
        *,
        ignores_keys: bool = False,
    ) -> None:
        """``loads``: the waiting batches of a topic's partitions; None: the sticky choice does not depend on them.

        ``ignores_keys``: ``partitioner.ignore.keys``.
        """
        self._sticky = sticky
        self._loads = loads
        self._partitioner = partitioner
        self._ignores_keys = ignores_keys

    def partition(
        self, topic: str, key: bytes | None, size: int, partitions: Sequence[int], available: Sequence[int]
    ) -> int:
        """The partition for a record of ``size`` bytes; ``available`` are the partitions that have a leader."""
        if self._partitioner is not None:
            chosen = self._partitioner(topic, key, partitions, available)
            if chosen is not None:
                return chosen
        if key is not None and not self._ignores_keys:
            return partition_for_key(key, len(partitions))
        counts = self._loads
        loads = None if counts is None else lambda candidates: counts(topic, candidates)
        return self._sticky.partition(topic, size, partitions, available, loads)
