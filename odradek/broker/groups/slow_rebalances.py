"""Finds rebalances that take long, and the members that they wait for, and logs them. Kafka has no such response.

Owns: the search among the groups of one partition; what was logged about each group. Never does: changing groups,
reading a clock. Invariant: one line for each phase of a rebalance that takes long, and one when it ends. Source:
``ClassicGroup`` (hasAllMembersJoined, pendingSyncMembers), ``ConsumerGroupMember`` (isReconciledTo).
"""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.steps import Steps

from ..timers.log_lines import quoted
from .classic.group import ClassicGroup, GroupState
from .classic.member import ClassicMember
from .core import GroupCore

if TYPE_CHECKING:
    from .consumer.group import ConsumerGroup
    from .consumer.member import ConsumerGroupMember

GROUPS_A_STEP = 256
"""Groups that one step looks at, at 0.3 us each. A group with a slow rebalance costs more."""
MAX_NAMED_MEMBERS = 10
"""The most members that are listed by name. Of the others only the number is given."""


class SlowRebalance(NamedTuple):
    """A group whose rebalance began at ``since_ms``. ``waits_for``: a text. ``limit_ms``: the longest time that it may
    take."""

    group_id: str
    state: str
    since_ms: int
    waits_for: str
    limit_ms: int


def slow_rebalances(core: GroupCore, now_ms: int, longer_than_ms: int) -> Steps[list[SlowRebalance]]:
    """Returns the rebalances that have waited for known members for longer than ``longer_than_ms``.

    A new group that only waits for further members to join is left out.
    """
    found = []
    for count, group in enumerate(list(core.groups.classic.values()), 1):
        if not count % GROUPS_A_STEP:
            yield
        if group.state in (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE):
            since_ms = group.state_timestamp_ms
            if 0 <= since_ms <= now_ms - longer_than_ms and (waits_for := _classic_waits_for(group)):
                limit_ms = group.rebalance_timeout_ms()
                found.append(SlowRebalance(group.group_id, group.state, since_ms, waits_for, limit_ms))
    for count, consumer_group in enumerate(list(core.groups.consumer.values()), 1):
        if not count % GROUPS_A_STEP:
            yield
        since_ms = consumer_group.assignment_timestamp_ms
        if 0 < since_ms <= now_ms - longer_than_ms and (late := _late_members(consumer_group)):
            limit_ms = max(member.rebalance_timeout_ms for member in late)
            what = f"to confirm epoch {consumer_group.assignment_epoch}"
            waits_for = _named((_consumer_name(member) for member in late), len(late), what)
            found.append(SlowRebalance(consumer_group.group_id, consumer_group.state, since_ms, waits_for, limit_ms))
    return found


def _classic_waits_for(group: ClassicGroup) -> str:
    """Members that the current rebalance phase is waiting for; empty if none is known."""
    if group.state is GroupState.PREPARING_REBALANCE:
        missing = [_classic_name(member) for member in group.members.values() if not member.is_awaiting_join]
        missing += [f"{quoted(member_id)} (which has got its member id)" for member_id in group.pending_join_members]
        return _named(missing, len(missing), "to join again")
    leader = group.members.get(group.leader_id or "")
    if leader is not None and leader.sync_token is None:
        return f"its leader {_classic_name(leader)} to send the assignment"
    silent = [group.members[member_id] for member_id in group.pending_sync_members]
    return _named(map(_classic_name, silent), len(silent), "to ask for its assignment")


def _late_members(group: "ConsumerGroup") -> list["ConsumerGroupMember"]:
    """Members whose epoch is below that of the target assignment. A member that has confirmed the target is not among
    them, even if it still waits for partitions of others."""
    return [member for member in group.members.values() if member.member_epoch < group.assignment_epoch]


def _named(names: Iterable[str], count: int, what: str) -> str:
    if not count:
        return ""
    shown = [name for _, name in zip(range(MAX_NAMED_MEMBERS), names, strict=False)]
    more = f" and {count - len(shown)} others" if count > len(shown) else ""
    return f"{', '.join(shown)}{more} {what}"


def _classic_name(member: ClassicMember) -> str:
    return _name(member.member_id, member.client_id, member.client_host, member.group_instance_id)


def _consumer_name(member: "ConsumerGroupMember") -> str:
    return _name(member.member_id, member.client_id, member.client_host, member.instance_id)


def _name(member_id: str, client_id: str, host: str, instance_id: str | None) -> str:
    instance = f", group.instance.id {quoted(instance_id)}" if instance_id is not None else ""
    return f"{quoted(member_id)} (client.id {quoted(client_id)} at {host.removeprefix('/')}{instance})"


logger = logging.getLogger(__name__)

SLOW_AFTER_MS = 10_000
"""A rebalance that takes longer is logged. This is the time of two heartbeats of the consumer protocol: a member learns
of a rebalance by one, and confirms by the next."""


class RebalanceWatch:
    """Checks all groups at each call of :meth:`log_changes`."""

    def __init__(self) -> None:
        self._logged: dict[str, SlowRebalance] = {}

    def log_changes(self, cores: Iterable[GroupCore], now_ms: int) -> Steps[None]:
        """Logs, in steps, what has changed since the last call. ``now_ms``: the time by the clock that groups use."""
        slow: dict[str, SlowRebalance] = {}
        for core in cores:
            slow.update(
                {
                    rebalance.group_id: rebalance
                    for rebalance in (yield from slow_rebalances(core, now_ms, SLOW_AFTER_MS))
                }
            )
            yield
        for group_id, rebalance in slow.items():
            logged = self._logged.get(group_id)
            if logged is None or (logged.state, logged.since_ms) != (rebalance.state, rebalance.since_ms):
                logger.warning(
                    "group %r has been in %s for %.1f s and waits for %s; after the rebalance timeout of %.0f s it "
                    "continues without them",
                    group_id,
                    rebalance.state,
                    (now_ms - rebalance.since_ms) / 1000,
                    rebalance.waits_for,
                    rebalance.limit_ms / 1000,
                )
        for group_id, logged in self._logged.items():
            if group_id not in slow:
                logger.info("group %r no longer waits, after %.1f s", group_id, (now_ms - logged.since_ms) / 1000)
        self._logged = slow
