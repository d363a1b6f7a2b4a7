"""The admin client's part for topics: create, delete, list, describe, add partitions.

Source: ``org.apache.kafka.clients.admin.KafkaAdminClient``; KIP-966 for eligible leader replicas.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.protocol.messages.metadata import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

from ..cluster.connection import BrokerConnection
from ..cluster.metadata import TopicMetadata, described_topics_of, topics_of
from .base import AdminBase, all_or_raise, split

PARTITIONS_A_RESPONSE = 2_000


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create. A number of -1 is the broker's default.

    ``replicas_assignments`` (partition -> broker ids) replaces both numbers.
    """

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replicas_assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str | None] = field(default_factory=dict)


class CreatedTopic(NamedTuple):
    """A topic that was created. Numbers are -1 and the id is empty if the broker is too old to send them."""

    name: str
    topic_id: bytes
    num_partitions: int
    replication_factor: int


class TopicAdmin(AdminBase):
    """Calls about topics; part of Admin."""

    async def create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False
    ) -> dict[str, CreatedTopic]:
        """Creates topics. Raises AdminError: TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_CONFIG …"""
        request = CreateTopicsRequest(
            topics=[_creatable(topic) for topic in topics],
            timeout_ms=int(self._timeout_ms),
            validate_only=validate_only,
        )
        response = await self._controller_call(request, CreateTopicsResponse)
        errors, results = split((topic.name, topic.error_code, topic.error_message, topic) for topic in response.topics)
        created = {
            name: CreatedTopic(name, topic.topic_id, topic.num_partitions, topic.replication_factor)
            for name, topic in results.items()
        }
        return all_or_raise(errors, created)

    async def delete_topics(self, topics: Iterable[str]) -> dict[str, None]:
        """Deletes topics. Raises AdminError: UNKNOWN_TOPIC_OR_PARTITION, TOPIC_DELETION_DISABLED …"""
        names = list(topics)
        request = DeleteTopicsRequest(timeout_ms=int(self._timeout_ms))
        connection = await self._cluster.controller()
        if connection.version_for(DeleteTopicsRequest) >= 6:
            request.topics = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in names]
        else:
            request.topic_names = names
        response = await connection.call(request, DeleteTopicsResponse, timeout_ms=self._timeout_ms)
        errors, results = split(
            (topic.name or "", topic.error_code, topic.error_message, None) for topic in response.responses
        )
        return all_or_raise(errors, results)

    async def list_topics(self) -> list[str]:
        """The names of all topics, sorted."""
        return sorted(topic.name for topic in await self._cluster.list_topics())

    async def describe_topics(
        self, topics: Collection[str] | None = None, partitions_a_response: int = PARTITIONS_A_RESPONSE
    ) -> dict[str, TopicMetadata]:
        """Partitions, leaders and replicas of topics (None: all). Raises AdminError: UNKNOWN_TOPIC_OR_PARTITION.

        ``partitions_a_response`` is the maximum number of partitions in one response; further requests get the rest.
        The eligible leader replicas are known if the broker serves DescribeTopicPartitions (KIP-966).
        """
        connection = await self._cluster.any_connection()
        if DescribeTopicPartitionsRequest.API_KEY in connection.versions:
            names = await self.list_topics() if topics is None else sorted(topics)
            described = await self._describe_topic_partitions(connection, names, partitions_a_response)
        else:
            described = topics_of(await self._cluster.request_metadata(topics))
        errors, results = split((topic.name, topic.error_code, None, topic) for topic in described)
        return all_or_raise(errors, dict(sorted(results.items())))

    async def describe_topic_of_id(self, topic_id: bytes) -> TopicMetadata | None:
        """The topic that has this id, or None. Without eligible leader replicas, which Metadata does not have."""
        return next((topic for topic in await self._cluster.list_topics() if topic.topic_id == topic_id), None)

    async def _describe_topic_partitions(
        self, connection: BrokerConnection, names: list[str], partitions_a_response: int
    ) -> list[TopicMetadata]:
        """Describes topics page by page: each response has a limit, and a cursor for the next request."""
        topics: dict[str, TopicMetadata] = {}
        cursor: DescribeTopicPartitionsRequest.Cursor | None = None
        while True:
            request = DescribeTopicPartitionsRequest(
                topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names],
                response_partition_limit=partitions_a_response,
                cursor=cursor,
            )
            response = await connection.call(request, DescribeTopicPartitionsResponse, timeout_ms=self._timeout_ms)
            for topic in described_topics_of(response):
                if topic.name in topics:
                    topics[topic.name].partitions.update(topic.partitions)
                else:
                    topics[topic.name] = topic
            if response.next_cursor is None:
                return list(topics.values())
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=response.next_cursor.topic_name, partition_index=response.next_cursor.partition_index
            )

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        *,
        validate_only: bool = False,
    ) -> dict[str, None]:
        """Adds partitions to topics until they have ``counts``. Raises AdminError: INVALID_PARTITIONS …"""
        assignments = assignments or {}
        request = CreatePartitionsRequest(
            topics=[
                CreatePartitionsRequest.CreatePartitionsTopic(
                    name=name,
                    count=count,
                    assignments=[
                        CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=list(ids))
                        for ids in assignments[name]
                    ]
                    if name in assignments
                    else None,
                )
                for name, count in counts.items()
            ],
            timeout_ms=int(self._timeout_ms),
            validate_only=validate_only,
        )
        response = await self._controller_call(request, CreatePartitionsResponse)
        errors, results = split((topic.name, topic.error_code, topic.error_message, None) for topic in response.results)
        return all_or_raise(errors, results)


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    return CreateTopicsRequest.CreatableTopic(
        name=topic.name,
        num_partitions=-1 if topic.replicas_assignments else topic.num_partitions,
        replication_factor=-1 if topic.replicas_assignments else topic.replication_factor,
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(partition_index=number, broker_ids=list(ids))
            for number, ids in topic.replicas_assignments.items()
        ],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()
        ],
    )
