"""Sends ListOffsets to the partitions' leaders: offsets by timestamp, and the start and end of the logs.

Retriable errors are retried until the timeout. No state. Source: ``consumer.internals.OffsetFetcher``.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse

from ..errors import BrokerConnectionError, ClientError, broker_error
from ..types import OffsetAndTimestamp, TopicPartition
from .cluster import Cluster

ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}
EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1


async def list_offsets(
    cluster: Cluster,
    timestamps: Mapping[TopicPartition, int],
    *,
    isolation_level: int = 0,
    timeout_ms: float = 30_000,
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """The first offset of each partition whose record's timestamp is at or after the given one, in ms.

    Timestamp -1 is the end of the log, -2 its start, -3 the record with the maximum timestamp. The result has offset -1
    if no record is that late. Raises KafkaError for partitions that do not exist or have no leader after
    ``timeout_ms``; UnsupportedVersionError if the broker does not serve ListOffsets in a usable version.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1000
    results: dict[TopicPartition, OffsetAndTimestamp] = {}
    attempts = 0
    while True:
        missing = {partition: ts for partition, ts in timestamps.items() if partition not in results}
        if not missing:
            return results
        by_leader: dict[int, dict[TopicPartition, int]] = defaultdict(dict)
        for partition, timestamp in missing.items():
            remaining_ms = max(0.0, deadline - loop.time()) * 1000
            leader = await cluster.leader(partition.topic, partition.partition, timeout_ms=remaining_ms)
            by_leader[leader][partition] = timestamp
        answers = await asyncio.gather(
            *(
                _list_from(cluster, leader, timestamps_there, isolation_level, timeout_ms)
                for leader, timestamps_there in by_leader.items()
            )
        )
        failure: KafkaError | ClientError | None = None
        for found, error in answers:
            results.update(found)
            failure = failure or error
        if failure is not None:
            await cluster.back_off(failure, attempts, deadline)
            await cluster.refresh({partition.topic for partition in missing})
            attempts += 1


async def _list_from(
    cluster: Cluster, leader: int, timestamps: Mapping[TopicPartition, int], isolation_level: int, timeout_ms: float
) -> tuple[dict[TopicPartition, OffsetAndTimestamp], KafkaError | ClientError | None]:
    """Sends one request to one leader. Returns the offsets found and the last retriable error. Raises other errors."""
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = defaultdict(list)
    for partition, timestamp in timestamps.items():
        known = cluster.metadata.leader(*partition)
        topics[partition.topic].append(
            ListOffsetsRequest.ListOffsetsPartition(
                partition_index=partition.partition,
                current_leader_epoch=known.leader_epoch if known is not None else -1,
                timestamp=timestamp,
            )
        )
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=parts) for name, parts in topics.items()],
        timeout_ms=int(timeout_ms),
    )
    try:
        connection = await cluster.connection(leader)
        response = await connection.call(request, ListOffsetsResponse)
    except BrokerConnectionError as error:
        return {}, error
    found: dict[TopicPartition, OffsetAndTimestamp] = {}
    failure: KafkaError | None = None
    for topic in response.topics:
        for part in topic.partitions:
            partition = TopicPartition(topic.name, part.partition_index)
            if part.error_code:
                failure = broker_error(part.error_code, f"offsets of {partition}")
                if not failure.error_code.retriable:
                    raise failure
            else:
                found[partition] = OffsetAndTimestamp(part.offset, part.timestamp, part.leader_epoch)
    return found, failure
