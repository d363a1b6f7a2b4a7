"""Creating, deleting and moving topics and partitions.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, ZERO_UUID, Message, Structure


class AlterPartitionReassignmentsRequest(Message):
    """Kafka's AlterPartitionReassignmentsRequest (request), API key 45, versions 0-1, flexible 0+, listeners
    broker and controller.

    - timeout_ms: int32, versions 0+
    - allow_replication_factor_change: bool, versions 1+
    - topics: []ReassignableTopic, versions 0+
    """

    class ReassignablePartition(Structure):
        """Structure ReassignablePartition, versions 0+.

        - partition_index: int32, versions 0+
        - replicas: []int32, versions 0+, nullable 0+
        """

        __slots__ = (
            "partition_index",
            "replicas",
        )

        def __init__(
            self,
            partition_index: int = 0,
            replicas: list[int] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.replicas = replicas
            self.unknown_tagged_fields = None

    class ReassignableTopic(Structure):
        """Structure ReassignableTopic, versions 0+.

        - name: string, versions 0+
        - partitions: []ReassignablePartition, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "timeout_ms",
        "allow_replication_factor_change",
        "topics",
    )

    NAME: ClassVar[str] = "AlterPartitionReassignmentsRequest"
    API_KEY: ClassVar[int] = 45
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class AlterPartitionReassignmentsResponse(Message):
    """Kafka's AlterPartitionReassignmentsResponse (response), API key 45, versions 0-1, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - allow_replication_factor_change: bool, versions 1+, ignorable
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - responses: []ReassignableTopicResponse, versions 0+
    """

    class ReassignablePartitionResponse(Structure):
        """Structure ReassignablePartitionResponse, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    class ReassignableTopicResponse(Structure):
        """Structure ReassignableTopicResponse, versions 0+.

        - name: string, versions 0+
        - partitions: []ReassignablePartitionResponse, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
    )

    NAME: ClassVar[str] = "AlterPartitionReassignmentsResponse"
    API_KEY: ClassVar[int] = 45
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is None else responses
        self.unknown_tagged_fields = None


class CreatePartitionsRequest(Message):
    """Kafka's CreatePartitionsRequest (request), API key 37, versions 0-3, flexible 2+, listeners broker and
    controller.

    - topics: []CreatePartitionsTopic, versions 0+
    - timeout_ms: int32, versions 0+
    - validate_only: bool, versions 0+; checks the request and changes nothing
    """

    class CreatePartitionsAssignment(Structure):
        """Structure CreatePartitionsAssignment, versions 0+.

        - broker_ids: []int32, versions 0+
        """

        __slots__ = ("broker_ids",)

        def __init__(
            self,
            broker_ids: list[int] | None = None,
        ) -> None:
            self.broker_ids = [] if broker_ids is None else broker_ids
            self.unknown_tagged_fields = None

    class CreatePartitionsTopic(Structure):
        """Structure CreatePartitionsTopic, versions 0+.

        - name: string, versions 0+, map key
        - count: int32, versions 0+
        - assignments: []CreatePartitionsAssignment, versions 0+, nullable 0+
        """

        __slots__ = (
            "name",
            "count",
            "assignments",
        )

        def __init__(
            self,
            name: str = "",
            count: int = 0,
            assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = NEW_LIST,
        ) -> None:
            self.name = name
            self.count = count
            self.assignments = [] if assignments is NEW_LIST else assignments
            self.unknown_tagged_fields = None

    __slots__ = (
        "topics",
        "timeout_ms",
        "validate_only",
    )

    NAME: ClassVar[str] = "CreatePartitionsRequest"
    API_KEY: ClassVar[int] = 37
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        topics: list[CreatePartitionsRequest.CreatePartitionsTopic] | None = None,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tagged_fields = None


class CreatePartitionsResponse(Message):
    """Kafka's CreatePartitionsResponse (response), API key 37, versions 0-3, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - results: []CreatePartitionsTopicResult, versions 0+
    """

    class CreatePartitionsTopicResult(Structure):
        """Structure CreatePartitionsTopicResult, versions 0+.

        - name: string, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "name",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            name: str = "",
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.name = name
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "results",
    )

    NAME: ClassVar[str] = "CreatePartitionsResponse"
    API_KEY: ClassVar[int] = 37
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class CreateTopicsRequest(Message):
    """Kafka's CreateTopicsRequest (request), API key 19, versions 0-7, flexible 5+, listeners broker and
    controller.

    - topics: []CreatableTopic, versions 0+
    - timeout_ms: int32, versions 0+
    - validate_only: bool, versions 1+; checks the request and changes nothing
    """

    class CreatableReplicaAssignment(Structure):
        """Structure CreatableReplicaAssignment, versions 0+.

        - partition_index: int32, versions 0+, map key
        - broker_ids: []int32, versions 0+
        """

        __slots__ = (
            "partition_index",
            "broker_ids",
        )

        def __init__(
            self,
            partition_index: int = 0,
            broker_ids: list[int] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.broker_ids = [] if broker_ids is None else broker_ids
            self.unknown_tagged_fields = None

    class CreatableTopicConfig(Structure):
        """Structure CreatableTopicConfig, versions 0+.

        - name: string, versions 0+, map key
        - value: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "name",
            "value",
        )

        def __init__(
            self,
            name: str = "",
            value: str | None = "",
        ) -> None:
            self.name = name
            self.value = value
            self.unknown_tagged_fields = None

    class CreatableTopic(Structure):
        """Structure CreatableTopic, versions 0+.

        - name: string, versions 0+, map key
        - num_partitions: int32, versions 0+
        - replication_factor: int16, versions 0+
        - assignments: []CreatableReplicaAssignment, versions 0+
        - configs: []CreatableTopicConfig, versions 0+
        """

        __slots__ = (
            "name",
            "num_partitions",
            "replication_factor",
            "assignments",
            "configs",
        )

        def __init__(
            self,
            name: str = "",
            num_partitions: int = 0,
            replication_factor: int = 0,
            assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] | None = None,
            configs: list[CreateTopicsRequest.CreatableTopicConfig] | None = None,
        ) -> None:
            self.name = name
            self.num_partitions = num_partitions
            self.replication_factor = replication_factor
            self.assignments = [] if assignments is None else assignments
            self.configs = [] if configs is None else configs
            self.unknown_tagged_fields = None

    __slots__ = (
        "topics",
        "timeout_ms",
        "validate_only",
    )

    NAME: ClassVar[str] = "CreateTopicsRequest"
    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[tuple[int, int]] = (0, 7)
    FLEXIBLE_SINCE: ClassVar[int] = 5

    def __init__(
        self,
        topics: list[CreateTopicsRequest.CreatableTopic] | None = None,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tagged_fields = None


class CreateTopicsResponse(Message):
    """Kafka's CreateTopicsResponse (response), API key 19, versions 0-7, flexible 5+.

    - throttle_time_ms: int32, versions 2+, ignorable; how long the client should wait before its next request,
      because of a quota
    - topics: []CreatableTopicResult, versions 0+
    """

    class CreatableTopicConfigs(Structure):
        """Structure CreatableTopicConfigs, versions 5+.

        - name: string, versions 5+
        - value: string, versions 5+, nullable 5+
        - read_only: bool, versions 5+
        - config_source: int8, versions 5+, ignorable
        - is_sensitive: bool, versions 5+
        """

        __slots__ = (
            "name",
            "value",
            "read_only",
            "config_source",
            "is_sensitive",
        )

        def __init__(
            self,
            name: str = "",
            value: str | None = "",
            read_only: bool = False,
            config_source: int = -1,
            is_sensitive: bool = False,
        ) -> None:
            self.name = name
            self.value = value
            self.read_only = read_only
            self.config_source = config_source
            self.is_sensitive = is_sensitive
            self.unknown_tagged_fields = None

    class CreatableTopicResult(Structure):
        """Structure CreatableTopicResult, versions 0+.

        - name: string, versions 0+, map key
        - topic_id: uuid, versions 7+, ignorable; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 1+, nullable 0+, ignorable; a text for people
        - topic_config_error_code: int16, versions 5+, tag 0, ignorable
        - num_partitions: int32, versions 5+, ignorable
        - replication_factor: int16, versions 5+, ignorable
        - configs: []CreatableTopicConfigs, versions 5+, nullable 5+, ignorable
        """

        __slots__ = (
            "name",
            "topic_id",
            "error_code",
            "error_message",
            "topic_config_error_code",
            "num_partitions",
            "replication_factor",
            "configs",
        )

        def __init__(
            self,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            error_code: int = 0,
            error_message: str | None = "",
            topic_config_error_code: int = 0,
            num_partitions: int = -1,
            replication_factor: int = -1,
            configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = NEW_LIST,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.error_code = error_code
            self.error_message = error_message
            self.topic_config_error_code = topic_config_error_code
            self.num_partitions = num_partitions
            self.replication_factor = replication_factor
            self.configs = [] if configs is NEW_LIST else configs
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "CreateTopicsResponse"
    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[tuple[int, int]] = (0, 7)
    FLEXIBLE_SINCE: ClassVar[int] = 5

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreateTopicsResponse.CreatableTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class DeleteTopicsRequest(Message):
    """Kafka's DeleteTopicsRequest (request), API key 20, versions 0-6, flexible 4+, listeners broker and
    controller.

    - topics: []DeleteTopicState, versions 6+
    - topic_names: []string, versions 0-5, ignorable
    - timeout_ms: int32, versions 0+
    """

    class DeleteTopicState(Structure):
        """Structure DeleteTopicState, versions 6+.

        - name: string, versions 6+, nullable 6+
        - topic_id: uuid, versions 6+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        """

        __slots__ = (
            "name",
            "topic_id",
        )

        def __init__(
            self,
            name: str | None = None,
            topic_id: bytes = ZERO_UUID,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.unknown_tagged_fields = None

    __slots__ = (
        "topics",
        "topic_names",
        "timeout_ms",
    )

    NAME: ClassVar[str] = "DeleteTopicsRequest"
    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        topics: list[DeleteTopicsRequest.DeleteTopicState] | None = None,
        topic_names: list[str] | None = None,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.topic_names = [] if topic_names is None else topic_names
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = None


class DeleteTopicsResponse(Message):
    """Kafka's DeleteTopicsResponse (response), API key 20, versions 0-6, flexible 4+.

    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - responses: []DeletableTopicResult, versions 0+
    """

    class DeletableTopicResult(Structure):
        """Structure DeletableTopicResult, versions 0+.

        - name: string, versions 0+, nullable 6+, map key
        - topic_id: uuid, versions 6+, ignorable; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 5+, nullable 5+, ignorable; a text for people
        """

        __slots__ = (
            "name",
            "topic_id",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            name: str | None = "",
            topic_id: bytes = ZERO_UUID,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "responses",
    )

    NAME: ClassVar[str] = "DeleteTopicsResponse"
    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeleteTopicsResponse.DeletableTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is None else responses
        self.unknown_tagged_fields = None


class ElectLeadersRequest(Message):
    """Kafka's ElectLeadersRequest (request), API key 43, versions 0-2, flexible 2+, listeners broker and
    controller.

    - election_type: int8, versions 1+
    - topic_partitions: []TopicPartitions, versions 0+, nullable 0+
    - timeout_ms: int32, versions 0+
    """

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+.

        - topic: string, versions 0+, map key
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "topic",
            "partitions",
        )

        def __init__(
            self,
            topic: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.topic = topic
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "election_type",
        "topic_partitions",
        "timeout_ms",
    )

    NAME: ClassVar[str] = "ElectLeadersRequest"
    API_KEY: ClassVar[int] = 43
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = NEW_LIST,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is NEW_LIST else topic_partitions
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = None


class ElectLeadersResponse(Message):
    """Kafka's ElectLeadersResponse (response), API key 43, versions 0-2, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 1+; an ErrorCode, 0 for success
    - replica_election_results: []ReplicaElectionResult, versions 0+
    """

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+.

        - partition_id: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "partition_id",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            partition_id: int = 0,
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.partition_id = partition_id
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    class ReplicaElectionResult(Structure):
        """Structure ReplicaElectionResult, versions 0+.

        - topic: string, versions 0+
        - partition_result: []PartitionResult, versions 0+
        """

        __slots__ = (
            "topic",
            "partition_result",
        )

        def __init__(
            self,
            topic: str = "",
            partition_result: list[ElectLeadersResponse.PartitionResult] | None = None,
        ) -> None:
            self.topic = topic
            self.partition_result = [] if partition_result is None else partition_result
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "replica_election_results",
    )

    NAME: ClassVar[str] = "ElectLeadersResponse"
    API_KEY: ClassVar[int] = 43
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is None else replica_election_results
        self.unknown_tagged_fields = None


class ListPartitionReassignmentsRequest(Message):
    """Kafka's ListPartitionReassignmentsRequest (request), API key 46, versions 0, flexible 0+, listeners broker
    and controller.

    - timeout_ms: int32, versions 0+
    - topics: []ListPartitionReassignmentsTopics, versions 0+, nullable 0+
    """

    class ListPartitionReassignmentsTopics(Structure):
        """Structure ListPartitionReassignmentsTopics, versions 0+.

        - name: string, versions 0+
        - partition_indexes: []int32, versions 0+
        """

        __slots__ = (
            "name",
            "partition_indexes",
        )

        def __init__(
            self,
            name: str = "",
            partition_indexes: list[int] | None = None,
        ) -> None:
            self.name = name
            self.partition_indexes = [] if partition_indexes is None else partition_indexes
            self.unknown_tagged_fields = None

    __slots__ = (
        "timeout_ms",
        "topics",
    )

    NAME: ClassVar[str] = "ListPartitionReassignmentsRequest"
    API_KEY: ClassVar[int] = 46
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics
        self.unknown_tagged_fields = None


class ListPartitionReassignmentsResponse(Message):
    """Kafka's ListPartitionReassignmentsResponse (response), API key 46, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - topics: []OngoingTopicReassignment, versions 0+
    """

    class OngoingPartitionReassignment(Structure):
        """Structure OngoingPartitionReassignment, versions 0+.

        - partition_index: int32, versions 0+
        - replicas: []int32, versions 0+
        - adding_replicas: []int32, versions 0+
        - removing_replicas: []int32, versions 0+
        """

        __slots__ = (
            "partition_index",
            "replicas",
            "adding_replicas",
            "removing_replicas",
        )

        def __init__(
            self,
            partition_index: int = 0,
            replicas: list[int] | None = None,
            adding_replicas: list[int] | None = None,
            removing_replicas: list[int] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.replicas = [] if replicas is None else replicas
            self.adding_replicas = [] if adding_replicas is None else adding_replicas
            self.removing_replicas = [] if removing_replicas is None else removing_replicas
            self.unknown_tagged_fields = None

    class OngoingTopicReassignment(Structure):
        """Structure OngoingTopicReassignment, versions 0+.

        - name: string, versions 0+
        - partitions: []OngoingPartitionReassignment, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "topics",
    )

    NAME: ClassVar[str] = "ListPartitionReassignmentsResponse"
    API_KEY: ClassVar[int] = 46
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None
