"""What a decision of a coordinator asks its shell to do.

Owns: the vocabulary of effects that all coordinators share. Never does: any of it. The shell appends the records,
replays them, sets the timers and delivers the replies; a test or a simulator does the same with a list, a clock of its
own and a dictionary. Source: ``CoordinatorResult``, ``CoordinatorTimer``.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ...protocol.errors import ErrorCode

Token = Any
"""Names the request that a reply answers; the core keeps it and hands it back, and never looks inside."""

TimerKey = tuple[str, ...]
"""Names a timer. A new one under the same key replaces the old."""


class SetTimer(NamedTuple):
    """Sets, or replaces, a timer: after ``delay_ms`` the shell hands ``event`` back to the core."""

    key: TimerKey
    delay_ms: int
    event: Any


class CancelTimer(NamedTuple):
    """Takes a timer back; harmless when there is none."""

    key: TimerKey


class StorableRecord(Protocol):
    """A record as its coordinator knows it."""

    def key_bytes(self) -> bytes:
        """The key as it is stored."""

    def value_bytes(self) -> bytes | None:
        """The value as it is stored; None is a tombstone."""


NO_PRODUCER_ID = -1
"""Of records that are part of no transaction."""


class OpenTransaction(NamedTuple):
    """The producer in whose transaction records stand: they count when it commits."""

    producer_id: int
    producer_epoch: int


Record = TypeVar("Record", bound=StorableRecord)
Continuation = Callable[[ErrorCode, Any], None]
"""Called after the append, with NONE or with the error for the client, and with the effects that it may add to."""


class Effects(Generic[Record]):
    """What one event leads to. ``now_ms`` is the event's time, milliseconds since the epoch.

    Each kind of effect is added in one way:

    - ``records``: a list to append to. They are appended to the log, then replayed.
    - ``replies``, by :meth:`reply`: responses to parked requests. They do not depend on these records.
    - ``timers``, by :meth:`set_timer` and :meth:`cancel_timer`. They do not depend on these records either.
    - ``then``, by :meth:`after_append`: a function that is called when the records are replayed, or if the append
      fails. It gets new effects, for what depends on the result.

    ``response`` is the response to the request itself; it is sent when the records are as durable as configured.
    ``atomic``: all records are in one batch, or none is stored. If each record means something by itself (tombstones of
    what has expired), it is False, and the number of records has no limit. ``transaction``: the records are part of a
    client's transaction.
    """

    __slots__ = ("atomic", "now_ms", "records", "replies", "response", "then", "timers", "transaction")

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.atomic = True
        self.records: list[Record] = []
        self.replies: list[tuple[Token, Any]] = []
        self.timers: list[SetTimer | CancelTimer] = []
        self.response: Any = None
        self.then: Continuation | None = None
        self.transaction: OpenTransaction | None = None

    def after_append(self, continuation: Continuation) -> None:
        """Calls ``continuation`` after the append, or at once if there are no records. At most one for an event."""
        assert self.then is None, "an event has one continuation"
        self.then = continuation

    def discard_records(self) -> None:
        """Drops the records and the continuation. Replies and timers stay."""
        self.records.clear()
        self.then = None

    def reply(self, token: Token, response: Any) -> None:
        """Answers the request that ``token`` names."""
        self.replies.append((token, response))

    def set_timer(self, timer: SetTimer) -> None:
        """Sets or replaces a timer."""
        self.timers.append(timer)

    def cancel_timer(self, key: TimerKey) -> None:
        """Cancels a timer."""
        self.timers.append(CancelTimer(key))
