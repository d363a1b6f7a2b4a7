"""The admin client's part for reassignments of partitions to brokers.

Source: ``Admin.alterPartitionReassignments``, ``Admin.listPartitionReassignments``; KIP-455, KIP-860.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from odradek.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

from ..errors import broker_error
from ..types import TopicPartition, partitions_by_topic
from .base import AdminBase


class PartitionReassignment(NamedTuple):
    """A reassignment in progress; ``replicas`` includes the adding and the removing replicas."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ReassignmentResult(NamedTuple):
    """The outcome for one partition; ``error_code`` 0 if it was accepted."""

    error_code: int
    error_message: str | None


class ReassignmentAdmin(AdminBase):
    """Calls about reassignments; part of Admin."""

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The reassignments in progress, of these partitions or of all (None). Raises KafkaError."""
        topics = None
        if partitions is not None:
            topics = [
                ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(name, numbers)
                for name, numbers in partitions_by_topic(partitions).items()
            ]
        request = ListPartitionReassignmentsRequest(int(self._timeout_ms), topics)
        response = await self._controller_call(request, ListPartitionReassignmentsResponse)
        if response.error_code:
            raise broker_error(response.error_code, "ListPartitionReassignments", response.error_message)
        return {
            TopicPartition(topic.name, partition.partition_index): PartitionReassignment(
                tuple(partition.replicas), tuple(partition.adding_replicas), tuple(partition.removing_replicas)
            )
            for topic in response.topics
            for partition in topic.partitions
        }

    async def alter_partition_reassignments(
        self,
        replicas: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
    ) -> dict[TopicPartition, ReassignmentResult]:
        """Starts reassignments to these replicas; None cancels a partition's reassignment. Returns each outcome.

        Raises KafkaError if the whole request fails.
        """
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=int(self._timeout_ms),
            allow_replication_factor_change=allow_replication_factor_change,
            topics=[
                AlterPartitionReassignmentsRequest.ReassignableTopic(
                    name, [_target(number, replicas[TopicPartition(name, number)]) for number in numbers]
                )
                for name, numbers in partitions_by_topic(replicas).items()
            ],
        )
        response = await self._controller_call(request, AlterPartitionReassignmentsResponse)
        if response.error_code:
            raise broker_error(response.error_code, "AlterPartitionReassignments", response.error_message)
        return {
            TopicPartition(topic.name, partition.partition_index): ReassignmentResult(
                partition.error_code, partition.error_message
            )
            for topic in response.responses
            for partition in topic.partitions
        }


def _target(number: int, replicas: Sequence[int] | None) -> AlterPartitionReassignmentsRequest.ReassignablePartition:
    new_replicas = None if replicas is None else list(replicas)
    return AlterPartitionReassignmentsRequest.ReassignablePartition(number, new_replicas)
