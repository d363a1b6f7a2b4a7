"""The transaction coordinator of this broker: all partitions of ``__transaction_state`` that it leads.

Shell. Owns: when markers are written and a transaction is completed. Never does: deciding, I/O. Invariants: no marker
is written before the outcome is as durable as configured, and no transaction is complete before all of its markers are.
Source: ``TransactionCoordinator``, ``TransactionStateManager``.
"""

from collections.abc import Callable
from functools import partial

from odradek.protocol.names.topics import TRANSACTION_STATE_TOPIC

from ..coordinator.coordinator import Coordinator, LogOpener
from ..coordinator.interfaces import CoordinatorLog
from ..coordinator.shard import CoordinatorShard, ShardState
from ..metrics.counts import TransactionCounts
from ..timers.timers import Timers
from .config import TransactionCoordinatorConfig
from .core import TransactionCore
from .effects import MarkerOrder, TransactionEffects
from .marker_writer import RETRY_MS, MarkerWriter

TransactionShard = CoordinatorShard[TransactionCore, TransactionEffects]


class TransactionCoordinator(Coordinator[TransactionCore, TransactionEffects]):
    """Finds the shard of a transactional id. Starts writing the markers of a decision once the decision is durable."""

    def __init__(
        self,
        config: TransactionCoordinatorConfig,
        markers: MarkerWriter,
        timers: Timers,
        clock_ms: Callable[[], int],
        new_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
        lost_ms: Callable[[], int],
        open_log: LogOpener,
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch; ``new_producer_id`` returns a producer id that was
        never used; ``transaction_version`` returns the finalised level of that feature; ``lost_ms`` returns the total
        time in ms in which the event loop was stalled.
        """
        self.config = config
        self.markers = markers
        self.counts = TransactionCounts()
        super().__init__(
            TRANSACTION_STATE_TOPIC,
            config.transaction_state_log_num_partitions,
            lambda: TransactionCore(self.config, new_producer_id, transaction_version, lost_ms, self.counts),
            timers,
            clock_ms,
            open_log,
            timeout_ms=config.request_timeout_ms,
        )

    def _new_shard(self, name: str, log: CoordinatorLog) -> TransactionShard:
        def write_markers(effects: TransactionEffects) -> None:
            for order in effects.markers:
                complete = partial(self._complete, shard, order)
                self.markers.write_all(order, log.leader_epoch, lambda: shard.state is ShardState.ACTIVE, complete)

        shard = CoordinatorShard(
            name, log, self._new_core(), self._timers, self._clock_ms, write_markers, timeout_ms=self._timeout_ms
        )
        return shard

    def _complete(self, shard: TransactionShard, order: MarkerOrder) -> None:
        """Stores the completed state after all markers were written; retries every RETRY_MS until it is appended."""
        if shard.state is not ShardState.ACTIVE:
            return  # the next coordinator of the partition writes the markers again and completes the transaction
        effects = shard.core.effects(self._clock_ms())
        shard.core.markers_written(order, effects)
        if shard.carry_out(effects):
            self._timers.schedule(RETRY_MS, partial(self._complete, shard, order))
