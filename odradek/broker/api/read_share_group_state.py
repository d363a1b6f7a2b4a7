"""ReadShareGroupState (84): the state of share partitions.

Versions: 0. Only brokers send it: the leader of a partition does, before it serves a share group.
Errors of each partition: INVALID_REQUEST (a negative partition or leader epoch, or not initialised),
FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
COORDINATOR_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR (the stored state can't be read).
A new leader epoch is stored before the answer. Source: KIP-932; ``ShareCoordinatorService.readState``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.share_groups import ReadShareGroupStateRequest, ReadShareGroupStateResponse

from ..dispatch.request import RequestContext
from ..share_state.operations import ReadOperation, StateOutcome
from ..share_state.persister import ReadState
from .parts import ShareParts
from .share_state_answers import Outcomes, answer_each

API_KEY = ApiKey.READ_SHARE_GROUP_STATE

Result = ReadShareGroupStateResponse.PartitionResult


def handle(
    broker: ShareParts,
    request: ReadShareGroupStateRequest,
    context: RequestContext,
    reply: Callable[[ReadShareGroupStateResponse], None],
) -> Iterator[object]:
    """Reads the state of each partition. Answers when all that was read is durable."""
    return answer_each(
        broker,
        request.group_id,
        request.topics,
        lambda partition: ReadOperation(partition.leader_epoch),
        context.now_ms,
        lambda outcomes: reply(_response(outcomes)),
    )


def _response(outcomes: Outcomes) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        [
            ReadShareGroupStateResponse.ReadStateResult(
                topic_id, [_result(index, outcome) for index, outcome in partitions.items()]
            )
            for topic_id, partitions in outcomes.items()
        ]
    )


def _result(index: int, outcome: StateOutcome) -> Result:
    state = outcome.state
    if not isinstance(state, ReadState):
        return Result(index, outcome.error, outcome.message)
    batches = [ReadShareGroupStateResponse.StateBatch(*batch) for batch in state.batches]
    return Result(index, outcome.error, outcome.message, state.state_epoch, state.start_offset, batches)
