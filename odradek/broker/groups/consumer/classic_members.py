"""Members of the classic protocol in a consumer group: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

Owns: the handling of these requests in a group whose assignment the coordinator computes. The member epoch is sent as
the generation. No request is parked: a member that must join again gets REBALANCE_IN_PROGRESS for its heartbeat, and
must do so within its rebalance timeout. Never does: waiting. Source:
``GroupMetadataManager``, classicGroupJoinToConsumerGroup, …SyncTo…, …HeartbeatTo…, …LeaveTo….
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from ...coordinator.effects import SetTimer, Token
from ...timers.log_lines import quoted
from ..classic.group import CONSUMER_PROTOCOL_TYPE
from ..classic.join import MEMBER_ID_REQUIRED_SINCE, PendingJoin
from ..classic.rebalance import refuse_join
from ..effects import (
    ConsumerJoinDue,
    ConsumerSessionExpired,
    ConsumerSyncDue,
    GroupEffects,
    consumer_join_key,
    consumer_session_key,
    consumer_sync_key,
)
from .consumer_protocol import (
    MalformedConsumerProtocolError,
    by_topic_id,
    read_subscription,
    version_of,
    write_assignment,
)
from .fencing import fence
from .group import ConsumerGroup
from .heartbeat import reconcile
from .member import ClassicMemberMetadata, ConsumerGroupMember, MemberState
from .membership import (
    refuse_without_memory,
    refuse_without_room,
    subscribe_static_member,
)
from .migration import Installation, downgrade, may_downgrade_replacing
from .reconciliation import OwnedPartitions
from .registry import GroupRegistry
from .subscription import (
    RegexStatus,
    store_member,
    update_regular_expression,
    update_subscription,
)
from .target_assignment import update_target_assignment

logger = logging.getLogger(__name__)

DISABLED = "disabled"


def join(groups: GroupRegistry, group: ConsumerGroup, joining: PendingJoin) -> None:
    """Handles a JoinGroup to a group that has members. Raises KafkaError."""
    if groups.config.group_consumer_migration_policy == DISABLED:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    is_unknown = not joining.member_id
    member_id = joining.member_id or groups.new_uuid()
    refuse_without_room(groups, group, member_id, joining.group_instance_id)
    if not group.supports_classic_protocols(joining.request.protocol_type, (name for name, _ in joining.protocols)):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    effects = joining.effects
    if is_unknown and joining.group_instance_id is None and joining.context.api_version >= MEMBER_ID_REQUIRED_SINCE:
        refuse_join(joining.token, member_id, ErrorCode.MEMBER_ID_REQUIRED, effects)
        return
    try:
        subscription = read_subscription(joining.protocols[0][1])
    except MalformedConsumerProtocolError as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
    member = _member_of(group, joining, member_id, is_unknown)
    updated = member._replace(
        instance_id=member.instance_id if joining.group_instance_id is None else joining.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="",
        client_id=joining.context.client_id or "",
        client_host=f"/{joining.context.client_host}",
        classic=ClassicMemberMetadata(joining.request.session_timeout_ms, tuple(joining.protocols)),
    )
    refuse_without_memory(groups, group, updated)
    owned = by_topic_id(subscription.owned_partitions, groups.topics)
    updated, install = _step(groups, group, member, updated, owned, effects)
    _answer_when_stored(group, joining, updated, install)


def _member_of(group: ConsumerGroup, joining: PendingJoin, member_id: str, is_unknown: bool) -> ConsumerGroupMember:
    instance_id = joining.group_instance_id
    if instance_id is None:
        return group.members.get(member_id) or ConsumerGroupMember(member_id)
    if is_unknown:
        return subscribe_static_member(group, member_id, instance_id, True, joining.effects.records)
    return group.existing_static_member(member_id, instance_id)


def _step(
    groups: GroupRegistry,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    owned: OwnedPartitions,
    effects: GroupEffects,
) -> tuple[ConsumerGroupMember, Installation | None]:
    """Takes all steps of a JoinGroup. Returns the updated member, and the function that starts the classic group if the
    group becomes one, else None."""
    existing = group.static_member(updated.instance_id)
    becomes_classic = existing is not None and may_downgrade_replacing(groups, group, existing)
    records = effects.records
    names_changed = store_member(group, member, updated, records)
    status = update_regular_expression(groups, group, member, updated, effects, records)
    bump = names_changed or status is not RegexStatus.NO_CHANGE
    group_epoch = group.group_epoch
    if bump or group.must_refresh(effects.now_ms):
        group_epoch = update_subscription(groups, group, bump, member, updated, effects.now_ms, records)
    if not becomes_classic:
        target = update_target_assignment(groups, group, group_epoch, member, updated, effects)
        return reconcile(groups, group, updated, target, bump, owned, effects), None
    reason = None
    if group.assignment_epoch < group_epoch:
        reason = f"Downgrade group {quoted(group.group_id)} from consumer to classic with stale assignment."
    else:
        target = group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id)
        updated = reconcile(groups, group, updated, target, bump, owned, effects)
    return updated, downgrade(groups, group, [], updated, reason, effects)


def _answer_when_stored(
    group: ConsumerGroup, joining: PendingJoin, member: ConsumerGroupMember, install: Installation | None
) -> None:
    group_id = group.group_id

    def appended(error: ErrorCode, follow: GroupEffects) -> None:
        if error:
            refuse_join(joining.token, "", error, follow)
            return
        group.rejoin_timeouts.discard(member.member_id)
        follow.cancel_timer(consumer_join_key(group_id, member.member_id))
        if install is not None:
            install(follow)
        else:
            _set_session(group_id, member, follow)
            event = ConsumerSyncDue(group_id, member.member_id)
            follow.set_timer(
                SetTimer(consumer_sync_key(group_id, member.member_id), member.rebalance_timeout_ms, event)
            )
        follow.reply(
            joining.token,
            JoinGroupResponse(
                member_id=member.member_id,
                generation_id=member.member_epoch,
                protocol_type=CONSUMER_PROTOCOL_TYPE,
                protocol_name=joining.protocols[0][0],
            ),
        )

    joining.effects.after_append(appended)


def _set_session(group_id: str, member: ConsumerGroupMember, effects: GroupEffects) -> None:
    assert member.classic is not None
    event = ConsumerSessionExpired(group_id, member.member_id)
    effects.set_timer(
        SetTimer(consumer_session_key(group_id, member.member_id), member.classic.session_timeout_ms, event)
    )


def sync(
    groups: GroupRegistry, group: ConsumerGroup, request: SyncGroupRequest, token: Token, effects: GroupEffects
) -> None:
    """Handles a SyncGroup: answers with the partitions that the member owns. Raises KafkaError."""
    member, classic = _classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not classic.protocols or request.protocol_name not in (None, classic.protocols[0][0]):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.assignment_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        _await_join(group, member, effects)
        effects.reply(token, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        return
    effects.cancel_timer(consumer_sync_key(group.group_id, member.member_id))
    _set_session(group.group_id, member, effects)
    assigned = {topic_id: frozenset(epochs) for topic_id, epochs in member.assigned.items()}
    try:
        version = version_of(classic.protocols[0][1])
    except MalformedConsumerProtocolError as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
    assignment = write_assignment(assigned, version, groups.topics)
    effects.reply(
        token,
        SyncGroupResponse(
            protocol_type=request.protocol_type, protocol_name=request.protocol_name, assignment=assignment
        ),
    )


def heartbeat(group: ConsumerGroup, request: HeartbeatRequest, effects: GroupEffects) -> None:
    """Handles a Heartbeat: the member must join again if it has partitions to take or to give up. Raises KafkaError."""
    member, _ = _classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
    _set_session(group.group_id, member, effects)
    error = ErrorCode.NONE
    released = member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_unreleased(member)
    behind = member.member_epoch < group.assignment_epoch
    if behind or released or member.state is MemberState.UNREVOKED_PARTITIONS:
        error = ErrorCode.REBALANCE_IN_PROGRESS
        _await_join(group, member, effects)
    effects.response = HeartbeatResponse(error_code=error)


def _await_join(group: ConsumerGroup, member: ConsumerGroupMember, effects: GroupEffects) -> None:
    """Sets the timer that removes a member if it does not join again within its rebalance timeout. The time runs from
    the first REBALANCE_IN_PROGRESS."""
    if member.member_id in group.rejoin_timeouts:
        return
    group.rejoin_timeouts.add(member.member_id)
    event = ConsumerJoinDue(group.group_id, member.member_id)
    effects.set_timer(SetTimer(consumer_join_key(group.group_id, member.member_id), member.rebalance_timeout_ms, event))


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
) -> tuple[ConsumerGroupMember, ClassicMemberMetadata]:
    """Returns a member of the classic protocol. Raises KafkaError for an unknown member, or for another generation."""
    member = group.sender(member_id, instance_id)
    if member.classic is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol.")
    if member.member_epoch != generation_id:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    return member, member.classic


def leave(
    groups: GroupRegistry,
    group: ConsumerGroup,
    identities: list[LeaveGroupRequest.MemberIdentity],
    effects: GroupEffects,
) -> None:
    """Handles a LeaveGroup of members, or of an administrator who names instance ids."""
    responses = []
    leaving: dict[str, ConsumerGroupMember] = {}
    for identity in identities:
        error = ErrorCode.NONE
        try:
            member = _identified(group, identity)
        except KafkaError as refusal:
            error = refusal.error_code
        else:
            logger.info("group %r: %r leaves: %r", group.group_id, member.member_id, identity.reason or "not provided")
            leaving[member.member_id] = member
        responses.append(
            LeaveGroupResponse.MemberResponse(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error
            )
        )
    effects.response = LeaveGroupResponse(members=responses)
    fence(groups, group, list(leaving.values()), effects)


def _identified(group: ConsumerGroup, identity: LeaveGroupRequest.MemberIdentity) -> ConsumerGroupMember:
    if identity.group_instance_id is None:
        return group.existing_member(identity.member_id)
    member = group.static_member(identity.group_instance_id)
    # An administrator does not know the member's id.
    if member is not None and not identity.member_id:
        return member
    return group.existing_static_member(identity.member_id, identity.group_instance_id)
