"""InitializeShareGroupState (83): begins the state of share partitions, or begins it anew.

Versions: 0. Only brokers send it: the coordinator of a share group does.
Errors of each partition: INVALID_REQUEST (a negative partition or state epoch), FENCED_STATE_EPOCH,
UNKNOWN_TOPIC_OR_PARTITION, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
Source: KIP-932; ``ShareCoordinatorService.initializeState``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.share_groups import InitializeShareGroupStateRequest, InitializeShareGroupStateResponse

from ..dispatch.request import RequestContext
from ..share_state.operations import InitializeOperation
from .parts import ShareParts
from .share_state_answers import Outcomes, answer_each

API_KEY = ApiKey.INITIALIZE_SHARE_GROUP_STATE

Result = InitializeShareGroupStateResponse.PartitionResult


def handle(
    broker: ShareParts,
    request: InitializeShareGroupStateRequest,
    context: RequestContext,
    reply: Callable[[InitializeShareGroupStateResponse], None],
) -> Iterator[object]:
    """Writes a snapshot for each partition. Answers when all are durable."""
    return answer_each(
        broker,
        request.group_id,
        request.topics,
        lambda partition: InitializeOperation(partition.state_epoch, partition.start_offset),
        context.now_ms,
        lambda outcomes: reply(_response(outcomes)),
    )


def _response(outcomes: Outcomes) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        [
            InitializeShareGroupStateResponse.InitializeStateResult(
                topic_id, [Result(index, outcome.error, outcome.message) for index, outcome in partitions.items()]
            )
            for topic_id, partitions in outcomes.items()
        ]
    )
