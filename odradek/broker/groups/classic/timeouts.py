"""Handles the timers of classic groups: an event in, effects out, as for a request.

A timer may fire just after a request that should have cancelled it. So each handler checks the group's state first.
Source: ``GroupMetadataManager``: expireClassicGroupMemberHeartbeat, expirePendingSync, completeClassicGroupJoin,
tryCompleteInitialRebalanceElseSchedule.
"""

import logging

from odradek.protocol.errors import ErrorCode

from ...timers.log_lines import quoted, quoted_list
from ..effects import GroupEffects, InitialJoinDue, JoinDue, MemberExpired, SyncDue
from .group import ClassicGroup, ClassicGroups, GroupState
from .rebalance import complete_join, extend_initial_join, prepare, prepare_or_complete, refuse_parked_join

logger = logging.getLogger(__name__)


def member_expired(groups: ClassicGroups, event: MemberExpired, effects: GroupEffects) -> None:
    """Removes a member whose session has ended, unless it has a parked request and is not new."""
    group = groups.classic.get(event.group_id)
    if group is None or group.state is GroupState.DEAD:
        return
    if event.member_id in group.pending_join_members:
        logger.info("group %r: removed member %r, which did not join with its new id", event.group_id, event.member_id)
        group.remove(event.member_id)
        _complete_if_last(group, effects)
        return
    member = group.members.get(event.member_id)
    if member is None or member.has_satisfied_heartbeat():
        return
    logger.info("group %r: removed member %r: its session has expired", event.group_id, event.member_id)
    # The request of a new member may still be parked: its client must join from the start, if it is connected.
    refuse_parked_join(group, member, ErrorCode.UNKNOWN_MEMBER_ID, effects)
    group.remove(member.member_id)
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        reason = f"the session of member {quoted(member.member_id)} has expired"
        prepare_or_complete(groups.config, group, effects, reason)
    else:
        _complete_if_last(group, effects)


def _complete_if_last(group: ClassicGroup, effects: GroupEffects) -> None:
    if group.state is GroupState.PREPARING_REBALANCE and group.has_all_members_joined():
        complete_join(group, effects)


def join_due(groups: ClassicGroups, event: JoinDue, effects: GroupEffects) -> None:
    """The rebalance timeout is over: starts the next generation with the members that have joined."""
    group = groups.classic.get(event.group_id)
    if group is not None and group.state is GroupState.PREPARING_REBALANCE:
        complete_join(group, effects)


def initial_join_due(groups: ClassicGroups, event: InitialJoinDue, effects: GroupEffects) -> None:
    """The initial delay of a new group is over: waits longer, or starts the first generation."""
    group = groups.classic.get(event.group_id)
    if group is not None and group.state is GroupState.PREPARING_REBALANCE:
        extend_initial_join(groups.config, group, effects, event.delay_ms, event.remaining_ms)


def sync_due(groups: ClassicGroups, event: SyncDue, effects: GroupEffects) -> None:
    """The rebalance timeout after the joining phase is over: removes the members that have not sent SyncGroup."""
    group = groups.classic.get(event.group_id)
    if group is None or group.generation_id != event.generation_id or not group.pending_sync_members:
        return
    if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return
    silent = list(group.pending_sync_members)
    for member_id in silent:
        effects.cancel_timer(group.members[member_id].session_key)
        group.remove(member_id)
    prepare(groups.config, group, effects, f"members {quoted_list(silent)} sent no SyncGroup in time")
