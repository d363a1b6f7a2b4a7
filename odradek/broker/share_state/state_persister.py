"""Stores and reads the state of share partitions: at the share coordinator here, or at another broker's.

Shell. Owns: the questions without an answer, and their retries. Never does: deciding. Invariants: a share partition has
one question at work at a time, and the next ones follow in order, so a retry never overwrites a later change; each
question gets one answer, after ``request.timeout.ms`` at most. Source: ``DefaultStatePersister``,
``PersisterStateManager``.

Kafka asks its own coordinator over the network. Here a question to it is a call, which usually answers at once.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_batches import StateBatch, combined, is_valid
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.names.topics import SHARE_STATE_TOPIC

from ..coordinator.partitioning import partition_for
from ..metadata.image.image import MetadataImage
from ..timers.timers import Timer, Timers
from .operations import (
    Answer,
    DeleteOperation,
    InitializeOperation,
    Operation,
    ReadOperation,
    StateOutcome,
    StateProgress,
    SummarizeOperation,
    WriteOperation,
    refused,
)
from .persister import Done, ReadState, StateSummary
from .remote import StateQuestion

if TYPE_CHECKING:
    from .remote import ShareStatePeers

FIRST_PAUSE_MS = 50
LONGEST_PAUSE_MS = 1_000
"""The pause before a retry begins at FIRST_PAUSE_MS and doubles."""
RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""Errors after which a question is asked again. UNKNOWN_TOPIC_OR_PARTITION only while this broker knows the partition:
the other broker learns of it a little later."""


class OwnCoordinator(Protocol):
    """The share coordinator of this broker."""

    def ask(self, key: SharePartitionKey, operation: Operation, now_ms: int, reply: Answer) -> None:
        """Carries out an operation. ``reply`` gets the outcome once."""


class _Ask:
    """One question of a caller. ``answer`` is None once it was called."""

    __slots__ = ("answer", "timer")

    def __init__(self, answer: Answer) -> None:
        self.answer: Answer | None = answer
        self.timer: Timer | None = None

    def settle(self, outcome: StateOutcome) -> None:
        """Answers, unless it was answered before."""
        answer, self.answer = self.answer, None
        if self.timer is not None:
            self.timer.cancel()
        if answer is not None:
            answer(outcome)


class _PendingWork:
    """One operation for a share partition, with those who asked for it: several writes may become one."""

    __slots__ = ("asks", "operation", "pause_ms")

    def __init__(self, operation: Operation, ask: _Ask) -> None:
        self.operation = operation
        self.asks = [ask]
        self.pause_ms = FIRST_PAUSE_MS

    @property
    def is_wanted(self) -> bool:
        return any(ask.answer is not None for ask in self.asks)


class StatePersister:
    """Implements :class:`.persister.Persister`."""

    def __init__(
        self,
        node_id: int,
        own: OwnCoordinator,
        peers: "ShareStatePeers | None",
        image: Callable[[], MetadataImage],
        create_topic: Callable[[str, int], None],
        timers: Timers,
        clock_ms: Callable[[], int],
        timeout_ms: int,
    ) -> None:
        """``peers``: other brokers; None without any. ``create_topic`` gets the name of an internal topic and the time;
        it raises KafkaError. ``clock_ms``: wall clock, milliseconds since the epoch. ``timeout_ms``: how long a
        question may take.
        """
        self._node_id = node_id
        self._own = own
        self._peers = peers
        self._image = image
        self._create_topic = create_topic
        self._timers = timers
        self._clock_ms = clock_ms
        self._timeout_ms = timeout_ms
        self._work: dict[SharePartitionKey, deque[_PendingWork]] = {}
        """The work for each share partition that has some. The first one is being done."""
        self._is_closed = False

    # --- the questions

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Done) -> None:
        """See :class:`.persister.Persister`."""
        self._ask(key, InitializeOperation(state_epoch, start_offset), lambda outcome: done(outcome.error))

    def read(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[ErrorCode, ReadState | None], None]
    ) -> None:
        """See :class:`.persister.Persister`."""
        self._ask(
            key, ReadOperation(leader_epoch), lambda outcome: done(outcome.error, cast(ReadState | None, outcome.state))
        )

    def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        done: Done,
    ) -> None:
        """See :class:`.persister.Persister`."""
        asked = WriteOperation(state_epoch, leader_epoch, start_offset, delivery_complete_count, batches)
        self._ask(key, asked, lambda outcome: done(outcome.error))

    def delete(self, key: SharePartitionKey, done: Done) -> None:
        """See :class:`.persister.Persister`."""
        self._ask(key, DeleteOperation(), lambda outcome: done(outcome.error))

    def summarize(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[ErrorCode, StateSummary | None], None]
    ) -> None:
        """See :class:`.persister.Persister`."""
        self._ask(
            key,
            SummarizeOperation(leader_epoch),
            lambda outcome: done(outcome.error, cast(StateSummary | None, outcome.state)),
        )

    def close(self) -> None:
        """Ends retries and connections. Questions without an answer get none."""
        self._is_closed = True
        for waiting in self._work.values():
            for work in waiting:
                for ask in work.asks:
                    if ask.timer is not None:
                        ask.timer.cancel()
        self._work.clear()
        if self._peers is not None:
            self._peers.close()

    # --- their order

    def _ask(self, key: SharePartitionKey, operation: Operation, answer: Answer) -> None:
        if self._is_closed:
            answer(refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        ask = _Ask(answer)
        waiting = self._work.get(key)
        if waiting is None:
            self._work[key] = deque([_PendingWork(operation, ask)])
            self._do_first(key)
        elif len(waiting) == 1 or not _join(waiting[-1], operation, ask):
            waiting.append(_PendingWork(operation, ask))
        if ask.answer is not None:
            # Most answers came in this turn, and need no timer.
            ask.timer = self._timers.schedule(
                self._timeout_ms, partial(ask.settle, refused(ErrorCode.REQUEST_TIMED_OUT))
            )

    def _do_first(self, key: SharePartitionKey) -> None:
        """Does the first work of a share partition; it may be a retry."""
        waiting = self._work.get(key)
        if waiting is None:
            return
        work = waiting[0]
        if work.is_wanted:
            self._send(key, work.operation, partial(self._answered, key, work))
        else:
            self._next(key)

    def _answered(self, key: SharePartitionKey, work: _PendingWork, outcome: StateOutcome) -> None:
        waiting = self._work.get(key)
        if waiting is None or waiting[0] is not work:
            return  # closed
        if self._may_change(key, outcome.error) and work.is_wanted:
            self._timers.schedule(work.pause_ms, partial(self._do_first, key))
            work.pause_ms = min(2 * work.pause_ms, LONGEST_PAUSE_MS)
            return
        self._next(key)
        for ask in work.asks:
            ask.settle(outcome)

    def _next(self, key: SharePartitionKey) -> None:
        """Removes the first work, and lets the next one begin in a turn of its own."""
        waiting = self._work[key]
        waiting.popleft()
        if waiting:
            self._timers.schedule(0, partial(self._do_first, key))
        else:
            del self._work[key]

    def _may_change(self, key: SharePartitionKey, error: ErrorCode) -> bool:
        """Whether the same question may soon have another answer."""
        if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            topic = self._image().topics_by_id.get(key.topic_id)
            return self._leader_of(key) != self._node_id and topic is not None and key.partition in topic.partitions
        return error in RETRIABLE

    # --- where they go

    def _send(self, key: SharePartitionKey, operation: Operation, reply: Answer) -> None:
        """Asks the coordinator of a share partition once. Creates the topic of the states if it is missing."""
        try:
            leader = self._leader_of(key)
            if leader is None:
                self._create_topic(SHARE_STATE_TOPIC, self._clock_ms())
                leader = self._leader_of(key)
        except KafkaError:
            reply(refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        if leader == self._node_id:
            self._own.ask(key, operation, self._clock_ms(), reply)
        elif leader is None or leader < 0 or self._peers is None:
            reply(refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            self._peers.ask(leader, StateQuestion(key, operation, reply))

    def _leader_of(self, key: SharePartitionKey) -> int | None:
        """The leader of the key's partition of ``__share_group_state``; -1: it has none. None without the topic."""
        topic = self._image().topics_by_name.get(SHARE_STATE_TOPIC)
        if topic is None:
            return None
        partition = topic.partitions.get(partition_for(key.coordinator_key, len(topic.partitions)))
        return -1 if partition is None else partition.leader


def _join(work: _PendingWork, operation: Operation, ask: _Ask) -> bool:
    """Adds a write to one that waits, if both are of the same epochs. Returns False if it can't be added."""
    first = work.operation
    if not isinstance(first, WriteOperation) or not isinstance(operation, WriteOperation):
        return False
    if (first.state_epoch, first.leader_epoch) != (operation.state_epoch, operation.leader_epoch):
        return False
    batches = [*first.batches, *operation.batches]
    if not all(map(is_valid, batches)):
        return False  # each gets its own answer
    before = StateProgress(first.start_offset, first.delivery_complete_count)
    progress = before.advanced(operation.start_offset, operation.delivery_complete_count)
    work.operation = WriteOperation(
        first.state_epoch, first.leader_epoch, *progress, combined(batches, progress.start_offset)
    )
    work.asks.append(ask)
    return True
