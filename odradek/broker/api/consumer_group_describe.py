"""ConsumerGroupDescribe (69): epochs, state, members and assignments of consumer groups (KIP-848).

Versions: 0 to 1. 1: whether a member uses the classic or the new protocol.
Errors of each group: UNSUPPORTED_VERSION (group.version is not finalised), INVALID_GROUP_ID, GROUP_ID_NOT_FOUND,
COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleConsumerGroupDescribe``, ``GroupCoordinatorService.consumerGroupDescribe``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse

from ..dispatch.request import RequestContext
from ..groups.consumer.describe import DescribedGroup, describe_consumer_group
from ..metadata.image.features import GROUP_VERSION
from .describe_groups import authorized
from .gather_in_order import gather_in_order
from .parts import GroupParts

API_KEY = ApiKey.CONSUMER_GROUP_DESCRIBE


def handle(
    broker: GroupParts,
    request: ConsumerGroupDescribeRequest,
    context: RequestContext,
    reply: Callable[[ConsumerGroupDescribeResponse], None],
) -> Iterator[object] | None:
    """Answers after every group was looked up."""

    def look_up(group_id: str, done: Callable[[DescribedGroup], None]) -> Iterator[object] | None:
        return _describe(broker, group_id, authorized(done) if request.include_authorized_operations else done)

    return gather_in_order(
        request.group_ids, look_up, lambda described: reply(ConsumerGroupDescribeResponse(groups=described))
    )


def _describe(broker: GroupParts, group_id: str, done: Callable[[DescribedGroup], None]) -> Iterator[object] | None:
    def refused(error: ErrorCode) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error)

    coordinator = broker.group_coordinator
    if not broker.metadata.image.features.get(GROUP_VERSION) or not coordinator.config.serves_consumer_protocol:
        done(refused(ErrorCode.UNSUPPORTED_VERSION))
        return None
    if not group_id:
        done(refused(ErrorCode.INVALID_GROUP_ID))
        return None
    return coordinator.read_in_steps(
        group_id, lambda core: describe_consumer_group(core.groups, group_id), done, refused
    )
