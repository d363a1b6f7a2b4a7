"""Finds the sender of a heartbeat: a member, a new member, or a static member that returns.

Pure but for log lines. Owns: the errors if it is none of these. Never does: changing the group. Source:
``GroupMetadataManager``, getOrMaybeCreateDynamicStreamsGroupMember, getOrMaybeCreateStaticStreamsGroupMember, throwIf…;
KIP-1071, KIP-345.
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest

from ..modern.epochs import JOINING_EPOCH
from ..modern.groups import refuse_growth, refuse_if_full
from ..records import CoordinatorRecord
from .group import StreamsGroup, StreamsGroups
from .member import LEAVE_GROUP_STATIC_MEMBER_EPOCH, StreamsGroupMember, member_bytes
from .records import current_record, member_record, member_tombstones, target_record
from .tasks import Tasks

logger = logging.getLogger(__name__)


def refuse_without_room(groups: StreamsGroups, group: StreamsGroup, member_id: str, instance_id: str | None) -> None:
    """Raises KafkaError GROUP_MAX_SIZE_REACHED if the group is full, and the sender is neither a member nor takes the
    place of a static one."""
    if instance_id is None or instance_id not in group.static_members:
        refuse_if_full("streams", groups.config.group_streams_max_size, group.members, member_id)


def refuse_without_memory(groups: StreamsGroups, group: StreamsGroup, updated: StreamsGroupMember) -> None:
    """Raises KafkaError if the memory for members does not suffice for this one. A static member that returns replaces
    the member with its instance id."""
    stored = group.members.get(updated.member_id) or group.members.get(
        group.static_members.get(updated.instance_id or "", "")
    )
    growth = member_bytes(updated) - (0 if stored is None else member_bytes(stored))
    refuse_growth(groups, group, updated.client_id, growth)


def sender_of(
    group: StreamsGroup, request: StreamsGroupHeartbeatRequest, owned: Tasks | None, records: list[CoordinatorRecord]
) -> StreamsGroupMember:
    """Returns the member that sends the heartbeat. Adds the records by which it takes the place of another static
    member.

    Raises KafkaError UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID.
    """
    joins = request.member_epoch == JOINING_EPOCH
    member_id, instance_id = request.member_id, request.instance_id
    if joins:
        logger.info("group %r: member %r joins", group.group_id, member_id)
        if instance_id is None or instance_id not in group.static_members:
            return group.members.get(member_id) or StreamsGroupMember(member_id)
        return _replacement(group, member_id, instance_id, records)
    member = group.sender(member_id, instance_id)
    _check_epoch(member, request.member_epoch, owned)
    return member


def _replacement(
    group: StreamsGroup, member_id: str, instance_id: str, records: list[CoordinatorRecord]
) -> StreamsGroupMember:
    """Returns the member that takes the place of the one with the instance id, with its tasks."""
    group_id, existing = group.group_id, group.members[group.static_members[instance_id]]
    if existing.member_epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {existing.member_id} member.",
        )
    member = existing._replace(member_id=member_id, member_epoch=0, previous_member_epoch=0)
    records += member_tombstones(group_id, existing.member_id)
    records.append(member_record(group_id, member))
    records.append(target_record(group_id, member_id, group.target_of(existing.member_id, None)))
    records.append(current_record(group_id, member))
    logger.info("group %r: %r replaces %r with instance id %r", group_id, member_id, existing.member_id, instance_id)
    return member


def _check_epoch(member: StreamsGroupMember, epoch: int, owned: Tasks | None) -> None:
    """Raises KafkaError FENCED_MEMBER_EPOCH for a wrong member epoch.

    The previous epoch is accepted if all tasks that the member reports are assigned to it: the response with the new
    epoch may have been lost.
    """
    if epoch == member.member_epoch:
        return
    relation = "greater" if epoch > member.member_epoch else "smaller"
    is_previous = relation == "smaller" and epoch == member.previous_member_epoch
    if is_previous and owned is not None and member.assigned.has_all(owned):
        return
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {relation} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )
