"""The effects of the group coordinator's decisions, the events of its timers, and their keys.

The types that all coordinators share are in :mod:`..coordinator.effects`. Pure.
"""

from typing import NamedTuple

from ..coordinator.effects import Effects, TimerKey
from ..dispatch.request import Access
from ..metrics.counts import GroupCounts
from .records import CoordinatorRecord


class GroupEffects(Effects[CoordinatorRecord]):
    """The effects of one event. ``access``: the ACL check of the request's client; None if everything is allowed.
    ``counts``: the metrics to which the event adds commits, rebalances and the like."""

    __slots__ = ("access", "counts")

    def __init__(self, now_ms: int, counts: GroupCounts | None = None) -> None:
        super().__init__(now_ms)
        self.access: Access | None = None
        self.counts = counts or GroupCounts()


class MemberExpired(NamedTuple):
    """A member's session has ended, or a pending member did not join."""

    group_id: str
    member_id: str


class JoinDue(NamedTuple):
    """The rebalance timeout is over: members that have not joined are removed."""

    group_id: str


class InitialJoinDue(NamedTuple):
    """An empty group has waited ``delay_ms`` for more members, and may wait ``remaining_ms`` longer."""

    group_id: str
    delay_ms: int
    remaining_ms: int


class SyncDue(NamedTuple):
    """The rebalance timeout for SyncGroup requests of this generation is over."""

    group_id: str
    generation_id: int


class ExpirationDue(NamedTuple):
    """A search for expired offsets and empty groups is due (``offsets.retention.check.interval.ms``)."""


class ConsumerSessionExpired(NamedTuple):
    """The session of a member of a consumer group has ended."""

    group_id: str
    member_id: str


class ConsumerRebalanceDue(NamedTuple):
    """A member of a consumer group has not given up partitions within its rebalance timeout in ``member_epoch``."""

    group_id: str
    member_id: str
    member_epoch: int


class ConsumerJoinDue(NamedTuple):
    """A member of the classic protocol in a consumer group has not joined again within its rebalance timeout."""

    group_id: str
    member_id: str


class ConsumerSyncDue(NamedTuple):
    """A member of the classic protocol in a consumer group has not synchronised within its rebalance timeout."""

    group_id: str
    member_id: str


class RegularExpressionsDue(NamedTuple):
    """The next step of resolving a consumer group's regular expressions is due."""

    group_id: str
    patterns: frozenset[str]
    access: Access | None = None
    """The ACL check of the member whose heartbeat started this. Patterns match only topics that this member may
    describe; None: all topics."""


class TargetAssignmentDue(NamedTuple):
    """The next steps of computing a large consumer group's target assignment are due."""

    group_id: str


class ShareSessionExpired(NamedTuple):
    """The session of a member of a share group has ended."""

    group_id: str
    member_id: str


class ShareTargetDue(NamedTuple):
    """The next steps of computing a large share group's target assignment are due."""

    group_id: str


class StreamsSessionExpired(NamedTuple):
    """The session of a member of a streams group has ended."""

    group_id: str
    member_id: str


class StreamsRebalanceDue(NamedTuple):
    """A member of a streams group has not given up tasks within its rebalance timeout in ``member_epoch``."""

    group_id: str
    member_id: str
    member_epoch: int


class StreamsDelayOver(NamedTuple):
    """A new streams group has waited for more members (``group.streams.initial.rebalance.delay.ms``)."""

    group_id: str


class StreamsTargetDue(NamedTuple):
    """The next steps of computing a large streams group's target assignment are due."""

    group_id: str


StreamsGroupTimerEvent = StreamsSessionExpired | StreamsRebalanceDue | StreamsDelayOver | StreamsTargetDue
ConsumerGroupTimerEvent = ConsumerSessionExpired | ConsumerRebalanceDue | ConsumerJoinDue | ConsumerSyncDue
TimerEvent = (
    MemberExpired
    | JoinDue
    | InitialJoinDue
    | SyncDue
    | ExpirationDue
    | ConsumerGroupTimerEvent
    | RegularExpressionsDue
    | TargetAssignmentDue
    | ShareSessionExpired
    | ShareTargetDue
    | StreamsGroupTimerEvent
)


def session_key(group_id: str, member_id: str) -> TimerKey:
    """The key of a member's session timer."""
    return ("heartbeat", group_id, member_id)


def join_key(group_id: str) -> TimerKey:
    """The key of a group's timer for the joining phase."""
    return ("join", group_id)


def sync_key(group_id: str) -> TimerKey:
    """The key of a group's timer for the synchronising phase."""
    return ("sync", group_id)


def consumer_session_key(group_id: str, member_id: str) -> TimerKey:
    """The key of the session timer of a member of a consumer group."""
    return ("consumer-session", group_id, member_id)


def rebalance_key(group_id: str, member_id: str) -> TimerKey:
    """The key of the timer of a member that has partitions to give up."""
    return ("consumer-rebalance", group_id, member_id)


def consumer_join_key(group_id: str, member_id: str) -> TimerKey:
    """The key of the timer of a classic member of a consumer group that has to join again."""
    return ("consumer-join", group_id, member_id)


def consumer_sync_key(group_id: str, member_id: str) -> TimerKey:
    """The key of the timer of a classic member of a consumer group that has to synchronise."""
    return ("consumer-sync", group_id, member_id)


def share_session_key(group_id: str, member_id: str) -> TimerKey:
    """The key of the session timer of a member of a share group."""
    return ("share-session", group_id, member_id)


def share_target_key(group_id: str) -> TimerKey:
    """The key of the event that computes a large share group's target assignment."""
    return ("share-target", group_id)


def streams_session_key(group_id: str, member_id: str) -> TimerKey:
    """The key of the session timer of a member of a streams group."""
    return ("streams-session", group_id, member_id)


def streams_rebalance_key(group_id: str, member_id: str) -> TimerKey:
    """The key of the timer of a member of a streams group that has tasks to give up."""
    return ("streams-rebalance", group_id, member_id)


def streams_delay_key(group_id: str) -> TimerKey:
    """The key of the timer of a new streams group that waits for more members."""
    return ("streams-delay", group_id)


def streams_target_key(group_id: str) -> TimerKey:
    """The key of the event that computes a large streams group's target assignment."""
    return ("streams-target", group_id)


def regular_expressions_key(group_id: str) -> TimerKey:
    """The key of the event that resolves a group's regular expressions."""
    return ("regular-expressions", group_id)


def target_assignment_key(group_id: str) -> TimerKey:
    """The key of the event that computes a large group's target assignment."""
    return ("target-assignment", group_id)


EXPIRATION_KEY: TimerKey = ("expiration",)
