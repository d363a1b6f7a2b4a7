"""Handles events of consumer groups other than requests: a group was loaded, a timer fired, topics changed.

Never does: deciding. Source: ``GroupMetadataManager``, onLoaded, onMetadataUpdate.
"""

from ..effects import ConsumerGroupTimerEvent, GroupEffects, RegularExpressionsDue, TargetAssignmentDue
from ..modern.epochs import REFRESH_NOW
from . import large_assignments, regex_resolution
from .fencing import member_timed_out
from .heartbeat import set_rebalance_timer, set_session_timer
from .member import MemberState
from .registry import GroupRegistry


def begin_sessions(groups: GroupRegistry, effects: GroupEffects) -> None:
    """Starts the timers of all members after loading: a full session, and the full time to give up partitions."""
    for group in groups.consumer.values():
        for member in group.members.values():
            set_session_timer(groups, group.group_id, member.member_id, effects)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                set_rebalance_timer(group.group_id, member, effects)


def handle_timer(
    groups: GroupRegistry,
    event: ConsumerGroupTimerEvent | RegularExpressionsDue | TargetAssignmentDue,
    effects: GroupEffects,
) -> None:
    """Handles the event of a consumer group's timer."""
    if isinstance(event, RegularExpressionsDue):
        regex_resolution.advance(groups, event, effects)
    elif isinstance(event, TargetAssignmentDue):
        large_assignments.advance(groups, event, effects)
    else:
        member_timed_out(groups, event, effects)


def topics_changed(groups: GroupRegistry, names: set[str]) -> None:
    """Notes that topics were created, changed or deleted: groups that subscribe to them check them at their next
    heartbeat."""
    for group in groups.consumer.values():
        if not names.isdisjoint(group.subscribed_topics):
            group.refresh_deadline = REFRESH_NOW
