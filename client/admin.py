"""The admin client: topics, partitions, configurations, groups, offsets.

Owns: its cluster's connections. Each call is one or a few requests to the right broker (the controller, a leader, a
coordinator). A call over several parts gives a dictionary; when some failed it raises AdminError, which has both the
errors and the results. Groups are in ``admin_groups.py``. Source: ``org.apache.kafka.clients.admin.KafkaAdminClient``.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

from ..protocol.errors import KafkaError
from ..protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ..protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from ..protocol.messages.offsets import DeleteRecordsRequest, DeleteRecordsResponse
from ..protocol.messages.structure import Message
from ..protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from .admin_groups import GroupAdmin
from .admin_results import all_or_raise, split
from .cluster import Cluster
from .connection import Connection
from .errors import BrokerConnectionError, broker_error
from .metadata import Broker, TopicMetadata, described_topics_of, topics_of
from .offsets import ISOLATION_LEVELS, list_offsets, partitions_by_topic
from .types import OffsetAndTimestamp, TopicPartition

Response = TypeVar("Response", bound=Message)

RESOURCE_TYPES = {"topic": 2, "broker": 4, "broker-logger": 8, "client-metrics": 16, "group": 32}
"""Kafka's ConfigResource types by the names of ``--entity-type``."""
CONFIG_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; -1 takes the broker's default. ``replicas_assignments``: partition -> broker ids instead."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replicas_assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A topic that was created; -1 and an empty id where the broker is too old to say."""

    name: str
    topic_id: bytes
    num_partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """Where a configuration's value could come from, in order of precedence."""

    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One configuration of a resource; ``source`` is Kafka's name of where the value comes from."""

    name: str
    value: str | None
    source: str
    is_sensitive: bool = False
    is_read_only: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster: its id, controller and brokers."""

    cluster_id: str | None
    controller_id: int
    brokers: list[Broker]


class Admin(GroupAdmin):
    """An asyncio admin client."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] = "localhost:9092",
        *,
        client_id: str = "odradek-admin",
        request_timeout_ms: float = 30_000,
        connection_timeout_ms: float = 10_000,
        default_api_timeout_ms: float = 60_000,
        retry_backoff_ms: float = 100,
        retry_backoff_max_ms: float = 1_000,
    ) -> None:
        cluster = Cluster(
            bootstrap_servers,
            client_id=client_id,
            request_timeout_ms=request_timeout_ms,
            connection_timeout_ms=connection_timeout_ms,
            retry_backoff_ms=retry_backoff_ms,
            retry_backoff_max_ms=retry_backoff_max_ms,
        )
        super().__init__(cluster, default_api_timeout_ms)

    async def start(self) -> None:
        """Reaches the cluster. Raises NoBrokersAvailableError."""
        try:
            await self._cluster.start()
        except BaseException:
            await self._cluster.close()
            raise

    async def stop(self) -> None:
        """Closes all connections."""
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        """Starts."""
        await self.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops."""
        await self.stop()

    async def _controller_call(self, request: Message, response_type: type[Response]) -> Response:
        """A request to the controller; to another broker when that one cannot be reached."""
        try:
            connection = await self._cluster.controller()
        except BrokerConnectionError:
            await self._cluster.refresh([])
            connection = await self._cluster.controller()
        return await connection.call(request, response_type, timeout_ms=self._timeout_ms)

    # Topics

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

    async def describe_topics(self, topics: Collection[str] | None = None) -> dict[str, TopicMetadata]:
        """Partitions, leaders and replicas of topics (None: all). Raises AdminError: UNKNOWN_TOPIC_OR_PARTITION.

        With the eligible leader replicas where the broker serves DescribeTopicPartitions (KIP-966).
        """
        connection = await self._cluster.any_connection()
        if DescribeTopicPartitionsRequest.API_KEY in connection.versions:
            names = await self.list_topics() if topics is None else sorted(topics)
            described = await self._describe_topic_partitions(connection, names)
        else:
            described = topics_of(await self._cluster.request_metadata(topics))
        errors, results = split((topic.name, topic.error_code, None, topic) for topic in described)
        return all_or_raise(errors, dict(sorted(results.items())))

    async def _describe_topic_partitions(self, connection: Connection, names: list[str]) -> list[TopicMetadata]:
        """Page by page: the broker bounds each answer and says where to go on."""
        topics: dict[str, TopicMetadata] = {}
        cursor: DescribeTopicPartitionsRequest.Cursor | None = None
        while True:
            request = DescribeTopicPartitionsRequest(
                topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names], cursor=cursor
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
        """Raises the number of partitions of topics to ``counts``. Raises AdminError: INVALID_PARTITIONS …"""
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

    # Records and offsets

    async def list_offsets(
        self, timestamps: Mapping[TopicPartition, int], *, isolation_level: str = "read_uncommitted"
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Offsets of timestamps in ms; -1 the end, -2 the start, -3 the record with the maximum timestamp.

        Offset -1 means that no record is that late. Raises KafkaError.
        """
        return await list_offsets(
            self._cluster, timestamps, isolation_level=ISOLATION_LEVELS[isolation_level], timeout_ms=self._timeout_ms
        )

    async def delete_records(self, before_offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Deletes what lies before the offsets (-1: everything up to the high watermark); the new low watermarks.

        Raises AdminError: OFFSET_OUT_OF_RANGE, POLICY_VIOLATION for a topic that is compacted only …
        """
        by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition in before_offsets:
            by_leader[await self._cluster.leader(*partition)].append(partition)

        async def ask(leader: int, partitions: list[TopicPartition]) -> DeleteRecordsResponse:
            request = DeleteRecordsRequest(
                topics=[
                    DeleteRecordsRequest.DeleteRecordsTopic(
                        name=name,
                        partitions=[
                            DeleteRecordsRequest.DeleteRecordsPartition(
                                partition_index=number, offset=before_offsets[TopicPartition(name, number)]
                            )
                            for number in numbers
                        ],
                    )
                    for name, numbers in partitions_by_topic(partitions).items()
                ],
                timeout_ms=int(self._timeout_ms),
            )
            connection = await self._cluster.connection(leader)
            return await connection.call(request, DeleteRecordsResponse, timeout_ms=self._timeout_ms)

        answers = await asyncio.gather(*(ask(leader, partitions) for leader, partitions in by_leader.items()))
        errors, results = split(
            (TopicPartition(topic.name, part.partition_index), part.error_code, None, part.low_watermark)
            for answer in answers
            for topic in answer.topics
            for part in topic.partitions
        )
        return all_or_raise(errors, results)

    # Configurations

    async def describe_configs(
        self, resource_type: str, names: Collection[str], *, synonyms: bool = False, documentation: bool = False
    ) -> dict[str, list[ConfigEntry]]:
        """The configurations of topics, brokers or groups by name. Raises AdminError.

        ``resource_type`` is topic, broker, broker-logger, client-metrics or group; the name of a broker is its id, ""
        stands for the cluster-wide default.
        """
        by_node: dict[int | None, list[str]] = defaultdict(list)
        for name in names:
            by_node[_node_of(resource_type, name)].append(name)
        errors: dict[str, KafkaError] = {}
        results: dict[str, list[ConfigEntry]] = {}
        for node_id, wanted in by_node.items():
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsRequest.DescribeConfigsResource(
                        resource_type=RESOURCE_TYPES[resource_type], resource_name=name, configuration_keys=None
                    )
                    for name in wanted
                ],
                include_synonyms=synonyms,
                include_documentation=documentation,
            )
            connection = await self._node_or_any(node_id)
            response = await connection.call(request, DescribeConfigsResponse, timeout_ms=self._timeout_ms)
            failed, found = split((r.resource_name, r.error_code, r.error_message, r) for r in response.results)
            errors.update(failed)
            results.update({name: [_config_entry(entry) for entry in r.configs] for name, r in found.items()})
        return all_or_raise(errors, results)

    async def incremental_alter_configs(
        self,
        resource_type: str,
        name: str,
        *,
        set_configs: Mapping[str, str] | None = None,
        delete_configs: Iterable[str] = (),
        append_configs: Mapping[str, str] | None = None,
        subtract_configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Changes configurations of one resource; those not named stay. Raises KafkaError: INVALID_CONFIG …"""
        changes: list[tuple[str, int, str | None]] = [(key, 0, value) for key, value in (set_configs or {}).items()]
        changes += [(key, 1, None) for key in delete_configs]
        changes += [(key, 2, value) for key, value in (append_configs or {}).items()]
        changes += [(key, 3, value) for key, value in (subtract_configs or {}).items()]
        request = IncrementalAlterConfigsRequest(
            resources=[
                IncrementalAlterConfigsRequest.AlterConfigsResource(
                    resource_type=RESOURCE_TYPES[resource_type],
                    resource_name=name,
                    configs=[
                        IncrementalAlterConfigsRequest.AlterableConfig(
                            name=key, config_operation=operation, value=value
                        )
                        for key, operation, value in changes
                    ],
                )
            ],
            validate_only=validate_only,
        )
        connection = await self._node_or_any(_node_of(resource_type, name))
        response = await connection.call(request, IncrementalAlterConfigsResponse, timeout_ms=self._timeout_ms)
        for answer in response.responses:
            if answer.error_code:
                raise broker_error(answer.error_code, f"{resource_type} '{name}'", answer.error_message)

    # The cluster

    async def describe_cluster(self) -> ClusterDescription:
        """The cluster's id, controller and brokers."""
        connection = await self._cluster.any_connection()
        response = await connection.call(DescribeClusterRequest(), DescribeClusterResponse)
        if response.error_code:
            raise broker_error(response.error_code, "DescribeCluster", response.error_message)
        brokers = [Broker(b.broker_id, b.host, b.port, b.rack) for b in response.brokers]
        return ClusterDescription(response.cluster_id, response.controller_id, brokers)


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


def _node_of(resource_type: str, name: str) -> int | None:
    """The broker that has to be asked about a resource: each broker about itself, any about the others."""
    return int(name) if resource_type in ("broker", "broker-logger") and name else None


def _config_entry(entry: DescribeConfigsResponse.DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=entry.name,
        value=entry.value,
        source=CONFIG_SOURCES.get(entry.config_source, "UNKNOWN"),
        is_sensitive=entry.is_sensitive,
        is_read_only=entry.read_only,
        synonyms=tuple(ConfigSynonym(s.name, s.value, CONFIG_SOURCES.get(s.source, "UNKNOWN")) for s in entry.synonyms),
        documentation=entry.documentation,
    )
