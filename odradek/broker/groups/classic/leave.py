"""LeaveGroup of a classic group: members leave, or an administrator removes them by instance id.

Source: ``GroupMetadataManager.classicGroupLeaveToClassicGroup``; KIP-345, KIP-800.
"""

import logging

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import LeaveGroupRequest, LeaveGroupResponse

from ...timers.log_lines import quoted_list
from ..config import GroupCoordinatorConfig
from ..effects import GroupEffects, session_key
from .group import ClassicGroup, GroupState
from .rebalance import complete_join_if_all_joined, prepare_or_complete, refuse_parked_join, refuse_parked_sync

logger = logging.getLogger(__name__)

MemberIdentity = LeaveGroupRequest.MemberIdentity


def leave_classic_group(
    config: GroupCoordinatorConfig, group: ClassicGroup, identities: list[MemberIdentity], effects: GroupEffects
) -> None:
    """Removes members; the response has an error code for each. Raises KafkaError if the group is being unloaded."""
    if group.state is GroupState.DEAD:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    responses = []
    left = []
    for identity in identities:
        error = _remove_member(group, identity, effects)
        if not error:
            left.append(identity.member_id or identity.group_instance_id or "")
        responses.append(
            LeaveGroupResponse.MemberResponse(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error
            )
        )
    effects.response = LeaveGroupResponse(members=responses)
    if not left:
        return
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        prepare_or_complete(config, group, effects, f"members {quoted_list(left)} have left")
    elif group.state is GroupState.PREPARING_REBALANCE:
        complete_join_if_all_joined(group, effects)


def _remove_member(group: ClassicGroup, identity: MemberIdentity, effects: GroupEffects) -> ErrorCode:
    member_id = identity.member_id
    if not member_id:
        # An administrator removes static members without knowing their member ids.
        known = group.static_members.get(identity.group_instance_id or "")
        if identity.group_instance_id is None or known is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = known
    elif member_id in group.pending_join_members:
        group.remove(member_id)
        effects.cancel_timer(session_key(group.group_id, member_id))
        return ErrorCode.NONE
    else:
        try:
            group.validate_member(member_id, identity.group_instance_id)
        except KafkaError as error:
            return error.error_code
    member = group.members[member_id]
    logger.info("member %r leaves group %r: %r", member_id, group.group_id, identity.reason or "not provided")
    effects.cancel_timer(member.session_key)
    refuse_parked_join(group, member, ErrorCode.UNKNOWN_MEMBER_ID, effects)
    refuse_parked_sync(member, ErrorCode.UNKNOWN_MEMBER_ID, effects)
    group.remove(member_id)
    return ErrorCode.NONE
