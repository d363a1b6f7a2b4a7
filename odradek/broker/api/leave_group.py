"""LeaveGroup (13): members leave, or an admin removes static members by their group.instance.id.

Versions: 0 to 5. 1: throttle time. 3: several members, each with an error of its own (KIP-345). 4: flexible. 5: reason
(KIP-800).
Errors: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID (of a member; before version 3 of the whole answer), FENCED_INSTANCE_ID,
COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``GroupCoordinatorService.leaveGroup``, ``LeaveGroupResponse``.
"""

from collections.abc import Callable
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import LeaveGroupRequest, LeaveGroupResponse

from ..dispatch.request import RequestContext
from ..groups.routing import leave_group
from .parts import GroupParts

API_KEY = ApiKey.LEAVE_GROUP
MEMBERS_SINCE = 3
MEMBERS_A_STEP = 64
"""The number of members removed in one step."""


def handle(
    broker: GroupParts,
    request: LeaveGroupRequest,
    context: RequestContext,
    reply: Callable[[LeaveGroupResponse], None],
) -> Steps[None]:
    """Answers after the members are removed. If that writes a record, answers after the record is stored.

    The first removal starts the rebalance.
    """
    identities = request.members
    if context.api_version < MEMBERS_SINCE:
        identities = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]
    members: dict[int, list[LeaveGroupResponse.MemberResponse]] = {}
    starts = range(0, max(1, len(identities)), MEMBERS_A_STEP)
    error = 0

    def collect(start: int, response: LeaveGroupResponse) -> None:
        nonlocal error
        error = error or response.error_code
        members[start] = response.members
        if len(members) == len(starts):
            all_members = [member for portion in starts for member in members[portion]]
            reply(LeaveGroupResponse(error_code=error, members=[] if error else all_members))

    for start in starts:
        if start:
            yield
        some = identities[start : start + MEMBERS_A_STEP]
        _leave(broker, request.group_id, some, context, partial(collect, start))


def _leave(
    broker: GroupParts,
    group_id: str,
    identities: list[LeaveGroupRequest.MemberIdentity],
    context: RequestContext,
    reply: Callable[[LeaveGroupResponse], None],
) -> None:
    def answer(response: LeaveGroupResponse) -> None:
        if context.api_version < MEMBERS_SINCE:
            # These versions have one member, and only the top-level error field.
            error = response.error_code or response.members[0].error_code
            response = LeaveGroupResponse(error_code=error)
        reply(response)

    def refused(error: ErrorCode) -> LeaveGroupResponse:
        if error is not ErrorCode.UNKNOWN_MEMBER_ID:
            return LeaveGroupResponse(error_code=error)
        # The group does not exist, so its members are unknown.
        members = [
            LeaveGroupResponse.MemberResponse(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error
            )
            for identity in identities
        ]
        return LeaveGroupResponse(members=members)

    if not group_id:
        answer(refused(ErrorCode.INVALID_GROUP_ID))
        return
    broker.group_coordinator.write(
        group_id,
        context.now_ms,
        lambda core, effects: leave_group(core, group_id, identities, effects),
        answer,
        refused,
    )
