"""Heartbeat of a classic group. Source: ``GroupMetadataManager.classicGroupHeartbeatToClassicGroup``."""

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse

from ..effects import GroupEffects
from .group import ClassicGroup, GroupState

# Made once, because answers are not changed. The members of enums are bound once: looking one up costs more than a
# call.
_GO_ON = HeartbeatResponse(error_code=ErrorCode.NONE)
_JOIN_AGAIN = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
_DEAD = GroupState.DEAD
_PREPARING_REBALANCE = GroupState.PREPARING_REBALANCE


def heartbeat_of_member(group: ClassicGroup, request: HeartbeatRequest, effects: GroupEffects) -> None:
    """Renews a member's session, and answers whether it must join again. Raises KafkaError if the sender is not a
    member."""
    state = group.state
    if state is _DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    member = group.members.get(request.member_id)
    if member is None or request.group_instance_id is not None:
        group.validate_member(request.member_id, request.group_instance_id)
    assert member is not None, "validate_member() has refused it"
    if request.generation_id != group.generation_id:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    # Heartbeats before the SyncGroup, in CompletingRebalance, renew the session too.
    effects.set_timer(member.session_timer)
    effects.response = _JOIN_AGAIN if state is _PREPARING_REBALANCE else _GO_ON
