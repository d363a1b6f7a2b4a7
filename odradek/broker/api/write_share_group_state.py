"""WriteShareGroupState (85): stores changes of the state of share partitions.

Versions: 0 to 1. 1: the number of records that are complete from the start offset on (KIP-1226). Only brokers send it:
the leader of a partition does, after each acknowledgement.
Errors of each partition: INVALID_REQUEST (a negative number, or not initialised), FENCED_LEADER_EPOCH,
FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
COORDINATOR_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR (the stored state can't be read).
Source: KIP-932; ``ShareCoordinatorService.writeState``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.messages.share_groups import WriteShareGroupStateRequest, WriteShareGroupStateResponse

from ..dispatch.request import RequestContext
from ..share_state.operations import WriteOperation
from .parts import ShareParts
from .share_state_answers import Outcomes, answer_each

API_KEY = ApiKey.WRITE_SHARE_GROUP_STATE

Result = WriteShareGroupStateResponse.PartitionResult


def handle(
    broker: ShareParts,
    request: WriteShareGroupStateRequest,
    context: RequestContext,
    reply: Callable[[WriteShareGroupStateResponse], None],
) -> Iterator[object]:
    """Writes a record for each partition. Answers when all are durable."""
    return answer_each(
        broker, request.group_id, request.topics, _write, context.now_ms, lambda outcomes: reply(_response(outcomes))
    )


def _write(partition: WriteShareGroupStateRequest.PartitionData) -> WriteOperation:
    return WriteOperation(
        partition.state_epoch,
        partition.leader_epoch,
        partition.start_offset,
        partition.delivery_complete_count,
        [
            StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in partition.state_batches
        ],
    )


def _response(outcomes: Outcomes) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(
        [
            WriteShareGroupStateResponse.WriteStateResult(
                topic_id, [Result(index, outcome.error, outcome.message) for index, outcome in partitions.items()]
            )
            for topic_id, partitions in outcomes.items()
        ]
    )
