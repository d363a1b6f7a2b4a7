"""ShareGroupHeartbeat: a member joins, renews its session, and gets its assignment.

Pure but for log lines. Owns: the order of the steps: find the group and the member, its subscription, the target
assignment, the member's assignment, partitions without state. Never does: waiting; every heartbeat is answered at once.
Members give up nothing before others take over, because several members may read one partition. Source:
``GroupMetadataManager.shareGroupHeartbeat``; KIP-932.
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

from ...coordinator.effects import SetTimer
from ...dispatch.request import RequestContext
from ..effects import GroupEffects, ShareSessionExpired, share_session_key
from ..memory import GroupMemory
from ..modern.epochs import JOINING_EPOCH, METADATA_REFRESH_INTERVAL_MS, RefreshDeadline, next_epoch
from ..modern.groups import refuse_growth, refuse_if_full
from ..modern.hash_order import partition_order, topic_map_order
from ..modern.metadata_hash import group_hash
from .group import NO_STATE_TOPICS, ShareGroup, ShareGroups
from .leaving import leave
from .member import ShareGroupMember, member_bytes
from .records import current_record, epoch_record, member_record
from .settings import assignment_interval_ms, heartbeat_interval_ms, session_timeout_ms
from .state_topics import Initialization, initialize_new
from .target_assignment import has_unassigned, topic_ids, update_target_assignment

logger = logging.getLogger(__name__)

TopicPartitions = ShareGroupHeartbeatResponse.TopicPartitions
SOON_MS = 100
"""The interval until the next heartbeat of a member that waits for partitions."""
SOON_FOR_MS = 2_000
"""How long the beginning of a partition's state may take before members wait for it at the usual interval."""


def changes_nothing(groups: ShareGroups, request: ShareGroupHeartbeatRequest, now_ms: int) -> bool:
    """Whether a heartbeat only renews the session of a member that has its target assignment."""
    group = groups.share.get(request.group_id)
    member = None if group is None else group.members.get(request.member_id)
    return (
        group is not None
        and member is not None
        and request.member_epoch == member.member_epoch
        and request.subscribed_topic_names is None
        and _is_settled(group, member, now_ms)
    )


def share_group_heartbeat(
    groups: ShareGroups, request: ShareGroupHeartbeatRequest, context: RequestContext, effects: GroupEffects
) -> Initialization | None:
    """Handles a heartbeat whose fields were checked. Returns the share partitions whose state the persister is to begin
    after the records are durable, or None. Raises KafkaError.
    """
    if request.member_epoch < 0:
        leave(groups, request, effects)
        return None
    joins = request.member_epoch == JOINING_EPOCH
    group = _group_of(groups, request.group_id, joins)
    refuse_if_full("share", groups.config.group_share_max_size, group.members, request.member_id)
    if joins:
        logger.info("group %r: member %r joins", group.group_id, request.member_id)
        member = group.members.get(request.member_id) or ShareGroupMember(request.member_id)
    else:
        member = group.existing_member(request.member_id)
        _check_epoch(member, request.member_epoch)
    updated = _updated(member, request, context)
    if updated is member and _is_settled(group, member, effects.now_ms):
        changed, wanted, group_epoch = member, None, group.group_epoch
    else:
        _refuse_without_memory(groups, group, updated)
        changed, wanted, group_epoch = _step(groups, group, member, updated, effects)
    effects.set_timer(session_timer(groups, group.group_id, changed.member_id))
    effects.response = ShareGroupHeartbeatResponse(
        member_id=changed.member_id,
        member_epoch=changed.member_epoch,
        heartbeat_interval_ms=_next_heartbeat_ms(
            groups, group, wanted, effects.now_ms, waits=changed.member_epoch < group_epoch
        ),
    )
    if joins or request.subscribed_topic_names is not None or changed.assigned != member.assigned:
        effects.response.assignment = _assignment(changed)
    return wanted


def _next_heartbeat_ms(
    groups: ShareGroups, group: ShareGroup, wanted: Initialization | None, now_ms: int, *, waits: bool
) -> int:
    """When the member shall send its next heartbeat: soon, if it may get partitions by then. ``waits``: for a target
    assignment that is not computed yet.

    In Kafka it always waits for the whole interval: the first member of a new group for 5 s.
    """
    interval_ms = heartbeat_interval_ms(groups, group.group_id)
    begun = (group.state_topics or NO_STATE_TOPICS).initializing.values()
    if wanted is not None or any(now_ms - one.since_ms < SOON_FOR_MS for one in begun):
        return min(interval_ms, SOON_MS)
    if waits:
        due_ms = group.assignment_timestamp_ms + assignment_interval_ms(groups, group.group_id) - now_ms
        return min(interval_ms, max(due_ms, SOON_MS))
    return interval_ms


def _group_of(groups: ShareGroups, group_id: str, joins: bool) -> ShareGroup:
    """Returns the group, or the one that the records will create. Raises KafkaError GROUP_ID_NOT_FOUND."""
    group = groups.share.get(group_id)
    if group is not None:
        return group
    if groups.is_taken(group_id):
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
    if not joins:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")
    return ShareGroup(group_id, GroupMemory())


def _refuse_without_memory(groups: ShareGroups, group: ShareGroup, updated: ShareGroupMember) -> None:
    """Raises KafkaError if the memory for members does not suffice for this one."""
    stored = group.members.get(updated.member_id)
    growth = member_bytes(updated) - (0 if stored is None else member_bytes(stored))
    refuse_growth(groups, group, updated.client_id, growth)


def _check_epoch(member: ShareGroupMember, epoch: int) -> None:
    """Raises KafkaError FENCED_MEMBER_EPOCH for an epoch that is neither the member's nor its previous one.

    The previous one is accepted, because the response with the new epoch may have been lost.
    """
    if epoch == member.member_epoch or (epoch < member.member_epoch and epoch == member.previous_member_epoch):
        return
    relation = "greater" if epoch > member.member_epoch else "smaller"
    previous = ""
    if relation == "smaller":
        previous = f", and it does not match the previous member epoch ({member.previous_member_epoch})"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The share group member has a {relation} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.member_epoch}){previous}. The member must abandon all its partitions and rejoin.",
    )


def _updated(
    member: ShareGroupMember, request: ShareGroupHeartbeatRequest, context: RequestContext
) -> ShareGroupMember:
    """Returns the member with the fields of the request; the same object if none has changed."""
    names = request.subscribed_topic_names
    updated = member._replace(
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",
    )
    return member if updated == member else updated


def _is_settled(group: ShareGroup, member: ShareGroupMember, now_ms: int) -> bool:
    """Whether the further steps of a heartbeat would change nothing."""
    return (
        group.calm
        and group.assignment_epoch >= group.group_epoch
        and member.is_reconciled_to(group.assignment_epoch)
        and not group.must_refresh(now_ms)
    )


def _step(
    groups: ShareGroups, group: ShareGroup, member: ShareGroupMember, updated: ShareGroupMember, effects: GroupEffects
) -> tuple[ShareGroupMember, Initialization | None, int]:
    """Takes all steps of a heartbeat that may change something. Returns the member afterwards, the share partitions
    whose state is to begin, and the group's epoch."""
    records = effects.records
    if updated != member:
        records.append(member_record(group.group_id, updated))
    bump = updated.subscribed_topic_names != member.subscribed_topic_names
    if group.assignment_epoch >= group.group_epoch:
        bump = bump or has_unassigned(groups.topics, group)
    group_epoch, names = group.group_epoch, group.subscribed_topics
    if bump or group.must_refresh(effects.now_ms):
        names = group.topic_counts_with(member, updated)
        metadata_hash = group_hash(names, groups.topics)
        bump = bump or metadata_hash != group.metadata_hash
        if bump:
            group_epoch = next_epoch(group_epoch)
            groups.counts.share_rebalances += 1
            logger.info("group %r: new epoch %d", group.group_id, group_epoch)
            records.append(epoch_record(group.group_id, group_epoch, metadata_hash))
        group.refresh_deadline = RefreshDeadline(effects.now_ms + METADATA_REFRESH_INTERVAL_MS, group_epoch)
    epoch, target = update_target_assignment(groups, group, group_epoch, updated, effects)
    if bump or not updated.is_reconciled_to(epoch):
        readable = topic_ids(updated.subscribed_topic_names, groups.topics)
        assigned = {topic_id: partitions for topic_id, partitions in target.items() if topic_id in readable}
        moved = updated.moved_to(epoch, assigned)
        if moved != updated:
            records.append(current_record(group.group_id, moved))
        updated = moved
    wanted = initialize_new(groups, group, group_epoch, names, effects)
    if not records and not (group.state_topics or NO_STATE_TOPICS).initializing:
        group.calm = group.assignment_epoch >= group_epoch
    return updated, wanted, group_epoch


def session_timer(groups: ShareGroups, group_id: str, member_id: str) -> SetTimer:
    """The timer that ends a member's session."""
    event = ShareSessionExpired(group_id, member_id)
    return SetTimer(share_session_key(group_id, member_id), session_timeout_ms(groups, group_id), event)


def _assignment(member: ShareGroupMember) -> ShareGroupHeartbeatResponse.Assignment:
    return ShareGroupHeartbeatResponse.Assignment(
        [
            TopicPartitions(topic_id, partition_order(member.assigned[topic_id]))
            for topic_id in topic_map_order(member.assigned)
        ]
    )
