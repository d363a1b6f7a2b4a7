"""The admin client's part for elections of partition leaders. Source: ``Admin.electLeaders``; KIP-183, KIP-460."""

from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

from odradek.protocol.messages.topics import ElectLeadersRequest, ElectLeadersResponse

from ..errors import broker_error
from ..types import TopicPartition, partitions_by_topic
from .base import AdminBase


class ElectionType(IntEnum):
    """Which replica is elected: the first of the assignment, or any live one if no replica in sync is left."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectionResult(NamedTuple):
    """The outcome for one partition; ``error_code`` 0 if a leader was elected."""

    error_code: int
    error_message: str | None


class ElectionAdmin(AdminBase):
    """Calls about elections; part of Admin."""

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, ElectionResult]:
        """Elects leaders of the partitions, or of all that need one (None). Raises KafkaError if the request fails."""
        topics = None
        if partitions is not None:
            by_topic = partitions_by_topic(partitions)
            topics = [ElectLeadersRequest.TopicPartitions(topic, numbers) for topic, numbers in by_topic.items()]
        request = ElectLeadersRequest(int(election_type), topics, int(self._timeout_ms))
        response = await self._controller_call(request, ElectLeadersResponse)
        if response.error_code:
            raise broker_error(response.error_code, "ElectLeaders")
        return {
            TopicPartition(topic.topic, partition.partition_id): ElectionResult(
                partition.error_code, partition.error_message
            )
            for topic in response.replica_election_results
            for partition in topic.partition_result
        }
