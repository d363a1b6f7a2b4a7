"""Removes members of streams groups: those that leave, and those whose session or rebalance timeout is over.

Pure but for log lines. Owns: the records and timers of a removal. Never does: waiting. Source:
``GroupMetadataManager``, streamsGroupLeave, streamsGroupStaticMemberGroupLeave, streamsGroupFenceMember.
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse

from ...timers.log_lines import quoted
from ..effects import (
    GroupEffects,
    StreamsRebalanceDue,
    StreamsSessionExpired,
    streams_rebalance_key,
    streams_session_key,
)
from ..modern.epochs import NEVER_ASSIGNED, next_epoch
from .group import StreamsGroup, StreamsGroups
from .member import LEAVE_GROUP_STATIC_MEMBER_EPOCH, StreamsGroupMember
from .records import current_record, epoch_record, member_tombstones, target_epoch_record
from .tasks import EMPTY_MEMBER_TASKS

logger = logging.getLogger(__name__)


def existing_group(groups: StreamsGroups, group_id: str) -> StreamsGroup:
    """The streams group of that id. Raises KafkaError GROUP_ID_NOT_FOUND."""
    group = groups.streams.get(group_id)
    if group is None:
        what = "is not a streams group" if groups.is_known(group_id) else "not found"
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")
    return group


def leave(groups: StreamsGroups, request: StreamsGroupHeartbeatRequest, effects: GroupEffects) -> None:
    """Handles the heartbeat of a member that leaves (epoch -1), or of a static member that leaves for a time (-2).
    Raises KafkaError."""
    group = existing_group(groups, request.group_id)
    if request.shutdown_application:
        group.shutdown_by = request.member_id
    member = group.sender(request.member_id, request.instance_id)
    effects.response = StreamsGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch, status=[]
    )
    if request.instance_id is not None and request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        _leave_for_a_time(group, member, effects)
        return
    logger.info("group %r: member %r leaves", group.group_id, member.member_id)
    _remove(group, member, effects)


def member_timed_out(
    groups: StreamsGroups, event: StreamsSessionExpired | StreamsRebalanceDue, effects: GroupEffects
) -> None:
    """Removes a member whose session or rebalance timeout is over."""
    group = groups.streams.get(event.group_id)
    member = None if group is None else group.members.get(event.member_id)
    if group is None or member is None:
        return
    if isinstance(event, StreamsRebalanceDue):
        if member.member_epoch != event.member_epoch:
            return
        logger.info(
            "group %r: member %s has not given up its tasks within %d ms",
            group.group_id,
            quoted(member.member_id),
            member.rebalance_timeout_ms,
        )
    else:
        logger.info("group %r: the session of member %s is over", group.group_id, quoted(member.member_id))
    _remove(group, member, effects)


def _leave_for_a_time(group: StreamsGroup, member: StreamsGroupMember, effects: GroupEffects) -> None:
    """Records that a static member left for a time. It keeps its tasks until its session ends. A member that joins with
    its instance id before that gets them."""
    logger.info("group %r: static member %r leaves temporarily", group.group_id, member.member_id)
    left = member._replace(
        member_epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH,
        pending_revocation=EMPTY_MEMBER_TASKS,
        assigned=member.assigned.with_epoch(0),
    )
    effects.records.append(current_record(group.group_id, left))


def _remove(group: StreamsGroup, member: StreamsGroupMember, effects: GroupEffects) -> None:
    """Removes a member. The group's epoch rises."""
    group_id, member_id = group.group_id, member.member_id
    effects.records += member_tombstones(group_id, member_id)
    epoch = next_epoch(group.group_epoch)
    logger.info("group %r: new epoch %d", group_id, epoch)
    effects.records.append(
        epoch_record(group, epoch, group.metadata_hash, group.validated_topology_epoch, group.assignment_configs)
    )
    if len(group.members) == 1:
        # No member needs a target assignment of this epoch, so it counts as computed. The next member that joins does
        # not wait for the interval between two assignments.
        effects.records.append(target_epoch_record(group_id, epoch, NEVER_ASSIGNED))

    def gone(error: ErrorCode, follow: GroupEffects) -> None:
        # If the append failed, the member stays, and so do its timers.
        if not error:
            follow.cancel_timer(streams_session_key(group_id, member_id))
            follow.cancel_timer(streams_rebalance_key(group_id, member_id))

    effects.after_append(gone)
