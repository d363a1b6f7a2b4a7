"""ReadShareGroupStateSummary (87): the state of share partitions without their batches.

Versions: 0 to 1. 1: the number of records that are complete from the start offset on (KIP-1226). Only brokers send it:
the coordinator of a share group does, to describe the group's offsets.
Errors of each partition: INVALID_REQUEST (a negative partition), UNKNOWN_TOPIC_OR_PARTITION, NOT_COORDINATOR,
COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR (the stored state can't be read).
A share partition without state has the start offset -1. Source: KIP-932;
``ShareCoordinatorService.readStateSummary``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.share_groups import (
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
)

from ..dispatch.request import RequestContext
from ..share_state.operations import StateOutcome, SummarizeOperation
from ..share_state.persister import StateSummary
from .parts import ShareParts
from .share_state_answers import Outcomes, answer_each

API_KEY = ApiKey.READ_SHARE_GROUP_STATE_SUMMARY

Result = ReadShareGroupStateSummaryResponse.PartitionResult


def handle(
    broker: ShareParts,
    request: ReadShareGroupStateSummaryRequest,
    context: RequestContext,
    reply: Callable[[ReadShareGroupStateSummaryResponse], None],
) -> Iterator[object]:
    """Summarises the state of each partition. Answers when all that was read is durable."""
    return answer_each(
        broker,
        request.group_id,
        request.topics,
        lambda partition: SummarizeOperation(partition.leader_epoch),
        context.now_ms,
        lambda outcomes: reply(_response(outcomes)),
    )


def _response(outcomes: Outcomes) -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(
        [
            ReadShareGroupStateSummaryResponse.ReadStateSummaryResult(
                topic_id, [_result(index, outcome) for index, outcome in partitions.items()]
            )
            for topic_id, partitions in outcomes.items()
        ]
    )


def _result(index: int, outcome: StateOutcome) -> Result:
    summary = outcome.state
    if not isinstance(summary, StateSummary):
        return Result(index, outcome.error, outcome.message)
    return Result(
        index,
        outcome.error,
        outcome.message,
        summary.state_epoch,
        summary.leader_epoch,
        summary.start_offset,
        summary.delivery_complete_count,
    )
