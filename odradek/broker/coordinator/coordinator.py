"""A coordinator: one shard for each partition of its topic that this broker leads.

Owns: which partition is served by which shard. Never does: deciding, I/O. Source: ``CoordinatorRuntime``.
"""

import logging
from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.compression import CompressionType

from ..timers.timers import Timers
from .interfaces import CoordinatorLog, EffectsOf
from .partitioning import partition_for
from .shard import CoordinatorShard, Core, ErrorResponse, Reply, ShardState

logger = logging.getLogger(__name__)

SHARD_CACHE_MAX = 16_384
LONGEST_KEY_KNOWN = 249
"""The shards of up to SHARD_CACHE_MAX keys are cached, which saves Java's hash on every request. Longer keys are not
cached, so memory is bounded."""

LogOpener = Callable[[int], CoordinatorLog | None]
"""Returns the log of a partition, or None if this broker does not lead it now."""


class Coordinator(Generic[Core, EffectsOf]):
    """Finds the shard of a group or a transactional id. :meth:`elect` adds a shard, :meth:`resign` removes it.

    A partition without log files gets its shard at the first request for it, by ``open_log``: most partitions of the
    coordinators' topics are never used.
    """

    def __init__(
        self,
        topic: str,
        partition_count: int,
        new_core: Callable[[], Core],
        timers: Timers,
        clock_ms: Callable[[], int],
        open_log: LogOpener,
        compression: CompressionType = CompressionType.NONE,
        timeout_ms: int = 5_000,
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch. ``new_core`` returns an empty core. ``compression``:
        that of the batches that the shards write. ``timeout_ms``: how long a request waits until its records are
        durable.
        """
        self.partition_count = partition_count
        self._timeout_ms = timeout_ms
        self._topic = topic
        self._new_core = new_core
        self._timers = timers
        self._clock_ms = clock_ms
        self._open_log = open_log
        self._compression = compression
        self._shards: dict[int, CoordinatorShard[Core, EffectsOf]] = {}
        self._by_key: dict[str, CoordinatorShard[Core, EffectsOf]] = {}
        """The shard of each key that was looked up since the shards last changed."""
        self._active = True

    def partition_for(self, key: str) -> int:
        """The partition of the topic that a group id or a transactional id belongs to."""
        return partition_for(key, self.partition_count)

    def shard_of(self, key: str) -> CoordinatorShard[Core, EffectsOf]:
        """The shard of a key. Raises KafkaError NOT_COORDINATOR, or COORDINATOR_NOT_AVAILABLE at shutdown."""
        shard = self._by_key.get(key)
        if shard is None:
            found = self._find(self.partition_for(key))
            if found is None:
                raise KafkaError(ErrorCode.NOT_COORDINATOR)
            shard = found
            if len(self._by_key) >= SHARD_CACHE_MAX:
                self._by_key.clear()
            if len(key) <= LONGEST_KEY_KNOWN:
                self._by_key[key] = shard
        return shard

    def ready_shard(self, key: str) -> CoordinatorShard[Core, EffectsOf] | None:
        """The shard of a key that was looked up before, if a request that stores nothing can be answered at once."""
        shard = self._by_key.get(key)
        return shard if shard is not None and shard.is_ready() else None

    def shard_at(self, partition: int) -> CoordinatorShard[Core, EffectsOf]:
        """The shard of a partition, for a transaction marker.

        Raises KafkaError NOT_LEADER_OR_FOLLOWER, as a log that this broker does not lead, or COORDINATOR_NOT_AVAILABLE
        at shutdown.
        """
        shard = self._find(partition)
        if shard is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return shard

    def _find(self, partition: int) -> CoordinatorShard[Core, EffectsOf] | None:
        shard = self._shards.get(partition)
        if shard is not None:
            return shard
        self._check_active()
        log = self._open_log(partition)
        return None if log is None else self.elect(partition, log, in_turns=True)

    def write(
        self,
        key: str,
        now_ms: int,
        decide: Callable[[Core, EffectsOf], None],
        reply: Reply,
        error_response: ErrorResponse,
    ) -> None:
        """:meth:`CoordinatorShard.write` on the shard of a key; an error if this broker does not serve it."""
        shard = self._by_key.get(key)
        if shard is None:
            try:
                shard = self.shard_of(key)
            except KafkaError as error:
                reply(error_response(error.error_code))
                return
        shard.write(now_ms, decide, reply, error_response)

    def read(self, key: str, query: Callable[[Core], Any], reply: Reply, error_response: ErrorResponse) -> None:
        """:meth:`CoordinatorShard.read` on the shard of a key; an error if this broker does not serve it."""
        try:
            shard = self.shard_of(key)
        except KafkaError as error:
            reply(error_response(error.error_code))
        else:
            shard.read(query, reply, error_response)

    def read_in_steps(
        self,
        key: str,
        query: Callable[[Core], Generator[None, None, Any]],
        reply: Reply,
        error_response: ErrorResponse,
    ) -> Iterator[object]:
        """:meth:`CoordinatorShard.read_in_steps` on the shard of a key."""
        try:
            shard = self.shard_of(key)
        except KafkaError as error:
            reply(error_response(error.error_code))
        else:
            yield from shard.read_in_steps(query, reply, error_response)

    def shards(self) -> list[CoordinatorShard[Core, EffectsOf]]:
        """All shards. Raises KafkaError COORDINATOR_NOT_AVAILABLE at shutdown."""
        self._check_active()
        return list(self._shards.values())

    def cores(self) -> list[Core]:
        """Returns the state of each partition that is served."""
        return [shard.core for shard in self._shards.values() if shard.state is ShardState.ACTIVE]

    def gather(
        self,
        query: Callable[[Core], Generator[None, None, list[Any]]],
        reply: Callable[[list[Any], ErrorCode], None],
    ) -> Iterator[object]:
        """Collects the results of all partitions, in steps. The result is an error if a partition is loading or cannot
        be served.

        A partition that this broker no longer leads adds nothing. Raises KafkaError COORDINATOR_NOT_AVAILABLE.
        """
        shards = self.shards()
        found: list[Any] = []
        failure = ErrorCode.NONE
        missing = len(shards)

        def collect(result: list[Any] | ErrorCode) -> None:
            nonlocal failure, missing
            missing -= 1
            if isinstance(result, list):
                found.extend(result)
            elif result is not ErrorCode.NOT_COORDINATOR:
                failure = result
            if not missing:
                reply([] if failure else found, failure)

        if not shards:
            reply([], ErrorCode.NONE)
        for shard in shards:
            yield from shard.read_in_steps(query, collect, lambda error: error)
            yield None

    def elect(self, partition: int, log: CoordinatorLog, in_turns: bool = False) -> CoordinatorShard[Core, EffectsOf]:
        """Loads a partition that this broker leads from now on: at once, or ``in_turns`` of the event loop.

        If the partition has a shard already, a later leader epoch is noted. Nothing is loaded again, because the log is
        the same; only a shard that has failed is replaced. An older epoch is ignored. Source:
        ``CoordinatorRuntime.scheduleLoadOperation``.
        """
        leader_epoch = log.leader_epoch
        present = self._shards.get(partition)
        if present is not None:
            is_older = leader_epoch <= present.leader_epoch
            present.leader_epoch = max(leader_epoch, present.leader_epoch)
            if is_older or present.state is not ShardState.FAILED:
                return present
            self.resign(partition)
        shard = self._new_shard(f"{self._topic}-{partition}", log)
        self._shards[partition] = shard
        if in_turns:
            shard.load_in_turns()
        else:
            shard.load()
        return shard

    def _new_shard(self, name: str, log: CoordinatorLog) -> CoordinatorShard[Core, EffectsOf]:
        core = self._new_core()
        return CoordinatorShard(
            name, log, core, self._timers, self._clock_ms, compression=self._compression, timeout_ms=self._timeout_ms
        )

    def resign(self, partition: int, leader_epoch: int | None = None) -> None:
        """Drops a partition that this broker no longer leads; parked requests are answered NOT_COORDINATOR.

        ``leader_epoch``: that of the next leader, None if there is none. Nothing happens if this broker was elected in
        the same or a later epoch (``CoordinatorRuntime.scheduleUnloadOperation``).
        """
        shard = self._shards.get(partition)
        if shard is None or (leader_epoch is not None and leader_epoch <= shard.leader_epoch):
            return
        del self._shards[partition]
        self._by_key.clear()
        shard.unload()

    def repartition(self, partition_count: int) -> None:
        """Sets the partition count after the topic was created. No shard exists before that, so none is moved."""
        self.partition_count = partition_count
        self._by_key.clear()

    def stop(self) -> None:
        """Unloads all partitions. Parked requests are answered NOT_COORDINATOR, later ones
        COORDINATOR_NOT_AVAILABLE."""
        self._active = False
        for partition in list(self._shards):
            self.resign(partition)

    def _check_active(self) -> None:
        if not self._active:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
