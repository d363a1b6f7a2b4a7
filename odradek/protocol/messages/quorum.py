"""Between brokers and controllers: the Raft quorum, registration, replicas; and APIs of clusters with ZooKeeper.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Records, Structure


class AddRaftVoterRequest(Message):
    """Kafka's AddRaftVoterRequest (request), API key 80, versions 0-1, flexible 0+, listeners controller and
    broker.
    """

    class Listener(Structure):
        """Structure Listener, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""

    NAME = "AddRaftVoterRequest"
    API_KEY = 80
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    cluster_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    timeout_ms: int = 0
    """int32, versions 0+"""
    voter_id: int = 0
    """int32, versions 0+"""
    voter_directory_id: bytes = ZERO_UUID
    """uuid, versions 0+"""
    listeners: list[AddRaftVoterRequest.Listener] = NEW_LIST
    """[]Listener, versions 0+"""
    ack_when_committed: bool = True
    """bool, versions 1+"""


class AddRaftVoterResponse(Message):
    """Kafka's AddRaftVoterResponse (response), API key 80, versions 0-1, flexible 0+."""

    NAME = "AddRaftVoterResponse"
    API_KEY = 80
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+, ignorable; a text for people"""


class AllocateProducerIdsRequest(Message):
    """Kafka's AllocateProducerIdsRequest (request), API key 67, versions 0, flexible 0+, listeners controller."""

    NAME = "AllocateProducerIdsRequest"
    API_KEY = 67
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    broker_epoch: int = -1
    """int64, versions 0+; the epoch of the broker's registration"""


class AllocateProducerIdsResponse(Message):
    """Kafka's AllocateProducerIdsResponse (response), API key 67, versions 0, flexible 0+."""

    NAME = "AllocateProducerIdsResponse"
    API_KEY = 67
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    producer_id_start: int = 0
    """int64, versions 0+"""
    producer_id_len: int = 0
    """int32, versions 0+"""


class AlterPartitionRequest(Message):
    """Kafka's AlterPartitionRequest (request), API key 56, versions 0-3, flexible 0+, listeners controller."""

    class BrokerState(Structure):
        """Structure BrokerState, versions 3+."""

        broker_id: int = 0
        """int32, versions 3+"""
        broker_epoch: int = -1
        """int64, versions 3+; the epoch of the broker's registration"""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        new_isr: list[int] = NEW_LIST
        """[]int32, versions 0-2"""
        new_isr_with_epochs: list[AlterPartitionRequest.BrokerState] = NEW_LIST
        """[]BrokerState, versions 3+"""
        leader_recovery_state: int = 0
        """int8, versions 1+"""
        partition_epoch: int = 0
        """int32, versions 0+"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 2+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[AlterPartitionRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""
        topic_name: str = ""
        """string, versions 0-1, ignorable"""

    NAME = "AlterPartitionRequest"
    API_KEY = 56
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    broker_epoch: int = -1
    """int64, versions 0+; the epoch of the broker's registration"""
    topics: list[AlterPartitionRequest.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""


class AlterPartitionResponse(Message):
    """Kafka's AlterPartitionResponse (response), API key 56, versions 0-3, flexible 0+."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        isr: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        leader_recovery_state: int = 0
        """int8, versions 1+, ignorable"""
        partition_epoch: int = 0
        """int32, versions 0+"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 2+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[AlterPartitionResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""
        topic_name: str = ""
        """string, versions 0-1, ignorable"""

    NAME = "AlterPartitionResponse"
    API_KEY = 56
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    topics: list[AlterPartitionResponse.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""


class AssignReplicasToDirsRequest(Message):
    """Kafka's AssignReplicasToDirsRequest (request), API key 73, versions 0, flexible 0+, listeners controller."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[AssignReplicasToDirsRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class DirectoryData(Structure):
        """Structure DirectoryData, versions 0+."""

        id: bytes = ZERO_UUID
        """uuid, versions 0+"""
        topics: list[AssignReplicasToDirsRequest.TopicData] = NEW_LIST
        """[]TopicData, versions 0+"""

    NAME = "AssignReplicasToDirsRequest"
    API_KEY = 73
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    broker_epoch: int = -1
    """int64, versions 0+; the epoch of the broker's registration"""
    directories: list[AssignReplicasToDirsRequest.DirectoryData] = NEW_LIST
    """[]DirectoryData, versions 0+"""


class AssignReplicasToDirsResponse(Message):
    """Kafka's AssignReplicasToDirsResponse (response), API key 73, versions 0, flexible 0+."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[AssignReplicasToDirsResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class DirectoryData(Structure):
        """Structure DirectoryData, versions 0+."""

        id: bytes = ZERO_UUID
        """uuid, versions 0+"""
        topics: list[AssignReplicasToDirsResponse.TopicData] = NEW_LIST
        """[]TopicData, versions 0+"""

    NAME = "AssignReplicasToDirsResponse"
    API_KEY = 73
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    directories: list[AssignReplicasToDirsResponse.DirectoryData] = NEW_LIST
    """[]DirectoryData, versions 0+"""


class BeginQuorumEpochRequest(Message):
    """Kafka's BeginQuorumEpochRequest (request), API key 53, versions 0-1, flexible 1+, listeners controller."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        voter_directory_id: bytes = ZERO_UUID
        """uuid, versions 1+, ignorable"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[BeginQuorumEpochRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class LeaderEndpoint(Structure):
        """Structure LeaderEndpoint, versions 1+."""

        name: str = ""
        """string, versions 1+, map key"""
        host: str = ""
        """string, versions 1+"""
        port: int = 0
        """uint16, versions 1+"""

    NAME = "BeginQuorumEpochRequest"
    API_KEY = 53
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    cluster_id: str | None = None
    """string, versions 0+, nullable 0+"""
    voter_id: int = -1
    """int32, versions 1+, ignorable"""
    topics: list[BeginQuorumEpochRequest.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""
    leader_endpoints: list[BeginQuorumEpochRequest.LeaderEndpoint] = NEW_LIST
    """[]LeaderEndpoint, versions 1+, ignorable"""


class BeginQuorumEpochResponse(Message):
    """Kafka's BeginQuorumEpochResponse (response), API key 53, versions 0-1, flexible 1+."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[BeginQuorumEpochResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 1+."""

        node_id: int = 0
        """int32, versions 1+, map key"""
        host: str = ""
        """string, versions 1+"""
        port: int = 0
        """uint16, versions 1+"""

    NAME = "BeginQuorumEpochResponse"
    API_KEY = 53
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    topics: list[BeginQuorumEpochResponse.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""
    node_endpoints: list[BeginQuorumEpochResponse.NodeEndpoint] = NEW_LIST
    """[]NodeEndpoint, versions 1+, tag 0"""


class BrokerHeartbeatRequest(Message):
    """Kafka's BrokerHeartbeatRequest (request), API key 63, versions 0-2, flexible 0+, listeners controller."""

    NAME = "BrokerHeartbeatRequest"
    API_KEY = 63
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    broker_epoch: int = -1
    """int64, versions 0+; the epoch of the broker's registration"""
    current_metadata_offset: int = 0
    """int64, versions 0+"""
    want_fence: bool = False
    """bool, versions 0+"""
    want_shut_down: bool = False
    """bool, versions 0+"""
    offline_log_dirs: list[bytes] = NEW_LIST
    """[]uuid, versions 1+, tag 0"""
    cordoned_log_dirs: list[bytes] | None = None
    """[]uuid, versions 2+, nullable 2+, tag 1"""


class BrokerHeartbeatResponse(Message):
    """Kafka's BrokerHeartbeatResponse (response), API key 63, versions 0-2, flexible 0+."""

    NAME = "BrokerHeartbeatResponse"
    API_KEY = 63
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    is_caught_up: bool = False
    """bool, versions 0+"""
    is_fenced: bool = True
    """bool, versions 0+"""
    should_shut_down: bool = False
    """bool, versions 0+"""


class BrokerRegistrationRequest(Message):
    """Kafka's BrokerRegistrationRequest (request), API key 62, versions 0-4, flexible 0+, listeners controller."""

    class Listener(Structure):
        """Structure Listener, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""
        security_protocol: int = 0
        """int16, versions 0+"""

    class Feature(Structure):
        """Structure Feature, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        min_supported_version: int = 0
        """int16, versions 0+"""
        max_supported_version: int = 0
        """int16, versions 0+"""

    NAME = "BrokerRegistrationRequest"
    API_KEY = 62
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    cluster_id: str = ""
    """string, versions 0+"""
    incarnation_id: bytes = ZERO_UUID
    """uuid, versions 0+; is new at each start of the process"""
    listeners: list[BrokerRegistrationRequest.Listener] = NEW_LIST
    """[]Listener, versions 0+"""
    features: list[BrokerRegistrationRequest.Feature] = NEW_LIST
    """[]Feature, versions 0+"""
    rack: str | None = ""
    """string, versions 0+, nullable 0+"""
    is_migrating_zk_broker: bool = False
    """bool, versions 1+"""
    log_dirs: list[bytes] = NEW_LIST
    """[]uuid, versions 2+, ignorable"""
    previous_broker_epoch: int = -1
    """int64, versions 3+, ignorable"""


class BrokerRegistrationResponse(Message):
    """Kafka's BrokerRegistrationResponse (response), API key 62, versions 0-4, flexible 0+."""

    NAME = "BrokerRegistrationResponse"
    API_KEY = 62
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    broker_epoch: int = -1
    """int64, versions 0+; the epoch of the broker's registration"""


class ControlledShutdownRequest(Message):
    """Kafka's ControlledShutdownRequest (request), API key 7, versions none."""

    NAME = "ControlledShutdownRequest"
    API_KEY = 7
    VERSIONS = (0, -1)
    FLEXIBLE_SINCE = 32767


class ControlledShutdownResponse(Message):
    """Kafka's ControlledShutdownResponse (response), API key 7, versions none."""

    NAME = "ControlledShutdownResponse"
    API_KEY = 7
    VERSIONS = (0, -1)
    FLEXIBLE_SINCE = 32767


class ControllerRegistrationRequest(Message):
    """Kafka's ControllerRegistrationRequest (request), API key 70, versions 0, flexible 0+, listeners
    controller.
    """

    class Listener(Structure):
        """Structure Listener, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""
        security_protocol: int = 0
        """int16, versions 0+"""

    class Feature(Structure):
        """Structure Feature, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        min_supported_version: int = 0
        """int16, versions 0+"""
        max_supported_version: int = 0
        """int16, versions 0+"""

    NAME = "ControllerRegistrationRequest"
    API_KEY = 70
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    controller_id: int = 0
    """int32, versions 0+"""
    incarnation_id: bytes = ZERO_UUID
    """uuid, versions 0+; is new at each start of the process"""
    zk_migration_ready: bool = False
    """bool, versions 0+"""
    listeners: list[ControllerRegistrationRequest.Listener] = NEW_LIST
    """[]Listener, versions 0+"""
    features: list[ControllerRegistrationRequest.Feature] = NEW_LIST
    """[]Feature, versions 0+"""


class ControllerRegistrationResponse(Message):
    """Kafka's ControllerRegistrationResponse (response), API key 70, versions 0, flexible 0+."""

    NAME = "ControllerRegistrationResponse"
    API_KEY = 70
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""


class DescribeQuorumRequest(Message):
    """Kafka's DescribeQuorumRequest (request), API key 55, versions 0-2, flexible 0+, listeners broker and
    controller.
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[DescribeQuorumRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    NAME = "DescribeQuorumRequest"
    API_KEY = 55
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    topics: list[DescribeQuorumRequest.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""


class DescribeQuorumResponse(Message):
    """Kafka's DescribeQuorumResponse (response), API key 55, versions 0-2, flexible 0+."""

    class ReplicaState(Structure):
        """Structure ReplicaState, versions 0+."""

        replica_id: int = 0
        """int32, versions 0+"""
        replica_directory_id: bytes = ZERO_UUID
        """uuid, versions 2+"""
        log_end_offset: int = 0
        """int64, versions 0+"""
        last_fetch_timestamp: int = -1
        """int64, versions 1+, ignorable"""
        last_caught_up_timestamp: int = -1
        """int64, versions 1+, ignorable"""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 2+, nullable 2+, ignorable; a text for people"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        high_watermark: int = 0
        """int64, versions 0+; the end of the records that all in-sync replicas have"""
        current_voters: list[DescribeQuorumResponse.ReplicaState] = NEW_LIST
        """[]ReplicaState, versions 0+"""
        observers: list[DescribeQuorumResponse.ReplicaState] = NEW_LIST
        """[]ReplicaState, versions 0+"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[DescribeQuorumResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class Listener(Structure):
        """Structure Listener, versions 2+."""

        name: str = ""
        """string, versions 2+, map key"""
        host: str = ""
        """string, versions 2+"""
        port: int = 0
        """uint16, versions 2+"""

    class Node(Structure):
        """Structure Node, versions 2+."""

        node_id: int = 0
        """int32, versions 2+, map key"""
        listeners: list[DescribeQuorumResponse.Listener] = NEW_LIST
        """[]Listener, versions 2+"""

    NAME = "DescribeQuorumResponse"
    API_KEY = 55
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 2+, nullable 2+, ignorable; a text for people"""
    topics: list[DescribeQuorumResponse.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""
    nodes: list[DescribeQuorumResponse.Node] = NEW_LIST
    """[]Node, versions 2+"""


class EndQuorumEpochRequest(Message):
    """Kafka's EndQuorumEpochRequest (request), API key 54, versions 0-1, flexible 1+, listeners controller."""

    class ReplicaInfo(Structure):
        """Structure ReplicaInfo, versions 1+."""

        candidate_id: int = 0
        """int32, versions 1+"""
        candidate_directory_id: bytes = ZERO_UUID
        """uuid, versions 1+"""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        preferred_successors: list[int] = NEW_LIST
        """[]int32, versions 0, ignorable"""
        preferred_candidates: list[EndQuorumEpochRequest.ReplicaInfo] = NEW_LIST
        """[]ReplicaInfo, versions 1+, ignorable"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[EndQuorumEpochRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class LeaderEndpoint(Structure):
        """Structure LeaderEndpoint, versions 1+."""

        name: str = ""
        """string, versions 1+, map key"""
        host: str = ""
        """string, versions 1+"""
        port: int = 0
        """uint16, versions 1+"""

    NAME = "EndQuorumEpochRequest"
    API_KEY = 54
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    cluster_id: str | None = None
    """string, versions 0+, nullable 0+"""
    topics: list[EndQuorumEpochRequest.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""
    leader_endpoints: list[EndQuorumEpochRequest.LeaderEndpoint] = NEW_LIST
    """[]LeaderEndpoint, versions 1+, ignorable"""


class EndQuorumEpochResponse(Message):
    """Kafka's EndQuorumEpochResponse (response), API key 54, versions 0-1, flexible 1+."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[EndQuorumEpochResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 1+."""

        node_id: int = 0
        """int32, versions 1+, map key"""
        host: str = ""
        """string, versions 1+"""
        port: int = 0
        """uint16, versions 1+"""

    NAME = "EndQuorumEpochResponse"
    API_KEY = 54
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    topics: list[EndQuorumEpochResponse.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""
    node_endpoints: list[EndQuorumEpochResponse.NodeEndpoint] = NEW_LIST
    """[]NodeEndpoint, versions 1+, tag 0"""


class EnvelopeRequest(Message):
    """Kafka's EnvelopeRequest (request), API key 58, versions 0, flexible 0+, listeners controller."""

    NAME = "EnvelopeRequest"
    API_KEY = 58
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    request_data: bytes = b""
    """bytes, versions 0+"""
    request_principal: bytes | None = b""
    """bytes, versions 0+, nullable 0+"""
    client_host_address: bytes = b""
    """bytes, versions 0+"""


class EnvelopeResponse(Message):
    """Kafka's EnvelopeResponse (response), API key 58, versions 0, flexible 0+."""

    NAME = "EnvelopeResponse"
    API_KEY = 58
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    response_data: bytes | None = None
    """bytes, versions 0+, nullable 0+"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""


class FetchSnapshotRequest(Message):
    """Kafka's FetchSnapshotRequest (request), API key 59, versions 0-1, flexible 0+, listeners controller."""

    class SnapshotId(Structure):
        """Structure SnapshotId, versions 0+."""

        end_offset: int = 0
        """int64, versions 0+"""
        epoch: int = 0
        """int32, versions 0+"""

    class PartitionSnapshot(Structure):
        """Structure PartitionSnapshot, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        current_leader_epoch: int = 0
        """int32, versions 0+; the leader epoch that the sender knows, -1 for none"""
        snapshot_id: FetchSnapshotRequest.SnapshotId = NEW_STRUCTURE
        """SnapshotId, versions 0+"""
        position: int = 0
        """int64, versions 0+"""
        replica_directory_id: bytes = ZERO_UUID
        """uuid, versions 1+, tag 0, ignorable"""

    class TopicSnapshot(Structure):
        """Structure TopicSnapshot, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[FetchSnapshotRequest.PartitionSnapshot] = NEW_LIST
        """[]PartitionSnapshot, versions 0+"""

    NAME = "FetchSnapshotRequest"
    API_KEY = 59
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    cluster_id: str | None = None
    """string, versions 0+, nullable 0+, tag 0"""
    replica_id: int = -1
    """int32, versions 0+"""
    max_bytes: int = 2147483647
    """int32, versions 0+"""
    topics: list[FetchSnapshotRequest.TopicSnapshot] = NEW_LIST
    """[]TopicSnapshot, versions 0+"""


class FetchSnapshotResponse(Message):
    """Kafka's FetchSnapshotResponse (response), API key 59, versions 0-1, flexible 0+."""

    class SnapshotId(Structure):
        """Structure SnapshotId, versions 0+."""

        end_offset: int = 0
        """int64, versions 0+"""
        epoch: int = 0
        """int32, versions 0+"""

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 0+."""

        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class PartitionSnapshot(Structure):
        """Structure PartitionSnapshot, versions 0+."""

        index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        snapshot_id: FetchSnapshotResponse.SnapshotId = NEW_STRUCTURE
        """SnapshotId, versions 0+"""
        current_leader: FetchSnapshotResponse.LeaderIdAndEpoch = NEW_STRUCTURE
        """LeaderIdAndEpoch, versions 0+, tag 0"""
        size: int = 0
        """int64, versions 0+"""
        position: int = 0
        """int64, versions 0+"""
        unaligned_records: Records | None = None
        """records, versions 0+"""

    class TopicSnapshot(Structure):
        """Structure TopicSnapshot, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[FetchSnapshotResponse.PartitionSnapshot] = NEW_LIST
        """[]PartitionSnapshot, versions 0+"""

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 1+."""

        node_id: int = 0
        """int32, versions 1+, map key"""
        host: str = ""
        """string, versions 1+"""
        port: int = 0
        """uint16, versions 1+"""

    NAME = "FetchSnapshotResponse"
    API_KEY = 59
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    topics: list[FetchSnapshotResponse.TopicSnapshot] = NEW_LIST
    """[]TopicSnapshot, versions 0+"""
    node_endpoints: list[FetchSnapshotResponse.NodeEndpoint] = NEW_LIST
    """[]NodeEndpoint, versions 1+, tag 0"""


class LeaderAndIsrRequest(Message):
    """Kafka's LeaderAndIsrRequest (request), API key 4, versions none."""

    NAME = "LeaderAndIsrRequest"
    API_KEY = 4
    VERSIONS = (0, -1)
    FLEXIBLE_SINCE = 32767


class LeaderAndIsrResponse(Message):
    """Kafka's LeaderAndIsrResponse (response), API key 4, versions none."""

    NAME = "LeaderAndIsrResponse"
    API_KEY = 4
    VERSIONS = (0, -1)
    FLEXIBLE_SINCE = 32767


class RemoveRaftVoterRequest(Message):
    """Kafka's RemoveRaftVoterRequest (request), API key 81, versions 0, flexible 0+, listeners controller and
    broker.
    """

    NAME = "RemoveRaftVoterRequest"
    API_KEY = 81
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    cluster_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    voter_id: int = 0
    """int32, versions 0+"""
    voter_directory_id: bytes = ZERO_UUID
    """uuid, versions 0+"""


class RemoveRaftVoterResponse(Message):
    """Kafka's RemoveRaftVoterResponse (response), API key 81, versions 0, flexible 0+."""

    NAME = "RemoveRaftVoterResponse"
    API_KEY = 81
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+, ignorable; a text for people"""


class StopReplicaRequest(Message):
    """Kafka's StopReplicaRequest (request), API key 5, versions none."""

    NAME = "StopReplicaRequest"
    API_KEY = 5
    VERSIONS = (0, -1)
    FLEXIBLE_SINCE = 32767


class StopReplicaResponse(Message):
    """Kafka's StopReplicaResponse (response), API key 5, versions none."""

    NAME = "StopReplicaResponse"
    API_KEY = 5
    VERSIONS = (0, -1)
    FLEXIBLE_SINCE = 32767


class UnregisterBrokerRequest(Message):
    """Kafka's UnregisterBrokerRequest (request), API key 64, versions 0, flexible 0+, listeners broker and
    controller.
    """

    NAME = "UnregisterBrokerRequest"
    API_KEY = 64
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""


class UnregisterBrokerResponse(Message):
    """Kafka's UnregisterBrokerResponse (response), API key 64, versions 0, flexible 0+."""

    NAME = "UnregisterBrokerResponse"
    API_KEY = 64
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""


class UnregisterControllerRequest(Message):
    """Kafka's UnregisterControllerRequest (request), API key 94, versions 0, flexible 0+, listeners broker and
    controller.
    """

    NAME = "UnregisterControllerRequest"
    API_KEY = 94
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    controller_id: int = 0
    """int32, versions 0+"""


class UnregisterControllerResponse(Message):
    """Kafka's UnregisterControllerResponse (response), API key 94, versions 0, flexible 0+."""

    NAME = "UnregisterControllerResponse"
    API_KEY = 94
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""


class UpdateFeaturesRequest(Message):
    """Kafka's UpdateFeaturesRequest (request), API key 57, versions 0-2, flexible 0+, listeners broker and
    controller.
    """

    class FeatureUpdateKey(Structure):
        """Structure FeatureUpdateKey, versions 0+."""

        feature: str = ""
        """string, versions 0+, map key"""
        max_version_level: int = 0
        """int16, versions 0+"""
        allow_downgrade: bool = False
        """bool, versions 0"""
        upgrade_type: int = 1
        """int8, versions 1+"""

    NAME = "UpdateFeaturesRequest"
    API_KEY = 57
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    timeout_ms: int = 60000
    """int32, versions 0+"""
    feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey] = NEW_LIST
    """[]FeatureUpdateKey, versions 0+"""
    validate_only: bool = False
    """bool, versions 1+; checks the request and changes nothing"""


class UpdateFeaturesResponse(Message):
    """Kafka's UpdateFeaturesResponse (response), API key 57, versions 0-2, flexible 0+."""

    class UpdatableFeatureResult(Structure):
        """Structure UpdatableFeatureResult, versions 0-1."""

        feature: str = ""
        """string, versions 0+, map key"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""

    NAME = "UpdateFeaturesResponse"
    API_KEY = 57
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""
    results: list[UpdateFeaturesResponse.UpdatableFeatureResult] = NEW_LIST
    """[]UpdatableFeatureResult, versions 0-1, ignorable"""


class UpdateMetadataRequest(Message):
    """Kafka's UpdateMetadataRequest (request), API key 6, versions none."""

    NAME = "UpdateMetadataRequest"
    API_KEY = 6
    VERSIONS = (0, -1)
    FLEXIBLE_SINCE = 32767


class UpdateMetadataResponse(Message):
    """Kafka's UpdateMetadataResponse (response), API key 6, versions none."""

    NAME = "UpdateMetadataResponse"
    API_KEY = 6
    VERSIONS = (0, -1)
    FLEXIBLE_SINCE = 32767


class UpdateRaftVoterRequest(Message):
    """Kafka's UpdateRaftVoterRequest (request), API key 82, versions 0, flexible 0+, listeners controller."""

    class Listener(Structure):
        """Structure Listener, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""

    class KRaftVersionFeature(Structure):
        """Structure KRaftVersionFeature, versions 0+."""

        min_supported_version: int = 0
        """int16, versions 0+"""
        max_supported_version: int = 0
        """int16, versions 0+"""

    NAME = "UpdateRaftVoterRequest"
    API_KEY = 82
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    cluster_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    current_leader_epoch: int = 0
    """int32, versions 0+; the leader epoch that the sender knows, -1 for none"""
    voter_id: int = 0
    """int32, versions 0+"""
    voter_directory_id: bytes = ZERO_UUID
    """uuid, versions 0+"""
    listeners: list[UpdateRaftVoterRequest.Listener] = NEW_LIST
    """[]Listener, versions 0+"""
    k_raft_version_feature: UpdateRaftVoterRequest.KRaftVersionFeature = NEW_STRUCTURE
    """KRaftVersionFeature, versions 0+"""


class UpdateRaftVoterResponse(Message):
    """Kafka's UpdateRaftVoterResponse (response), API key 82, versions 0, flexible 0+."""

    class CurrentLeader(Structure):
        """Structure CurrentLeader, versions 0+."""

        leader_id: int = -1
        """int32, versions 0+"""
        leader_epoch: int = -1
        """int32, versions 0+; counts the changes of the leader"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """int32, versions 0+"""

    NAME = "UpdateRaftVoterResponse"
    API_KEY = 82
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    current_leader: UpdateRaftVoterResponse.CurrentLeader = NEW_STRUCTURE
    """CurrentLeader, versions 0+, tag 0"""


class VoteRequest(Message):
    """Kafka's VoteRequest (request), API key 52, versions 0-2, flexible 0+, listeners controller."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        replica_epoch: int = 0
        """int32, versions 0+"""
        replica_id: int = 0
        """int32, versions 0+"""
        replica_directory_id: bytes = ZERO_UUID
        """uuid, versions 1+, ignorable"""
        voter_directory_id: bytes = ZERO_UUID
        """uuid, versions 1+, ignorable"""
        last_offset_epoch: int = 0
        """int32, versions 0+"""
        last_offset: int = 0
        """int64, versions 0+"""
        pre_vote: bool = False
        """bool, versions 2+"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[VoteRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    NAME = "VoteRequest"
    API_KEY = 52
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    cluster_id: str | None = None
    """string, versions 0+, nullable 0+"""
    voter_id: int = -1
    """int32, versions 1+, ignorable"""
    topics: list[VoteRequest.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""


class VoteResponse(Message):
    """Kafka's VoteResponse (response), API key 52, versions 0-2, flexible 0+."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        vote_granted: bool = False
        """bool, versions 0+"""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[VoteResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 1+."""

        node_id: int = 0
        """int32, versions 1+, map key"""
        host: str = ""
        """string, versions 1+"""
        port: int = 0
        """uint16, versions 1+"""

    NAME = "VoteResponse"
    API_KEY = 52
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    topics: list[VoteResponse.TopicData] = NEW_LIST
    """[]TopicData, versions 0+"""
    node_endpoints: list[VoteResponse.NodeEndpoint] = NEW_LIST
    """[]NodeEndpoint, versions 1+, tag 0"""
