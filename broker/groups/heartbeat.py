"""Heartbeat of a classic group. Source: ``GroupMetadataManager.classicGroupHeartbeatToClassicGroup``."""

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from .effects import Effects
from .group import ClassicGroup
from .states import GroupState


def heartbeat_of_member(group: ClassicGroup, request: HeartbeatRequest, effects: Effects) -> None:
    """Renews a member's session, and tells it of a rebalance. Raises KafkaError for whoever is not a member."""
    if group.state is GroupState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation_id:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    # Heartbeats may come before the SyncGroup, in CompletingRebalance: they count like any other.
    member = group.members[request.member_id]
    effects.set_timer(member.session_key, member.session_timeout_ms, member.session_event)
    rebalancing = group.state is GroupState.PREPARING_REBALANCE
    effects.response = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE)
