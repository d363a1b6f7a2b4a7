"""The admin client's part for log directories: list their replicas, and move replicas between them.

Source: ``Admin.describeLogDirs``, ``Admin.alterReplicaLogDirs``; KIP-113.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from odradek.protocol.errors import ErrorCode, error_of
from odradek.protocol.messages.log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

from ..errors import broker_error
from ..types import TopicPartition, partitions_by_topic
from .base import AdminBase, all_or_raise, split


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """A replica in a log directory: ``size`` in bytes, ``offset_lag`` in offsets.

    ``is_future``: it is the copy in the directory that the replica is being moved to.
    """

    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """One log directory. Sizes are in bytes, -1 if the broker does not send them; ``error`` is NONE if it is online."""

    path: str
    error: ErrorCode
    total_bytes: int
    usable_bytes: int
    is_cordoned: bool
    replicas: Mapping[TopicPartition, ReplicaInfo] = field(default_factory=dict)


class LogDirAdmin(AdminBase):
    """Calls about log directories; part of Admin."""

    async def describe_log_dirs(
        self, brokers: Collection[int], partitions: Iterable[TopicPartition] | None = None
    ) -> dict[int, list[LogDirDescription]]:
        """The log directories of each broker (by id), with the replicas of these partitions; None: with all replicas.

        Raises KafkaError.
        """
        of_topic = DescribeLogDirsRequest.DescribableLogDirTopic
        topics = None
        if partitions is not None:
            topics = [of_topic(topic, numbers) for topic, numbers in partitions_by_topic(partitions).items()]

        async def ask(broker_id: int) -> list[LogDirDescription]:
            connection = await self._cluster.connection(broker_id)
            response = await connection.call(DescribeLogDirsRequest(topics), DescribeLogDirsResponse)
            if response.error_code:
                raise broker_error(response.error_code, "DescribeLogDirs", None)
            return [_description(result) for result in response.results]

        answers = await asyncio.gather(*map(ask, brokers))
        return dict(zip(brokers, answers, strict=True))

    async def alter_replica_log_dirs(self, broker_id: int, paths: Mapping[TopicPartition, str]) -> None:
        """Moves replicas of a broker to log directories (absolute paths). Raises AdminError, errors by partition."""
        by_path: dict[str, list[TopicPartition]] = {}
        for partition, path in paths.items():
            by_path.setdefault(path, []).append(partition)
        request = AlterReplicaLogDirsRequest(
            [
                AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                    path,
                    [
                        AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(topic, numbers)
                        for topic, numbers in partitions_by_topic(partitions).items()
                    ],
                )
                for path, partitions in by_path.items()
            ]
        )
        connection = await self._cluster.connection(broker_id)
        response = await connection.call(request, AlterReplicaLogDirsResponse)
        errors, done = split(
            (TopicPartition(topic.topic_name, partition.partition_index), partition.error_code, None, None)
            for topic in response.results
            for partition in topic.partitions
        )
        all_or_raise(errors, done)


def _description(result: DescribeLogDirsResponse.DescribeLogDirsResult) -> LogDirDescription:
    replicas = {
        TopicPartition(topic.name, partition.partition_index): ReplicaInfo(
            partition.partition_size, partition.offset_lag, partition.is_future_key
        )
        for topic in result.topics
        for partition in topic.partitions
    }
    error = error_of(result.error_code)
    return LogDirDescription(
        result.log_dir, error, result.total_bytes, result.usable_bytes, result.is_cordoned, replicas
    )
