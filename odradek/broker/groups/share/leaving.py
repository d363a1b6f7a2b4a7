"""Removes members of share groups: those that leave, and those whose session is over.

Pure but for log lines. Owns: the records and timers of a removal. Never does: waiting. Source:
``GroupMetadataManager``, shareGroupLeave, shareGroupFenceMember.
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

from ..effects import GroupEffects, ShareSessionExpired, share_session_key
from ..modern.epochs import NEVER_ASSIGNED, next_epoch
from ..modern.metadata_hash import group_hash
from .group import ShareGroup, ShareGroups
from .member import ShareGroupMember
from .records import epoch_record, member_tombstones, target_epoch_record

logger = logging.getLogger(__name__)


def existing_group(groups: ShareGroups, group_id: str) -> ShareGroup:
    """The share group of that id. Raises KafkaError GROUP_ID_NOT_FOUND."""
    group = groups.share.get(group_id)
    if group is None:
        what = "is not a share group" if groups.is_taken(group_id) else "not found"
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")
    return group


def leave(groups: ShareGroups, request: ShareGroupHeartbeatRequest, effects: GroupEffects) -> None:
    """Handles the heartbeat of a member that leaves (epoch -1). Raises KafkaError."""
    group = existing_group(groups, request.group_id)
    member = group.existing_member(request.member_id)
    logger.info("group %r: member %r leaves", group.group_id, member.member_id)
    effects.response = ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    _remove(groups, group, member, effects)


def member_expired(groups: ShareGroups, event: ShareSessionExpired, effects: GroupEffects) -> None:
    """Removes a member whose session is over."""
    group = groups.share.get(event.group_id)
    member = None if group is None else group.members.get(event.member_id)
    if group is not None and member is not None:
        logger.info("group %r: the session of member %r is over", group.group_id, member.member_id)
        _remove(groups, group, member, effects)


def _remove(groups: ShareGroups, group: ShareGroup, member: ShareGroupMember, effects: GroupEffects) -> None:
    """Removes a member. The group's epoch rises."""
    group_id = group.group_id
    effects.records += member_tombstones(group_id, member.member_id)
    epoch = next_epoch(group.group_epoch)
    logger.info("group %r: new epoch %d", group_id, epoch)
    metadata_hash = group_hash(group.topic_counts_with(member, None), groups.topics)
    effects.records.append(epoch_record(group_id, epoch, metadata_hash))
    if len(group.members) == 1:
        # No member needs a target assignment of this epoch, so it counts as computed. The next member that joins does
        # not wait for the interval between two assignments.
        effects.records.append(target_epoch_record(group_id, epoch, NEVER_ASSIGNED))

    def gone(error: ErrorCode, follow: GroupEffects) -> None:
        # If the append failed, the member stays, and so does its timer.
        if not error:
            follow.cancel_timer(share_session_key(group_id, member.member_id))

    effects.after_append(gone)
