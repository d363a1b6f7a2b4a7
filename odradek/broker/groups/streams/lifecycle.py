"""Handles events of streams groups other than requests: a load, a timer, and changes of topics.

Pure. Never does: deciding. Source: ``GroupMetadataManager``, onLoaded, onMetadataUpdate.
"""

from ...coordinator.effects import SetTimer
from ..effects import (
    GroupEffects,
    StreamsDelayOver,
    StreamsGroupTimerEvent,
    StreamsSessionExpired,
    StreamsTargetDue,
    streams_session_key,
)
from ..modern.epochs import REFRESH_NOW
from .group import StreamsGroups
from .heartbeat import set_rebalance_timer
from .leaving import member_timed_out
from .member import StreamsMemberState
from .settings import session_timeout_ms
from .target_assignment import advance, delay_over


def begin_sessions(groups: StreamsGroups, effects: GroupEffects) -> None:
    """Starts the timers of all members after loading: a full session, and the full time to give up tasks."""
    for group_id, group in groups.streams.items():
        timeout_ms = session_timeout_ms(groups, group_id)
        for member in group.members.values():
            event = StreamsSessionExpired(group_id, member.member_id)
            effects.set_timer(SetTimer(streams_session_key(group_id, member.member_id), timeout_ms, event))
            if member.state is StreamsMemberState.UNREVOKED_TASKS:
                set_rebalance_timer(group_id, member, effects)


def handle_timer(groups: StreamsGroups, event: StreamsGroupTimerEvent, effects: GroupEffects) -> None:
    """Handles the event of a streams group's timer."""
    if isinstance(event, StreamsTargetDue):
        advance(groups, event, effects)
    elif isinstance(event, StreamsDelayOver):
        delay_over(groups, event, effects)
    else:
        member_timed_out(groups, event, effects)


def topics_changed(groups: StreamsGroups, names: set[str]) -> None:
    """Notes that topics were created, changed or deleted: groups whose topology names them look at them at their next
    heartbeat."""
    for group in groups.streams.values():
        if group.topology is not None and not names.isdisjoint(group.topology.topic_names):
            group.refresh_deadline = REFRESH_NOW
