"""Streams groups (KIP-1071).

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, Message, Structure


class StreamsGroupDescribeRequest(Message):
    """Kafka's StreamsGroupDescribeRequest (request), API key 89, versions 0, flexible 0+, listeners broker.

    - group_ids: []string, versions 0+
    - include_authorized_operations: bool, versions 0+
    """

    __slots__ = (
        "group_ids",
        "include_authorized_operations",
    )

    NAME: ClassVar[str] = "StreamsGroupDescribeRequest"
    API_KEY: ClassVar[int] = 89
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_ids: list[str] | None = None,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = [] if group_ids is None else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tagged_fields = None


class StreamsGroupDescribeResponse(Message):
    """Kafka's StreamsGroupDescribeResponse (response), API key 89, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - groups: []DescribedGroup, versions 0+
    """

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+.

        - host: string, versions 0+
        - port: uint16, versions 0+
        """

        __slots__ = (
            "host",
            "port",
        )

        def __init__(
            self,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    class TaskOffset(Structure):
        """Structure TaskOffset, versions 0+.

        - subtopology_id: string, versions 0+; the part of a Streams topology that runs in one task
        - partition: int32, versions 0+
        - offset: int64, versions 0+
        """

        __slots__ = (
            "subtopology_id",
            "partition",
            "offset",
        )

        def __init__(
            self,
            subtopology_id: str = "",
            partition: int = 0,
            offset: int = 0,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partition = partition
            self.offset = offset
            self.unknown_tagged_fields = None

    class Assignment(Structure):
        """Structure Assignment, versions 0+.

        - active_tasks: []TaskIds, versions 0+
        - standby_tasks: []TaskIds, versions 0+
        - warmup_tasks: []TaskIds, versions 0+
        """

        __slots__ = (
            "active_tasks",
            "standby_tasks",
            "warmup_tasks",
        )

        def __init__(
            self,
            active_tasks: list[StreamsGroupDescribeResponse.TaskIds] | None = None,
            standby_tasks: list[StreamsGroupDescribeResponse.TaskIds] | None = None,
            warmup_tasks: list[StreamsGroupDescribeResponse.TaskIds] | None = None,
        ) -> None:
            self.active_tasks = [] if active_tasks is None else active_tasks
            self.standby_tasks = [] if standby_tasks is None else standby_tasks
            self.warmup_tasks = [] if warmup_tasks is None else warmup_tasks
            self.unknown_tagged_fields = None

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+.

        - subtopology_id: string, versions 0+; the part of a Streams topology that runs in one task
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "subtopology_id",
            "partitions",
        )

        def __init__(
            self,
            subtopology_id: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class KeyValue(Structure):
        """Structure KeyValue, versions 0+.

        - key: string, versions 0+
        - value: string, versions 0+
        """

        __slots__ = (
            "key",
            "value",
        )

        def __init__(
            self,
            key: str = "",
            value: str = "",
        ) -> None:
            self.key = key
            self.value = value
            self.unknown_tagged_fields = None

    class TopicInfo(Structure):
        """Structure TopicInfo, versions 0+.

        - name: string, versions 0+
        - partitions: int32, versions 0+
        - replication_factor: int16, versions 0+
        - topic_configs: []KeyValue, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
            "replication_factor",
            "topic_configs",
        )

        def __init__(
            self,
            name: str = "",
            partitions: int = 0,
            replication_factor: int = 0,
            topic_configs: list[StreamsGroupDescribeResponse.KeyValue] | None = None,
        ) -> None:
            self.name = name
            self.partitions = partitions
            self.replication_factor = replication_factor
            self.topic_configs = [] if topic_configs is None else topic_configs
            self.unknown_tagged_fields = None

    class Subtopology(Structure):
        """Structure Subtopology, versions 0+.

        - subtopology_id: string, versions 0+; the part of a Streams topology that runs in one task
        - source_topics: []string, versions 0+
        - repartition_sink_topics: []string, versions 0+
        - state_changelog_topics: []TopicInfo, versions 0+
        - repartition_source_topics: []TopicInfo, versions 0+
        """

        __slots__ = (
            "subtopology_id",
            "source_topics",
            "repartition_sink_topics",
            "state_changelog_topics",
            "repartition_source_topics",
        )

        def __init__(
            self,
            subtopology_id: str = "",
            source_topics: list[str] | None = None,
            repartition_sink_topics: list[str] | None = None,
            state_changelog_topics: list[StreamsGroupDescribeResponse.TopicInfo] | None = None,
            repartition_source_topics: list[StreamsGroupDescribeResponse.TopicInfo] | None = None,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.source_topics = [] if source_topics is None else source_topics
            self.repartition_sink_topics = [] if repartition_sink_topics is None else repartition_sink_topics
            self.state_changelog_topics = [] if state_changelog_topics is None else state_changelog_topics
            self.repartition_source_topics = [] if repartition_source_topics is None else repartition_source_topics
            self.unknown_tagged_fields = None

    class Topology(Structure):
        """Structure Topology, versions 0+.

        - epoch: int32, versions 0+
        - subtopologies: []Subtopology, versions 0+, nullable 0+
        """

        __slots__ = (
            "epoch",
            "subtopologies",
        )

        def __init__(
            self,
            epoch: int = 0,
            subtopologies: list[StreamsGroupDescribeResponse.Subtopology] | None = None,
        ) -> None:
            self.epoch = epoch
            self.subtopologies = subtopologies
            self.unknown_tagged_fields = None

    class Member(Structure):
        """Structure Member, versions 0+.

        - member_id: string, versions 0+
        - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
        - instance_id: string, versions 0+, nullable 0+
        - rack_id: string, versions 0+, nullable 0+
        - client_id: string, versions 0+
        - client_host: string, versions 0+
        - topology_epoch: int32, versions 0+
        - process_id: string, versions 0+
        - user_endpoint: Endpoint, versions 0+, nullable 0+
        - client_tags: []KeyValue, versions 0+
        - task_offsets: []TaskOffset, versions 0+
        - task_end_offsets: []TaskOffset, versions 0+
        - assignment: Assignment, versions 0+
        - target_assignment: Assignment, versions 0+
        - is_classic: bool, versions 0+
        """

        __slots__ = (
            "member_id",
            "member_epoch",
            "instance_id",
            "rack_id",
            "client_id",
            "client_host",
            "topology_epoch",
            "process_id",
            "user_endpoint",
            "client_tags",
            "task_offsets",
            "task_end_offsets",
            "assignment",
            "target_assignment",
            "is_classic",
        )

        def __init__(
            self,
            member_id: str = "",
            member_epoch: int = 0,
            instance_id: str | None = None,
            rack_id: str | None = None,
            client_id: str = "",
            client_host: str = "",
            topology_epoch: int = 0,
            process_id: str = "",
            user_endpoint: StreamsGroupDescribeResponse.Endpoint | None = None,
            client_tags: list[StreamsGroupDescribeResponse.KeyValue] | None = None,
            task_offsets: list[StreamsGroupDescribeResponse.TaskOffset] | None = None,
            task_end_offsets: list[StreamsGroupDescribeResponse.TaskOffset] | None = None,
            assignment: StreamsGroupDescribeResponse.Assignment | None = None,
            target_assignment: StreamsGroupDescribeResponse.Assignment | None = None,
            is_classic: bool = False,
        ) -> None:
            self.member_id = member_id
            self.member_epoch = member_epoch
            self.instance_id = instance_id
            self.rack_id = rack_id
            self.client_id = client_id
            self.client_host = client_host
            self.topology_epoch = topology_epoch
            self.process_id = process_id
            self.user_endpoint = user_endpoint
            self.client_tags = [] if client_tags is None else client_tags
            self.task_offsets = [] if task_offsets is None else task_offsets
            self.task_end_offsets = [] if task_end_offsets is None else task_end_offsets
            self.assignment = StreamsGroupDescribeResponse.Assignment() if assignment is None else assignment
            self.target_assignment = (
                StreamsGroupDescribeResponse.Assignment() if target_assignment is None else target_assignment
            )
            self.is_classic = is_classic
            self.unknown_tagged_fields = None

    class DescribedGroup(Structure):
        """Structure DescribedGroup, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - group_id: string, versions 0+
        - group_state: string, versions 0+
        - group_epoch: int32, versions 0+
        - assignment_epoch: int32, versions 0+
        - topology: Topology, versions 0+, nullable 0+
        - members: []Member, versions 0+
        - authorized_operations: int32, versions 0+
        """

        __slots__ = (
            "error_code",
            "error_message",
            "group_id",
            "group_state",
            "group_epoch",
            "assignment_epoch",
            "topology",
            "members",
            "authorized_operations",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = None,
            group_id: str = "",
            group_state: str = "",
            group_epoch: int = 0,
            assignment_epoch: int = 0,
            topology: StreamsGroupDescribeResponse.Topology | None = None,
            members: list[StreamsGroupDescribeResponse.Member] | None = None,
            authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.group_id = group_id
            self.group_state = group_state
            self.group_epoch = group_epoch
            self.assignment_epoch = assignment_epoch
            self.topology = topology
            self.members = [] if members is None else members
            self.authorized_operations = authorized_operations
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "groups",
    )

    NAME: ClassVar[str] = "StreamsGroupDescribeResponse"
    API_KEY: ClassVar[int] = 89
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[StreamsGroupDescribeResponse.DescribedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is None else groups
        self.unknown_tagged_fields = None


class StreamsGroupHeartbeatRequest(Message):
    """Kafka's StreamsGroupHeartbeatRequest (request), API key 88, versions 0, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - member_id: string, versions 0+
    - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
    - endpoint_information_epoch: int32, versions 0+
    - instance_id: string, versions 0+, nullable 0+
    - rack_id: string, versions 0+, nullable 0+
    - rebalance_timeout_ms: int32, versions 0+; how long members have to join, or to give up partitions
    - topology: Topology, versions 0+, nullable 0+
    - active_tasks: []TaskIds, versions 0+, nullable 0+
    - standby_tasks: []TaskIds, versions 0+, nullable 0+
    - warmup_tasks: []TaskIds, versions 0+, nullable 0+
    - process_id: string, versions 0+, nullable 0+
    - user_endpoint: Endpoint, versions 0+, nullable 0+
    - client_tags: []KeyValue, versions 0+, nullable 0+
    - task_offsets: []TaskOffset, versions 0+, nullable 0+
    - task_end_offsets: []TaskOffset, versions 0+, nullable 0+
    - shutdown_application: bool, versions 0+
    """

    class KeyValue(Structure):
        """Structure KeyValue, versions 0+.

        - key: string, versions 0+
        - value: string, versions 0+
        """

        __slots__ = (
            "key",
            "value",
        )

        def __init__(
            self,
            key: str = "",
            value: str = "",
        ) -> None:
            self.key = key
            self.value = value
            self.unknown_tagged_fields = None

    class TopicInfo(Structure):
        """Structure TopicInfo, versions 0+.

        - name: string, versions 0+
        - partitions: int32, versions 0+
        - replication_factor: int16, versions 0+
        - topic_configs: []KeyValue, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
            "replication_factor",
            "topic_configs",
        )

        def __init__(
            self,
            name: str = "",
            partitions: int = 0,
            replication_factor: int = 0,
            topic_configs: list[StreamsGroupHeartbeatRequest.KeyValue] | None = None,
        ) -> None:
            self.name = name
            self.partitions = partitions
            self.replication_factor = replication_factor
            self.topic_configs = [] if topic_configs is None else topic_configs
            self.unknown_tagged_fields = None

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+.

        - host: string, versions 0+
        - port: uint16, versions 0+
        """

        __slots__ = (
            "host",
            "port",
        )

        def __init__(
            self,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    class TaskOffset(Structure):
        """Structure TaskOffset, versions 0+.

        - subtopology_id: string, versions 0+; the part of a Streams topology that runs in one task
        - partition: int32, versions 0+
        - offset: int64, versions 0+
        """

        __slots__ = (
            "subtopology_id",
            "partition",
            "offset",
        )

        def __init__(
            self,
            subtopology_id: str = "",
            partition: int = 0,
            offset: int = 0,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partition = partition
            self.offset = offset
            self.unknown_tagged_fields = None

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+.

        - subtopology_id: string, versions 0+; the part of a Streams topology that runs in one task
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "subtopology_id",
            "partitions",
        )

        def __init__(
            self,
            subtopology_id: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class CopartitionGroup(Structure):
        """Structure CopartitionGroup, versions 0+.

        - source_topics: []int16, versions 0+
        - source_topic_regex: []int16, versions 0+
        - repartition_source_topics: []int16, versions 0+
        """

        __slots__ = (
            "source_topics",
            "source_topic_regex",
            "repartition_source_topics",
        )

        def __init__(
            self,
            source_topics: list[int] | None = None,
            source_topic_regex: list[int] | None = None,
            repartition_source_topics: list[int] | None = None,
        ) -> None:
            self.source_topics = [] if source_topics is None else source_topics
            self.source_topic_regex = [] if source_topic_regex is None else source_topic_regex
            self.repartition_source_topics = [] if repartition_source_topics is None else repartition_source_topics
            self.unknown_tagged_fields = None

    class Subtopology(Structure):
        """Structure Subtopology, versions 0+.

        - subtopology_id: string, versions 0+; the part of a Streams topology that runs in one task
        - source_topics: []string, versions 0+
        - source_topic_regex: []string, versions 0+
        - state_changelog_topics: []TopicInfo, versions 0+
        - repartition_sink_topics: []string, versions 0+
        - repartition_source_topics: []TopicInfo, versions 0+
        - copartition_groups: []CopartitionGroup, versions 0+
        """

        __slots__ = (
            "subtopology_id",
            "source_topics",
            "source_topic_regex",
            "state_changelog_topics",
            "repartition_sink_topics",
            "repartition_source_topics",
            "copartition_groups",
        )

        def __init__(
            self,
            subtopology_id: str = "",
            source_topics: list[str] | None = None,
            source_topic_regex: list[str] | None = None,
            state_changelog_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] | None = None,
            repartition_sink_topics: list[str] | None = None,
            repartition_source_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] | None = None,
            copartition_groups: list[StreamsGroupHeartbeatRequest.CopartitionGroup] | None = None,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.source_topics = [] if source_topics is None else source_topics
            self.source_topic_regex = [] if source_topic_regex is None else source_topic_regex
            self.state_changelog_topics = [] if state_changelog_topics is None else state_changelog_topics
            self.repartition_sink_topics = [] if repartition_sink_topics is None else repartition_sink_topics
            self.repartition_source_topics = [] if repartition_source_topics is None else repartition_source_topics
            self.copartition_groups = [] if copartition_groups is None else copartition_groups
            self.unknown_tagged_fields = None

    class Topology(Structure):
        """Structure Topology, versions 0+.

        - epoch: int32, versions 0+
        - subtopologies: []Subtopology, versions 0+
        """

        __slots__ = (
            "epoch",
            "subtopologies",
        )

        def __init__(
            self,
            epoch: int = 0,
            subtopologies: list[StreamsGroupHeartbeatRequest.Subtopology] | None = None,
        ) -> None:
            self.epoch = epoch
            self.subtopologies = [] if subtopologies is None else subtopologies
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "endpoint_information_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "shutdown_application",
    )

    NAME: ClassVar[str] = "StreamsGroupHeartbeatRequest"
    API_KEY: ClassVar[int] = 88
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: StreamsGroupHeartbeatRequest.Topology | None = None,
        active_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None,
        standby_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None,
        warmup_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None = None,
        client_tags: list[StreamsGroupHeartbeatRequest.KeyValue] | None = None,
        task_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = None,
        task_end_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application
        self.unknown_tagged_fields = None


class StreamsGroupHeartbeatResponse(Message):
    """Kafka's StreamsGroupHeartbeatResponse (response), API key 88, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - member_id: string, versions 0+
    - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
    - heartbeat_interval_ms: int32, versions 0+
    - acceptable_recovery_lag: int32, versions 0+
    - task_offset_interval_ms: int32, versions 0+
    - status: []Status, versions 0+, nullable 0+
    - active_tasks: []TaskIds, versions 0+, nullable 0+
    - standby_tasks: []TaskIds, versions 0+, nullable 0+
    - warmup_tasks: []TaskIds, versions 0+, nullable 0+
    - endpoint_information_epoch: int32, versions 0+
    - partitions_by_user_endpoint: []EndpointToPartitions, versions 0+, nullable 0+
    """

    class Status(Structure):
        """Structure Status, versions 0+.

        - status_code: int8, versions 0+
        - status_detail: string, versions 0+
        """

        __slots__ = (
            "status_code",
            "status_detail",
        )

        def __init__(
            self,
            status_code: int = 0,
            status_detail: str = "",
        ) -> None:
            self.status_code = status_code
            self.status_detail = status_detail
            self.unknown_tagged_fields = None

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 0+.

        - topic: string, versions 0+
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

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+.

        - subtopology_id: string, versions 0+; the part of a Streams topology that runs in one task
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "subtopology_id",
            "partitions",
        )

        def __init__(
            self,
            subtopology_id: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+.

        - host: string, versions 0+
        - port: uint16, versions 0+
        """

        __slots__ = (
            "host",
            "port",
        )

        def __init__(
            self,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    class EndpointToPartitions(Structure):
        """Structure EndpointToPartitions, versions 0+.

        - user_endpoint: Endpoint, versions 0+
        - active_partitions: []TopicPartition, versions 0+
        - standby_partitions: []TopicPartition, versions 0+
        """

        __slots__ = (
            "user_endpoint",
            "active_partitions",
            "standby_partitions",
        )

        def __init__(
            self,
            user_endpoint: StreamsGroupHeartbeatResponse.Endpoint | None = None,
            active_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] | None = None,
            standby_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] | None = None,
        ) -> None:
            self.user_endpoint = StreamsGroupHeartbeatResponse.Endpoint() if user_endpoint is None else user_endpoint
            self.active_partitions = [] if active_partitions is None else active_partitions
            self.standby_partitions = [] if standby_partitions is None else standby_partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "acceptable_recovery_lag",
        "task_offset_interval_ms",
        "status",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "endpoint_information_epoch",
        "partitions_by_user_endpoint",
    )

    NAME: ClassVar[str] = "StreamsGroupHeartbeatResponse"
    API_KEY: ClassVar[int] = 88
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag: int = 0,
        task_offset_interval_ms: int = 0,
        status: list[StreamsGroupHeartbeatResponse.Status] | None = NEW_LIST,
        active_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None,
        standby_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None,
        warmup_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.task_offset_interval_ms = task_offset_interval_ms
        self.status = [] if status is NEW_LIST else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint
        self.unknown_tagged_fields = None
