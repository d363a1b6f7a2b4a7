"""Handles events of share groups other than requests: a load, a timer, and changes of topics.

Pure. Never does: deciding. Source: ``GroupMetadataManager``, onLoaded, onMetadataUpdate, maybeCleanupShareGroupState.
"""

from collections.abc import Iterator

from ..effects import GroupEffects, ShareSessionExpired, ShareTargetDue
from ..modern.assignment import TopicId
from ..modern.epochs import REFRESH_NOW
from ..records import CoordinatorRecord
from . import target_assignment
from .group import ShareGroups
from .heartbeat import session_timer
from .leaving import member_expired
from .state_topics import forget_deleted_topics

GROUPS_A_STEP = 16


def begin_sessions(groups: ShareGroups, effects: GroupEffects) -> None:
    """Starts the timers of all members after loading: a full session."""
    for group in groups.share.values():
        for member_id in group.members:
            effects.set_timer(session_timer(groups, group.group_id, member_id))


def handle_timer(groups: ShareGroups, event: ShareSessionExpired | ShareTargetDue, effects: GroupEffects) -> None:
    """Handles the event of a share group's timer."""
    if isinstance(event, ShareTargetDue):
        target_assignment.advance(groups, event, effects)
    else:
        member_expired(groups, event, effects)


def topics_changed(groups: ShareGroups, names: set[str]) -> None:
    """Notes that topics were created, changed or deleted: groups that subscribe to them check them at their next
    heartbeat."""
    for group in groups.share.values():
        if not names.isdisjoint(group.subscribed_topics):
            group.refresh_deadline = REFRESH_NOW


def records_without_topics(groups: ShareGroups, topic_ids: frozenset[TopicId]) -> Iterator[list[CoordinatorRecord]]:
    """Yields the records by which groups forget deleted topics, those of GROUPS_A_STEP groups at a time."""
    found = list(groups.share.values())
    for start in range(0, len(found), GROUPS_A_STEP):
        some = found[start : start + GROUPS_A_STEP]
        records = (forget_deleted_topics(groups, group, topic_ids) for group in some)
        yield [record for record in records if record is not None]
