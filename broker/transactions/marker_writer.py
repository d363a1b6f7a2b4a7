"""Writes the markers that end a transaction into each of its partitions.

Shell. Owns: the markers that are not written yet. Never does: deciding an outcome. Invariants: a marker is retried
until its partition has it, or does not exist any more; ``done`` is called when all are durable. Source:
``TransactionMarkerChannelManager``.
"""

import logging
from collections.abc import Callable
from functools import partial

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.internal_topics import OFFSETS_TOPIC
from ...protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from ..coordinator.interfaces import CoordinatorLog
from ..groups.coordinator import GroupCoordinator
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from ..timers.timers import Timers
from .effects import MarkerOrder
from .transaction import TopicPartition

logger = logging.getLogger(__name__)

RETRY_MS = 100
"""The delay of the first retry of a marker. Each further delay is twice as long."""
MAX_RETRY_MS = 5_000
"""The longest delay: a partition of ``__consumer_offsets`` that cannot be loaded refuses markers until a restart."""

_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_COORDINATOR})
"""The partition does not exist any more, so no client will read it."""
_OVERTAKEN = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
"""The partition has a marker of a later epoch, so the transaction has ended there already."""

Done = Callable[[ErrorCode], None]


class MarkerWriter:
    """Writes markers into the partitions of this broker."""

    def __init__(
        self,
        partitions: Partitions,
        groups: GroupCoordinator,
        log_of: Callable[[Partition], CoordinatorLog],
        timers: Timers,
        clock_ms: Callable[[], int],
    ) -> None:
        """``log_of`` returns the log of a partition; ``clock_ms``: wall-clock milliseconds since the epoch."""
        self._partitions = partitions
        self._groups = groups
        self._log_of = log_of
        self._timers = timers
        self._clock_ms = clock_ms

    def write_all(self, order: MarkerOrder, coordinator_epoch: int, done: Callable[[], None]) -> None:
        """Writes all markers of an order with retries, then calls ``done``."""
        self._attempt(order, coordinator_epoch, set(order.partitions), done, RETRY_MS)

    def _attempt(
        self,
        order: MarkerOrder,
        coordinator_epoch: int,
        partitions: set[TopicPartition],
        done: Callable[[], None],
        retry_ms: int,
    ) -> None:
        missing = len(partitions)
        failed: set[TopicPartition] = set()

        def written(topic_partition: TopicPartition, error: ErrorCode) -> None:
            nonlocal missing
            missing -= 1
            if error and not _is_settled(order, topic_partition, error):
                failed.add(topic_partition)
            if missing:
                return
            if failed:
                next_retry_ms = min(2 * retry_ms, MAX_RETRY_MS)
                again = partial(self._attempt, order, coordinator_epoch, failed, done, next_retry_ms)
                self._timers.schedule(retry_ms, again)
            else:
                done()

        if not partitions:
            done()
        for topic_partition in sorted(partitions):
            self.write(topic_partition, order, coordinator_epoch, partial(written, topic_partition))

    def write(self, topic_partition: TopicPartition, order: MarkerOrder, coordinator_epoch: int, done: Done) -> None:
        """Writes one marker. ``done`` is called with NONE when it is durable, or with the error."""
        now_ms = self._clock_ms()
        topic, index = topic_partition
        kind = ControlRecordType.COMMIT if order.commits else ControlRecordType.ABORT
        batch = encode_end_transaction_batch(
            EndTransactionMarker(kind, coordinator_epoch),
            timestamp=now_ms,
            producer_id=order.producer_id,
            producer_epoch=order.producer_epoch,
        )
        try:
            partition = self._partitions.get(topic, index)
            if topic == OFFSETS_TOPIC:
                shard = self._groups.shard_at(index)
                shard.write_marker(batch, order.producer_id, order.commits, now_ms, done)
                return
            log = self._log_of(partition)
            log.append(batch, now_ms)
        except KafkaError as error:
            done(error.error_code)
            return
        log.when_durable(done)


def _is_settled(order: MarkerOrder, topic_partition: TopicPartition, error: ErrorCode) -> bool:
    """Whether a partition needs no marker in spite of the error."""
    where = f"{topic_partition[0]}-{topic_partition[1]}"
    if error in _GONE:
        logger.info("%s does not exist any more: transaction %r needs no marker there", where, order.transactional_id)
        return True
    if error in _OVERTAKEN:
        logger.warning("%s: the marker of transaction %r is refused: %s", where, order.transactional_id, error.name)
        return True
    logger.warning("%s: the marker of transaction %r is tried again: %s", where, order.transactional_id, error.name)
    return False
