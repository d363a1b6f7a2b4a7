"""Transactional ids, and the producers of a partition."""

from odradek.protocol.common.wall_clock import clock_ms

from ..arguments import ViewArguments
from ..context import Context, Json
from .places import partition_in

ROWS_AT_ONCE = 50


async def transactions(context: Context, arguments: ViewArguments) -> Json:
    """All transactional ids: state, producer id and coordinator."""
    return {
        "transactions": [
            {
                "name": found.transactional_id,
                "state": found.state,
                "producerId": str(found.producer_id),
                "coordinator": found.coordinator,
            }
            for found in await context.admin.list_transactions()
        ]
    }


async def details(context: Context, arguments: ViewArguments) -> Json:
    """What the rows in sight show: epoch, timeout, how long the transaction is open, its partitions. Ids: up to 50."""
    names = arguments.items("names")[:ROWS_AT_ONCE]
    now_ms = clock_ms()
    return {
        name: {
            "producerEpoch": found.producer_epoch,
            "timeoutMs": found.timeout_ms,
            "startTime": None if found.start_time_ms is None else str(found.start_time_ms),
            "openSeconds": None if found.start_time_ms is None else max(0, now_ms - found.start_time_ms) / 1000,
            "partitions": [str(partition) for partition in found.partitions[:100]],
            "partitionCount": len(found.partitions),
        }
        for name, found in (await context.admin.describe_transactions(names)).items()
    }


async def producers(context: Context, arguments: ViewArguments) -> Json:
    """The producers that a partition's leader knows."""
    partition = partition_in(arguments)
    found = (await context.admin.describe_producers([partition]))[partition]
    return [
        {
            "producerId": str(state.producer_id),
            "producerEpoch": state.producer_epoch,
            "lastSequence": state.last_sequence,
            "lastTime": str(state.last_timestamp_ms),
            "coordinatorEpoch": state.coordinator_epoch,
            "openSince": None if state.transaction_start_offset is None else str(state.transaction_start_offset),
        }
        for state in found
    ]
