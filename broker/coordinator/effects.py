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
"""Called with the effects of what follows when the records were appended and replayed (NONE), or could not be appended
(the error for the client)."""


class Effects(Generic[Record]):
    """What one event leads to. ``now_ms`` is the event's time, milliseconds since the epoch.

    ``replies``: answers to whoever waits, independent of the records. ``response``: the answer to the request itself,
    due when the records are as durable as configured. ``appended``: what follows the append. ``atomic``: the records
    stand in one batch or not at all; where each means something by itself (tombstones of what has expired), they may be
    as many as they like. ``transaction``: the records are part of a client's transaction.
    """

    __slots__ = ("appended", "atomic", "now_ms", "records", "replies", "response", "timers", "transaction")

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.atomic = True
        self.records: list[Record] = []
        self.replies: list[tuple[Token, Any]] = []
        self.timers: list[SetTimer | CancelTimer] = []
        self.response: Any = None
        self.appended: Continuation | None = None
        self.transaction: OpenTransaction | None = None

    def append(self, records: list[Record], appended: Continuation) -> None:
        """Asks for records, with what follows; one event has one such append."""
        assert self.appended is None, "one event appends once"
        self.records += records
        self.appended = appended

    def reply(self, token: Token, response: Any) -> None:
        """Answers the request that ``token`` names."""
        self.replies.append((token, response))

    def set_timer(self, key: TimerKey, delay_ms: int, event: Any) -> None:
        """Sets or replaces a timer."""
        self.timers.append(SetTimer(key, delay_ms, event))

    def cancel_timer(self, key: TimerKey) -> None:
        """Takes a timer back."""
        self.timers.append(CancelTimer(key))
