"""Writes the markers that end a transaction into each of its partitions, or has their leaders write them.

Shell. Owns: the markers that are not written yet. Never does: deciding an outcome. Invariants: a marker is retried
until it is durable or its partition needs none (deleted, a later marker is there, or an old message format); ``done``
is called after the last one. Source: ``TransactionMarkerChannelManager``.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import OFFSETS_TOPIC, TopicPartition
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch

from ..coordinator.interfaces import CoordinatorLog
from ..groups.coordinator import GroupCoordinator
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from ..timers.timers import Timers
from .effects import MarkerOrder
from .remote_markers import MarkerQuestion

if TYPE_CHECKING:
    from .peers import TransactionPeers

logger = logging.getLogger(__name__)

RETRY_MS = 100
"""The delay of the first retry of a marker. Each further delay is twice as long."""
MAX_RETRY_MS = 5_000
"""The longest delay between two retries. They may go on for long: a partition of ``__consumer_offsets`` that cannot be
loaded refuses markers until a restart."""

_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_COORDINATOR})
"""Errors which mean on a single broker that the partition does not exist any more, so it needs no marker. In a cluster
they may also mean that the leader has changed; there the metadata tells whether the partition exists."""
_UNWRITABLE = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
"""The partition's format has no markers, so it has no transactional records either."""
_OVERTAKEN = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
"""The partition has a marker of a later epoch, so the transaction has ended there already."""

_NOT_READY = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)

Done = Callable[[ErrorCode], None]


class _Attempt(NamedTuple):
    """What stays the same in all retries of an order. ``settled`` gets the partitions that need no further marker."""

    order: MarkerOrder
    coordinator_epoch: int
    is_wanted: Callable[[], bool]
    settled: Callable[[Iterable[TopicPartition]], None]


class MarkerWriter:
    """Writes markers into the partitions of this broker, and sends those for partitions that others lead."""

    def __init__(
        self,
        partitions: Partitions,
        groups: GroupCoordinator,
        log_of: Callable[[Partition], CoordinatorLog],
        timers: Timers,
        clock_ms: Callable[[], int],
        timeout_ms: int,
        peers: "TransactionPeers | None" = None,
    ) -> None:
        """``log_of`` returns the log of a partition; ``clock_ms``: wall-clock milliseconds since the epoch.
        ``timeout_ms``: ``request.timeout.ms``, how long a marker waits until it is durable. ``peers``: the other
        brokers of a cluster, None for a broker without others.
        """
        self.peers = peers
        self._timeout_ms = timeout_ms
        self._partitions = partitions
        self._groups = groups
        self._log_of = log_of
        self._timers = timers
        self._clock_ms = clock_ms

    def write_all(
        self,
        order: MarkerOrder,
        coordinator_epoch: int,
        is_wanted: Callable[[], bool],
        done: Callable[[], None],
    ) -> None:
        """Writes all markers of an order with retries, then calls ``done``.

        ``is_wanted`` returns whether this broker still coordinates the transaction. If not, retries stop: the next
        coordinator writes the markers again.
        """
        missing = set(order.partitions)

        def settled(partitions: Iterable[TopicPartition]) -> None:
            missing.difference_update(partitions)
            if not missing:
                done()

        attempt = _Attempt(order, coordinator_epoch, is_wanted, settled)
        if missing:
            self._attempt(attempt, order.partitions, RETRY_MS)
        else:
            done()

    def _attempt(self, attempt: _Attempt, partitions: Iterable[TopicPartition], retry_ms: int) -> None:
        """Looks up the current leader of each partition, and sends each leader the markers of its partitions.

        A retry covers the failed partitions of one leader.
        """
        if not attempt.is_wanted():
            return
        if self.peers is None:
            self._attempt_here(attempt, frozenset(partitions), retry_ms)
            return
        by_leader: dict[int | None, set[TopicPartition]] = {}
        for topic_partition in partitions:
            by_leader.setdefault(self.peers.leader_of(*topic_partition), set()).add(topic_partition)
        for leader, led in by_leader.items():
            group = frozenset(led)
            if leader is None:
                self._take(attempt, dict.fromkeys(group, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), retry_ms, exists=False)
            elif leader == self.peers.node_id:
                self._attempt_here(attempt, group, retry_ms)
            elif leader < 0:
                self._take(attempt, dict.fromkeys(group, ErrorCode.LEADER_NOT_AVAILABLE), retry_ms, exists=True)
            else:
                answered = partial(self._take, attempt, retry_ms=retry_ms, exists=True)
                question = MarkerQuestion(attempt.order, attempt.coordinator_epoch, group, answered)
                self.peers.write_markers(leader, question)

    def _attempt_here(self, attempt: _Attempt, partitions: frozenset[TopicPartition], retry_ms: int) -> None:
        results: dict[TopicPartition, ErrorCode] = {}

        def written(topic_partition: TopicPartition, error: ErrorCode) -> None:
            results[topic_partition] = error
            if len(results) == len(partitions):
                self._take(attempt, results, retry_ms, exists=self.peers is not None)

        for topic_partition in sorted(partitions):
            self.write(topic_partition, attempt.order, attempt.coordinator_epoch, partial(written, topic_partition))

    def _take(
        self, attempt: _Attempt, results: Mapping[TopicPartition, ErrorCode], retry_ms: int, *, exists: bool
    ) -> None:
        """Settles the partitions that need no further marker, and tries the others again later."""
        failed = {
            topic_partition
            for topic_partition, error in results.items()
            if error and not _is_settled(attempt.order, topic_partition, error, exists=exists)
        }
        attempt.settled(results.keys() - failed)
        if failed:
            next_retry_ms = min(2 * retry_ms, MAX_RETRY_MS)
            self._timers.schedule(retry_ms, partial(self._attempt, attempt, failed, next_retry_ms))

    def write(self, topic_partition: TopicPartition, order: MarkerOrder, coordinator_epoch: int, done: Done) -> None:
        """Writes one marker. ``done`` is called with NONE when it is durable, or with the error.

        REQUEST_TIMED_OUT: the marker is in the log, but did not become durable in time. Only errors that Apache Kafka's
        coordinator retries may be passed to ``done``: after any other error it drops the marker for good. Source:
        ``KafkaApis.handleWriteTxnMarkersRequest``.
        """
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
                done = partial(_answer_of_groups, done)
                shard = self._groups.shard_at(index)
                version = order.transaction_version
                shard.write_marker(batch, order.producer_id, order.commits, now_ms, version, done)
                return
            log = self._log_of(partition)
            log.append_marker(batch, now_ms, order.transaction_version)
        except KafkaError as error:
            done(error.error_code)
            return
        self._when_durable(log, done)

    def _when_durable(self, log: CoordinatorLog, done: Done) -> None:
        """Calls ``done`` once: when the log is durable, has failed, or after the timeout."""
        if log.is_durable():
            done(ErrorCode.NONE)
            return
        waits = True

        def settle(error: ErrorCode) -> None:
            nonlocal waits
            if waits:
                waits = False
                timer.cancel()
                done(error)

        timer = self._timers.schedule(self._timeout_ms, partial(settle, ErrorCode.REQUEST_TIMED_OUT))
        log.when_durable(settle)


def _answer_of_groups(done: Done, error: ErrorCode) -> None:
    """Replaces the errors of a group coordinator that is not ready by NOT_LEADER_OR_FOLLOWER. A transaction coordinator
    does not expect the former, and retries after the latter."""
    done(ErrorCode.NOT_LEADER_OR_FOLLOWER if error in _NOT_READY else error)


def _is_settled(order: MarkerOrder, topic_partition: TopicPartition, error: ErrorCode, *, exists: bool) -> bool:
    """Whether the error means that the partition needs no marker. ``exists``: the metadata has the partition."""
    where = f"{topic_partition[0]}-{topic_partition[1]}"
    if error in _GONE and not exists:
        logger.info("%s no longer exists: transaction %r needs no marker there", where, order.transactional_id)
        return True
    if error in _OVERTAKEN or error is _UNWRITABLE:
        logger.warning("%s: refused the marker of transaction %r: %s", where, order.transactional_id, error.name)
        return True
    if error is not ErrorCode.NETWORK_EXCEPTION:  # the connection has its own line
        logger.warning("%s: sending the marker of transaction %r again: %s", where, order.transactional_id, error.name)
    return False
