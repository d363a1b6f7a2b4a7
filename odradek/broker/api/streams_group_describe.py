"""StreamsGroupDescribe (89): epochs, state, topology, members and tasks of streams groups (KIP-1071).

Versions: 0, 1. 1: the assignor's name, and the topology's description, which no group has here: as in a Kafka without a
plugin that stores descriptions, its status is "not stored" for clients that ask for it.
Errors of each group: UNSUPPORTED_VERSION (streams.version is not finalised, or the protocol is disabled),
INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleStreamsGroupDescribe``, ``GroupCoordinatorService.streamsGroupDescribe``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse

from ..dispatch.request import RequestContext
from ..groups.streams.describe import DescribedGroup, describe_streams_group
from ..metadata.image.features import STREAMS_VERSION
from .describe_groups import authorized
from .gather_in_order import gather_in_order
from .parts import GroupParts

API_KEY = ApiKey.STREAMS_GROUP_DESCRIBE
DESCRIPTION_NOT_STORED = 1


def handle(
    broker: GroupParts,
    request: StreamsGroupDescribeRequest,
    context: RequestContext,
    reply: Callable[[StreamsGroupDescribeResponse], None],
) -> Iterator[object] | None:
    """Answers after every group was looked up."""

    def look_up(group_id: str, done: Callable[[DescribedGroup], None]) -> Iterator[object] | None:
        def described(group: DescribedGroup) -> None:
            if request.include_topology_description and not group.error_code:
                group.topology_description_status = DESCRIPTION_NOT_STORED
            done(group)

        return _describe(
            broker, group_id, authorized(described) if request.include_authorized_operations else described
        )

    return gather_in_order(
        request.group_ids, look_up, lambda described: reply(StreamsGroupDescribeResponse(groups=described))
    )


def _describe(broker: GroupParts, group_id: str, done: Callable[[DescribedGroup], None]) -> Iterator[object] | None:
    coordinator = broker.group_coordinator

    def refused(error: ErrorCode) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error)

    if not broker.metadata.image.features.get(STREAMS_VERSION) or not coordinator.config.serves_streams_protocol:
        done(refused(ErrorCode.UNSUPPORTED_VERSION))
        return None
    if not group_id:
        done(refused(ErrorCode.INVALID_GROUP_ID))
        return None
    return coordinator.read_in_steps(
        group_id, lambda core: describe_streams_group(core.groups, group_id), done, refused
    )
