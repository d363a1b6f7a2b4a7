"""What a decision of the group coordinator asks its shell to do: its events and the keys of its timers.

The vocabulary itself is :mod:`..effects`.
"""

from typing import NamedTuple

from .. import effects
from ..effects import TimerKey
from .records import CoordinatorRecord


class Effects(effects.Effects[CoordinatorRecord]):
    """What one event leads to."""

    __slots__ = ()


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
