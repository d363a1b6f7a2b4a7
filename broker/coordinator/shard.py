"""Carries out what the core of one partition decides.

Owns: the way from a decision to log, timers and replies, and whether the partition is loaded. Never does: deciding.
Invariants: a reply leaves only when everything decided before it is as durable as configured (a follower's assignment
too, whose record the leader's request brought); while loading every request is
answered COORDINATOR_LOAD_IN_PROGRESS, never from what was read so far. Source: ``CoordinatorRuntime``.

A heartbeat costs one decision, one timer set and one reply: no task, no await, nothing appended.
"""

import logging
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

from ...protocol.errors import ErrorCode, KafkaError, ProtocolError
from ...protocol.records.builder import BatchBuilder
from ..groups.core import NO_PRODUCER_ID, GroupCore
from ..groups.effects import Effects, SetTimer, TimerEvent, TimerKey, Token
from ..groups.records import CoordinatorRecord
from .errors import client_error
from .interfaces import CoordinatorLog, TimerHandle, Timers
from .loading import load_steps

logger = logging.getLogger(__name__)

NON_ATOMIC_BATCH_RECORDS = 1_000
"""Tombstones in one batch: a key has at most some 600 bytes, a batch about 1 MiB (``max.message.bytes``)."""

Decision = Callable[[GroupCore, Effects], None]
Query = Callable[[GroupCore], Any]
Reply = Callable[[Any], None]
ErrorResponse = Callable[[ErrorCode], Any]
Replies = list[tuple[Token, Any]]


class ShardState(Enum):
    """Whether a partition is served."""

    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()
    UNLOADED = auto()


class CoordinatorShard:
    """The coordinator of the groups of one partition."""

    __slots__ = ("_clock_ms", "_log", "_steps", "_timer_handles", "_timers", "core", "partition", "state")

    def __init__(
        self, partition: int, log: CoordinatorLog, core: GroupCore, timers: Timers, clock_ms: Callable[[], int]
    ) -> None:
        """``clock_ms``: wall-clock milliseconds since the epoch, for what no request brings about."""
        self.partition = partition
        self.core = core
        self.state = ShardState.LOADING
        self._log = log
        self._timers = timers
        self._clock_ms = clock_ms
        self._timer_handles: dict[TimerKey, TimerHandle] = {}
        self._steps: Iterator[int] | None = None

    # --- loading

    def load(self) -> None:
        """Loads all at once: before the broker listens."""
        while self.state is ShardState.LOADING:
            self._load_step()

    def load_in_turns(self) -> None:
        """Loads a buffer in each turn of the event loop, so that the others are served meanwhile."""
        self._load_step()
        if self.state is ShardState.LOADING:
            self._timers.schedule(0, self.load_in_turns)

    def _load_step(self) -> None:
        if self.state is not ShardState.LOADING:
            return
        if self._steps is None:
            self._steps = load_steps(self._log, self.core, self._clock_ms())
        try:
            records_count = next(self._steps, None)
        except (KafkaError, ProtocolError):
            logger.exception("__consumer_offsets-%d cannot be loaded; its groups are not served", self.partition)
            self.state = ShardState.FAILED
            return
        if records_count is not None:
            logger.debug("__consumer_offsets-%d: %d records read", self.partition, records_count)
            return
        self._steps = None
        self.state = ShardState.ACTIVE
        effects = Effects(self._clock_ms())
        self.core.on_loaded(effects)
        self._carry_out(effects, None, None)
        logger.info("__consumer_offsets-%d loaded: %d groups", self.partition, len(self.core.groups))

    def unload(self) -> None:
        """Serves no longer; parked requests are told to look for their coordinator."""
        if self.state is ShardState.ACTIVE:
            effects = Effects(self._clock_ms())
            self.core.on_unloaded(effects)
            _release(effects.replies, None, None)
        self.state = ShardState.UNLOADED
        for handle in self._timer_handles.values():
            handle.cancel()
        self._timer_handles.clear()

    # --- requests

    def write(self, now_ms: int, decide: Decision, reply: Reply, error_response: ErrorResponse) -> None:
        """Lets ``decide`` leave its effects, and carries them out.

        ``reply`` gets the effects' response when their records are durable, or ``error_response`` of what went wrong.
        A decision that answers through tokens leaves no response.
        """
        if self.state is not ShardState.ACTIVE:
            reply(error_response(self.refusal()))
            return
        effects = Effects(now_ms)
        try:
            decide(self.core, effects)
        except KafkaError as error:
            reply(error_response(error.error_code))
            return
        self._carry_out(effects, reply, error_response)

    def read(self, query: Query, reply: Reply, error_response: ErrorResponse) -> None:
        """Answers from what is known, once that is as durable as configured."""
        if self.state is not ShardState.ACTIVE:
            reply(error_response(self.refusal()))
            return
        try:
            response = query(self.core)
        except KafkaError as error:
            response = error_response(error.error_code)

        def answer(error: ErrorCode) -> None:
            reply(response if error is ErrorCode.NONE else error_response(self._failed(error)))

        self._log.when_durable(answer)

    def refusal(self) -> ErrorCode:
        """The error of a partition that is not served."""
        if self.state is ShardState.LOADING:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    # --- effects

    def _carry_out(self, effects: Effects, reply: Reply | None, error_response: ErrorResponse | None) -> None:
        self._set_timers(effects)
        response = effects.response
        if not effects.records:
            if effects.replies or response is not None:
                self._release_when_durable(effects.replies, response, reply, error_response)
            return
        if effects.replies:
            # Independent of these records, but not of what was decided, and perhaps not stored yet, before.
            self._release_when_durable(effects.replies, None, None, None)
        error = self._append_all(effects)
        follow = Effects(effects.now_ms)
        if effects.appended is not None:
            effects.appended(error, follow)
        self._set_timers(follow)
        if error and error_response is not None and response is not None:
            response = error_response(error)

        if error:
            _release(follow.replies, response, reply)
        else:
            self._release_when_durable(follow.replies, response, reply, error_response)
        if follow.records:
            followed = Effects(follow.now_ms)
            followed.records = follow.records
            followed.appended = follow.appended
            self._carry_out(followed, None, None)

    def _release_when_durable(
        self, replies: Replies, response: Any, reply: Reply | None, error_response: ErrorResponse | None
    ) -> None:
        def release(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                _release(replies, response, reply)
                return
            told = self._failed(error)
            for token, answer in replies:
                answer.error_code = told
                token(answer)
            if response is not None and reply is not None and error_response is not None:
                reply(error_response(told))

        self._log.when_durable(release)

    def _failed(self, error: ErrorCode) -> ErrorCode:
        """The log can't be used any more: nothing is served, parked requests are told; what a client is told."""
        if self.state is ShardState.ACTIVE:
            logger.error("__consumer_offsets-%d: its log failed; its groups are not served any more", self.partition)
            self.unload()
            self.state = ShardState.FAILED
        return client_error(error)

    def _append_all(self, effects: Effects) -> ErrorCode:
        """Appends in one batch, or in several where the records are not atomic; the first error ends it."""
        if effects.atomic:
            return self._append(effects.records, effects.now_ms)
        for start in range(0, len(effects.records), NON_ATOMIC_BATCH_RECORDS):
            error = self._append(effects.records[start : start + NON_ATOMIC_BATCH_RECORDS], effects.now_ms)
            if error:
                return error
        return ErrorCode.NONE

    def _append(self, records: list[CoordinatorRecord], now_ms: int) -> ErrorCode:
        builder = BatchBuilder()
        for record in records:
            builder.append(now_ms, record.key_bytes(), record.value_bytes())
        try:
            offset = self._log.append(builder.build(), now_ms)
        except KafkaError as error:
            logger.warning("__consumer_offsets-%d: not appended: %s", self.partition, error)
            return client_error(error.error_code)
        for index, record in enumerate(records):
            self.core.replay(record, offset + index, NO_PRODUCER_ID, now_ms)
        return ErrorCode.NONE

    def _set_timers(self, effects: Effects) -> None:
        for timer in effects.timers:
            previous = self._timer_handles.pop(timer.key, None)
            if previous is not None:
                previous.cancel()
            if isinstance(timer, SetTimer):
                self._schedule(timer)

    def _schedule(self, timer: SetTimer) -> None:
        key = timer.key
        event = timer.event

        def fire() -> None:
            self._timer_handles.pop(key, None)
            self._fire(event)

        self._timer_handles[key] = self._timers.schedule(timer.delay_ms, fire)

    def _fire(self, event: TimerEvent) -> None:
        if self.state is not ShardState.ACTIVE:
            return
        effects = Effects(self._clock_ms())
        self.core.handle_timer(event, effects)
        self._carry_out(effects, None, None)


def _release(replies: Replies, response: Any, reply: Reply | None) -> None:
    for token, answer in replies:
        token(answer)
    if response is not None and reply is not None:
        reply(response)
