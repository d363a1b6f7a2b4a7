"""What a client asks first: versions, brokers, topics.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, ZERO_UUID, Message, Structure


class ApiVersionsRequest(Message):
    """Kafka's ApiVersionsRequest (request), API key 18, versions 0-4, flexible 3+, listeners broker and
    controller.

    - client_software_name: string, versions 3+, ignorable
    - client_software_version: string, versions 3+, ignorable
    """

    __slots__ = (
        "client_software_name",
        "client_software_version",
    )

    NAME: ClassVar[str] = "ApiVersionsRequest"
    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.unknown_tagged_fields = None


class ApiVersionsResponse(Message):
    """Kafka's ApiVersionsResponse (response), API key 18, versions 0-4, flexible 3+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - api_keys: []ApiVersion, versions 0+
    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - supported_features: []SupportedFeatureKey, versions 3+, tag 0, ignorable
    - finalized_features_epoch: int64, versions 3+, tag 1, ignorable
    - finalized_features: []FinalizedFeatureKey, versions 3+, tag 2, ignorable
    - zk_migration_ready: bool, versions 3+, tag 3, ignorable
    """

    class ApiVersion(Structure):
        """Structure ApiVersion, versions 0+.

        - api_key: int16, versions 0+, map key
        - min_version: int16, versions 0+
        - max_version: int16, versions 0+
        """

        __slots__ = (
            "api_key",
            "min_version",
            "max_version",
        )

        def __init__(
            self,
            api_key: int = 0,
            min_version: int = 0,
            max_version: int = 0,
        ) -> None:
            self.api_key = api_key
            self.min_version = min_version
            self.max_version = max_version
            self.unknown_tagged_fields = None

    class SupportedFeatureKey(Structure):
        """Structure SupportedFeatureKey, versions 3+.

        - name: string, versions 3+, map key
        - min_version: int16, versions 3+
        - max_version: int16, versions 3+
        """

        __slots__ = (
            "name",
            "min_version",
            "max_version",
        )

        def __init__(
            self,
            name: str = "",
            min_version: int = 0,
            max_version: int = 0,
        ) -> None:
            self.name = name
            self.min_version = min_version
            self.max_version = max_version
            self.unknown_tagged_fields = None

    class FinalizedFeatureKey(Structure):
        """Structure FinalizedFeatureKey, versions 3+.

        - name: string, versions 3+, map key
        - max_version_level: int16, versions 3+
        - min_version_level: int16, versions 3+
        """

        __slots__ = (
            "name",
            "max_version_level",
            "min_version_level",
        )

        def __init__(
            self,
            name: str = "",
            max_version_level: int = 0,
            min_version_level: int = 0,
        ) -> None:
            self.name = name
            self.max_version_level = max_version_level
            self.min_version_level = min_version_level
            self.unknown_tagged_fields = None

    __slots__ = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
    )

    NAME: ClassVar[str] = "ApiVersionsResponse"
    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersionsResponse.ApiVersion] | None = None,
        throttle_time_ms: int = 0,
        supported_features: list[ApiVersionsResponse.SupportedFeatureKey] | None = None,
        finalized_features_epoch: int = -1,
        finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] | None = None,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is None else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is None else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is None else finalized_features
        self.zk_migration_ready = zk_migration_ready
        self.unknown_tagged_fields = None


class DescribeClusterRequest(Message):
    """Kafka's DescribeClusterRequest (request), API key 60, versions 0-2, flexible 0+, listeners broker and
    controller.

    - include_cluster_authorized_operations: bool, versions 0+
    - endpoint_type: int8, versions 1+
    - include_fenced_brokers: bool, versions 2+
    """

    __slots__ = (
        "include_cluster_authorized_operations",
        "endpoint_type",
        "include_fenced_brokers",
    )

    NAME: ClassVar[str] = "DescribeClusterRequest"
    API_KEY: ClassVar[int] = 60
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers
        self.unknown_tagged_fields = None


class DescribeClusterResponse(Message):
    """Kafka's DescribeClusterResponse (response), API key 60, versions 0-2, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - endpoint_type: int8, versions 1+
    - cluster_id: string, versions 0+
    - controller_id: int32, versions 0+
    - brokers: []DescribeClusterBroker, versions 0+
    - cluster_authorized_operations: int32, versions 0+
    """

    class DescribeClusterBroker(Structure):
        """Structure DescribeClusterBroker, versions 0+.

        - broker_id: int32, versions 0+, map key
        - host: string, versions 0+
        - port: int32, versions 0+
        - rack: string, versions 0+, nullable 0+
        - is_fenced: bool, versions 2+
        """

        __slots__ = (
            "broker_id",
            "host",
            "port",
            "rack",
            "is_fenced",
        )

        def __init__(
            self,
            broker_id: int = 0,
            host: str = "",
            port: int = 0,
            rack: str | None = None,
            is_fenced: bool = False,
        ) -> None:
            self.broker_id = broker_id
            self.host = host
            self.port = port
            self.rack = rack
            self.is_fenced = is_fenced
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
    )

    NAME: ClassVar[str] = "DescribeClusterResponse"
    API_KEY: ClassVar[int] = 60
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterResponse.DescribeClusterBroker] | None = None,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is None else brokers
        self.cluster_authorized_operations = cluster_authorized_operations
        self.unknown_tagged_fields = None


class DescribeTopicPartitionsRequest(Message):
    """Kafka's DescribeTopicPartitionsRequest (request), API key 75, versions 0, flexible 0+, listeners broker.

    - topics: []TopicRequest, versions 0+
    - response_partition_limit: int32, versions 0+
    - cursor: Cursor, versions 0+, nullable 0+
    """

    class TopicRequest(Structure):
        """Structure TopicRequest, versions 0+.

        - name: string, versions 0+
        """

        __slots__ = ("name",)

        def __init__(
            self,
            name: str = "",
        ) -> None:
            self.name = name
            self.unknown_tagged_fields = None

    class Cursor(Structure):
        """Structure Cursor, versions 0+.

        - topic_name: string, versions 0+
        - partition_index: int32, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partition_index",
        )

        def __init__(
            self,
            topic_name: str = "",
            partition_index: int = 0,
        ) -> None:
            self.topic_name = topic_name
            self.partition_index = partition_index
            self.unknown_tagged_fields = None

    __slots__ = (
        "topics",
        "response_partition_limit",
        "cursor",
    )

    NAME: ClassVar[str] = "DescribeTopicPartitionsRequest"
    API_KEY: ClassVar[int] = 75
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topics: list[DescribeTopicPartitionsRequest.TopicRequest] | None = None,
        response_partition_limit: int = 2000,
        cursor: DescribeTopicPartitionsRequest.Cursor | None = None,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor
        self.unknown_tagged_fields = None


class DescribeTopicPartitionsResponse(Message):
    """Kafka's DescribeTopicPartitionsResponse (response), API key 75, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+, ignorable; how long the client should wait before its next request,
      because of a quota
    - topics: []DescribeTopicPartitionsResponseTopic, versions 0+
    - next_cursor: Cursor, versions 0+, nullable 0+
    """

    class DescribeTopicPartitionsResponsePartition(Structure):
        """Structure DescribeTopicPartitionsResponsePartition, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - partition_index: int32, versions 0+
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+, ignorable; counts the changes of the leader
        - replica_nodes: []int32, versions 0+
        - isr_nodes: []int32, versions 0+
        - eligible_leader_replicas: []int32, versions 0+, nullable 0+
        - last_known_elr: []int32, versions 0+, nullable 0+
        - offline_replicas: []int32, versions 0+, ignorable
        """

        __slots__ = (
            "error_code",
            "partition_index",
            "leader_id",
            "leader_epoch",
            "replica_nodes",
            "isr_nodes",
            "eligible_leader_replicas",
            "last_known_elr",
            "offline_replicas",
        )

        def __init__(
            self,
            error_code: int = 0,
            partition_index: int = 0,
            leader_id: int = 0,
            leader_epoch: int = -1,
            replica_nodes: list[int] | None = None,
            isr_nodes: list[int] | None = None,
            eligible_leader_replicas: list[int] | None = None,
            last_known_elr: list[int] | None = None,
            offline_replicas: list[int] | None = None,
        ) -> None:
            self.error_code = error_code
            self.partition_index = partition_index
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.replica_nodes = [] if replica_nodes is None else replica_nodes
            self.isr_nodes = [] if isr_nodes is None else isr_nodes
            self.eligible_leader_replicas = eligible_leader_replicas
            self.last_known_elr = last_known_elr
            self.offline_replicas = [] if offline_replicas is None else offline_replicas
            self.unknown_tagged_fields = None

    class DescribeTopicPartitionsResponseTopic(Structure):
        """Structure DescribeTopicPartitionsResponseTopic, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - name: string, versions 0+, nullable 0+, map key
        - topic_id: uuid, versions 0+, ignorable; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - is_internal: bool, versions 0+, ignorable
        - partitions: []DescribeTopicPartitionsResponsePartition, versions 0+
        - topic_authorized_operations: int32, versions 0+
        """

        __slots__ = (
            "error_code",
            "name",
            "topic_id",
            "is_internal",
            "partitions",
            "topic_authorized_operations",
        )

        def __init__(
            self,
            error_code: int = 0,
            name: str | None = "",
            topic_id: bytes = ZERO_UUID,
            is_internal: bool = False,
            partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition] | None = None,
            topic_authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.name = name
            self.topic_id = topic_id
            self.is_internal = is_internal
            self.partitions = [] if partitions is None else partitions
            self.topic_authorized_operations = topic_authorized_operations
            self.unknown_tagged_fields = None

    class Cursor(Structure):
        """Structure Cursor, versions 0+.

        - topic_name: string, versions 0+
        - partition_index: int32, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partition_index",
        )

        def __init__(
            self,
            topic_name: str = "",
            partition_index: int = 0,
        ) -> None:
            self.topic_name = topic_name
            self.partition_index = partition_index
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
        "next_cursor",
    )

    NAME: ClassVar[str] = "DescribeTopicPartitionsResponse"
    API_KEY: ClassVar[int] = 75
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] | None = None,
        next_cursor: DescribeTopicPartitionsResponse.Cursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.next_cursor = next_cursor
        self.unknown_tagged_fields = None


class MetadataRequest(Message):
    """Kafka's MetadataRequest (request), API key 3, versions 0-13, flexible 9+, listeners broker.

    - topics: []MetadataRequestTopic, versions 0+, nullable 1+
    - allow_auto_topic_creation: bool, versions 4+
    - include_cluster_authorized_operations: bool, versions 8-10
    - include_topic_authorized_operations: bool, versions 8+
    """

    class MetadataRequestTopic(Structure):
        """Structure MetadataRequestTopic, versions 0+.

        - topic_id: uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - name: string, versions 0+, nullable 10+
        """

        __slots__ = (
            "topic_id",
            "name",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            name: str | None = "",
        ) -> None:
            self.topic_id = topic_id
            self.name = name
            self.unknown_tagged_fields = None

    __slots__ = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )

    NAME: ClassVar[str] = "MetadataRequest"
    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_SINCE: ClassVar[int] = 9

    def __init__(
        self,
        topics: list[MetadataRequest.MetadataRequestTopic] | None = NEW_LIST,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics = [] if topics is NEW_LIST else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations
        self.unknown_tagged_fields = None


class MetadataResponse(Message):
    """Kafka's MetadataResponse (response), API key 3, versions 0-13, flexible 9+.

    - throttle_time_ms: int32, versions 3+, ignorable; how long the client should wait before its next request,
      because of a quota
    - brokers: []MetadataResponseBroker, versions 0+
    - cluster_id: string, versions 2+, nullable 2+, ignorable
    - controller_id: int32, versions 1+, ignorable
    - topics: []MetadataResponseTopic, versions 0+
    - cluster_authorized_operations: int32, versions 8-10
    - error_code: int16, versions 13+, ignorable; an ErrorCode, 0 for success
    """

    class MetadataResponseBroker(Structure):
        """Structure MetadataResponseBroker, versions 0+.

        - node_id: int32, versions 0+, map key
        - host: string, versions 0+
        - port: int32, versions 0+
        - rack: string, versions 1+, nullable 1+, ignorable
        """

        __slots__ = (
            "node_id",
            "host",
            "port",
            "rack",
        )

        def __init__(
            self,
            node_id: int = 0,
            host: str = "",
            port: int = 0,
            rack: str | None = None,
        ) -> None:
            self.node_id = node_id
            self.host = host
            self.port = port
            self.rack = rack
            self.unknown_tagged_fields = None

    class MetadataResponsePartition(Structure):
        """Structure MetadataResponsePartition, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - partition_index: int32, versions 0+
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 7+, ignorable; counts the changes of the leader
        - replica_nodes: []int32, versions 0+
        - isr_nodes: []int32, versions 0+
        - offline_replicas: []int32, versions 5+, ignorable
        """

        __slots__ = (
            "error_code",
            "partition_index",
            "leader_id",
            "leader_epoch",
            "replica_nodes",
            "isr_nodes",
            "offline_replicas",
        )

        def __init__(
            self,
            error_code: int = 0,
            partition_index: int = 0,
            leader_id: int = 0,
            leader_epoch: int = -1,
            replica_nodes: list[int] | None = None,
            isr_nodes: list[int] | None = None,
            offline_replicas: list[int] | None = None,
        ) -> None:
            self.error_code = error_code
            self.partition_index = partition_index
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.replica_nodes = [] if replica_nodes is None else replica_nodes
            self.isr_nodes = [] if isr_nodes is None else isr_nodes
            self.offline_replicas = [] if offline_replicas is None else offline_replicas
            self.unknown_tagged_fields = None

    class MetadataResponseTopic(Structure):
        """Structure MetadataResponseTopic, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - name: string, versions 0+, nullable 12+, map key
        - topic_id: uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - is_internal: bool, versions 1+, ignorable
        - partitions: []MetadataResponsePartition, versions 0+
        - topic_authorized_operations: int32, versions 8+
        """

        __slots__ = (
            "error_code",
            "name",
            "topic_id",
            "is_internal",
            "partitions",
            "topic_authorized_operations",
        )

        def __init__(
            self,
            error_code: int = 0,
            name: str | None = "",
            topic_id: bytes = ZERO_UUID,
            is_internal: bool = False,
            partitions: list[MetadataResponse.MetadataResponsePartition] | None = None,
            topic_authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.name = name
            self.topic_id = topic_id
            self.is_internal = is_internal
            self.partitions = [] if partitions is None else partitions
            self.topic_authorized_operations = topic_authorized_operations
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
    )

    NAME: ClassVar[str] = "MetadataResponse"
    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_SINCE: ClassVar[int] = 9

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponse.MetadataResponseBroker] | None = None,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponse.MetadataResponseTopic] | None = None,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is None else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is None else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
        self.unknown_tagged_fields = None
