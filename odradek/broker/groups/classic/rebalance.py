"""The rebalance: preparing it, waiting for the members, starting the next generation.

Owns: the path PreparingRebalance -> CompletingRebalance (or Empty). Never does: answering a request that is not parked.
Source: ``GroupMetadataManager``, methods prepareRebalance to completeClassicGroupJoin.
"""

import logging

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import JoinGroupResponse, SyncGroupResponse

from ...coordinator.effects import SetTimer, Token
from ..config import GroupCoordinatorConfig
from ..effects import GroupEffects, InitialJoinDue, JoinDue, SyncDue, join_key, sync_key
from .group import ClassicGroup, GroupState
from .member import ClassicMember
from .records import group_metadata_record

logger = logging.getLogger(__name__)

MIN_RETRY_MS = 500
"""The shortest wait for static members that have not joined. The rebalance timeout of a client or a record may be 0."""


def prepare_or_complete(
    config: GroupCoordinatorConfig, group: ClassicGroup, effects: GroupEffects, reason: str
) -> None:
    """Starts a rebalance if the state allows it; otherwise completes the joining phase if all members have joined."""
    if group.can_rebalance():
        prepare(config, group, effects, reason)
    else:
        complete_join_if_all_joined(group, effects)


def prepare(config: GroupCoordinatorConfig, group: ClassicGroup, effects: GroupEffects, reason: str) -> None:
    """Enters PreparingRebalance: members with a parked SyncGroup must join again, and a timer limits the wait."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        reset_assignments(group, effects, ErrorCode.REBALANCE_IN_PROGRESS)
    cancel_sync_wait(group, effects)
    initial = group.state is GroupState.EMPTY
    group.transition_to(GroupState.PREPARING_REBALANCE, effects.now_ms)
    logger.info("group %r rebalances after generation %d: %s", group.group_id, group.generation_id, reason)
    if initial:
        # A new group gives further members some time, so that they need no second rebalance (KIP-134).
        delay_ms = config.group_initial_rebalance_delay_ms
        remaining_ms = max(group.rebalance_timeout_ms() - delay_ms, 0)
        event = InitialJoinDue(group.group_id, delay_ms, remaining_ms)
        effects.set_timer(SetTimer(join_key(group.group_id), delay_ms, event))
    elif group.has_all_members_joined():
        complete_join(group, effects)
    else:
        effects.set_timer(SetTimer(join_key(group.group_id), group.rebalance_timeout_ms(), JoinDue(group.group_id)))


def extend_initial_join(
    config: GroupCoordinatorConfig, group: ClassicGroup, effects: GroupEffects, delay_ms: int, remaining_ms: int
) -> None:
    """The initial delay is over: waits longer if members have joined and time remains, otherwise starts the
    generation."""
    if not group.new_member_added or remaining_ms == 0:
        complete_join(group, effects)
        return
    group.new_member_added = False
    next_delay_ms = min(config.group_initial_rebalance_delay_ms, remaining_ms)
    event = InitialJoinDue(group.group_id, next_delay_ms, max(remaining_ms - delay_ms, 0))
    effects.set_timer(SetTimer(join_key(group.group_id), next_delay_ms, event))


def complete_join_if_all_joined(group: ClassicGroup, effects: GroupEffects) -> None:
    """Starts the next generation if all members have joined. An initial rebalance always waits for its delay."""
    if (
        group.state is GroupState.PREPARING_REBALANCE
        and group.previous_state is not GroupState.EMPTY
        and group.has_all_members_joined()
    ):
        complete_join(group, effects)


def complete_join(group: ClassicGroup, effects: GroupEffects) -> None:
    """Starts the next generation with the members that have joined. Dynamic members that have not are removed."""
    effects.cancel_timer(join_key(group.group_id))
    missing = [member for member in group.members.values() if not member.is_awaiting_join and not member.is_static]
    for member in missing:
        group.remove(member.member_id)
        effects.cancel_timer(member.session_key)
    if missing:
        logger.info(
            "group %r: removed members that did not join in time: %s", group.group_id, [m.member_id for m in missing]
        )
    if group.state is GroupState.DEAD:
        return
    if not group.elect_joined_leader() and group.members:
        # Only static members are left, and none has joined: wait until their sessions end.
        delay_ms = max(group.rebalance_timeout_ms(), MIN_RETRY_MS)
        effects.set_timer(SetTimer(join_key(group.group_id), delay_ms, JoinDue(group.group_id)))
        return
    group.start_next_generation(effects.now_ms)
    logger.info("group %r, generation %d: %d members", group.group_id, group.generation_id, len(group.members))
    if group.state is GroupState.EMPTY:
        _remember_empty(group, effects)
        return
    for member in group.members.values():
        token = group.pop_join_token(member)
        if token is not None:
            effects.reply(token, generation_response(group, member.member_id))
        effects.set_timer(member.session_timer)
        member.is_new = False
        group.pending_sync_members[member.member_id] = None
    effects.set_timer(
        SetTimer(sync_key(group.group_id), group.rebalance_timeout_ms(), SyncDue(group.group_id, group.generation_id))
    )


def _remember_empty(group: ClassicGroup, effects: GroupEffects) -> None:
    def appended(error: ErrorCode, _: GroupEffects) -> None:
        if error:
            # This is safe: a restart loads the old generation, and the sessions of its members end.
            logger.warning("group %r: could not store that it has no members: %s", group.group_id, error.name)

    effects.records.append(group_metadata_record(group, {}))
    effects.after_append(appended)


def generation_response(group: ClassicGroup, member_id: str, skip_assignment: bool = False) -> JoinGroupResponse:
    """Returns the answer to a JoinGroup in the current generation. The leader's lists all members."""
    members = []
    if group.is_leader(member_id) and group.protocol_name is not None:
        members = [
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(group.protocol_name),
            )
            for member in group.members.values()
        ]
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def refuse_join(token: Token, member_id: str, error: ErrorCode, effects: GroupEffects) -> None:
    """Answers a JoinGroup with an error."""
    effects.reply(token, JoinGroupResponse(error_code=error, protocol_name=None, member_id=member_id))


def refuse_parked_join(group: ClassicGroup, member: ClassicMember, error: ErrorCode, effects: GroupEffects) -> None:
    """Answers the member's parked JoinGroup, if there is one, with an error and without its member id."""
    token = group.pop_join_token(member)
    if token is not None:
        refuse_join(token, "", error, effects)


def refuse_parked_sync(member: ClassicMember, error: ErrorCode, effects: GroupEffects) -> None:
    """Answers the member's parked SyncGroup, if there is one, with an error.

    Kafka does not answer it if its member leaves, so the client waits for its request timeout.
    """
    if member.sync_token is not None:
        effects.reply(member.sync_token, SyncGroupResponse(error_code=error))
        member.sync_token = None


def cancel_sync_wait(group: ClassicGroup, effects: GroupEffects) -> None:
    """Stops waiting for members in the synchronising phase."""
    group.pending_sync_members.clear()
    effects.cancel_timer(sync_key(group.group_id))


def reset_assignments(group: ClassicGroup, effects: GroupEffects, error: ErrorCode) -> None:
    """Removes all assignments and answers every parked SyncGroup with the error."""
    for member in group.members.values():
        member.assignment = b""
    answer_parked_syncs(group, effects, error)


def answer_parked_syncs(group: ClassicGroup, effects: GroupEffects, error: ErrorCode = ErrorCode.NONE) -> None:
    """Answers every parked SyncGroup with the member's assignment, or with an error."""
    for member in group.members.values():
        token = member.sync_token
        if token is None:
            continue
        member.sync_token = None
        if error:
            effects.reply(token, SyncGroupResponse(error_code=error))
        else:
            effects.reply(token, assignment_response(group, member))
        # A member with a parked request needs no heartbeats; now its session starts again.
        effects.set_timer(member.session_timer)


def assignment_response(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    """The answer to a SyncGroup: a member's assignment in the current generation."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )
