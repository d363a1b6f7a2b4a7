"""ListGroups (16): the groups that this broker coordinates.

Versions: 0 to 5. 1: throttle time. 3: flexible. 4: states, and a filter by them (KIP-518). 5: types, and a filter by
them (KIP-848).
Errors: COORDINATOR_LOAD_IN_PROGRESS (until all led partitions of ``__consumer_offsets`` are loaded),
COORDINATOR_NOT_AVAILABLE.
Source: ``GroupCoordinatorService.listGroups``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import ListGroupsRequest, ListGroupsResponse

from ..dispatch.request import RequestContext
from ..groups.describe import list_groups, normalised
from .parts import GroupParts

API_KEY = ApiKey.LIST_GROUPS

ListedGroup = ListGroupsResponse.ListedGroup


def handle(
    broker: GroupParts,
    request: ListGroupsRequest,
    context: RequestContext,
    reply: Callable[[ListGroupsResponse], None],
) -> Iterator[object]:
    """Answers after all partitions of ``__consumer_offsets`` that this broker leads were queried."""
    states, types = normalised(request.states_filter), normalised(request.types_filter)

    def answer(groups: list[ListedGroup], error: ErrorCode) -> None:
        reply(ListGroupsResponse(error_code=error, groups=groups))

    try:
        yield from broker.group_coordinator.gather(lambda core: list_groups(core, states, types), answer)
    except KafkaError as error:
        answer([], error.error_code)
