"""What a decision of the coordinator asks its shell to do.

Owns: the vocabulary of effects. Never does: any of it. The shell appends the records, replays them, sets the timers and
delivers the replies; a test or the simulator does the same with a list, a clock of its own and a dictionary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...protocol.errors import ErrorCode
from .records import CoordinatorRecord

Token = Any
"""Names the request that a reply answers; the core keeps it and hands it back, and never looks inside."""

TimerKey = tuple[str, ...]
"""Names a timer. A new one under the same key replaces the old."""


class SetTimer(NamedTuple):
    """Sets, or replaces, a timer: after ``delay_ms`` the shell hands ``event`` back to the core."""

    key: TimerKey
    delay_ms: int
    event: "TimerEvent"


class CancelTimer(NamedTuple):
    """Takes a timer back; harmless when there is none."""

    key: TimerKey


class MemberExpired(NamedTuple):
    """No heartbeat of a member in its session timeout, or a pending member did not come back."""

    group_id: str
    member_id: str


class JoinDue(NamedTuple):
    """The rebalance timeout is over: whoever has not joined is out."""

    group_id: str


class InitialJoinDue(NamedTuple):
    """An empty group has waited ``delay_ms`` for more members; ``remaining_ms`` may still be waited."""

    group_id: str
    delay_ms: int
    remaining_ms: int


class SyncDue(NamedTuple):
    """The members have had the rebalance timeout to ask for their assignment of this generation."""

    group_id: str
    generation_id: int


class ExpirationDue(NamedTuple):
    """Time to look for expired offsets and forgotten groups (``offsets.retention.check.interval.ms``)."""


TimerEvent = MemberExpired | JoinDue | InitialJoinDue | SyncDue | ExpirationDue

Continuation = Callable[[ErrorCode, "Effects"], None]
"""Called when the records were appended and replayed (NONE) or could not be appended (the error for the client)."""


class Effects:
    """What one event leads to. ``now_ms`` is the event's time, milliseconds since the epoch.

    ``replies``: answers to whoever waits, independent of the records. ``response``: the answer to the request itself,
    due when the records are as durable as configured. ``appended``: what follows the append. ``atomic``: the records
    stand in one batch or not at all; where each means something by itself (tombstones of what has expired), they may be
    as many as they like.
    """

    __slots__ = ("appended", "atomic", "now_ms", "records", "replies", "response", "timers")

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.atomic = True
        self.records: list[CoordinatorRecord] = []
        self.replies: list[tuple[Token, Any]] = []
        self.timers: list[SetTimer | CancelTimer] = []
        self.response: Any = None
        self.appended: Continuation | None = None

    def append(self, records: list[CoordinatorRecord], appended: Continuation) -> None:
        """Asks for records, with what follows; one event has one such append."""
        assert self.appended is None, "one event appends once"
        self.records += records
        self.appended = appended

    def reply(self, token: Token, response: Any) -> None:
        """Answers the request that ``token`` names."""
        self.replies.append((token, response))

    def set_timer(self, key: TimerKey, delay_ms: int, event: TimerEvent) -> None:
        """Sets or replaces a timer."""
        self.timers.append(SetTimer(key, delay_ms, event))

    def cancel_timer(self, key: TimerKey) -> None:
        """Takes a timer back."""
        self.timers.append(CancelTimer(key))


def session_key(group_id: str, member_id: str) -> TimerKey:
    """The key of a member's session timer."""
    return ("heartbeat", group_id, member_id)


def join_key(group_id: str) -> TimerKey:
    """The key of a group's timer for the joining phase."""
    return ("join", group_id)


def sync_key(group_id: str) -> TimerKey:
    """The key of a group's timer for the synchronising phase."""
    return ("sync", group_id)


EXPIRATION_KEY: TimerKey = ("expiration",)
