"""What a decision of a coordinator asks its shell to do.

Owns: the types of effects that all coordinators share. Never does: carrying them out. The shell appends the records,
replays them, sets the timers and delivers the replies; a test or a simulator does the same with a list, a clock of its
own and a dictionary. Source: ``CoordinatorResult``, ``CoordinatorTimer``.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from odradek.protocol.errors import ErrorCode

Token = Any
"""Identifies the request that a reply answers. The core keeps it, returns it with the reply, and never looks inside."""

TimerKey = tuple[str, ...]
"""Identifies a timer. A new timer with the same key replaces the old one."""


class SetTimer(NamedTuple):
    """Sets or replaces a timer: after ``delay_ms`` the shell passes ``event`` to the core."""

    key: TimerKey
    delay_ms: int
    event: Any


class CancelTimer(NamedTuple):
    """Cancels a timer. It has no effect if the timer does not exist."""

    key: TimerKey


class StorableRecord(Protocol):
    """A record that a coordinator stores."""

    def key_bytes(self) -> bytes:
        """The key as it is stored."""

    def value_bytes(self) -> bytes | None:
        """The value as it is stored; None is a tombstone."""


NO_PRODUCER_ID = -1
"""The producer id of records that are not part of a transaction."""


class OpenTransaction(NamedTuple):
    """The producer whose open transaction the records belong to. They take effect when the transaction commits."""

    producer_id: int
    producer_epoch: int


Record = TypeVar("Record", bound=StorableRecord)
Continuation = Callable[[ErrorCode, Any], None]
"""Called after the append, with NONE or with the error for the client, and with new effects to add to."""


class Effects(Generic[Record]):
    """The effects of one event (a request or a timer). ``now_ms``: the event's time, milliseconds since the epoch.

    Each kind of effect is added in one way:

    - ``records``: a list to append to. They are appended to the log, then replayed.
    - ``replies``, by :meth:`reply`: responses to parked requests. They are sent even if the append fails.
    - ``timers``, by :meth:`set_timer` and :meth:`cancel_timer`. They are set even if the append fails.
    - ``then``, by :meth:`after_append`: a function that is called after the records were replayed, or after the append
      failed. It gets new effects; replies and timers that depend on the append go there.

    ``response`` is the response to the request itself; it is sent when the records are as durable as configured.
    ``atomic``: all records are in one batch, or none is stored. It is False if each record is independent of the others
    (tombstones of expired offsets); then the number of records has no limit. ``transaction``: the records are part of a
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
