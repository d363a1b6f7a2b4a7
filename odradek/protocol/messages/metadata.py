"""What a client asks first: versions, brokers, topics.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, ZERO_UUID, Message, Structure


class ApiVersionsRequest(Message):
    """Kafka's ApiVersionsRequest (request), API key 18, versions 0-5, flexible 3+, listeners broker and
    controller.
    """

    NAME = "ApiVersionsRequest"
    API_KEY = 18
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    client_software_name: str = ""
    """string, versions 3+, ignorable"""
    client_software_version: str = ""
    """string, versions 3+, ignorable"""
    cluster_id: str | None = None
    """string, versions 5+, nullable 5+, ignorable"""
    node_id: int = -1
    """int32, versions 5+, ignorable"""


class ApiVersionsResponse(Message):
    """Kafka's ApiVersionsResponse (response), API key 18, versions 0-5, flexible 3+."""

    class ApiVersion(Structure):
        """Structure ApiVersion, versions 0+."""

        api_key: int = 0
        """int16, versions 0+, map key"""
        min_version: int = 0
        """int16, versions 0+"""
        max_version: int = 0
        """int16, versions 0+"""

    class SupportedFeatureKey(Structure):
        """Structure SupportedFeatureKey, versions 3+."""

        name: str = ""
        """string, versions 3+, map key"""
        min_version: int = 0
        """int16, versions 3+"""
        max_version: int = 0
        """int16, versions 3+"""

    class FinalizedFeatureKey(Structure):
        """Structure FinalizedFeatureKey, versions 3+."""

        name: str = ""
        """string, versions 3+, map key"""
        max_version_level: int = 0
        """int16, versions 3+"""
        min_version_level: int = 0
        """int16, versions 3+"""

    NAME = "ApiVersionsResponse"
    API_KEY = 18
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    api_keys: list[ApiVersionsResponse.ApiVersion] = NEW_LIST
    """[]ApiVersion, versions 0+"""
    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    supported_features: list[ApiVersionsResponse.SupportedFeatureKey] = NEW_LIST
    """[]SupportedFeatureKey, versions 3+, tag 0, ignorable"""
    finalized_features_epoch: int = -1
    """int64, versions 3+, tag 1, ignorable"""
    finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] = NEW_LIST
    """[]FinalizedFeatureKey, versions 3+, tag 2, ignorable"""
    zk_migration_ready: bool = False
    """bool, versions 3+, tag 3, ignorable"""


class DescribeClusterRequest(Message):
    """Kafka's DescribeClusterRequest (request), API key 60, versions 0-2, flexible 0+, listeners broker and
    controller.
    """

    NAME = "DescribeClusterRequest"
    API_KEY = 60
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    include_cluster_authorized_operations: bool = False
    """bool, versions 0+"""
    endpoint_type: int = 1
    """int8, versions 1+"""
    include_fenced_brokers: bool = False
    """bool, versions 2+"""


class DescribeClusterResponse(Message):
    """Kafka's DescribeClusterResponse (response), API key 60, versions 0-2, flexible 0+."""

    class DescribeClusterBroker(Structure):
        """Structure DescribeClusterBroker, versions 0+."""

        broker_id: int = 0
        """int32, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """int32, versions 0+"""
        rack: str | None = None
        """string, versions 0+, nullable 0+"""
        is_fenced: bool = False
        """bool, versions 2+"""

    NAME = "DescribeClusterResponse"
    API_KEY = 60
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
    endpoint_type: int = 1
    """int8, versions 1+"""
    cluster_id: str = ""
    """string, versions 0+"""
    controller_id: int = -1
    """int32, versions 0+"""
    brokers: list[DescribeClusterResponse.DescribeClusterBroker] = NEW_LIST
    """[]DescribeClusterBroker, versions 0+"""
    cluster_authorized_operations: int = -2147483648
    """int32, versions 0+"""


class DescribeTopicPartitionsRequest(Message):
    """Kafka's DescribeTopicPartitionsRequest (request), API key 75, versions 0, flexible 0+, listeners broker."""

    class TopicRequest(Structure):
        """Structure TopicRequest, versions 0+."""

        name: str = ""
        """string, versions 0+"""

    class Cursor(Structure):
        """Structure Cursor, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partition_index: int = 0
        """int32, versions 0+"""

    NAME = "DescribeTopicPartitionsRequest"
    API_KEY = 75
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topics: list[DescribeTopicPartitionsRequest.TopicRequest] = NEW_LIST
    """[]TopicRequest, versions 0+"""
    response_partition_limit: int = 2000
    """int32, versions 0+"""
    cursor: DescribeTopicPartitionsRequest.Cursor | None = None
    """Cursor, versions 0+, nullable 0+"""


class DescribeTopicPartitionsResponse(Message):
    """Kafka's DescribeTopicPartitionsResponse (response), API key 75, versions 0, flexible 0+."""

    class DescribeTopicPartitionsResponsePartition(Structure):
        """Structure DescribeTopicPartitionsResponsePartition, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        partition_index: int = 0
        """int32, versions 0+"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = -1
        """int32, versions 0+, ignorable; counts the changes of the leader"""
        replica_nodes: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        isr_nodes: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        eligible_leader_replicas: list[int] | None = None
        """[]int32, versions 0+, nullable 0+"""
        last_known_elr: list[int] | None = None
        """[]int32, versions 0+, nullable 0+"""
        offline_replicas: list[int] = NEW_LIST
        """[]int32, versions 0+, ignorable"""

    class DescribeTopicPartitionsResponseTopic(Structure):
        """Structure DescribeTopicPartitionsResponseTopic, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        name: str | None = ""
        """string, versions 0+, nullable 0+, map key"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        is_internal: bool = False
        """bool, versions 0+, ignorable"""
        partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition] = NEW_LIST
        """[]DescribeTopicPartitionsResponsePartition, versions 0+"""
        topic_authorized_operations: int = -2147483648
        """int32, versions 0+"""

    class Cursor(Structure):
        """Structure Cursor, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partition_index: int = 0
        """int32, versions 0+"""

    NAME = "DescribeTopicPartitionsResponse"
    API_KEY = 75
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+, ignorable; how long the client should wait before its next request, because of a quota"""
    topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = NEW_LIST
    """[]DescribeTopicPartitionsResponseTopic, versions 0+"""
    next_cursor: DescribeTopicPartitionsResponse.Cursor | None = None
    """Cursor, versions 0+, nullable 0+"""


class MetadataRequest(Message):
    """Kafka's MetadataRequest (request), API key 3, versions 0-13, flexible 9+, listeners broker."""

    class MetadataRequestTopic(Structure):
        """Structure MetadataRequestTopic, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        name: str | None = ""
        """string, versions 0+, nullable 10+"""

    NAME = "MetadataRequest"
    API_KEY = 3
    VERSIONS = (0, 13)
    FLEXIBLE_SINCE = 9

    topics: list[MetadataRequest.MetadataRequestTopic] | None = NEW_NULLABLE_LIST
    """[]MetadataRequestTopic, versions 0+, nullable 1+"""
    allow_auto_topic_creation: bool = True
    """bool, versions 4+"""
    include_cluster_authorized_operations: bool = False
    """bool, versions 8-10"""
    include_topic_authorized_operations: bool = False
    """bool, versions 8+"""


class MetadataResponse(Message):
    """Kafka's MetadataResponse (response), API key 3, versions 0-13, flexible 9+."""

    class MetadataResponseBroker(Structure):
        """Structure MetadataResponseBroker, versions 0+."""

        node_id: int = 0
        """int32, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """int32, versions 0+"""
        rack: str | None = None
        """string, versions 1+, nullable 1+, ignorable"""

    class MetadataResponsePartition(Structure):
        """Structure MetadataResponsePartition, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        partition_index: int = 0
        """int32, versions 0+"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = -1
        """int32, versions 7+, ignorable; counts the changes of the leader"""
        replica_nodes: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        isr_nodes: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        offline_replicas: list[int] = NEW_LIST
        """[]int32, versions 5+, ignorable"""

    class MetadataResponseTopic(Structure):
        """Structure MetadataResponseTopic, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        name: str | None = ""
        """string, versions 0+, nullable 12+, map key"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        is_internal: bool = False
        """bool, versions 1+, ignorable"""
        partitions: list[MetadataResponse.MetadataResponsePartition] = NEW_LIST
        """[]MetadataResponsePartition, versions 0+"""
        topic_authorized_operations: int = -2147483648
        """int32, versions 8+"""

    NAME = "MetadataResponse"
    API_KEY = 3
    VERSIONS = (0, 13)
    FLEXIBLE_SINCE = 9

    throttle_time_ms: int = 0
    """int32, versions 3+, ignorable; how long the client should wait before its next request, because of a quota"""
    brokers: list[MetadataResponse.MetadataResponseBroker] = NEW_LIST
    """[]MetadataResponseBroker, versions 0+"""
    cluster_id: str | None = None
    """string, versions 2+, nullable 2+, ignorable"""
    controller_id: int = -1
    """int32, versions 1+, ignorable"""
    topics: list[MetadataResponse.MetadataResponseTopic] = NEW_LIST
    """[]MetadataResponseTopic, versions 0+"""
    cluster_authorized_operations: int = -2147483648
    """int32, versions 8-10"""
    error_code: int = 0
    """int16, versions 13+, ignorable; an ErrorCode, 0 for success"""
