"""LeaveGroup (13): members leave, or an admin removes static members by their group.instance.id.

Versions: 0 to 5. 1: throttle time. 3: several members, each with an error of its own (KIP-345). 4: flexible. 5: reason
(KIP-800).
Errors: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID (a member's, or the whole answer's before version 3), FENCED_INSTANCE_ID,
COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``GroupCoordinatorService.leaveGroup``, ``LeaveGroupResponse``.
"""

from collections.abc import Callable

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.groups import LeaveGroupRequest, LeaveGroupResponse
from ..group_core.member_requests import leave_group
from ..request import RequestContext
from .needs import HasGroupCoordinator

API_KEY = ApiKey.LEAVE_GROUP
MEMBERS_SINCE = 3


def handle(
    broker: HasGroupCoordinator,
    request: LeaveGroupRequest,
    context: RequestContext,
    reply: Callable[[LeaveGroupResponse], None],
) -> None:
    """Answers when the departure is stored, where it must be."""
    identities = request.members
    if context.api_version < MEMBERS_SINCE:
        identities = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]

    def answer(response: LeaveGroupResponse) -> None:
        if context.api_version < MEMBERS_SINCE:
            # One member, one error: it is the answer's.
            error = response.error_code or response.members[0].error_code
            response = LeaveGroupResponse(error_code=error)
        reply(response)

    def refused(error: ErrorCode) -> LeaveGroupResponse:
        if error is not ErrorCode.UNKNOWN_MEMBER_ID:
            return LeaveGroupResponse(error_code=error)
        # There is no such group: then no member of it either.
        members = [
            LeaveGroupResponse.MemberResponse(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error
            )
            for identity in identities
        ]
        return LeaveGroupResponse(members=members)

    if not request.group_id:
        answer(refused(ErrorCode.INVALID_GROUP_ID))
        return
    broker.group_coordinator.write(
        request.group_id,
        context.now_ms,
        lambda core, effects: leave_group(core, request.group_id, identities, effects),
        answer,
        refused,
    )
