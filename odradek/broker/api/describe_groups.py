"""DescribeGroups (15): state, protocol and members of classic groups.

Versions: 0 to 6. 1: throttle time. 3: authorized operations. 4: group.instance.id. 5: flexible. 6: error message, and
GROUP_ID_NOT_FOUND instead of only the state Dead (KIP-1043).
Errors of each group (the empty group id gets them too): GROUP_ID_NOT_FOUND, COORDINATOR_LOAD_IN_PROGRESS,
NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE. Source: ``KafkaApis.handleDescribeGroupsRequest``,
``GroupCoordinatorService.describeGroups``.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import DescribeGroupsRequest, DescribeGroupsResponse

from ..dispatch.request import RequestContext
from ..groups.describe import DescribedGroup, describe_group
from ..security.authorization.authorized_operations import GROUP_OPERATIONS
from .gather_in_order import gather_in_order
from .parts import GroupParts

if TYPE_CHECKING:
    from ..groups.consumer.describe import DescribedGroup as DescribedConsumerGroup
    from ..groups.share.describe import DescribedGroup as DescribedShareGroup
    from ..groups.streams.describe import DescribedGroup as DescribedStreamsGroup

Group = TypeVar("Group", "DescribedGroup", "DescribedConsumerGroup", "DescribedShareGroup", "DescribedStreamsGroup")

API_KEY = ApiKey.DESCRIBE_GROUPS


def handle(
    broker: GroupParts,
    request: DescribeGroupsRequest,
    context: RequestContext,
    reply: Callable[[DescribeGroupsResponse], None],
) -> Iterator[object] | None:
    """Answers after every group was looked up."""

    def look_up(group_id: str, done: Callable[[DescribedGroup], None]) -> Iterator[object]:
        respond = authorized(done) if request.include_authorized_operations else done
        return _describe(broker, group_id, context.api_version, respond)

    return gather_in_order(request.groups, look_up, lambda described: reply(DescribeGroupsResponse(groups=described)))


def authorized(done: Callable[[Group], None]) -> Callable[[Group], None]:
    """Wraps ``done``: sets all group operations as authorized in a group's description before ``done`` gets it.

    With an authorizer, ``authorization/shown.py`` removes those that the client may not do.
    """

    def respond(group: Group) -> None:
        if not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        done(group)

    return respond


def _describe(
    broker: GroupParts, group_id: str, version: int, done: Callable[[DescribedGroup], None]
) -> Iterator[object]:
    def refused(error: ErrorCode) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error)

    return broker.group_coordinator.read_in_steps(
        group_id, lambda core: describe_group(core, group_id, version), done, refused
    )
