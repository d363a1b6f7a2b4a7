"""The answers of one partition that wait until its log is durable: synced, and replicated as far as acks=all promises.

Owns: the waiting answers and their deadlines. Never does: appending. Invariants: each answer is given once: when
everything appended before it is durable, when the log fails, after the timeout, or at :meth:`DurableWaits.close`. A
timeout undoes nothing: the records stay in the log, in order. Source: ``CoordinatorRuntime``, its deferred event queue
and write timeouts.
"""

from collections.abc import Callable
from functools import partial

from odradek.protocol.errors import ErrorCode, KafkaError

from ..timers.timers import Timer, Timers
from .interfaces import CoordinatorLog

_TOLD: dict[ErrorCode, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def client_error(error: ErrorCode) -> ErrorCode:
    """Returns the error for the client of a coordinator if an append failed with ``error``."""
    return _TOLD.get(error, error)


def ends_coordination(error: ErrorCode) -> bool:
    """Whether a log that failed with ``error`` after an append can't be written by this coordinator any more.

    Too few in-sync replicas do not end it: the records stay in the log, and replicas may catch up.
    """
    return client_error(error) is not ErrorCode.COORDINATOR_NOT_AVAILABLE


Answer = Callable[[ErrorCode], None]
"""Called once, with NONE or with the error for the client."""


class _PendingAnswer:
    """One answer. ``answer`` is None once it was given."""

    __slots__ = ("answer", "deadline_ms", "stored")

    def __init__(self, answer: Answer, deadline_ms: int, stored: Callable[[], None] | None) -> None:
        self.answer: Answer | None = answer
        self.deadline_ms = deadline_ms
        self.stored = stored


class DurableWaits:
    """Holds answers back until the log is durable, for a limited time.

    One timer serves all answers. It is set for the oldest one, and stays set if that answer is given earlier.
    """

    __slots__ = ("_clock_ms", "_failed", "_is_closed", "_log", "_timeout_ms", "_timer", "_timers", "_waiting")

    def __init__(
        self,
        log: CoordinatorLog,
        timers: Timers,
        clock_ms: Callable[[], int],
        timeout_ms: int,
        failed: Callable[[ErrorCode], ErrorCode],
    ) -> None:
        """``failed`` gets an error of the log and returns the error for the client. It may close these waits."""
        self._log = log
        self._timers = timers
        self._clock_ms = clock_ms
        self._timeout_ms = timeout_ms
        self._failed = failed
        self._waiting: dict[_PendingAnswer, None] = {}
        """The answers not given yet, in order."""
        self._timer: Timer | None = None
        self._is_closed = False

    def is_durable(self) -> bool:
        """Whether everything appended is durable. A log that this broker no longer leads is not."""
        try:
            return self._log.is_durable()
        except KafkaError:
            return False

    def wait(self, answer: Answer, stored: Callable[[], None] | None = None) -> None:
        """Calls ``answer`` once: when everything appended so far is durable, or with an error after a failure of the
        log, the timeout or :meth:`close`. ``stored`` is called when everything appended so far is durable, also after
        the timeout, but not after :meth:`close`.
        """
        if self._is_closed:
            answer(ErrorCode.NOT_COORDINATOR)
            return
        wait = _PendingAnswer(answer, self._clock_ms() + self._timeout_ms, stored)
        self._waiting[wait] = None
        try:
            self._log.when_durable(partial(self._settle, wait))
        except KafkaError as error:
            self._settle(wait, error.error_code)
        if self._timer is None and self._waiting:
            self._timer = self._timers.schedule(self._timeout_ms, self._time_out)

    def close(self) -> None:
        """Answers all waiting requests with NOT_COORDINATOR. Later callbacks of the log have no effect."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for wait in waiting:
            _give(wait, ErrorCode.NOT_COORDINATOR)

    def _settle(self, wait: _PendingAnswer, error: ErrorCode) -> None:
        """Gives an answer after the log became durable up to its records, or failed with ``error``."""
        if self._is_closed:
            return
        self._waiting.pop(wait, None)
        if error:
            error = self._failed(error)
        _give(wait, error)
        if wait.stored is not None and not error:
            wait.stored()

    def _time_out(self) -> None:
        """Answers the requests whose deadline has passed with an error, and sets the timer for the next deadline."""
        self._timer = None
        now_ms = self._clock_ms()
        due = []
        for wait in self._waiting:
            if wait.deadline_ms > now_ms:
                self._timer = self._timers.schedule(wait.deadline_ms - now_ms, self._time_out)
                break
            due.append(wait)
        for wait in due:
            self._waiting.pop(wait, None)
            _give(wait, client_error(ErrorCode.REQUEST_TIMED_OUT))


def _give(wait: _PendingAnswer, error: ErrorCode) -> None:
    answer, wait.answer = wait.answer, None
    if answer is not None:
        answer(error)
