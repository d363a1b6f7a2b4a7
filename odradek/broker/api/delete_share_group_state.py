"""DeleteShareGroupState (86): deletes the state of share partitions.

Versions: 0. Only brokers send it: the coordinator of a share group does.
Errors of each partition: INVALID_REQUEST (a negative partition), UNKNOWN_TOPIC_OR_PARTITION, NOT_COORDINATOR,
COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE. It is not an error if a share partition has no
state.
Source: KIP-932; ``ShareCoordinatorService.deleteState``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.share_groups import DeleteShareGroupStateRequest, DeleteShareGroupStateResponse

from ..dispatch.request import RequestContext
from ..share_state.operations import DeleteOperation
from .parts import ShareParts
from .share_state_answers import Outcomes, answer_each

API_KEY = ApiKey.DELETE_SHARE_GROUP_STATE

Result = DeleteShareGroupStateResponse.PartitionResult


def handle(
    broker: ShareParts,
    request: DeleteShareGroupStateRequest,
    context: RequestContext,
    reply: Callable[[DeleteShareGroupStateResponse], None],
) -> Iterator[object]:
    """Writes a tombstone for each partition that has a state. Answers when all are durable."""
    return answer_each(
        broker,
        request.group_id,
        request.topics,
        lambda _: DeleteOperation(),
        context.now_ms,
        lambda outcomes: reply(_response(outcomes)),
    )


def _response(outcomes: Outcomes) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(
        [
            DeleteShareGroupStateResponse.DeleteStateResult(
                topic_id, [Result(index, outcome.error, outcome.message) for index, outcome in partitions.items()]
            )
            for topic_id, partitions in outcomes.items()
        ]
    )
