"""The group coordinator of this broker: all partitions of ``__consumer_offsets`` that it leads.

Owns: which partition is served by which shard. Never does: deciding, I/O. Source: ``GroupCoordinatorService``.
"""

import logging
from collections.abc import Callable
from functools import lru_cache

from ...protocol.errors import ErrorCode, KafkaError
from ..groups.config import GroupCoordinatorConfig
from ..groups.core import GroupCore
from ..groups.effects import Effects
from ..groups.partitioning import partition_for
from .interfaces import CoordinatorLog, Timers
from .shard import CoordinatorShard

logger = logging.getLogger(__name__)

_partition_for = lru_cache(maxsize=16_384)(partition_for)

LogOpener = Callable[[int], CoordinatorLog | None]
"""Partition -> its log, or None where this broker does not lead it."""


class GroupCoordinator:
    """Finds the shard of a group; shards come with :meth:`elect`, go with :meth:`resign`.

    A partition that nobody elected us for is asked of ``open_log`` when a group first needs it: so the offsets topic
    may come into being partition by partition.
    """

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        timers: Timers,
        clock_ms: Callable[[], int],
        new_uuid: Callable[[], str],
        open_log: LogOpener,
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch; ``new_uuid``: the text of a fresh random UUID."""
        self.config = config
        self._timers = timers
        self._clock_ms = clock_ms
        self._new_uuid = new_uuid
        self._open_log = open_log
        self._shards: dict[int, CoordinatorShard] = {}
        self._active = True

    def partition_for(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that a group belongs to."""
        return _partition_for(group_id, self.config.offsets_topic_num_partitions)

    def shard_of(self, group_id: str) -> CoordinatorShard:
        """The shard of a group. Raises KafkaError NOT_COORDINATOR, or COORDINATOR_NOT_AVAILABLE at shutdown."""
        partition = self.partition_for(group_id)
        shard = self._shards.get(partition)
        if shard is not None:
            return shard
        self._check_active()
        log = self._open_log(partition)
        if log is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self.elect(partition, log)

    def shards(self) -> list[CoordinatorShard]:
        """All shards. Raises KafkaError COORDINATOR_NOT_AVAILABLE at shutdown."""
        self._check_active()
        return list(self._shards.values())

    def elect(self, partition: int, log: CoordinatorLog, in_turns: bool = False) -> CoordinatorShard:
        """This broker leads the partition now: loads it, at once or ``in_turns`` of the event loop."""
        self.resign(partition)
        core = GroupCore(self.config, self._new_uuid)
        shard = CoordinatorShard(partition, log, core, self._timers, self._clock_ms)
        self._shards[partition] = shard
        if in_turns:
            shard.load_in_turns()
        else:
            shard.load()
        return shard

    def resign(self, partition: int) -> None:
        """This broker no longer leads the partition."""
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.unload()

    def topics_deleted(self, topics: set[str]) -> None:
        """Forgets the offsets of topics that are no more."""
        for shard in list(self._shards.values()):

            def forget(core: GroupCore, effects: Effects) -> None:
                effects.records += core.offsets.tombstones_of_topics(topics)
                effects.atomic = False

            shard.write(self._clock_ms(), forget, _ignore, _ignore)

    def shutdown(self) -> None:
        """Serves no group any more; parked requests are answered NOT_COORDINATOR."""
        self._active = False
        for partition in list(self._shards):
            self.resign(partition)

    def _check_active(self) -> None:
        if not self._active:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _ignore(_: object) -> None:
    """Nobody waits for an answer."""
