"""Creating, deleting and moving topics and partitions.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, ZERO_UUID, Message, Structure


class AlterPartitionReassignmentsRequest(Message):
    """Kafka's AlterPartitionReassignmentsRequest (request), API key 45, versions 0-1, flexible 0+, listeners
    broker and controller.
    """

    class ReassignablePartition(Structure):
        """Structure ReassignablePartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        replicas: list[int] | None = None
        """[]int32, versions 0+, nullable 0+"""

    class ReassignableTopic(Structure):
        """Structure ReassignableTopic, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition] = NEW_LIST
        """[]ReassignablePartition, versions 0+"""

    NAME = "AlterPartitionReassignmentsRequest"
    API_KEY = 45
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    timeout_ms: int = 60000
    """int32, versions 0+"""
    allow_replication_factor_change: bool = True
    """bool, versions 1+"""
    topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] = NEW_LIST
    """[]ReassignableTopic, versions 0+"""


class AlterPartitionReassignmentsResponse(Message):
    """Kafka's AlterPartitionReassignmentsResponse (response), API key 45, versions 0-1, flexible 0+."""

    class ReassignablePartitionResponse(Structure):
        """Structure ReassignablePartitionResponse, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""

    class ReassignableTopicResponse(Structure):
        """Structure ReassignableTopicResponse, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] = NEW_LIST
        """[]ReassignablePartitionResponse, versions 0+"""

    NAME = "AlterPartitionReassignmentsResponse"
    API_KEY = 45
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    allow_replication_factor_change: bool = True
    """bool, versions 1+, ignorable"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""
    responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = NEW_LIST
    """[]ReassignableTopicResponse, versions 0+"""


class CreatePartitionsRequest(Message):
    """Kafka's CreatePartitionsRequest (request), API key 37, versions 0-3, flexible 2+, listeners broker and
    controller.
    """

    class CreatePartitionsAssignment(Structure):
        """Structure CreatePartitionsAssignment, versions 0+."""

        broker_ids: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class CreatePartitionsTopic(Structure):
        """Structure CreatePartitionsTopic, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        count: int = 0
        """int32, versions 0+"""
        assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = NEW_NULLABLE_LIST
        """[]CreatePartitionsAssignment, versions 0+, nullable 0+"""

    NAME = "CreatePartitionsRequest"
    API_KEY = 37
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = NEW_LIST
    """[]CreatePartitionsTopic, versions 0+"""
    timeout_ms: int = 0
    """int32, versions 0+"""
    validate_only: bool = False
    """bool, versions 0+; checks the request and changes nothing"""


class CreatePartitionsResponse(Message):
    """Kafka's CreatePartitionsResponse (response), API key 37, versions 0-3, flexible 2+."""

    class CreatePartitionsTopicResult(Structure):
        """Structure CreatePartitionsTopicResult, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""

    NAME = "CreatePartitionsResponse"
    API_KEY = 37
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = NEW_LIST
    """[]CreatePartitionsTopicResult, versions 0+"""


class CreateTopicsRequest(Message):
    """Kafka's CreateTopicsRequest (request), API key 19, versions 0-7, flexible 5+, listeners broker and
    controller.
    """

    class CreatableReplicaAssignment(Structure):
        """Structure CreatableReplicaAssignment, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+, map key"""
        broker_ids: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class CreatableTopicConfig(Structure):
        """Structure CreatableTopicConfig, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        value: str | None = ""
        """string, versions 0+, nullable 0+"""

    class CreatableTopic(Structure):
        """Structure CreatableTopic, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        num_partitions: int = 0
        """int32, versions 0+"""
        replication_factor: int = 0
        """int16, versions 0+"""
        assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = NEW_LIST
        """[]CreatableReplicaAssignment, versions 0+"""
        configs: list[CreateTopicsRequest.CreatableTopicConfig] = NEW_LIST
        """[]CreatableTopicConfig, versions 0+"""

    NAME = "CreateTopicsRequest"
    API_KEY = 19
    VERSIONS = (0, 7)
    FLEXIBLE_SINCE = 5

    topics: list[CreateTopicsRequest.CreatableTopic] = NEW_LIST
    """[]CreatableTopic, versions 0+"""
    timeout_ms: int = 60000
    """int32, versions 0+"""
    validate_only: bool = False
    """bool, versions 1+; checks the request and changes nothing"""


class CreateTopicsResponse(Message):
    """Kafka's CreateTopicsResponse (response), API key 19, versions 0-7, flexible 5+."""

    class CreatableTopicConfigs(Structure):
        """Structure CreatableTopicConfigs, versions 5+."""

        name: str = ""
        """string, versions 5+"""
        value: str | None = ""
        """string, versions 5+, nullable 5+"""
        read_only: bool = False
        """bool, versions 5+"""
        config_source: int = -1
        """int8, versions 5+, ignorable"""
        is_sensitive: bool = False
        """bool, versions 5+"""

    class CreatableTopicResult(Structure):
        """Structure CreatableTopicResult, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 7+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 1+, nullable 0+, ignorable; a text for people"""
        topic_config_error_code: int = 0
        """int16, versions 5+, tag 0, ignorable"""
        num_partitions: int = -1
        """int32, versions 5+, ignorable"""
        replication_factor: int = -1
        """int16, versions 5+, ignorable"""
        configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = NEW_NULLABLE_LIST
        """[]CreatableTopicConfigs, versions 5+, nullable 5+, ignorable"""

    NAME = "CreateTopicsResponse"
    API_KEY = 19
    VERSIONS = (0, 7)
    FLEXIBLE_SINCE = 5

    throttle_time_ms: int = 0
    """int32, versions 2+, ignorable; how long the client should wait before its next request, because of a quota"""
    topics: list[CreateTopicsResponse.CreatableTopicResult] = NEW_LIST
    """[]CreatableTopicResult, versions 0+"""


class DeleteTopicsRequest(Message):
    """Kafka's DeleteTopicsRequest (request), API key 20, versions 0-6, flexible 4+, listeners broker and
    controller.
    """

    class DeleteTopicState(Structure):
        """Structure DeleteTopicState, versions 6+."""

        name: str | None = None
        """string, versions 6+, nullable 6+"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 6+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""

    NAME = "DeleteTopicsRequest"
    API_KEY = 20
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 4

    topics: list[DeleteTopicsRequest.DeleteTopicState] = NEW_LIST
    """[]DeleteTopicState, versions 6+"""
    topic_names: list[str] = NEW_LIST
    """[]string, versions 0-5, ignorable"""
    timeout_ms: int = 0
    """int32, versions 0+"""


class DeleteTopicsResponse(Message):
    """Kafka's DeleteTopicsResponse (response), API key 20, versions 0-6, flexible 4+."""

    class DeletableTopicResult(Structure):
        """Structure DeletableTopicResult, versions 0+."""

        name: str | None = ""
        """string, versions 0+, nullable 6+, map key"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 6+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 5+, nullable 5+, ignorable; a text for people"""

    NAME = "DeleteTopicsResponse"
    API_KEY = 20
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 4

    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    responses: list[DeleteTopicsResponse.DeletableTopicResult] = NEW_LIST
    """[]DeletableTopicResult, versions 0+"""


class ElectLeadersRequest(Message):
    """Kafka's ElectLeadersRequest (request), API key 43, versions 0-2, flexible 2+, listeners broker and
    controller.
    """

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+."""

        topic: str = ""
        """string, versions 0+, map key"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "ElectLeadersRequest"
    API_KEY = 43
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    election_type: int = 0
    """int8, versions 1+"""
    topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = NEW_NULLABLE_LIST
    """[]TopicPartitions, versions 0+, nullable 0+"""
    timeout_ms: int = 60000
    """int32, versions 0+"""


class ElectLeadersResponse(Message):
    """Kafka's ElectLeadersResponse (response), API key 43, versions 0-2, flexible 2+."""

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+."""

        partition_id: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""

    class ReplicaElectionResult(Structure):
        """Structure ReplicaElectionResult, versions 0+."""

        topic: str = ""
        """string, versions 0+"""
        partition_result: list[ElectLeadersResponse.PartitionResult] = NEW_LIST
        """[]PartitionResult, versions 0+"""

    NAME = "ElectLeadersResponse"
    API_KEY = 43
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 1+; an ErrorCode, 0 for success"""
    replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = NEW_LIST
    """[]ReplicaElectionResult, versions 0+"""


class ListPartitionReassignmentsRequest(Message):
    """Kafka's ListPartitionReassignmentsRequest (request), API key 46, versions 0, flexible 0+, listeners broker
    and controller.
    """

    class ListPartitionReassignmentsTopics(Structure):
        """Structure ListPartitionReassignmentsTopics, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partition_indexes: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "ListPartitionReassignmentsRequest"
    API_KEY = 46
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    timeout_ms: int = 60000
    """int32, versions 0+"""
    topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = None
    """[]ListPartitionReassignmentsTopics, versions 0+, nullable 0+"""


class ListPartitionReassignmentsResponse(Message):
    """Kafka's ListPartitionReassignmentsResponse (response), API key 46, versions 0, flexible 0+."""

    class OngoingPartitionReassignment(Structure):
        """Structure OngoingPartitionReassignment, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        replicas: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        adding_replicas: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        removing_replicas: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class OngoingTopicReassignment(Structure):
        """Structure OngoingTopicReassignment, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = NEW_LIST
        """[]OngoingPartitionReassignment, versions 0+"""

    NAME = "ListPartitionReassignmentsResponse"
    API_KEY = 46
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""
    topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = NEW_LIST
    """[]OngoingTopicReassignment, versions 0+"""
