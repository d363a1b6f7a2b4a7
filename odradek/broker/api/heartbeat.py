"""Heartbeat (12): a member shows that it is alive, and learns whether there is a rebalance.

Versions: 0 to 4. 1: throttle time. 3: group.instance.id. 4: flexible.
Errors: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS,
NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE. While the group's partition of ``__consumer_offsets`` is loading, the answer
is NONE, so that a member keeps its partitions while the broker restarts. Source: ``GroupCoordinatorService.heartbeat``.

Costs one decision, one timer and one answer, but no append.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse

from ..dispatch.request import RequestContext
from ..groups.routing import heartbeat
from .parts import GroupParts

API_KEY = ApiKey.HEARTBEAT


def _refused(error: ErrorCode) -> HeartbeatResponse:
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        error = ErrorCode.NONE
    return HeartbeatResponse(error_code=error)


def handle(
    broker: GroupParts,
    request: HeartbeatRequest,
    context: RequestContext,
    reply: Callable[[HeartbeatResponse], None],
) -> None:
    """Answers at once."""
    if not request.group_id:
        reply(_refused(ErrorCode.INVALID_GROUP_ID))
        return
    broker.group_coordinator.write(
        request.group_id, context.now_ms, lambda core, effects: heartbeat(core, request, effects), reply, _refused
    )
