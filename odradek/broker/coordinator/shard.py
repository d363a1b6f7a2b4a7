"""Carries out what the core of one partition decides.

Owns: passing a decision's records to the log, its timers to the scheduler and its replies to clients; the loading of
the partition. Never does: deciding. Invariants: a reply is sent only after all records appended before it are as
durable as configured. This holds for replies without records of their own too: a follower's assignment waits for the
record of the leader's SyncGroup. While the partition is loading, every request is answered
COORDINATOR_LOAD_IN_PROGRESS. A request waits ``timeout_ms`` at most for its records, then gets
COORDINATOR_NOT_AVAILABLE; the records stay in the log. Source: ``CoordinatorRuntime``.

A heartbeat costs one decision, one timer postponed and one reply: no task, no await, nothing appended.
"""

import logging
from collections.abc import Callable, Generator, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any, Generic, TypeVar

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import Buffer
from odradek.protocol.records.compression import CompressionType

from ..timers.timers import Timers
from .batches import batch_of, portions
from .durable_waits import DurableWaits, client_error, ends_coordination
from .effects import NO_PRODUCER_ID, SetTimer, Token
from .interfaces import CoordinatorCore, CoordinatorLog, EffectsOf
from .loading import load_steps
from .shard_timers import ShardTimers

logger = logging.getLogger(__name__)

SLOW_LOAD_MS = 1_000
"""Loading a partition is logged if it takes at least this long."""
REPLIES_A_TURN = 64
"""Parked requests that are answered in one turn of the event loop. Each costs 20 us, sending included."""
PROGRESS_EVERY_MS = 5_000
"""How often the progress of a partition that takes long to load is logged."""

Core = TypeVar("Core", bound=CoordinatorCore[Any])
Reply = Callable[[Any], None]
ErrorResponse = Callable[[ErrorCode], Any]
Replies = list[tuple[Token, Any]]


class ShardState(Enum):
    """Whether a partition is served."""

    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()
    UNLOADED = auto()


# Bound once: every request needs them, and looking up the member of an enum costs more than a call.
_ACTIVE = ShardState.ACTIVE
_NONE = ErrorCode.NONE
_TIMED_OUT = ErrorCode.REQUEST_TIMED_OUT


class CoordinatorShard(Generic[Core, EffectsOf]):
    """The coordinator of the groups, or of the transactional ids, of one partition."""

    __slots__ = (
        "_after_stored",
        "_clock_ms",
        "_compression",
        "_core_timers",
        "_loading_since_ms",
        "_log",
        "_progress_logged_ms",
        "_records_count",
        "_steps",
        "_timers",
        "_waits",
        "core",
        "leader_epoch",
        "name",
        "state",
    )

    def __init__(
        self,
        name: str,
        log: CoordinatorLog,
        core: Core,
        timers: Timers,
        clock_ms: Callable[[], int],
        after_stored: Callable[[EffectsOf], None] | None = None,
        compression: CompressionType = CompressionType.NONE,
        timeout_ms: int = 5_000,
    ) -> None:
        """``name``: topic and partition, for log lines. ``clock_ms``: wall-clock milliseconds since the epoch, for
        events without a request. ``after_stored`` is called with effects once their records are as durable as
        configured; transactions then write markers. ``timeout_ms``: how long a request waits for that.
        """
        self.name = name
        self.core = core
        self._after_stored = after_stored
        self._compression = compression
        self.state = ShardState.LOADING
        self.leader_epoch = log.leader_epoch
        """The epoch of the last election."""
        self._log = log
        self._timers = timers
        self._waits = DurableWaits(log, timers, clock_ms, timeout_ms, self._failed)
        self._core_timers = ShardTimers(timers, self._fire)
        self._clock_ms = clock_ms
        self._steps: Iterator[int] | None = None
        self._loading_since_ms = 0
        self._progress_logged_ms = 0
        self._records_count = 0

    # --- loading

    def load(self) -> None:
        """Loads everything at once, before the broker listens."""
        while self.state is ShardState.LOADING:
            self._load_step()

    def load_in_turns(self) -> None:
        """Loads one buffer in each turn of the event loop, so that other requests are served in between."""
        self._load_step()
        if self.state is ShardState.LOADING:
            self._timers.schedule(0, self.load_in_turns)

    def _load_step(self) -> None:
        if self.state is not ShardState.LOADING:
            return
        if self._steps is None:
            self._loading_since_ms = self._progress_logged_ms = self._clock_ms()
            self._steps = load_steps(self._log, self.core, self._loading_since_ms)
        try:
            records_count = next(self._steps, None)
            if records_count is not None:
                self._log_progress(records_count)
                return
            self._activate()
        except Exception as error:  # noqa: BLE001 - any error stops this partition only, not the start or the others
            self._fail_to_load(error)

    def _activate(self) -> None:
        """Starts serving the partition after all of it was read."""
        self._steps = None
        effects = self.core.effects(self._clock_ms())
        self.core.on_loaded(effects)
        self.state = ShardState.ACTIVE
        self.carry_out(effects)
        took_ms = self._clock_ms() - self._loading_since_ms
        # A start loads up to 50 partitions of each internal topic: only slow ones are logged at INFO.
        level = logging.INFO if took_ms >= SLOW_LOAD_MS else logging.DEBUG
        logger.log(level, "%s loaded: %d records in %d ms", self.name, self._records_count, took_ms)

    def _fail_to_load(self, error: Exception) -> None:
        """Stops serving the partition until the next start or election (``CoordinatorState.FAILED``)."""
        self._steps = None
        self.state = ShardState.FAILED
        self._core_timers.cancel_all()
        logger.error("%s cannot be loaded; requests that it coordinates fail: %s", self.name, error or repr(error))
        logger.debug("traceback of the failed load of %s:", self.name, exc_info=error)

    def _log_progress(self, records_count: int) -> None:
        self._records_count = records_count
        now_ms = self._clock_ms()
        if now_ms - self._progress_logged_ms >= PROGRESS_EVERY_MS:
            self._progress_logged_ms = now_ms
            took_s = (now_ms - self._loading_since_ms) // 1_000
            logger.info("%s is being loaded: %d records read in %d s", self.name, records_count, took_s)

    def unload(self) -> None:
        """Stops serving the partition. Parked requests, and those that wait for the log, get NOT_COORDINATOR."""
        was_active = self.state is ShardState.ACTIVE
        self.state = ShardState.UNLOADED
        self._steps = None
        self._core_timers.cancel_all()
        self._waits.close()
        if was_active:
            effects = self.core.effects(self._clock_ms())
            self.core.on_unloaded(effects)
            # All in this turn: a shutdown has no later turns.
            for token, answer in effects.replies:
                token(answer)

    # --- requests

    def write(
        self, now_ms: int, decide: Callable[[Core, EffectsOf], None], reply: Reply, error_response: ErrorResponse
    ) -> None:
        """Calls ``decide`` with new effects, and carries them out.

        ``reply`` gets ``effects.response`` once the records are durable, or ``error_response(error)``. A decision that
        parks the request sets no response: the request is answered later by its token (``effects.reply``).
        """
        if self.state is not _ACTIVE:
            reply(error_response(self.refusal()))
            return
        effects = self.core.effects(now_ms)
        try:
            decide(self.core, effects)
        except KafkaError as error:
            reply(error_response(error.error_code))
            return
        self.carry_out(effects, reply, error_response)

    def read(self, query: Callable[[Core], Any], reply: Reply, error_response: ErrorResponse) -> None:
        """Answers a query once the records behind the state it read are as durable as configured; after the timeout,
        answers an error."""
        if self.state is not ShardState.ACTIVE:
            reply(error_response(self.refusal()))
            return
        try:
            response = query(self.core)
        except KafkaError as error:
            response = error_response(error.error_code)

        if self._waits.is_durable():
            reply(response)
        else:
            self._waits.wait(lambda error: reply(error_response(error) if error else response))

    def read_in_steps(
        self, query: Callable[[Core], Generator[None, None, Any]], reply: Reply, error_response: ErrorResponse
    ) -> Iterator[object]:
        """Runs a long query step by step, then answers as :meth:`read` does. The core may change between two steps."""
        response = None
        if self.state is ShardState.ACTIVE:
            try:
                response = yield from query(self.core)
            except KafkaError as error:
                response = error_response(error.error_code)
        self.read(lambda _: response, reply, error_response)

    def is_ready(self) -> bool:
        """Whether the partition is served and all of its records are durable, so that an answer waits for nothing."""
        return self.state is _ACTIVE and self._waits.is_durable()

    def stores_at_once(self) -> bool:
        """Whether a batch is durable as soon as it is appended, in the records as the core writes them."""
        return self._compression is CompressionType.NONE and self._log.stores_at_once()

    def append_batch(self, batch: Buffer, now_ms: int) -> int:
        """Appends a batch, which is not kept, and returns its first offset. The caller changes the core as a replay
        would. Raises KafkaError."""
        return self._log.append(batch, now_ms)

    def set_timer(self, timer: SetTimer) -> None:
        """Sets or postpones a timer, for a request that does nothing else."""
        self._core_timers.carry_out([timer])

    def refusal(self) -> ErrorCode:
        """The error that every request gets while this partition is not served."""
        if self.state is ShardState.LOADING:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    def write_marker(
        self,
        batch: bytes,
        producer_id: int,
        committed: bool,
        now_ms: int,
        transaction_version: int,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Stores the marker of a client's transaction. ``done`` is called with NONE when it is durable, or with the
        error: after the timeout REQUEST_TIMED_OUT, but the marker stays in the log
        (``CoordinatorRuntime.scheduleTransactionCompletion``)."""
        if self.state is ShardState.LOADING:
            done(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            return
        if self.state is not ShardState.ACTIVE:
            # NOT_COORDINATOR could be taken for a deleted partition, which needs no marker. The next leader of this
            # partition needs it.
            done(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        try:
            self._log.append_marker(batch, now_ms, transaction_version)
        except KafkaError as error:
            done(error.error_code)
            return
        self.core.replay_end_transaction(producer_id, committed)
        if self._waits.is_durable():
            done(ErrorCode.NONE)
        else:
            self._waits.wait(lambda error: done(_TIMED_OUT if error is ErrorCode.COORDINATOR_NOT_AVAILABLE else error))

    # --- effects

    def carry_out(
        self, effects: EffectsOf, reply: Reply | None = None, error_response: ErrorResponse | None = None
    ) -> ErrorCode:
        """Carries out effects. Returns the error if their records could not be appended.

        Each turn of the loop appends the records of one Effects. Its continuation (``then``) fills the Effects of the
        next turn.
        """
        if effects.timers:
            self._core_timers.carry_out(effects.timers)
        if not effects.records and effects.then is None:
            if effects.replies or effects.response is not None or self._after_stored is not None:
                self._release_when_durable(effects.replies, effects.response, reply, error_response, effects)
            return _NONE
        if effects.replies:
            # Replies do not wait for the records of this event. They wait for those of earlier events.
            self._release_when_durable(effects.replies, None, None, None)
        result: ErrorCode | None = None
        while effects.records or effects.then is not None:
            error = self._append_all(effects)
            follow = self.core.effects(effects.now_ms)
            if effects.then is not None:
                effects.then(error, follow)
            self._core_timers.carry_out(follow.timers)
            response = effects.response
            if error:
                if response is not None and error_response is not None:
                    response = error_response(error)
                self._release(follow.replies, response, reply, None)
            else:
                self._release_when_durable(follow.replies, response, reply, error_response, effects)
            if result is None:
                result = error
            effects, reply, error_response = follow, None, None
        return result or _NONE

    def _release_when_durable(
        self,
        replies: Replies,
        response: Any,
        reply: Reply | None,
        error_response: ErrorResponse | None,
        stored: EffectsOf | None = None,
    ) -> None:
        if self._waits.is_durable():
            self._release(replies, response, reply, stored)
            return

        def settle(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self._release(replies, response, reply, None)
                return
            for token, answer in replies:
                answer.error_code = error
                token(answer)
            if response is not None and reply is not None and error_response is not None:
                reply(error_response(error))

        after_stored = self._after_stored
        self._waits.wait(settle, None if stored is None or after_stored is None else partial(after_stored, stored))

    def _release(self, replies: Replies, response: Any, reply: Reply | None, stored: EffectsOf | None) -> None:
        """Sends replies, then passes ``stored`` (effects whose records are durable now) to ``after_stored``.

        The end of a rebalance answers all members of a group: many replies take several turns of the event loop.
        """
        if replies:
            self._send(replies, 0)
        if response is not None and reply is not None:
            reply(response)
        if stored is not None and self._after_stored is not None:
            self._after_stored(stored)

    def _send(self, replies: Replies, start: int) -> None:
        """Sends the replies from index ``start`` on, REPLIES_A_TURN in each turn of the event loop."""
        end = start + REPLIES_A_TURN
        for token, answer in replies[start:end]:
            token(answer)
        if end < len(replies):
            self._timers.schedule(0, partial(self._send, replies, end))

    def _failed(self, error: ErrorCode) -> ErrorCode:
        """Stops serving the partition if its log can't be used any more. Returns the error for the client."""
        if self.state is ShardState.ACTIVE and ends_coordination(error):
            if error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                logger.info("%s: this broker has lost the leadership", self.name)
            else:
                logger.error("%s: its log has failed; requests that it coordinates fail from now on", self.name)
            self.unload()
            self.state = ShardState.FAILED
        return client_error(error)

    def _append_all(self, effects: EffectsOf) -> ErrorCode:
        """Appends the records in batches, and replays each batch. Stops at the first error and returns it."""
        producer_id = NO_PRODUCER_ID if effects.transaction is None else effects.transaction.producer_id
        for records in portions(effects):
            batch = batch_of(records, effects.transaction, effects.now_ms, self._compression)
            try:
                offset = self._log.append(batch, effects.now_ms)
            except KafkaError as error:
                logger.warning("%s: could not append records: %s", self.name, error)
                return client_error(error.error_code)
            for index, record in enumerate(records):
                self.core.replay(record, offset + index, producer_id, effects.now_ms)
        return ErrorCode.NONE

    def _fire(self, event: Any) -> ErrorCode:
        """Handles the event of a timer. Returns the error if its records could not be appended."""
        if self.state is not ShardState.ACTIVE:
            return ErrorCode.NONE
        effects = self.core.effects(self._clock_ms())
        self.core.handle_timer(event, effects)
        return self.carry_out(effects)
