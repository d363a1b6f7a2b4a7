"""JoinGroup (11): a member joins its group, or joins again for a rebalance.

Versions: 0 to 9. 1: rebalance timeout. 2: throttle time. 4: a new member first gets an id and must join again with it
(KIP-394). 5: group.instance.id (KIP-345). 6: flexible. 7: protocol type in the answer, protocol name null on errors. 8:
reason (KIP-800). 9: ``skip_assignment``, for a static leader that rejoins (KIP-814).
Errors: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, UNKNOWN_MEMBER_ID, MEMBER_ID_REQUIRED, INCONSISTENT_GROUP_PROTOCOL,
GROUP_MAX_SIZE_REACHED, FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
COORDINATOR_NOT_AVAILABLE.
Source: ``GroupCoordinatorService.joinGroup``.

The answer is sent after all members have joined, or after the rebalance timeout.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import JoinGroupRequest, JoinGroupResponse

from ..dispatch.request import RequestContext, in_one_step
from ..groups.routing import join_group
from .parts import GroupParts

API_KEY = ApiKey.JOIN_GROUP
NULL_PROTOCOL_NAME_SINCE = 7
FEW_MEMBERS = 64
"""A leader's answer with more members than this is encoded in slices."""


def handle(
    broker: GroupParts,
    request: JoinGroupRequest,
    context: RequestContext,
    reply: Callable[[JoinGroupResponse], None],
) -> Iterator[object] | None:
    """Answers an error immediately. Otherwise the group keeps ``reply`` and calls it when all members have joined.

    Requests are served in slices, because thousands of members may join at once after a broker's restart.
    """

    def answer(response: JoinGroupResponse) -> None:
        # Before version 7 the protocol name cannot be null; since then it is null if the group has none.
        response.protocol_name = response.protocol_name or (
            None if context.api_version >= NULL_PROTOCOL_NAME_SINCE else ""
        )
        if len(response.members) > FEW_MEMBERS:
            context.in_slices = True
        reply(response)

    def refused(error: ErrorCode) -> JoinGroupResponse:
        return JoinGroupResponse(error_code=error, member_id=request.member_id)

    coordinator = broker.group_coordinator
    config = coordinator.config
    if not request.group_id:
        answer(refused(ErrorCode.INVALID_GROUP_ID))
        return None
    if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
        answer(refused(ErrorCode.INVALID_SESSION_TIMEOUT))
        return None
    for protocol in request.protocols:
        # The request may be served in a later turn of the event loop, when the frame's bytes are no longer valid.
        protocol.metadata = bytes(protocol.metadata)

    def serve() -> None:
        coordinator.write(
            request.group_id,
            context.now_ms,
            lambda core, effects: join_group(core, request, context, answer, effects),
            answer,
            lambda error: JoinGroupResponse(error_code=error),
        )

    return in_one_step(context, serve)
