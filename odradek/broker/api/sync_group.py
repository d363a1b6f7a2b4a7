"""SyncGroup (14): the leader sends the assignment of a generation, and each member gets its own part.

Versions: 0 to 5. 1: throttle time. 3: group.instance.id. 4: flexible. 5: protocol type and name, which are required.
Errors: INVALID_GROUP_ID, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID,
REBALANCE_IN_PROGRESS, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleSyncGroupRequest``, ``GroupCoordinatorService.syncGroup``.

The answer is sent after the leader's assignment is stored.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import SyncGroupRequest, SyncGroupResponse

from ..dispatch.request import RequestContext
from ..groups.routing import sync_group
from .parts import GroupParts

API_KEY = ApiKey.SYNC_GROUP
PROTOCOL_REQUIRED_SINCE = 5


def _refused(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error)


def handle(
    broker: GroupParts,
    request: SyncGroupRequest,
    context: RequestContext,
    reply: Callable[[SyncGroupResponse], None],
) -> None:
    """Answers an error immediately. Otherwise the group keeps ``reply`` until the assignment is stored."""
    if context.api_version >= PROTOCOL_REQUIRED_SINCE and None in (request.protocol_type, request.protocol_name):
        reply(_refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        return
    if not request.group_id:
        reply(_refused(ErrorCode.INVALID_GROUP_ID))
        return
    broker.group_coordinator.write(
        request.group_id,
        context.now_ms,
        lambda core, effects: sync_group(core, request, reply, effects),
        reply,
        _refused,
    )
