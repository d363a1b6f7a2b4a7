"""Between brokers and controllers: the Raft quorum, registration, replicas; and APIs of clusters with ZooKeeper.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import ZERO_UUID, Message, Records, Structure


class AddRaftVoterRequest(Message):
    """Kafka's AddRaftVoterRequest (request), API key 80, versions 0-1, flexible 0+, listeners controller and
    broker.

    - cluster_id: string, versions 0+, nullable 0+
    - timeout_ms: int32, versions 0+
    - voter_id: int32, versions 0+
    - voter_directory_id: uuid, versions 0+
    - listeners: []Listener, versions 0+
    - ack_when_committed: bool, versions 1+
    """

    class Listener(Structure):
        """Structure Listener, versions 0+.

        - name: string, versions 0+, map key
        - host: string, versions 0+
        - port: uint16, versions 0+
        """

        __slots__ = (
            "name",
            "host",
            "port",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    __slots__ = (
        "cluster_id",
        "timeout_ms",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "ack_when_committed",
    )

    NAME: ClassVar[str] = "AddRaftVoterRequest"
    API_KEY: ClassVar[int] = 80
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[AddRaftVoterRequest.Listener] | None = None,
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is None else listeners
        self.ack_when_committed = ack_when_committed
        self.unknown_tagged_fields = None


class AddRaftVoterResponse(Message):
    """Kafka's AddRaftVoterResponse (response), API key 80, versions 0-1, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+, ignorable; a text for people
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
    )

    NAME: ClassVar[str] = "AddRaftVoterResponse"
    API_KEY: ClassVar[int] = 80
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = None


class AllocateProducerIdsRequest(Message):
    """Kafka's AllocateProducerIdsRequest (request), API key 67, versions 0, flexible 0+, listeners controller.

    - broker_id: int32, versions 0+
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    """

    __slots__ = (
        "broker_id",
        "broker_epoch",
    )

    NAME: ClassVar[str] = "AllocateProducerIdsRequest"
    API_KEY: ClassVar[int] = 67
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = None


class AllocateProducerIdsResponse(Message):
    """Kafka's AllocateProducerIdsResponse (response), API key 67, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - producer_id_start: int64, versions 0+
    - producer_id_len: int32, versions 0+
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "producer_id_start",
        "producer_id_len",
    )

    NAME: ClassVar[str] = "AllocateProducerIdsResponse"
    API_KEY: ClassVar[int] = 67
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len
        self.unknown_tagged_fields = None


class AlterPartitionRequest(Message):
    """Kafka's AlterPartitionRequest (request), API key 56, versions 0-3, flexible 0+, listeners controller.

    - broker_id: int32, versions 0+
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    - topics: []TopicData, versions 0+
    """

    class BrokerState(Structure):
        """Structure BrokerState, versions 3+.

        - broker_id: int32, versions 3+
        - broker_epoch: int64, versions 3+; the epoch of the broker's registration
        """

        __slots__ = (
            "broker_id",
            "broker_epoch",
        )

        def __init__(
            self,
            broker_id: int = 0,
            broker_epoch: int = -1,
        ) -> None:
            self.broker_id = broker_id
            self.broker_epoch = broker_epoch
            self.unknown_tagged_fields = None

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - new_isr: []int32, versions 0-2
        - new_isr_with_epochs: []BrokerState, versions 3+
        - leader_recovery_state: int8, versions 1+
        - partition_epoch: int32, versions 0+
        """

        __slots__ = (
            "partition_index",
            "leader_epoch",
            "new_isr",
            "new_isr_with_epochs",
            "leader_recovery_state",
            "partition_epoch",
        )

        def __init__(
            self,
            partition_index: int = 0,
            leader_epoch: int = 0,
            new_isr: list[int] | None = None,
            new_isr_with_epochs: list[AlterPartitionRequest.BrokerState] | None = None,
            leader_recovery_state: int = 0,
            partition_epoch: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.leader_epoch = leader_epoch
            self.new_isr = [] if new_isr is None else new_isr
            self.new_isr_with_epochs = [] if new_isr_with_epochs is None else new_isr_with_epochs
            self.leader_recovery_state = leader_recovery_state
            self.partition_epoch = partition_epoch
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_id: uuid, versions 2+, ignorable; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - partitions: []PartitionData, versions 0+
        - topic_name: string, versions 0-1, ignorable
        """

        __slots__ = (
            "topic_id",
            "partitions",
            "topic_name",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[AlterPartitionRequest.PartitionData] | None = None,
            topic_name: str = "",
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.topic_name = topic_name
            self.unknown_tagged_fields = None

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "topics",
    )

    NAME: ClassVar[str] = "AlterPartitionRequest"
    API_KEY: ClassVar[int] = 56
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[AlterPartitionRequest.TopicData] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class AlterPartitionResponse(Message):
    """Kafka's AlterPartitionResponse (response), API key 56, versions 0-3, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - topics: []TopicData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - isr: []int32, versions 0+
        - leader_recovery_state: int8, versions 1+, ignorable
        - partition_epoch: int32, versions 0+
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "leader_id",
            "leader_epoch",
            "isr",
            "leader_recovery_state",
            "partition_epoch",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            leader_id: int = 0,
            leader_epoch: int = 0,
            isr: list[int] | None = None,
            leader_recovery_state: int = 0,
            partition_epoch: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.isr = [] if isr is None else isr
            self.leader_recovery_state = leader_recovery_state
            self.partition_epoch = partition_epoch
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_id: uuid, versions 2+, ignorable; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - partitions: []PartitionData, versions 0+
        - topic_name: string, versions 0-1, ignorable
        """

        __slots__ = (
            "topic_id",
            "partitions",
            "topic_name",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[AlterPartitionResponse.PartitionData] | None = None,
            topic_name: str = "",
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.topic_name = topic_name
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "topics",
    )

    NAME: ClassVar[str] = "AlterPartitionResponse"
    API_KEY: ClassVar[int] = 56
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[AlterPartitionResponse.TopicData] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class AssignReplicasToDirsRequest(Message):
    """Kafka's AssignReplicasToDirsRequest (request), API key 73, versions 0, flexible 0+, listeners controller.

    - broker_id: int32, versions 0+
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    - directories: []DirectoryData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        """

        __slots__ = ("partition_index",)

        def __init__(
            self,
            partition_index: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[AssignReplicasToDirsRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class DirectoryData(Structure):
        """Structure DirectoryData, versions 0+.

        - id: uuid, versions 0+
        - topics: []TopicData, versions 0+
        """

        __slots__ = (
            "id",
            "topics",
        )

        def __init__(
            self,
            id: bytes = ZERO_UUID,
            topics: list[AssignReplicasToDirsRequest.TopicData] | None = None,
        ) -> None:
            self.id = id
            self.topics = [] if topics is None else topics
            self.unknown_tagged_fields = None

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "directories",
    )

    NAME: ClassVar[str] = "AssignReplicasToDirsRequest"
    API_KEY: ClassVar[int] = 73
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[AssignReplicasToDirsRequest.DirectoryData] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = [] if directories is None else directories
        self.unknown_tagged_fields = None


class AssignReplicasToDirsResponse(Message):
    """Kafka's AssignReplicasToDirsResponse (response), API key 73, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - directories: []DirectoryData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        """

        __slots__ = (
            "partition_index",
            "error_code",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[AssignReplicasToDirsResponse.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class DirectoryData(Structure):
        """Structure DirectoryData, versions 0+.

        - id: uuid, versions 0+
        - topics: []TopicData, versions 0+
        """

        __slots__ = (
            "id",
            "topics",
        )

        def __init__(
            self,
            id: bytes = ZERO_UUID,
            topics: list[AssignReplicasToDirsResponse.TopicData] | None = None,
        ) -> None:
            self.id = id
            self.topics = [] if topics is None else topics
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "directories",
    )

    NAME: ClassVar[str] = "AssignReplicasToDirsResponse"
    API_KEY: ClassVar[int] = 73
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[AssignReplicasToDirsResponse.DirectoryData] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = [] if directories is None else directories
        self.unknown_tagged_fields = None


class BeginQuorumEpochRequest(Message):
    """Kafka's BeginQuorumEpochRequest (request), API key 53, versions 0-1, flexible 1+, listeners controller.

    - cluster_id: string, versions 0+, nullable 0+
    - voter_id: int32, versions 1+, ignorable
    - topics: []TopicData, versions 0+
    - leader_endpoints: []LeaderEndpoint, versions 1+, ignorable
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - voter_directory_id: uuid, versions 1+, ignorable
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "partition_index",
            "voter_directory_id",
            "leader_id",
            "leader_epoch",
        )

        def __init__(
            self,
            partition_index: int = 0,
            voter_directory_id: bytes = ZERO_UUID,
            leader_id: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.voter_directory_id = voter_directory_id
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[BeginQuorumEpochRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class LeaderEndpoint(Structure):
        """Structure LeaderEndpoint, versions 1+.

        - name: string, versions 1+, map key
        - host: string, versions 1+
        - port: uint16, versions 1+
        """

        __slots__ = (
            "name",
            "host",
            "port",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    __slots__ = (
        "cluster_id",
        "voter_id",
        "topics",
        "leader_endpoints",
    )

    NAME: ClassVar[str] = "BeginQuorumEpochRequest"
    API_KEY: ClassVar[int] = 53
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[BeginQuorumEpochRequest.TopicData] | None = None,
        leader_endpoints: list[BeginQuorumEpochRequest.LeaderEndpoint] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is None else topics
        self.leader_endpoints = [] if leader_endpoints is None else leader_endpoints
        self.unknown_tagged_fields = None


class BeginQuorumEpochResponse(Message):
    """Kafka's BeginQuorumEpochResponse (response), API key 53, versions 0-1, flexible 1+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - topics: []TopicData, versions 0+
    - node_endpoints: []NodeEndpoint, versions 1+, tag 0
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "leader_id",
            "leader_epoch",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            leader_id: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[BeginQuorumEpochResponse.PartitionData] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 1+.

        - node_id: int32, versions 1+, map key
        - host: string, versions 1+
        - port: uint16, versions 1+
        """

        __slots__ = (
            "node_id",
            "host",
            "port",
        )

        def __init__(
            self,
            node_id: int = 0,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.node_id = node_id
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    __slots__ = (
        "error_code",
        "topics",
        "node_endpoints",
    )

    NAME: ClassVar[str] = "BeginQuorumEpochResponse"
    API_KEY: ClassVar[int] = 53
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        error_code: int = 0,
        topics: list[BeginQuorumEpochResponse.TopicData] | None = None,
        node_endpoints: list[BeginQuorumEpochResponse.NodeEndpoint] | None = None,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is None else topics
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tagged_fields = None


class BrokerHeartbeatRequest(Message):
    """Kafka's BrokerHeartbeatRequest (request), API key 63, versions 0-2, flexible 0+, listeners controller.

    - broker_id: int32, versions 0+
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    - current_metadata_offset: int64, versions 0+
    - want_fence: bool, versions 0+
    - want_shut_down: bool, versions 0+
    - offline_log_dirs: []uuid, versions 1+, tag 0
    - cordoned_log_dirs: []uuid, versions 2+, nullable 2+, tag 1
    """

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
    )

    NAME: ClassVar[str] = "BrokerHeartbeatRequest"
    API_KEY: ClassVar[int] = 63
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[bytes] | None = None,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = [] if offline_log_dirs is None else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = None


class BrokerHeartbeatResponse(Message):
    """Kafka's BrokerHeartbeatResponse (response), API key 63, versions 0-2, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - is_caught_up: bool, versions 0+
    - is_fenced: bool, versions 0+
    - should_shut_down: bool, versions 0+
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "is_caught_up",
        "is_fenced",
        "should_shut_down",
    )

    NAME: ClassVar[str] = "BrokerHeartbeatResponse"
    API_KEY: ClassVar[int] = 63
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down
        self.unknown_tagged_fields = None


class BrokerRegistrationRequest(Message):
    """Kafka's BrokerRegistrationRequest (request), API key 62, versions 0-4, flexible 0+, listeners controller.

    - broker_id: int32, versions 0+
    - cluster_id: string, versions 0+
    - incarnation_id: uuid, versions 0+; is new at each start of the process
    - listeners: []Listener, versions 0+
    - features: []Feature, versions 0+
    - rack: string, versions 0+, nullable 0+
    - is_migrating_zk_broker: bool, versions 1+
    - log_dirs: []uuid, versions 2+, ignorable
    - previous_broker_epoch: int64, versions 3+, ignorable
    """

    class Listener(Structure):
        """Structure Listener, versions 0+.

        - name: string, versions 0+, map key
        - host: string, versions 0+
        - port: uint16, versions 0+
        - security_protocol: int16, versions 0+
        """

        __slots__ = (
            "name",
            "host",
            "port",
            "security_protocol",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
            security_protocol: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.security_protocol = security_protocol
            self.unknown_tagged_fields = None

    class Feature(Structure):
        """Structure Feature, versions 0+.

        - name: string, versions 0+, map key
        - min_supported_version: int16, versions 0+
        - max_supported_version: int16, versions 0+
        """

        __slots__ = (
            "name",
            "min_supported_version",
            "max_supported_version",
        )

        def __init__(
            self,
            name: str = "",
            min_supported_version: int = 0,
            max_supported_version: int = 0,
        ) -> None:
            self.name = name
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tagged_fields = None

    __slots__ = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
    )

    NAME: ClassVar[str] = "BrokerRegistrationRequest"
    API_KEY: ClassVar[int] = 62
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = ZERO_UUID,
        listeners: list[BrokerRegistrationRequest.Listener] | None = None,
        features: list[BrokerRegistrationRequest.Feature] | None = None,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[bytes] | None = None,
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = [] if listeners is None else listeners
        self.features = [] if features is None else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = [] if log_dirs is None else log_dirs
        self.previous_broker_epoch = previous_broker_epoch
        self.unknown_tagged_fields = None


class BrokerRegistrationResponse(Message):
    """Kafka's BrokerRegistrationResponse (response), API key 62, versions 0-4, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "broker_epoch",
    )

    NAME: ClassVar[str] = "BrokerRegistrationResponse"
    API_KEY: ClassVar[int] = 62
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = None


class ControlledShutdownRequest(Message):
    """Kafka's ControlledShutdownRequest (request), API key 7, versions none."""

    __slots__ = ()

    NAME: ClassVar[str] = "ControlledShutdownRequest"
    API_KEY: ClassVar[int] = 7
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767


class ControlledShutdownResponse(Message):
    """Kafka's ControlledShutdownResponse (response), API key 7, versions none."""

    __slots__ = ()

    NAME: ClassVar[str] = "ControlledShutdownResponse"
    API_KEY: ClassVar[int] = 7
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767


class ControllerRegistrationRequest(Message):
    """Kafka's ControllerRegistrationRequest (request), API key 70, versions 0, flexible 0+, listeners controller.

    - controller_id: int32, versions 0+
    - incarnation_id: uuid, versions 0+; is new at each start of the process
    - zk_migration_ready: bool, versions 0+
    - listeners: []Listener, versions 0+
    - features: []Feature, versions 0+
    """

    class Listener(Structure):
        """Structure Listener, versions 0+.

        - name: string, versions 0+, map key
        - host: string, versions 0+
        - port: uint16, versions 0+
        - security_protocol: int16, versions 0+
        """

        __slots__ = (
            "name",
            "host",
            "port",
            "security_protocol",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
            security_protocol: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.security_protocol = security_protocol
            self.unknown_tagged_fields = None

    class Feature(Structure):
        """Structure Feature, versions 0+.

        - name: string, versions 0+, map key
        - min_supported_version: int16, versions 0+
        - max_supported_version: int16, versions 0+
        """

        __slots__ = (
            "name",
            "min_supported_version",
            "max_supported_version",
        )

        def __init__(
            self,
            name: str = "",
            min_supported_version: int = 0,
            max_supported_version: int = 0,
        ) -> None:
            self.name = name
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tagged_fields = None

    __slots__ = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "listeners",
        "features",
    )

    NAME: ClassVar[str] = "ControllerRegistrationRequest"
    API_KEY: ClassVar[int] = 70
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[ControllerRegistrationRequest.Listener] | None = None,
        features: list[ControllerRegistrationRequest.Feature] | None = None,
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = [] if listeners is None else listeners
        self.features = [] if features is None else features
        self.unknown_tagged_fields = None


class ControllerRegistrationResponse(Message):
    """Kafka's ControllerRegistrationResponse (response), API key 70, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
    )

    NAME: ClassVar[str] = "ControllerRegistrationResponse"
    API_KEY: ClassVar[int] = 70
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = None


class DescribeQuorumRequest(Message):
    """Kafka's DescribeQuorumRequest (request), API key 55, versions 0-2, flexible 0+, listeners broker and
    controller.

    - topics: []TopicData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        """

        __slots__ = ("partition_index",)

        def __init__(
            self,
            partition_index: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[DescribeQuorumRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = ("topics",)

    NAME: ClassVar[str] = "DescribeQuorumRequest"
    API_KEY: ClassVar[int] = 55
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topics: list[DescribeQuorumRequest.TopicData] | None = None,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class DescribeQuorumResponse(Message):
    """Kafka's DescribeQuorumResponse (response), API key 55, versions 0-2, flexible 0+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 2+, nullable 2+, ignorable; a text for people
    - topics: []TopicData, versions 0+
    - nodes: []Node, versions 2+
    """

    class ReplicaState(Structure):
        """Structure ReplicaState, versions 0+.

        - replica_id: int32, versions 0+
        - replica_directory_id: uuid, versions 2+
        - log_end_offset: int64, versions 0+
        - last_fetch_timestamp: int64, versions 1+, ignorable
        - last_caught_up_timestamp: int64, versions 1+, ignorable
        """

        __slots__ = (
            "replica_id",
            "replica_directory_id",
            "log_end_offset",
            "last_fetch_timestamp",
            "last_caught_up_timestamp",
        )

        def __init__(
            self,
            replica_id: int = 0,
            replica_directory_id: bytes = ZERO_UUID,
            log_end_offset: int = 0,
            last_fetch_timestamp: int = -1,
            last_caught_up_timestamp: int = -1,
        ) -> None:
            self.replica_id = replica_id
            self.replica_directory_id = replica_directory_id
            self.log_end_offset = log_end_offset
            self.last_fetch_timestamp = last_fetch_timestamp
            self.last_caught_up_timestamp = last_caught_up_timestamp
            self.unknown_tagged_fields = None

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 2+, nullable 2+, ignorable; a text for people
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - high_watermark: int64, versions 0+; the end of the records that all in-sync replicas have
        - current_voters: []ReplicaState, versions 0+
        - observers: []ReplicaState, versions 0+
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "error_message",
            "leader_id",
            "leader_epoch",
            "high_watermark",
            "current_voters",
            "observers",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = "",
            leader_id: int = 0,
            leader_epoch: int = 0,
            high_watermark: int = 0,
            current_voters: list[DescribeQuorumResponse.ReplicaState] | None = None,
            observers: list[DescribeQuorumResponse.ReplicaState] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.high_watermark = high_watermark
            self.current_voters = [] if current_voters is None else current_voters
            self.observers = [] if observers is None else observers
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[DescribeQuorumResponse.PartitionData] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class Listener(Structure):
        """Structure Listener, versions 2+.

        - name: string, versions 2+, map key
        - host: string, versions 2+
        - port: uint16, versions 2+
        """

        __slots__ = (
            "name",
            "host",
            "port",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    class Node(Structure):
        """Structure Node, versions 2+.

        - node_id: int32, versions 2+, map key
        - listeners: []Listener, versions 2+
        """

        __slots__ = (
            "node_id",
            "listeners",
        )

        def __init__(
            self,
            node_id: int = 0,
            listeners: list[DescribeQuorumResponse.Listener] | None = None,
        ) -> None:
            self.node_id = node_id
            self.listeners = [] if listeners is None else listeners
            self.unknown_tagged_fields = None

    __slots__ = (
        "error_code",
        "error_message",
        "topics",
        "nodes",
    )

    NAME: ClassVar[str] = "DescribeQuorumResponse"
    API_KEY: ClassVar[int] = 55
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[DescribeQuorumResponse.TopicData] | None = None,
        nodes: list[DescribeQuorumResponse.Node] | None = None,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is None else topics
        self.nodes = [] if nodes is None else nodes
        self.unknown_tagged_fields = None


class EndQuorumEpochRequest(Message):
    """Kafka's EndQuorumEpochRequest (request), API key 54, versions 0-1, flexible 1+, listeners controller.

    - cluster_id: string, versions 0+, nullable 0+
    - topics: []TopicData, versions 0+
    - leader_endpoints: []LeaderEndpoint, versions 1+, ignorable
    """

    class ReplicaInfo(Structure):
        """Structure ReplicaInfo, versions 1+.

        - candidate_id: int32, versions 1+
        - candidate_directory_id: uuid, versions 1+
        """

        __slots__ = (
            "candidate_id",
            "candidate_directory_id",
        )

        def __init__(
            self,
            candidate_id: int = 0,
            candidate_directory_id: bytes = ZERO_UUID,
        ) -> None:
            self.candidate_id = candidate_id
            self.candidate_directory_id = candidate_directory_id
            self.unknown_tagged_fields = None

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - preferred_successors: []int32, versions 0, ignorable
        - preferred_candidates: []ReplicaInfo, versions 1+, ignorable
        """

        __slots__ = (
            "partition_index",
            "leader_id",
            "leader_epoch",
            "preferred_successors",
            "preferred_candidates",
        )

        def __init__(
            self,
            partition_index: int = 0,
            leader_id: int = 0,
            leader_epoch: int = 0,
            preferred_successors: list[int] | None = None,
            preferred_candidates: list[EndQuorumEpochRequest.ReplicaInfo] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.preferred_successors = [] if preferred_successors is None else preferred_successors
            self.preferred_candidates = [] if preferred_candidates is None else preferred_candidates
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[EndQuorumEpochRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class LeaderEndpoint(Structure):
        """Structure LeaderEndpoint, versions 1+.

        - name: string, versions 1+, map key
        - host: string, versions 1+
        - port: uint16, versions 1+
        """

        __slots__ = (
            "name",
            "host",
            "port",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    __slots__ = (
        "cluster_id",
        "topics",
        "leader_endpoints",
    )

    NAME: ClassVar[str] = "EndQuorumEpochRequest"
    API_KEY: ClassVar[int] = 54
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        cluster_id: str | None = None,
        topics: list[EndQuorumEpochRequest.TopicData] | None = None,
        leader_endpoints: list[EndQuorumEpochRequest.LeaderEndpoint] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.topics = [] if topics is None else topics
        self.leader_endpoints = [] if leader_endpoints is None else leader_endpoints
        self.unknown_tagged_fields = None


class EndQuorumEpochResponse(Message):
    """Kafka's EndQuorumEpochResponse (response), API key 54, versions 0-1, flexible 1+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - topics: []TopicData, versions 0+
    - node_endpoints: []NodeEndpoint, versions 1+, tag 0
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "leader_id",
            "leader_epoch",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            leader_id: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[EndQuorumEpochResponse.PartitionData] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 1+.

        - node_id: int32, versions 1+, map key
        - host: string, versions 1+
        - port: uint16, versions 1+
        """

        __slots__ = (
            "node_id",
            "host",
            "port",
        )

        def __init__(
            self,
            node_id: int = 0,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.node_id = node_id
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    __slots__ = (
        "error_code",
        "topics",
        "node_endpoints",
    )

    NAME: ClassVar[str] = "EndQuorumEpochResponse"
    API_KEY: ClassVar[int] = 54
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        error_code: int = 0,
        topics: list[EndQuorumEpochResponse.TopicData] | None = None,
        node_endpoints: list[EndQuorumEpochResponse.NodeEndpoint] | None = None,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is None else topics
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tagged_fields = None


class EnvelopeRequest(Message):
    """Kafka's EnvelopeRequest (request), API key 58, versions 0, flexible 0+, listeners controller.

    - request_data: bytes, versions 0+
    - request_principal: bytes, versions 0+, nullable 0+
    - client_host_address: bytes, versions 0+
    """

    __slots__ = (
        "request_data",
        "request_principal",
        "client_host_address",
    )

    NAME: ClassVar[str] = "EnvelopeRequest"
    API_KEY: ClassVar[int] = 58
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address
        self.unknown_tagged_fields = None


class EnvelopeResponse(Message):
    """Kafka's EnvelopeResponse (response), API key 58, versions 0, flexible 0+.

    - response_data: bytes, versions 0+, nullable 0+
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    """

    __slots__ = (
        "response_data",
        "error_code",
    )

    NAME: ClassVar[str] = "EnvelopeResponse"
    API_KEY: ClassVar[int] = 58
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        response_data: bytes | None = None,
        error_code: int = 0,
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code
        self.unknown_tagged_fields = None


class FetchSnapshotRequest(Message):
    """Kafka's FetchSnapshotRequest (request), API key 59, versions 0-1, flexible 0+, listeners controller.

    - cluster_id: string, versions 0+, nullable 0+, tag 0
    - replica_id: int32, versions 0+
    - max_bytes: int32, versions 0+
    - topics: []TopicSnapshot, versions 0+
    """

    class SnapshotId(Structure):
        """Structure SnapshotId, versions 0+.

        - end_offset: int64, versions 0+
        - epoch: int32, versions 0+
        """

        __slots__ = (
            "end_offset",
            "epoch",
        )

        def __init__(
            self,
            end_offset: int = 0,
            epoch: int = 0,
        ) -> None:
            self.end_offset = end_offset
            self.epoch = epoch
            self.unknown_tagged_fields = None

    class PartitionSnapshot(Structure):
        """Structure PartitionSnapshot, versions 0+.

        - partition: int32, versions 0+
        - current_leader_epoch: int32, versions 0+; the leader epoch that the sender knows, -1 for none
        - snapshot_id: SnapshotId, versions 0+
        - position: int64, versions 0+
        - replica_directory_id: uuid, versions 1+, tag 0, ignorable
        """

        __slots__ = (
            "partition",
            "current_leader_epoch",
            "snapshot_id",
            "position",
            "replica_directory_id",
        )

        def __init__(
            self,
            partition: int = 0,
            current_leader_epoch: int = 0,
            snapshot_id: FetchSnapshotRequest.SnapshotId | None = None,
            position: int = 0,
            replica_directory_id: bytes = ZERO_UUID,
        ) -> None:
            self.partition = partition
            self.current_leader_epoch = current_leader_epoch
            self.snapshot_id = FetchSnapshotRequest.SnapshotId() if snapshot_id is None else snapshot_id
            self.position = position
            self.replica_directory_id = replica_directory_id
            self.unknown_tagged_fields = None

    class TopicSnapshot(Structure):
        """Structure TopicSnapshot, versions 0+.

        - name: string, versions 0+
        - partitions: []PartitionSnapshot, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[FetchSnapshotRequest.PartitionSnapshot] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "cluster_id",
        "replica_id",
        "max_bytes",
        "topics",
    )

    NAME: ClassVar[str] = "FetchSnapshotRequest"
    API_KEY: ClassVar[int] = 59
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[FetchSnapshotRequest.TopicSnapshot] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class FetchSnapshotResponse(Message):
    """Kafka's FetchSnapshotResponse (response), API key 59, versions 0-1, flexible 0+.

    - throttle_time_ms: int32, versions 0+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - topics: []TopicSnapshot, versions 0+
    - node_endpoints: []NodeEndpoint, versions 1+, tag 0
    """

    class SnapshotId(Structure):
        """Structure SnapshotId, versions 0+.

        - end_offset: int64, versions 0+
        - epoch: int32, versions 0+
        """

        __slots__ = (
            "end_offset",
            "epoch",
        )

        def __init__(
            self,
            end_offset: int = 0,
            epoch: int = 0,
        ) -> None:
            self.end_offset = end_offset
            self.epoch = epoch
            self.unknown_tagged_fields = None

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 0+.

        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "leader_id",
            "leader_epoch",
        )

        def __init__(
            self,
            leader_id: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class PartitionSnapshot(Structure):
        """Structure PartitionSnapshot, versions 0+.

        - index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - snapshot_id: SnapshotId, versions 0+
        - current_leader: LeaderIdAndEpoch, versions 0+, tag 0
        - size: int64, versions 0+
        - position: int64, versions 0+
        - unaligned_records: records, versions 0+
        """

        __slots__ = (
            "index",
            "error_code",
            "snapshot_id",
            "current_leader",
            "size",
            "position",
            "unaligned_records",
        )

        def __init__(
            self,
            index: int = 0,
            error_code: int = 0,
            snapshot_id: FetchSnapshotResponse.SnapshotId | None = None,
            current_leader: FetchSnapshotResponse.LeaderIdAndEpoch | None = None,
            size: int = 0,
            position: int = 0,
            unaligned_records: Records | None = None,
        ) -> None:
            self.index = index
            self.error_code = error_code
            self.snapshot_id = FetchSnapshotResponse.SnapshotId() if snapshot_id is None else snapshot_id
            self.current_leader = FetchSnapshotResponse.LeaderIdAndEpoch() if current_leader is None else current_leader
            self.size = size
            self.position = position
            self.unaligned_records = unaligned_records
            self.unknown_tagged_fields = None

    class TopicSnapshot(Structure):
        """Structure TopicSnapshot, versions 0+.

        - name: string, versions 0+
        - partitions: []PartitionSnapshot, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[FetchSnapshotResponse.PartitionSnapshot] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 1+.

        - node_id: int32, versions 1+, map key
        - host: string, versions 1+
        - port: uint16, versions 1+
        """

        __slots__ = (
            "node_id",
            "host",
            "port",
        )

        def __init__(
            self,
            node_id: int = 0,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.node_id = node_id
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "topics",
        "node_endpoints",
    )

    NAME: ClassVar[str] = "FetchSnapshotResponse"
    API_KEY: ClassVar[int] = 59
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[FetchSnapshotResponse.TopicSnapshot] | None = None,
        node_endpoints: list[FetchSnapshotResponse.NodeEndpoint] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is None else topics
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tagged_fields = None


class LeaderAndIsrRequest(Message):
    """Kafka's LeaderAndIsrRequest (request), API key 4, versions none."""

    __slots__ = ()

    NAME: ClassVar[str] = "LeaderAndIsrRequest"
    API_KEY: ClassVar[int] = 4
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767


class LeaderAndIsrResponse(Message):
    """Kafka's LeaderAndIsrResponse (response), API key 4, versions none."""

    __slots__ = ()

    NAME: ClassVar[str] = "LeaderAndIsrResponse"
    API_KEY: ClassVar[int] = 4
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767


class RemoveRaftVoterRequest(Message):
    """Kafka's RemoveRaftVoterRequest (request), API key 81, versions 0, flexible 0+, listeners controller and
    broker.

    - cluster_id: string, versions 0+, nullable 0+
    - voter_id: int32, versions 0+
    - voter_directory_id: uuid, versions 0+
    """

    __slots__ = (
        "cluster_id",
        "voter_id",
        "voter_directory_id",
    )

    NAME: ClassVar[str] = "RemoveRaftVoterRequest"
    API_KEY: ClassVar[int] = 81
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tagged_fields = None


class RemoveRaftVoterResponse(Message):
    """Kafka's RemoveRaftVoterResponse (response), API key 81, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+, ignorable; a text for people
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
    )

    NAME: ClassVar[str] = "RemoveRaftVoterResponse"
    API_KEY: ClassVar[int] = 81
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = None


class StopReplicaRequest(Message):
    """Kafka's StopReplicaRequest (request), API key 5, versions none."""

    __slots__ = ()

    NAME: ClassVar[str] = "StopReplicaRequest"
    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767


class StopReplicaResponse(Message):
    """Kafka's StopReplicaResponse (response), API key 5, versions none."""

    __slots__ = ()

    NAME: ClassVar[str] = "StopReplicaResponse"
    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767


class UnregisterBrokerRequest(Message):
    """Kafka's UnregisterBrokerRequest (request), API key 64, versions 0, flexible 0+, listeners broker and
    controller.

    - broker_id: int32, versions 0+
    """

    __slots__ = ("broker_id",)

    NAME: ClassVar[str] = "UnregisterBrokerRequest"
    API_KEY: ClassVar[int] = 64
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.unknown_tagged_fields = None


class UnregisterBrokerResponse(Message):
    """Kafka's UnregisterBrokerResponse (response), API key 64, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
    )

    NAME: ClassVar[str] = "UnregisterBrokerResponse"
    API_KEY: ClassVar[int] = 64
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = None


class UpdateFeaturesRequest(Message):
    """Kafka's UpdateFeaturesRequest (request), API key 57, versions 0-2, flexible 0+, listeners broker and
    controller.

    - timeout_ms: int32, versions 0+
    - feature_updates: []FeatureUpdateKey, versions 0+
    - validate_only: bool, versions 1+; checks the request and changes nothing
    """

    class FeatureUpdateKey(Structure):
        """Structure FeatureUpdateKey, versions 0+.

        - feature: string, versions 0+, map key
        - max_version_level: int16, versions 0+
        - allow_downgrade: bool, versions 0
        - upgrade_type: int8, versions 1+
        """

        __slots__ = (
            "feature",
            "max_version_level",
            "allow_downgrade",
            "upgrade_type",
        )

        def __init__(
            self,
            feature: str = "",
            max_version_level: int = 0,
            allow_downgrade: bool = False,
            upgrade_type: int = 1,
        ) -> None:
            self.feature = feature
            self.max_version_level = max_version_level
            self.allow_downgrade = allow_downgrade
            self.upgrade_type = upgrade_type
            self.unknown_tagged_fields = None

    __slots__ = (
        "timeout_ms",
        "feature_updates",
        "validate_only",
    )

    NAME: ClassVar[str] = "UpdateFeaturesRequest"
    API_KEY: ClassVar[int] = 57
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey] | None = None,
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is None else feature_updates
        self.validate_only = validate_only
        self.unknown_tagged_fields = None


class UpdateFeaturesResponse(Message):
    """Kafka's UpdateFeaturesResponse (response), API key 57, versions 0-2, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - results: []UpdatableFeatureResult, versions 0-1, ignorable
    """

    class UpdatableFeatureResult(Structure):
        """Structure UpdatableFeatureResult, versions 0-1.

        - feature: string, versions 0+, map key
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "feature",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            feature: str = "",
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.feature = feature
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "results",
    )

    NAME: ClassVar[str] = "UpdateFeaturesResponse"
    API_KEY: ClassVar[int] = 57
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdateFeaturesResponse.UpdatableFeatureResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class UpdateMetadataRequest(Message):
    """Kafka's UpdateMetadataRequest (request), API key 6, versions none."""

    __slots__ = ()

    NAME: ClassVar[str] = "UpdateMetadataRequest"
    API_KEY: ClassVar[int] = 6
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767


class UpdateMetadataResponse(Message):
    """Kafka's UpdateMetadataResponse (response), API key 6, versions none."""

    __slots__ = ()

    NAME: ClassVar[str] = "UpdateMetadataResponse"
    API_KEY: ClassVar[int] = 6
    VERSIONS: ClassVar[tuple[int, int]] = (0, -1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767


class UpdateRaftVoterRequest(Message):
    """Kafka's UpdateRaftVoterRequest (request), API key 82, versions 0, flexible 0+, listeners controller.

    - cluster_id: string, versions 0+, nullable 0+
    - current_leader_epoch: int32, versions 0+; the leader epoch that the sender knows, -1 for none
    - voter_id: int32, versions 0+
    - voter_directory_id: uuid, versions 0+
    - listeners: []Listener, versions 0+
    - k_raft_version_feature: KRaftVersionFeature, versions 0+
    """

    class Listener(Structure):
        """Structure Listener, versions 0+.

        - name: string, versions 0+, map key
        - host: string, versions 0+
        - port: uint16, versions 0+
        """

        __slots__ = (
            "name",
            "host",
            "port",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    class KRaftVersionFeature(Structure):
        """Structure KRaftVersionFeature, versions 0+.

        - min_supported_version: int16, versions 0+
        - max_supported_version: int16, versions 0+
        """

        __slots__ = (
            "min_supported_version",
            "max_supported_version",
        )

        def __init__(
            self,
            min_supported_version: int = 0,
            max_supported_version: int = 0,
        ) -> None:
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tagged_fields = None

    __slots__ = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "k_raft_version_feature",
    )

    NAME: ClassVar[str] = "UpdateRaftVoterRequest"
    API_KEY: ClassVar[int] = 82
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[UpdateRaftVoterRequest.Listener] | None = None,
        k_raft_version_feature: UpdateRaftVoterRequest.KRaftVersionFeature | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is None else listeners
        self.k_raft_version_feature = (
            UpdateRaftVoterRequest.KRaftVersionFeature() if k_raft_version_feature is None else k_raft_version_feature
        )
        self.unknown_tagged_fields = None


class UpdateRaftVoterResponse(Message):
    """Kafka's UpdateRaftVoterResponse (response), API key 82, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - current_leader: CurrentLeader, versions 0+, tag 0
    """

    class CurrentLeader(Structure):
        """Structure CurrentLeader, versions 0+.

        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - host: string, versions 0+
        - port: int32, versions 0+
        """

        __slots__ = (
            "leader_id",
            "leader_epoch",
            "host",
            "port",
        )

        def __init__(
            self,
            leader_id: int = -1,
            leader_epoch: int = -1,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "current_leader",
    )

    NAME: ClassVar[str] = "UpdateRaftVoterResponse"
    API_KEY: ClassVar[int] = 82
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: UpdateRaftVoterResponse.CurrentLeader | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = UpdateRaftVoterResponse.CurrentLeader() if current_leader is None else current_leader
        self.unknown_tagged_fields = None


class VoteRequest(Message):
    """Kafka's VoteRequest (request), API key 52, versions 0-2, flexible 0+, listeners controller.

    - cluster_id: string, versions 0+, nullable 0+
    - voter_id: int32, versions 1+, ignorable
    - topics: []TopicData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - replica_epoch: int32, versions 0+
        - replica_id: int32, versions 0+
        - replica_directory_id: uuid, versions 1+, ignorable
        - voter_directory_id: uuid, versions 1+, ignorable
        - last_offset_epoch: int32, versions 0+
        - last_offset: int64, versions 0+
        - pre_vote: bool, versions 2+
        """

        __slots__ = (
            "partition_index",
            "replica_epoch",
            "replica_id",
            "replica_directory_id",
            "voter_directory_id",
            "last_offset_epoch",
            "last_offset",
            "pre_vote",
        )

        def __init__(
            self,
            partition_index: int = 0,
            replica_epoch: int = 0,
            replica_id: int = 0,
            replica_directory_id: bytes = ZERO_UUID,
            voter_directory_id: bytes = ZERO_UUID,
            last_offset_epoch: int = 0,
            last_offset: int = 0,
            pre_vote: bool = False,
        ) -> None:
            self.partition_index = partition_index
            self.replica_epoch = replica_epoch
            self.replica_id = replica_id
            self.replica_directory_id = replica_directory_id
            self.voter_directory_id = voter_directory_id
            self.last_offset_epoch = last_offset_epoch
            self.last_offset = last_offset
            self.pre_vote = pre_vote
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[VoteRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "cluster_id",
        "voter_id",
        "topics",
    )

    NAME: ClassVar[str] = "VoteRequest"
    API_KEY: ClassVar[int] = 52
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[VoteRequest.TopicData] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class VoteResponse(Message):
    """Kafka's VoteResponse (response), API key 52, versions 0-2, flexible 0+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - topics: []TopicData, versions 0+
    - node_endpoints: []NodeEndpoint, versions 1+, tag 0
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - vote_granted: bool, versions 0+
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "leader_id",
            "leader_epoch",
            "vote_granted",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            leader_id: int = 0,
            leader_epoch: int = 0,
            vote_granted: bool = False,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.vote_granted = vote_granted
            self.unknown_tagged_fields = None

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[VoteResponse.PartitionData] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 1+.

        - node_id: int32, versions 1+, map key
        - host: string, versions 1+
        - port: uint16, versions 1+
        """

        __slots__ = (
            "node_id",
            "host",
            "port",
        )

        def __init__(
            self,
            node_id: int = 0,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.node_id = node_id
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    __slots__ = (
        "error_code",
        "topics",
        "node_endpoints",
    )

    NAME: ClassVar[str] = "VoteResponse"
    API_KEY: ClassVar[int] = 52
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        error_code: int = 0,
        topics: list[VoteResponse.TopicData] | None = None,
        node_endpoints: list[VoteResponse.NodeEndpoint] | None = None,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is None else topics
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tagged_fields = None
