"""SyncGroup of a classic group: the leader sends the assignment of all members, and each member gets its own.

Source: ``GroupMetadataManager.classicGroupSyncToClassicGroup``.
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import SyncGroupRequest, SyncGroupResponse

from ...coordinator.effects import Token
from ...timers.log_lines import quoted
from ..config import GroupCoordinatorConfig
from ..effects import GroupEffects, sync_key
from .group import ClassicGroup, GroupState
from .rebalance import answer_parked_syncs, assignment_response, prepare_or_complete, reset_assignments
from .records import group_metadata_record

logger = logging.getLogger(__name__)


def sync_classic_group(
    config: GroupCoordinatorConfig, group: ClassicGroup, request: SyncGroupRequest, token: Token, effects: GroupEffects
) -> None:
    """Answers at once, or parks ``token`` until the leader's assignment is stored. Raises KafkaError if the sender is
    not a member."""
    _validate(group, request)
    member = group.members[request.member_id]
    if group.state is GroupState.PREPARING_REBALANCE:
        effects.reply(token, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    elif group.state is GroupState.STABLE:
        _has_synced(group, member.member_id, effects)
        effects.reply(token, assignment_response(group, member))
    else:
        if member.sync_token is not None:
            # Kafka drops the older of two requests without an answer. Here it is answered REBALANCE_IN_PROGRESS.
            effects.reply(member.sync_token, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_token = token
        _has_synced(group, member.member_id, effects)
        if group.is_leader(member.member_id):
            _store_assignment(config, group, request, effects)


def _validate(group: ClassicGroup, request: SyncGroupRequest) -> None:
    if group.state is GroupState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation_id:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _differs(requested: str | None, known: str | None) -> bool:
    return requested is not None and known is not None and requested != known


def _has_synced(group: ClassicGroup, member_id: str, effects: GroupEffects) -> None:
    group.pending_sync_members.pop(member_id, None)
    if not group.pending_sync_members:
        effects.cancel_timer(sync_key(group.group_id))


def _store_assignment(
    config: GroupCoordinatorConfig, group: ClassicGroup, request: SyncGroupRequest, effects: GroupEffects
) -> None:
    given = {assignment.member_id: bytes(assignment.assignment) for assignment in request.assignments}
    assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
    generation_id = group.generation_id
    counts = effects.counts  # the function below must not hold the effects, which hold it: a reference cycle

    def appended(error: ErrorCode, follow: GroupEffects) -> None:
        if group.state is not GroupState.COMPLETING_REBALANCE or group.generation_id != generation_id:
            return
        if error:
            reset_assignments(group, follow, error)
            reason = f"{error.name} when storing the assignment of {quoted(request.member_id)}"
            prepare_or_complete(config, group, follow, reason)
            return
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        answer_parked_syncs(group, follow)
        group.transition_to(GroupState.STABLE, follow.now_ms)
        counts.completed_rebalances += 1

    effects.records.append(group_metadata_record(group, assignments))
    effects.after_append(appended)
