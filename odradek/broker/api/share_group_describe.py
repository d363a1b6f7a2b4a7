"""ShareGroupDescribe (77): epochs, state, members and assignments of share groups (KIP-932).

Versions: 1. 0 was an early access version.
Errors of each group: UNSUPPORTED_VERSION (share.version is not finalised), INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleShareGroupDescribe``, ``GroupCoordinatorService.shareGroupDescribe``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.share_groups import ShareGroupDescribeRequest, ShareGroupDescribeResponse

from ..dispatch.request import RequestContext
from ..groups.share.describe import DescribedGroup, describe_share_group
from ..metadata.image.features import SHARE_VERSION
from .describe_groups import authorized
from .gather_in_order import gather_in_order
from .parts import GroupParts

API_KEY = ApiKey.SHARE_GROUP_DESCRIBE


def handle(
    broker: GroupParts,
    request: ShareGroupDescribeRequest,
    context: RequestContext,
    reply: Callable[[ShareGroupDescribeResponse], None],
) -> Iterator[object] | None:
    """Answers after every group was looked up."""

    def look_up(group_id: str, done: Callable[[DescribedGroup], None]) -> Iterator[object] | None:
        return _describe(broker, group_id, authorized(done) if request.include_authorized_operations else done)

    return gather_in_order(
        request.group_ids, look_up, lambda described: reply(ShareGroupDescribeResponse(groups=described))
    )


def _describe(broker: GroupParts, group_id: str, done: Callable[[DescribedGroup], None]) -> Iterator[object] | None:
    def refused(error: ErrorCode) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error)

    if not broker.metadata.image.features.get(SHARE_VERSION):
        done(refused(ErrorCode.UNSUPPORTED_VERSION))
        return None
    if not group_id:
        done(refused(ErrorCode.INVALID_GROUP_ID))
        return None
    return broker.group_coordinator.read_in_steps(
        group_id, lambda core: describe_share_group(core.groups, group_id), done, refused
    )
