"""DescribeGroups (15): state, protocol and members of classic groups.

Versions: 0 to 6. 1: throttle time. 3: authorized operations. 4: group.instance.id. 5: flexible. 6: error message, and
GROUP_ID_NOT_FOUND where earlier versions only say Dead (KIP-1043).
Errors of each group (also of the group "", which is none): GROUP_ID_NOT_FOUND, COORDINATOR_LOAD_IN_PROGRESS,
NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleDescribeGroupsRequest``, ``GroupCoordinatorService.describeGroups``.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.groups import DescribeGroupsRequest, DescribeGroupsResponse
from ..group_core.describe import DescribedGroup, describe_group
from ..request import RequestContext
from .look_ups import look_up_all
from .needs import HasGroupCoordinator

if TYPE_CHECKING:
    from ..consumer_groups.describe import DescribedGroup as DescribedConsumerGroup

API_KEY = ApiKey.DESCRIBE_GROUPS
# READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS of AclOperation as bits: all that a group knows, since
# nothing is forbidden without an authorizer.
ALL_GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


def handle(
    broker: HasGroupCoordinator,
    request: DescribeGroupsRequest,
    context: RequestContext,
    reply: Callable[[DescribeGroupsResponse], None],
) -> None:
    """Answers when every group has been looked up."""

    def answer(described: list[DescribedGroup]) -> None:
        if request.include_authorized_operations:
            authorize(described)
        reply(DescribeGroupsResponse(groups=described))

    look_up_all(request.groups, lambda group_id, done: _describe(broker, group_id, context.api_version, done), answer)


def authorize(described: Iterable["DescribedGroup | DescribedConsumerGroup"]) -> None:
    """Says of the groups that there are what a client may do with them: everything."""
    for group in described:
        if not group.error_code:
            group.authorized_operations = ALL_GROUP_OPERATIONS


def _describe(broker: HasGroupCoordinator, group_id: str, version: int, done: Callable[[DescribedGroup], None]) -> None:
    def refused(error: ErrorCode) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error)

    broker.group_coordinator.read(group_id, lambda core: describe_group(core, group_id, version), done, refused)
