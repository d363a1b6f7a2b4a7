"""The share coordinator of this broker: all partitions of ``__share_group_state`` that it leads.

Shell. Never does: deciding. Source: ``ShareCoordinatorService``.
"""

import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol, cast

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state_records import ShareStateRecord
from odradek.protocol.names.topics import SHARE_STATE_TOPIC
from odradek.protocol.records.compression import CompressionType

from ..coordinator.coordinator import Coordinator, LogOpener
from ..coordinator.interfaces import CoordinatorLog
from ..coordinator.shard import CoordinatorShard, ShardState
from ..timers.timers import Timers
from .config import ShareCoordinatorConfig
from .core import ShareStateCore
from .decisions import decision
from .effects import ShareStateEffects
from .operations import (
    Answer,
    DeleteOperation,
    InitializeOperation,
    Operation,
    ReadOperation,
    StateOutcome,
    SummarizeOperation,
    WriteOperation,
    refused,
)

logger = logging.getLogger(__name__)

ShareStateShard = CoordinatorShard[ShareStateCore, ShareStateEffects]


class PrunableLog(CoordinatorLog, Protocol):
    """The log of a partition, whose oldest records can be deleted."""

    def delete_below(self, offset: int) -> None:
        """Deletes the records below ``offset``, which all in-sync replicas have. Raises KafkaError."""


class ShareCoordinator(Coordinator[ShareStateCore, ShareStateEffects]):
    """Finds the shard of a share partition, and asks it."""

    def __init__(
        self,
        config: ShareCoordinatorConfig,
        timers: Timers,
        clock_ms: Callable[[], int],
        open_log: LogOpener,
        topic_partition_count: Callable[[bytes], int],
        is_enabled: Callable[[], bool],
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch. ``open_log`` and :meth:`elect` get a
        :class:`PrunableLog`. ``topic_partition_count`` returns the number of partitions of a topic by its id, 0 without
        it. ``is_enabled`` returns whether the cluster has share groups (share.version).
        """
        super().__init__(
            SHARE_STATE_TOPIC,
            config.state_topic_num_partitions,
            lambda: ShareStateCore(config, topic_partition_count, is_enabled),
            timers,
            clock_ms,
            open_log,
            CompressionType(config.state_topic_compression_codec),
            config.write_timeout_ms,
        )

    def ask(self, key: SharePartitionKey, operation: Operation, now_ms: int, reply: Answer) -> None:
        """Carries out an operation on a share partition. ``reply`` gets the outcome once, when it is durable."""
        self.write(key.coordinator_key, now_ms, decision(key, operation), reply, partial(_failed, operation))

    def topics_deleted(self, topic_ids: Collection[bytes]) -> Steps[None]:
        """Deletes the states of deleted topics, in steps."""
        for shard in list(self._shards.values()):
            yield
            if shard.state is not ShardState.ACTIVE:
                continue
            for tombstones in shard.core.tombstones_of_topics(topic_ids):
                if tombstones:
                    shard.write(self._clock_ms(), partial(_forget, tombstones), _ignore, _ignore)
                yield

    def _new_shard(self, name: str, log: CoordinatorLog) -> ShareStateShard:
        prunable = cast(PrunableLog, log)

        def prune(effects: ShareStateEffects) -> None:
            if effects.delete_below is not None:
                try:
                    prunable.delete_below(effects.delete_below)
                except KafkaError as error:
                    logger.warning("%s: records below %d stay: %s", name, effects.delete_below, error)

        return CoordinatorShard(
            name,
            log,
            self._new_core(),
            self._timers,
            self._clock_ms,
            prune,
            compression=self._compression,
            timeout_ms=self._timeout_ms,
        )


def _failed(operation: Operation, error: ErrorCode) -> StateOutcome:
    """The outcome if this broker can't carry out an operation now."""
    return refused(error, f"Unable to {_WHAT[type(operation)]}: {error.message}")


_WHAT: dict[type[Operation], str] = {
    InitializeOperation: "initialize share group state",
    ReadOperation: "read share group state",
    WriteOperation: "write share group state",
    DeleteOperation: "delete share group state",
    SummarizeOperation: "read share group state summary",
}


def _forget(tombstones: list[ShareStateRecord], core: ShareStateCore, effects: ShareStateEffects) -> None:
    effects.records += tombstones
    effects.atomic = False


def _ignore(_: object) -> None:
    """Drops a response: no client waits for it."""
