"""Removes members: those that leave, those that an administrator removes, and those whose timeout is over.

Owns: the records and timers of a removal. Never does: waiting. Source: ``GroupMetadataManager``, consumerGroupLeave,
consumerGroupStaticMemberGroupLeave, consumerGroupFenceMembers.
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

from ...timers.log_lines import quoted
from ..effects import (
    ConsumerGroupTimerEvent,
    ConsumerRebalanceDue,
    GroupEffects,
    consumer_join_key,
    consumer_session_key,
    consumer_sync_key,
    rebalance_key,
)
from ..modern.epochs import NEVER_ASSIGNED, next_epoch
from ..modern.metadata_hash import group_hash
from .group import ConsumerGroup
from .member import LEAVE_GROUP_STATIC_MEMBER_EPOCH, NO_PARTITIONS, ConsumerGroupMember
from .migration import downgrade, may_downgrade_without
from .records import current_record, epoch_record, member_tombstones, regex_tombstone, target_epoch_record
from .registry import GroupRegistry

logger = logging.getLogger(__name__)


def leave(groups: GroupRegistry, request: ConsumerGroupHeartbeatRequest, effects: GroupEffects) -> None:
    """Handles the heartbeat of a member that leaves (epoch -1), or of a static member that leaves for a time (-2).
    Raises KafkaError."""
    group = existing_group(groups, request.group_id)
    member = group.sender(request.member_id, request.instance_id)
    if request.instance_id is not None and request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        _leave_static_member(group, member, effects)
        return
    logger.info("group %r: member %r leaves", group.group_id, member.member_id)
    effects.response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    fence(groups, group, [member], effects)


def existing_group(groups: GroupRegistry, group_id: str) -> ConsumerGroup:
    """The consumer group of that id. Raises KafkaError GROUP_ID_NOT_FOUND."""
    group = groups.consumer.get(group_id)
    if group is None:
        what = "is not a consumer group" if groups.is_known(group_id) else "not found"
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")
    return group


def _leave_static_member(group: ConsumerGroup, member: ConsumerGroupMember, effects: GroupEffects) -> None:
    """Records that a static member left for a time (epoch -2). It keeps its partitions until its session ends. A member
    that joins with its instance id before that gets them."""
    logger.info("group %r: static member %r leaves temporarily", group.group_id, member.member_id)
    left = member._replace(
        member_epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH,
        pending_revocation=NO_PARTITIONS,
        assigned={topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.assigned.items()},
    )
    effects.records.append(current_record(group.group_id, left))
    effects.response = ConsumerGroupHeartbeatResponse(
        member_id=member.member_id, member_epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH
    )


def fence(
    groups: GroupRegistry, group: ConsumerGroup, members: list[ConsumerGroupMember], effects: GroupEffects
) -> None:
    """Removes members. The group's epoch rises; if only classic members are left, it becomes a classic group."""
    if not members:
        return
    if may_downgrade_without(groups, group, members):
        reason = f"Downgrade group {quoted(group.group_id)} from consumer to classic for member leaving."
        install = downgrade(groups, group, members, None, reason, effects)

        def appended(error: ErrorCode, follow: GroupEffects) -> None:
            if not error:
                install(follow)

        effects.after_append(appended)
        return
    records = effects.records
    for member in members:
        records += member_tombstones(group.group_id, member.member_id)
    regexes = _deserted_regexes(group, members)
    records += [regex_tombstone(group.group_id, regex) for regex in regexes]
    metadata_hash = group_hash(group.topic_counts_without(members, regexes), groups.topics)
    epoch = next_epoch(group.group_epoch)
    logger.info("group %r: new epoch %d", group.group_id, epoch)
    records.append(epoch_record(group.group_id, epoch, metadata_hash))
    if len(members) == len(group.members):
        # No member needs a target assignment of this epoch, so it counts as computed. The next member that joins does
        # not wait for the interval between two assignments.
        records.append(target_epoch_record(group.group_id, epoch, NEVER_ASSIGNED))
    groups.counts.consumer_rebalances += 1

    def gone(error: ErrorCode, follow: GroupEffects) -> None:
        # If the append failed, the members stay, and so do their timers.
        if not error:
            for member in members:
                cancel_timers(group, member.member_id, follow)

    effects.after_append(gone)


def _deserted_regexes(group: ConsumerGroup, members: list[ConsumerGroupMember]) -> list[str]:
    """The regular expressions that only these members have."""
    counts: dict[str, int] = {}
    for member in members:
        if member.subscribed_topic_regex:
            counts[member.subscribed_topic_regex] = counts.get(member.subscribed_topic_regex, 0) + 1
    return [regex for regex, count in counts.items() if group.subscribed_regexes.get(regex) == count]


def cancel_timers(group: ConsumerGroup, member_id: str, effects: GroupEffects) -> None:
    """Cancels all timers of a member."""
    for key in (consumer_session_key, rebalance_key, consumer_join_key, consumer_sync_key):
        effects.cancel_timer(key(group.group_id, member_id))
    group.rejoin_timeouts.discard(member_id)


def member_timed_out(groups: GroupRegistry, event: ConsumerGroupTimerEvent, effects: GroupEffects) -> None:
    """Removes a member whose session is over, or whose time to give up partitions, to join or to sync is over."""
    group = groups.consumer.get(event.group_id)
    member = None if group is None else group.members.get(event.member_id)
    if group is None or member is None:
        return
    if isinstance(event, ConsumerRebalanceDue) and event.member_epoch != member.member_epoch:
        # The timer is obsolete: the member has left the epoch in which it had to give up partitions.
        return
    logger.info("group %r: member %r is fenced: %s", group.group_id, member.member_id, type(event).__name__)
    fence(groups, group, [member], effects)
