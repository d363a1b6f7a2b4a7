"""Streams groups (KIP-1071).

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, NEW_STRUCTURE, Message, Structure


class StreamsGroupDescribeRequest(Message):
    """Kafka's StreamsGroupDescribeRequest (request), API key 89, versions 0-1, flexible 0+, listeners broker."""

    NAME = "StreamsGroupDescribeRequest"
    API_KEY = 89
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    group_ids: list[str] = NEW_LIST
    """[]string, versions 0+"""
    include_authorized_operations: bool = False
    """bool, versions 0+"""
    include_topology_description: bool = False
    """bool, versions 1+"""


class StreamsGroupDescribeResponse(Message):
    """Kafka's StreamsGroupDescribeResponse (response), API key 89, versions 0-1, flexible 0+."""

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+."""

        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""

    class TaskOffset(Structure):
        """Structure TaskOffset, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        partition: int = 0
        """int32, versions 0+"""
        offset: int = 0
        """int64, versions 0+"""

    class Assignment(Structure):
        """Structure Assignment, versions 0+."""

        active_tasks: list[StreamsGroupDescribeResponse.TaskIds] = NEW_LIST
        """[]TaskIds, versions 0+"""
        standby_tasks: list[StreamsGroupDescribeResponse.TaskIds] = NEW_LIST
        """[]TaskIds, versions 0+"""
        warmup_tasks: list[StreamsGroupDescribeResponse.TaskIds] = NEW_LIST
        """[]TaskIds, versions 0+"""

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class KeyValue(Structure):
        """Structure KeyValue, versions 0+."""

        key: str = ""
        """string, versions 0+"""
        value: str = ""
        """string, versions 0+"""

    class TopicInfo(Structure):
        """Structure TopicInfo, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: int = 0
        """int32, versions 0+"""
        replication_factor: int = 0
        """int16, versions 0+"""
        topic_configs: list[StreamsGroupDescribeResponse.KeyValue] = NEW_LIST
        """[]KeyValue, versions 0+"""

    class TopologyDescription(Structure):
        """Structure TopologyDescription, versions 1+."""

        subtopologies: list[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology] = NEW_LIST
        """[]TopologyDescriptionSubtopology, versions 1+"""
        global_stores: list[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore] = NEW_LIST
        """[]TopologyDescriptionGlobalStore, versions 1+"""

    class TopologyDescriptionSubtopology(Structure):
        """Structure TopologyDescriptionSubtopology, versions 1+."""

        subtopology_id: str = ""
        """string, versions 1+; the part of a Streams topology that runs in one task"""
        nodes: list[StreamsGroupDescribeResponse.TopologyDescriptionNode] = NEW_LIST
        """[]TopologyDescriptionNode, versions 1+"""

    class TopologyDescriptionNode(Structure):
        """Structure TopologyDescriptionNode, versions 1+."""

        name: str = ""
        """string, versions 1+"""
        node_type: int = 0
        """int8, versions 1+"""
        source_topics: list[str] = NEW_LIST
        """[]string, versions 1+"""
        sink_topic: str | None = None
        """string, versions 1+, nullable 1+"""
        stores: list[str] = NEW_LIST
        """[]string, versions 1+"""
        successors: list[str] = NEW_LIST
        """[]string, versions 1+"""

    class TopologyDescriptionGlobalStore(Structure):
        """Structure TopologyDescriptionGlobalStore, versions 1+."""

        source: StreamsGroupDescribeResponse.TopologyDescriptionNode = NEW_STRUCTURE
        """TopologyDescriptionNode, versions 1+"""
        processor: StreamsGroupDescribeResponse.TopologyDescriptionNode = NEW_STRUCTURE
        """TopologyDescriptionNode, versions 1+"""

    class Subtopology(Structure):
        """Structure Subtopology, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        source_topics: list[str] = NEW_LIST
        """[]string, versions 0+"""
        repartition_sink_topics: list[str] = NEW_LIST
        """[]string, versions 0+"""
        state_changelog_topics: list[StreamsGroupDescribeResponse.TopicInfo] = NEW_LIST
        """[]TopicInfo, versions 0+"""
        repartition_source_topics: list[StreamsGroupDescribeResponse.TopicInfo] = NEW_LIST
        """[]TopicInfo, versions 0+"""

    class Topology(Structure):
        """Structure Topology, versions 0+."""

        epoch: int = 0
        """int32, versions 0+"""
        subtopologies: list[StreamsGroupDescribeResponse.Subtopology] | None = None
        """[]Subtopology, versions 0+, nullable 0+"""

    class Member(Structure):
        """Structure Member, versions 0+."""

        member_id: str = ""
        """string, versions 0+"""
        member_epoch: int = 0
        """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
        instance_id: str | None = None
        """string, versions 0+, nullable 0+"""
        rack_id: str | None = None
        """string, versions 0+, nullable 0+"""
        client_id: str = ""
        """string, versions 0+"""
        client_host: str = ""
        """string, versions 0+"""
        topology_epoch: int = 0
        """int32, versions 0+"""
        process_id: str = ""
        """string, versions 0+"""
        user_endpoint: StreamsGroupDescribeResponse.Endpoint | None = None
        """Endpoint, versions 0+, nullable 0+"""
        client_tags: list[StreamsGroupDescribeResponse.KeyValue] = NEW_LIST
        """[]KeyValue, versions 0+"""
        task_offsets: list[StreamsGroupDescribeResponse.TaskOffset] = NEW_LIST
        """[]TaskOffset, versions 0+"""
        task_end_offsets: list[StreamsGroupDescribeResponse.TaskOffset] = NEW_LIST
        """[]TaskOffset, versions 0+"""
        assignment: StreamsGroupDescribeResponse.Assignment = NEW_STRUCTURE
        """Assignment, versions 0+"""
        target_assignment: StreamsGroupDescribeResponse.Assignment = NEW_STRUCTURE
        """Assignment, versions 0+"""
        is_classic: bool = False
        """bool, versions 0+"""

    class DescribedGroup(Structure):
        """Structure DescribedGroup, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""
        group_id: str = ""
        """string, versions 0+"""
        group_state: str = ""
        """string, versions 0+"""
        group_epoch: int = 0
        """int32, versions 0+"""
        assignment_epoch: int = 0
        """int32, versions 0+"""
        topology: StreamsGroupDescribeResponse.Topology | None = None
        """Topology, versions 0+, nullable 0+"""
        members: list[StreamsGroupDescribeResponse.Member] = NEW_LIST
        """[]Member, versions 0+"""
        authorized_operations: int = -2147483648
        """int32, versions 0+"""
        topology_description: StreamsGroupDescribeResponse.TopologyDescription | None = None
        """TopologyDescription, versions 1+, nullable 1+"""
        topology_description_status: int = 0
        """int8, versions 1+"""
        assignor_name: str | None = None
        """string, versions 1+, nullable 1+, ignorable"""

    NAME = "StreamsGroupDescribeResponse"
    API_KEY = 89
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    groups: list[StreamsGroupDescribeResponse.DescribedGroup] = NEW_LIST
    """[]DescribedGroup, versions 0+"""


class StreamsGroupHeartbeatRequest(Message):
    """Kafka's StreamsGroupHeartbeatRequest (request), API key 88, versions 0-1, flexible 0+, listeners broker."""

    class KeyValue(Structure):
        """Structure KeyValue, versions 0+."""

        key: str = ""
        """string, versions 0+"""
        value: str = ""
        """string, versions 0+"""

    class TopicInfo(Structure):
        """Structure TopicInfo, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: int = 0
        """int32, versions 0+"""
        replication_factor: int = 0
        """int16, versions 0+"""
        topic_configs: list[StreamsGroupHeartbeatRequest.KeyValue] = NEW_LIST
        """[]KeyValue, versions 0+"""

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+."""

        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""

    class TaskOffset(Structure):
        """Structure TaskOffset, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        partition: int = 0
        """int32, versions 0+"""
        offset: int = 0
        """int64, versions 0+"""

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class CopartitionGroup(Structure):
        """Structure CopartitionGroup, versions 0+."""

        source_topics: list[int] = NEW_LIST
        """[]int16, versions 0+"""
        source_topic_regex: list[int] = NEW_LIST
        """[]int16, versions 0+"""
        repartition_source_topics: list[int] = NEW_LIST
        """[]int16, versions 0+"""

    class Subtopology(Structure):
        """Structure Subtopology, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        source_topics: list[str] = NEW_LIST
        """[]string, versions 0+"""
        source_topic_regex: list[str] = NEW_LIST
        """[]string, versions 0+"""
        state_changelog_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] = NEW_LIST
        """[]TopicInfo, versions 0+"""
        repartition_sink_topics: list[str] = NEW_LIST
        """[]string, versions 0+"""
        repartition_source_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] = NEW_LIST
        """[]TopicInfo, versions 0+"""
        copartition_groups: list[StreamsGroupHeartbeatRequest.CopartitionGroup] = NEW_LIST
        """[]CopartitionGroup, versions 0+"""

    class Topology(Structure):
        """Structure Topology, versions 0+."""

        epoch: int = 0
        """int32, versions 0+"""
        subtopologies: list[StreamsGroupHeartbeatRequest.Subtopology] = NEW_LIST
        """[]Subtopology, versions 0+"""

    NAME = "StreamsGroupHeartbeatRequest"
    API_KEY = 88
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    member_id: str = ""
    """string, versions 0+"""
    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    endpoint_information_epoch: int = 0
    """int32, versions 0+"""
    instance_id: str | None = None
    """string, versions 0+, nullable 0+"""
    rack_id: str | None = None
    """string, versions 0+, nullable 0+"""
    rebalance_timeout_ms: int = -1
    """int32, versions 0+; how long members have to join, or to give up partitions"""
    topology: StreamsGroupHeartbeatRequest.Topology | None = None
    """Topology, versions 0+, nullable 0+"""
    active_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None
    """[]TaskIds, versions 0+, nullable 0+"""
    standby_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None
    """[]TaskIds, versions 0+, nullable 0+"""
    warmup_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None
    """[]TaskIds, versions 0+, nullable 0+"""
    process_id: str | None = None
    """string, versions 0+, nullable 0+"""
    user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None = None
    """Endpoint, versions 0+, nullable 0+"""
    client_tags: list[StreamsGroupHeartbeatRequest.KeyValue] | None = None
    """[]KeyValue, versions 0+, nullable 0+"""
    task_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = None
    """[]TaskOffset, versions 0+, nullable 0+"""
    task_end_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = None
    """[]TaskOffset, versions 0+, nullable 0+"""
    shutdown_application: bool = False
    """bool, versions 0+"""


class StreamsGroupHeartbeatResponse(Message):
    """Kafka's StreamsGroupHeartbeatResponse (response), API key 88, versions 0-1, flexible 0+."""

    class Status(Structure):
        """Structure Status, versions 0+."""

        status_code: int = 0
        """int8, versions 0+"""
        status_detail: str = ""
        """string, versions 0+"""

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 0+."""

        topic: str = ""
        """string, versions 0+"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+."""

        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""

    class EndpointToPartitions(Structure):
        """Structure EndpointToPartitions, versions 0+."""

        user_endpoint: StreamsGroupHeartbeatResponse.Endpoint = NEW_STRUCTURE
        """Endpoint, versions 0+"""
        active_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] = NEW_LIST
        """[]TopicPartition, versions 0+"""
        standby_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] = NEW_LIST
        """[]TopicPartition, versions 0+"""

    NAME = "StreamsGroupHeartbeatResponse"
    API_KEY = 88
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
    member_id: str = ""
    """string, versions 0+"""
    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    heartbeat_interval_ms: int = 0
    """int32, versions 0+"""
    acceptable_recovery_lag_legacy: int = 0
    """int32, versions 0"""
    task_offset_interval_ms: int = 0
    """int32, versions 0+"""
    acceptable_recovery_lag: int = -1
    """int64, versions 1+, ignorable"""
    status: list[StreamsGroupHeartbeatResponse.Status] | None = NEW_NULLABLE_LIST
    """[]Status, versions 0+, nullable 0+"""
    active_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None
    """[]TaskIds, versions 0+, nullable 0+"""
    standby_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None
    """[]TaskIds, versions 0+, nullable 0+"""
    warmup_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None
    """[]TaskIds, versions 0+, nullable 0+"""
    topology_description_required: bool = False
    """bool, versions 1+"""
    endpoint_information_epoch: int = 0
    """int32, versions 0+"""
    partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None = None
    """[]EndpointToPartitions, versions 0+, nullable 0+"""


class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    """Kafka's StreamsGroupTopologyDescriptionUpdateRequest (request), API key 93, versions 0, flexible 0+,
    listeners broker.
    """

    class TopologyDescription(Structure):
        """Structure TopologyDescription, versions 0+."""

        subtopologies: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology] = NEW_LIST
        """[]TopologyDescriptionSubtopology, versions 0+"""
        global_stores: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore] = NEW_LIST
        """[]TopologyDescriptionGlobalStore, versions 0+"""

    class TopologyDescriptionSubtopology(Structure):
        """Structure TopologyDescriptionSubtopology, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        nodes: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode] = NEW_LIST
        """[]TopologyDescriptionNode, versions 0+"""

    class TopologyDescriptionNode(Structure):
        """Structure TopologyDescriptionNode, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        node_type: int = 0
        """int8, versions 0+"""
        source_topics: list[str] = NEW_LIST
        """[]string, versions 0+"""
        sink_topic: str | None = None
        """string, versions 0+, nullable 0+"""
        stores: list[str] = NEW_LIST
        """[]string, versions 0+"""
        successors: list[str] = NEW_LIST
        """[]string, versions 0+"""

    class TopologyDescriptionGlobalStore(Structure):
        """Structure TopologyDescriptionGlobalStore, versions 0+."""

        source: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = NEW_STRUCTURE
        """TopologyDescriptionNode, versions 0+"""
        processor: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = NEW_STRUCTURE
        """TopologyDescriptionNode, versions 0+"""

    NAME = "StreamsGroupTopologyDescriptionUpdateRequest"
    API_KEY = 93
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    member_id: str = ""
    """string, versions 0+"""
    topology_epoch: int = 0
    """int32, versions 0+"""
    topology_description: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription = NEW_STRUCTURE
    """TopologyDescription, versions 0+"""


class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    """Kafka's StreamsGroupTopologyDescriptionUpdateResponse (response), API key 93, versions 0, flexible 0+."""

    NAME = "StreamsGroupTopologyDescriptionUpdateResponse"
    API_KEY = 93
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
