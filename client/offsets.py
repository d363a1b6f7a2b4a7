"""Offset requests that consumer, admin and commands share: ListOffsets, OffsetCommit, OffsetFetch.

Each goes to the right broker (a partition's leader, a group's coordinator) and again after a retriable error until the
time is over. No state. Source: ``consumer.internals.OffsetFetcher``, ``ConsumerCoordinator``.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ..protocol.errors import ErrorCode, KafkaError
from ..protocol.messages.groups import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from ..protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from .cluster import Cluster
from .coordinator import COORDINATOR_MOVED, Coordinator
from .errors import BrokerConnectionError, ClientError, broker_error
from .types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

NAMES_UP_TO = 9
"""OffsetCommit and OffsetFetch take topic names up to this version, ids from the next on (KIP-848)."""
GROUPS_SINCE = 8
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}

Result = TypeVar("Result")


async def list_offsets(
    cluster: Cluster,
    timestamps: Mapping[TopicPartition, int],
    *,
    isolation_level: int = 0,
    timeout_ms: float = 30_000,
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """The offsets of timestamps in ms: the first record at or after it; -1 the end, -2 the start, -3 the maximum.

    Offset -1 means that no record is that late. Raises KafkaError for partitions that do not exist or have no leader
    after ``timeout_ms``; UnsupportedVersionError when the broker does not know the special timestamp.
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
            *(_list_from(cluster, leader, wanted, isolation_level, timeout_ms) for leader, wanted in by_leader.items())
        )
        failure: KafkaError | ClientError | None = None
        for found, error in answers:
            results.update(found)
            failure = failure or error
        if failure is not None:
            await _wait_or_raise(cluster, failure, attempts, deadline)
            await cluster.refresh({partition.topic for partition in missing})
            attempts += 1


async def _list_from(
    cluster: Cluster, leader: int, wanted: Mapping[TopicPartition, int], isolation_level: int, timeout_ms: float
) -> tuple[dict[TopicPartition, OffsetAndTimestamp], KafkaError | ClientError | None]:
    """One request to one leader; what it found, and the first error that may go away. Raises the others."""
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = defaultdict(list)
    for partition, timestamp in wanted.items():
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


async def _wait_or_raise(cluster: Cluster, error: Exception, attempts: int, deadline: float) -> None:
    delay_s = cluster.backoff_s(attempts)
    if asyncio.get_running_loop().time() + delay_s >= deadline:
        raise error
    await asyncio.sleep(delay_s)


async def commit_offsets(
    cluster: Cluster,
    coordinator: Coordinator,
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    generation_id: int = -1,
    member_id: str = "",
    group_instance_id: str | None = None,
    timeout_ms: float = 60_000,
) -> None:
    """Commits offsets for a group; without a member id as an outsider, which only an empty group takes.

    Raises KafkaError; the retriable ones after ``timeout_ms``.
    """
    topics: dict[str, list[OffsetCommitRequest.OffsetCommitRequestPartition]] = defaultdict(list)
    for partition, offset in offsets.items():
        topics[partition.topic].append(
            OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=partition.partition,
                committed_offset=offset.offset,
                committed_leader_epoch=offset.leader_epoch,
                committed_metadata=offset.metadata,
            )
        )
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=p) for name, p in topics.items()],
    )

    async def once() -> None:
        connection = await coordinator.connection()
        response = await connection.call(request, OffsetCommitResponse, max_version=NAMES_UP_TO)
        for topic in response.topics:
            for part in topic.partitions:
                if part.error_code:
                    raise broker_error(part.error_code, f"commit of {topic.name}-{part.partition_index}")

    await _with_retries(cluster, coordinator, once, timeout_ms)


async def fetch_committed(
    cluster: Cluster,
    coordinator: Coordinator,
    group_id: str,
    partitions: Sequence[TopicPartition] | None,
    *,
    require_stable: bool = True,
    timeout_ms: float = 60_000,
) -> dict[TopicPartition, OffsetAndMetadata]:
    """A group's committed offsets (None: of all partitions); partitions without one are left out. Raises KafkaError."""
    by_topic: dict[str, list[int]] | None = None
    if partitions is not None:
        by_topic = defaultdict(list)
        for partition in partitions:
            by_topic[partition.topic].append(partition.partition)

    async def once() -> dict[TopicPartition, OffsetAndMetadata]:
        connection = await coordinator.connection()
        version = connection.version_for(OffsetFetchRequest, NAMES_UP_TO)
        request = _offset_fetch_request(group_id, by_topic, version, require_stable)
        response = await connection.call(request, OffsetFetchResponse, max_version=NAMES_UP_TO)
        return _committed_of(group_id, response)

    return await _with_retries(cluster, coordinator, once, timeout_ms)


def _offset_fetch_request(
    group_id: str, by_topic: Mapping[str, list[int]] | None, version: int, require_stable: bool
) -> OffsetFetchRequest:
    request = OffsetFetchRequest(require_stable=require_stable and version >= 7)
    if version >= GROUPS_SINCE:
        topics = None
        if by_topic is not None:
            topics = [
                OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
                for name, numbers in by_topic.items()
            ]
        request.groups = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=topics)]
        return request
    request.group_id = group_id
    request.topics = None
    if by_topic is not None:
        request.topics = [
            OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
            for name, numbers in by_topic.items()
        ]
    return request


def _committed_of(group_id: str, response: OffsetFetchResponse) -> dict[TopicPartition, OffsetAndMetadata]:
    answer = response.groups[0] if response.groups else response
    if answer.error_code:
        raise broker_error(answer.error_code, f"offsets of group '{group_id}'")
    committed: dict[TopicPartition, OffsetAndMetadata] = {}
    for topic in answer.topics:
        for part in topic.partitions:
            partition = TopicPartition(topic.name, part.partition_index)
            if part.error_code:
                raise broker_error(part.error_code, f"offset of group '{group_id}' for {partition}")
            if part.committed_offset >= 0:
                committed[partition] = OffsetAndMetadata(
                    part.committed_offset, part.metadata or "", part.committed_leader_epoch
                )
    return committed


async def _with_retries(
    cluster: Cluster, coordinator: Coordinator, once: Callable[[], Awaitable[Result]], timeout_ms: float
) -> Result:
    deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
    attempts = 0
    while True:
        try:
            return await once()
        except KafkaError as error:
            if not error.error_code.retriable or error.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                raise
            if error.error_code in COORDINATOR_MOVED:
                coordinator.forget()
            await _wait_or_raise(cluster, error, attempts, deadline)
        except BrokerConnectionError as error:
            coordinator.forget()
            await _wait_or_raise(cluster, error, attempts, deadline)
        attempts += 1


def partitions_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partition numbers of each topic."""
    topics: dict[str, list[int]] = defaultdict(list)
    for partition in partitions:
        topics[partition.topic].append(partition.partition)
    return topics
