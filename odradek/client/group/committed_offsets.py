"""Sends OffsetCommit and OffsetFetch to a group's coordinator.

Retriable errors are retried until the timeout. No state. Source: ``consumer.internals.ConsumerCoordinator``.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

from ..cluster.cluster import Cluster
from ..cluster.coordinator import COORDINATOR_MOVED, CoordinatorConnection
from ..errors import BrokerConnectionError, broker_error
from ..types import Identity, OffsetAndMetadata, TopicPartition, partitions_by_topic

NAMES_UP_TO = 9
"""The last version of OffsetCommit and OffsetFetch with topic names; later versions have topic ids (KIP-848)."""
GROUPS_SINCE = 8
MEMBERS_SINCE = 9
ASK_AGAIN_ANYWAY = frozenset({ErrorCode.STALE_MEMBER_EPOCH})
Result = TypeVar("Result")


async def commit_offsets(
    cluster: Cluster,
    coordinator: CoordinatorConnection,
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    identity: Callable[[], Identity] = Identity,
    timeout_ms: float = 60_000,
) -> None:
    """Commits offsets of a group. Without a member id only a group without members accepts the commit.

    ``identity`` is called before each attempt, so that a retry after STALE_MEMBER_EPOCH sends the new epoch. Raises
    KafkaError; retriable ones only after ``timeout_ms``.
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

    async def once() -> None:
        connection = await coordinator.connection()
        member_id, generation_id, group_instance_id = identity()
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=generation_id,
            member_id=member_id,
            group_instance_id=group_instance_id,
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=parts)
                for name, parts in topics.items()
            ],
        )
        response = await connection.call(request, OffsetCommitResponse, max_version=NAMES_UP_TO)
        for topic in response.topics:
            for part in topic.partitions:
                if part.error_code:
                    raise broker_error(part.error_code, f"commit of {topic.name}-{part.partition_index}")

    await _with_retries(cluster, coordinator, once, timeout_ms)


async def fetch_committed(
    cluster: Cluster,
    coordinator: CoordinatorConnection,
    group_id: str,
    partitions: Sequence[TopicPartition] | None,
    *,
    require_stable: bool = True,
    identity: Callable[[], Identity] = Identity,
    timeout_ms: float = 60_000,
) -> dict[TopicPartition, OffsetAndMetadata]:
    """A group's committed offsets (None: of all partitions); partitions without one are left out. Raises KafkaError.

    ``identity``: returns the member id and epoch in the consumer protocol. The coordinator refuses a stale epoch.
    """
    by_topic = None if partitions is None else partitions_by_topic(partitions)

    async def once() -> dict[TopicPartition, OffsetAndMetadata]:
        connection = await coordinator.connection()
        version = connection.version_for(OffsetFetchRequest, NAMES_UP_TO)
        request = _offset_fetch_request(group_id, by_topic, version, require_stable, identity())
        response = await connection.call(request, OffsetFetchResponse, max_version=NAMES_UP_TO)
        return _committed_of(group_id, response)

    return await _with_retries(cluster, coordinator, once, timeout_ms)


def _offset_fetch_request(
    group_id: str, by_topic: Mapping[str, list[int]] | None, version: int, require_stable: bool, identity: Identity
) -> OffsetFetchRequest:
    request = OffsetFetchRequest(require_stable=require_stable and version >= 7)
    if version >= GROUPS_SINCE:
        topics = None
        if by_topic is not None:
            topics = [
                OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
                for name, numbers in by_topic.items()
            ]
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=topics)
        if version >= MEMBERS_SINCE and identity.member_id:
            group.member_id, group.member_epoch = identity.member_id, identity.generation_id
        request.groups = [group]
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
    cluster: Cluster, coordinator: CoordinatorConnection, once: Callable[[], Awaitable[Result]], timeout_ms: float
) -> Result:
    deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
    attempts = 0
    while True:
        try:
            return await once()
        except KafkaError as error:
            if error.error_code not in ASK_AGAIN_ANYWAY and (
                not error.error_code.retriable or error.error_code == ErrorCode.REBALANCE_IN_PROGRESS
            ):
                raise
            if error.error_code in COORDINATOR_MOVED:
                coordinator.forget()
            await cluster.back_off(error, attempts, deadline)
        except BrokerConnectionError as error:
            coordinator.forget()
            await cluster.back_off(error, attempts, deadline)
        attempts += 1
