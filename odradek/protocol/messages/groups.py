"""Groups under the classic protocol, and committed offsets.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, ZERO_UUID, Message, Structure


class DeleteGroupsRequest(Message):
    """Kafka's DeleteGroupsRequest (request), API key 42, versions 0-2, flexible 2+, listeners broker.

    - groups_names: []string, versions 0+
    """

    __slots__ = ("groups_names",)

    NAME: ClassVar[str] = "DeleteGroupsRequest"
    API_KEY: ClassVar[int] = 42
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        groups_names: list[str] | None = None,
    ) -> None:
        self.groups_names = [] if groups_names is None else groups_names
        self.unknown_tagged_fields = None


class DeleteGroupsResponse(Message):
    """Kafka's DeleteGroupsResponse (response), API key 42, versions 0-2, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - results: []DeletableGroupResult, versions 0+
    """

    class DeletableGroupResult(Structure):
        """Structure DeletableGroupResult, versions 0+.

        - group_id: string, versions 0+, map key
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        """

        __slots__ = (
            "group_id",
            "error_code",
        )

        def __init__(
            self,
            group_id: str = "",
            error_code: int = 0,
        ) -> None:
            self.group_id = group_id
            self.error_code = error_code
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "results",
    )

    NAME: ClassVar[str] = "DeleteGroupsResponse"
    API_KEY: ClassVar[int] = 42
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeleteGroupsResponse.DeletableGroupResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class DescribeGroupsRequest(Message):
    """Kafka's DescribeGroupsRequest (request), API key 15, versions 0-6, flexible 5+, listeners broker.

    - groups: []string, versions 0+
    - include_authorized_operations: bool, versions 3+
    """

    __slots__ = (
        "groups",
        "include_authorized_operations",
    )

    NAME: ClassVar[str] = "DescribeGroupsRequest"
    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_SINCE: ClassVar[int] = 5

    def __init__(
        self,
        groups: list[str] | None = None,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups = [] if groups is None else groups
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tagged_fields = None


class DescribeGroupsResponse(Message):
    """Kafka's DescribeGroupsResponse (response), API key 15, versions 0-6, flexible 5+.

    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - groups: []DescribedGroup, versions 0+
    """

    class DescribedGroupMember(Structure):
        """Structure DescribedGroupMember, versions 0+.

        - member_id: string, versions 0+
        - group_instance_id: string, versions 4+, nullable 4+, ignorable; the name of a static member (KIP-345), null
          for a dynamic one
        - client_id: string, versions 0+
        - client_host: string, versions 0+
        - member_metadata: bytes, versions 0+
        - member_assignment: bytes, versions 0+
        """

        __slots__ = (
            "member_id",
            "group_instance_id",
            "client_id",
            "client_host",
            "member_metadata",
            "member_assignment",
        )

        def __init__(
            self,
            member_id: str = "",
            group_instance_id: str | None = None,
            client_id: str = "",
            client_host: str = "",
            member_metadata: bytes = b"",
            member_assignment: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.client_id = client_id
            self.client_host = client_host
            self.member_metadata = member_metadata
            self.member_assignment = member_assignment
            self.unknown_tagged_fields = None

    class DescribedGroup(Structure):
        """Structure DescribedGroup, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 6+, nullable 6+; a text for people
        - group_id: string, versions 0+
        - group_state: string, versions 0+
        - protocol_type: string, versions 0+
        - protocol_data: string, versions 0+
        - members: []DescribedGroupMember, versions 0+
        - authorized_operations: int32, versions 3+
        """

        __slots__ = (
            "error_code",
            "error_message",
            "group_id",
            "group_state",
            "protocol_type",
            "protocol_data",
            "members",
            "authorized_operations",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = None,
            group_id: str = "",
            group_state: str = "",
            protocol_type: str = "",
            protocol_data: str = "",
            members: list[DescribeGroupsResponse.DescribedGroupMember] | None = None,
            authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.group_id = group_id
            self.group_state = group_state
            self.protocol_type = protocol_type
            self.protocol_data = protocol_data
            self.members = [] if members is None else members
            self.authorized_operations = authorized_operations
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "groups",
    )

    NAME: ClassVar[str] = "DescribeGroupsResponse"
    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_SINCE: ClassVar[int] = 5

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribeGroupsResponse.DescribedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is None else groups
        self.unknown_tagged_fields = None


class FindCoordinatorRequest(Message):
    """Kafka's FindCoordinatorRequest (request), API key 10, versions 0-6, flexible 3+, listeners broker.

    - key: string, versions 0-3
    - key_type: int8, versions 1+
    - coordinator_keys: []string, versions 4+
    """

    __slots__ = (
        "key",
        "key_type",
        "coordinator_keys",
    )

    NAME: ClassVar[str] = "FindCoordinatorRequest"
    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] | None = None,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is None else coordinator_keys
        self.unknown_tagged_fields = None


class FindCoordinatorResponse(Message):
    """Kafka's FindCoordinatorResponse (response), API key 10, versions 0-6, flexible 3+.

    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 0-3; an ErrorCode, 0 for success
    - error_message: string, versions 1-3, nullable 1-3, ignorable; a text for people
    - node_id: int32, versions 0-3
    - host: string, versions 0-3
    - port: int32, versions 0-3
    - coordinators: []Coordinator, versions 4+
    """

    class Coordinator(Structure):
        """Structure Coordinator, versions 4+.

        - key: string, versions 4+
        - node_id: int32, versions 4+
        - host: string, versions 4+
        - port: int32, versions 4+
        - error_code: int16, versions 4+; an ErrorCode, 0 for success
        - error_message: string, versions 4+, nullable 4+, ignorable; a text for people
        """

        __slots__ = (
            "key",
            "node_id",
            "host",
            "port",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            key: str = "",
            node_id: int = 0,
            host: str = "",
            port: int = 0,
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.key = key
            self.node_id = node_id
            self.host = host
            self.port = port
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "node_id",
        "host",
        "port",
        "coordinators",
    )

    NAME: ClassVar[str] = "FindCoordinatorResponse"
    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[FindCoordinatorResponse.Coordinator] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is None else coordinators
        self.unknown_tagged_fields = None


class HeartbeatRequest(Message):
    """Kafka's HeartbeatRequest (request), API key 12, versions 0-4, flexible 4+, listeners broker.

    - group_id: string, versions 0+
    - generation_id: int32, versions 0+; counts the rebalances of the group
    - member_id: string, versions 0+
    - group_instance_id: string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic
      one
    """

    __slots__ = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
    )

    NAME: ClassVar[str] = "HeartbeatRequest"
    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.unknown_tagged_fields = None


class HeartbeatResponse(Message):
    """Kafka's HeartbeatResponse (response), API key 12, versions 0-4, flexible 4+.

    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
    )

    NAME: ClassVar[str] = "HeartbeatResponse"
    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tagged_fields = None


class JoinGroupRequest(Message):
    """Kafka's JoinGroupRequest (request), API key 11, versions 0-9, flexible 6+, listeners broker.

    - group_id: string, versions 0+
    - session_timeout_ms: int32, versions 0+; how long a member may be silent before it is removed
    - rebalance_timeout_ms: int32, versions 1+, ignorable; how long members have to join, or to give up partitions
    - member_id: string, versions 0+
    - group_instance_id: string, versions 5+, nullable 5+; the name of a static member (KIP-345), null for a dynamic
      one
    - protocol_type: string, versions 0+
    - protocols: []JoinGroupRequestProtocol, versions 0+
    - reason: string, versions 8+, nullable 8+, ignorable
    """

    class JoinGroupRequestProtocol(Structure):
        """Structure JoinGroupRequestProtocol, versions 0+.

        - name: string, versions 0+, map key
        - metadata: bytes, versions 0+
        """

        __slots__ = (
            "name",
            "metadata",
        )

        def __init__(
            self,
            name: str = "",
            metadata: bytes = b"",
        ) -> None:
            self.name = name
            self.metadata = metadata
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    )

    NAME: ClassVar[str] = "JoinGroupRequest"
    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 9)
    FLEXIBLE_SINCE: ClassVar[int] = 6

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] | None = None,
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is None else protocols
        self.reason = reason
        self.unknown_tagged_fields = None


class JoinGroupResponse(Message):
    """Kafka's JoinGroupResponse (response), API key 11, versions 0-9, flexible 6+.

    - throttle_time_ms: int32, versions 2+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - generation_id: int32, versions 0+; counts the rebalances of the group
    - protocol_type: string, versions 7+, nullable 7+, ignorable
    - protocol_name: string, versions 0+, nullable 7+
    - leader: string, versions 0+
    - skip_assignment: bool, versions 9+
    - member_id: string, versions 0+
    - members: []JoinGroupResponseMember, versions 0+
    """

    class JoinGroupResponseMember(Structure):
        """Structure JoinGroupResponseMember, versions 0+.

        - member_id: string, versions 0+
        - group_instance_id: string, versions 5+, nullable 5+, ignorable; the name of a static member (KIP-345), null
          for a dynamic one
        - metadata: bytes, versions 0+
        """

        __slots__ = (
            "member_id",
            "group_instance_id",
            "metadata",
        )

        def __init__(
            self,
            member_id: str = "",
            group_instance_id: str | None = None,
            metadata: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.metadata = metadata
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
    )

    NAME: ClassVar[str] = "JoinGroupResponse"
    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 9)
    FLEXIBLE_SINCE: ClassVar[int] = 6

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponse.JoinGroupResponseMember] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is None else members
        self.unknown_tagged_fields = None


class LeaveGroupRequest(Message):
    """Kafka's LeaveGroupRequest (request), API key 13, versions 0-5, flexible 4+, listeners broker.

    - group_id: string, versions 0+
    - member_id: string, versions 0-2
    - members: []MemberIdentity, versions 3+
    """

    class MemberIdentity(Structure):
        """Structure MemberIdentity, versions 3+.

        - member_id: string, versions 3+
        - group_instance_id: string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic
          one
        - reason: string, versions 5+, nullable 5+, ignorable
        """

        __slots__ = (
            "member_id",
            "group_instance_id",
            "reason",
        )

        def __init__(
            self,
            member_id: str = "",
            group_instance_id: str | None = None,
            reason: str | None = None,
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.reason = reason
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "member_id",
        "members",
    )

    NAME: ClassVar[str] = "LeaveGroupRequest"
    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[LeaveGroupRequest.MemberIdentity] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is None else members
        self.unknown_tagged_fields = None


class LeaveGroupResponse(Message):
    """Kafka's LeaveGroupResponse (response), API key 13, versions 0-5, flexible 4+.

    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - members: []MemberResponse, versions 3+
    """

    class MemberResponse(Structure):
        """Structure MemberResponse, versions 3+.

        - member_id: string, versions 3+
        - group_instance_id: string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic
          one
        - error_code: int16, versions 3+; an ErrorCode, 0 for success
        """

        __slots__ = (
            "member_id",
            "group_instance_id",
            "error_code",
        )

        def __init__(
            self,
            member_id: str = "",
            group_instance_id: str | None = "",
            error_code: int = 0,
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.error_code = error_code
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "members",
    )

    NAME: ClassVar[str] = "LeaveGroupResponse"
    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[LeaveGroupResponse.MemberResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is None else members
        self.unknown_tagged_fields = None


class ListGroupsRequest(Message):
    """Kafka's ListGroupsRequest (request), API key 16, versions 0-5, flexible 3+, listeners broker.

    - states_filter: []string, versions 4+
    - types_filter: []string, versions 5+
    """

    __slots__ = (
        "states_filter",
        "types_filter",
    )

    NAME: ClassVar[str] = "ListGroupsRequest"
    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        states_filter: list[str] | None = None,
        types_filter: list[str] | None = None,
    ) -> None:
        self.states_filter = [] if states_filter is None else states_filter
        self.types_filter = [] if types_filter is None else types_filter
        self.unknown_tagged_fields = None


class ListGroupsResponse(Message):
    """Kafka's ListGroupsResponse (response), API key 16, versions 0-5, flexible 3+.

    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - groups: []ListedGroup, versions 0+
    """

    class ListedGroup(Structure):
        """Structure ListedGroup, versions 0+.

        - group_id: string, versions 0+
        - protocol_type: string, versions 0+
        - group_state: string, versions 4+, ignorable
        - group_type: string, versions 5+, ignorable
        """

        __slots__ = (
            "group_id",
            "protocol_type",
            "group_state",
            "group_type",
        )

        def __init__(
            self,
            group_id: str = "",
            protocol_type: str = "",
            group_state: str = "",
            group_type: str = "",
        ) -> None:
            self.group_id = group_id
            self.protocol_type = protocol_type
            self.group_state = group_state
            self.group_type = group_type
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "groups",
    )

    NAME: ClassVar[str] = "ListGroupsResponse"
    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListGroupsResponse.ListedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is None else groups
        self.unknown_tagged_fields = None


class OffsetCommitRequest(Message):
    """Kafka's OffsetCommitRequest (request), API key 8, versions 0-10, flexible 8+, listeners broker.

    - group_id: string, versions 0+
    - generation_id_or_member_epoch: int32, versions 1+, ignorable
    - member_id: string, versions 1+, ignorable
    - group_instance_id: string, versions 7+, nullable 7+; the name of a static member (KIP-345), null for a dynamic
      one
    - retention_time_ms: int64, versions 2-4, ignorable
    - topics: []OffsetCommitRequestTopic, versions 0+
    """

    class OffsetCommitRequestPartition(Structure):
        """Structure OffsetCommitRequestPartition, versions 0+.

        - partition_index: int32, versions 0+
        - committed_offset: int64, versions 0+
        - committed_leader_epoch: int32, versions 6+, ignorable
        - committed_metadata: string, versions 0+, nullable 0+
        - commit_timestamp: int64, versions 1
        """

        __slots__ = (
            "partition_index",
            "committed_offset",
            "committed_leader_epoch",
            "committed_metadata",
            "commit_timestamp",
        )

        def __init__(
            self,
            partition_index: int = 0,
            committed_offset: int = 0,
            committed_leader_epoch: int = -1,
            committed_metadata: str | None = "",
            commit_timestamp: int = -1,
        ) -> None:
            self.partition_index = partition_index
            self.committed_offset = committed_offset
            self.committed_leader_epoch = committed_leader_epoch
            self.committed_metadata = committed_metadata
            self.commit_timestamp = commit_timestamp
            self.unknown_tagged_fields = None

    class OffsetCommitRequestTopic(Structure):
        """Structure OffsetCommitRequestTopic, versions 0+.

        - name: string, versions 0-9, ignorable
        - topic_id: uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - partitions: []OffsetCommitRequestPartition, versions 0+
        """

        __slots__ = (
            "name",
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] | None = None,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "OffsetCommitRequest"
    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_SINCE: ClassVar[int] = 8

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class OffsetCommitResponse(Message):
    """Kafka's OffsetCommitResponse (response), API key 8, versions 0-10, flexible 8+.

    - throttle_time_ms: int32, versions 3+, ignorable; how long the client should wait before its next request,
      because of a quota
    - topics: []OffsetCommitResponseTopic, versions 0+
    """

    class OffsetCommitResponsePartition(Structure):
        """Structure OffsetCommitResponsePartition, versions 0+.

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

    class OffsetCommitResponseTopic(Structure):
        """Structure OffsetCommitResponseTopic, versions 0+.

        - name: string, versions 0-9, ignorable
        - topic_id: uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - partitions: []OffsetCommitResponsePartition, versions 0+
        """

        __slots__ = (
            "name",
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] | None = None,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "OffsetCommitResponse"
    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_SINCE: ClassVar[int] = 8

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class OffsetDeleteRequest(Message):
    """Kafka's OffsetDeleteRequest (request), API key 47, versions 0, listeners broker.

    - group_id: string, versions 0+
    - topics: []OffsetDeleteRequestTopic, versions 0+
    """

    class OffsetDeleteRequestPartition(Structure):
        """Structure OffsetDeleteRequestPartition, versions 0+.

        - partition_index: int32, versions 0+
        """

        __slots__ = ("partition_index",)

        def __init__(
            self,
            partition_index: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.unknown_tagged_fields = None

    class OffsetDeleteRequestTopic(Structure):
        """Structure OffsetDeleteRequestTopic, versions 0+.

        - name: string, versions 0+, map key
        - partitions: []OffsetDeleteRequestPartition, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
    )

    NAME: ClassVar[str] = "OffsetDeleteRequest"
    API_KEY: ClassVar[int] = 47
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class OffsetDeleteResponse(Message):
    """Kafka's OffsetDeleteResponse (response), API key 47, versions 0.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - throttle_time_ms: int32, versions 0+, ignorable; how long the client should wait before its next request,
      because of a quota
    - topics: []OffsetDeleteResponseTopic, versions 0+
    """

    class OffsetDeleteResponsePartition(Structure):
        """Structure OffsetDeleteResponsePartition, versions 0+.

        - partition_index: int32, versions 0+, map key
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

    class OffsetDeleteResponseTopic(Structure):
        """Structure OffsetDeleteResponseTopic, versions 0+.

        - name: string, versions 0+, map key
        - partitions: []OffsetDeleteResponsePartition, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "error_code",
        "throttle_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "OffsetDeleteResponse"
    API_KEY: ClassVar[int] = 47
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] | None = None,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class OffsetFetchRequest(Message):
    """Kafka's OffsetFetchRequest (request), API key 9, versions 0-10, flexible 6+, listeners broker.

    - group_id: string, versions 0-7
    - topics: []OffsetFetchRequestTopic, versions 0-7, nullable 2-7
    - groups: []OffsetFetchRequestGroup, versions 8+
    - require_stable: bool, versions 7+
    """

    class OffsetFetchRequestTopic(Structure):
        """Structure OffsetFetchRequestTopic, versions 0-7.

        - name: string, versions 0-7
        - partition_indexes: []int32, versions 0-7
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

    class OffsetFetchRequestTopics(Structure):
        """Structure OffsetFetchRequestTopics, versions 8+.

        - name: string, versions 8-9, ignorable
        - topic_id: uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - partition_indexes: []int32, versions 8+
        """

        __slots__ = (
            "name",
            "topic_id",
            "partition_indexes",
        )

        def __init__(
            self,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partition_indexes: list[int] | None = None,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partition_indexes = [] if partition_indexes is None else partition_indexes
            self.unknown_tagged_fields = None

    class OffsetFetchRequestGroup(Structure):
        """Structure OffsetFetchRequestGroup, versions 8+.

        - group_id: string, versions 8+
        - member_id: string, versions 9+, nullable 9+, ignorable
        - member_epoch: int32, versions 9+, ignorable; counts the assignments that the member has taken over (KIP-848)
        - topics: []OffsetFetchRequestTopics, versions 8+, nullable 8+
        """

        __slots__ = (
            "group_id",
            "member_id",
            "member_epoch",
            "topics",
        )

        def __init__(
            self,
            group_id: str = "",
            member_id: str | None = None,
            member_epoch: int = -1,
            topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = NEW_LIST,
        ) -> None:
            self.group_id = group_id
            self.member_id = member_id
            self.member_epoch = member_epoch
            self.topics = [] if topics is NEW_LIST else topics
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
        "groups",
        "require_stable",
    )

    NAME: ClassVar[str] = "OffsetFetchRequest"
    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_SINCE: ClassVar[int] = 6

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = NEW_LIST,
        groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] | None = None,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW_LIST else topics
        self.groups = [] if groups is None else groups
        self.require_stable = require_stable
        self.unknown_tagged_fields = None


class OffsetFetchResponse(Message):
    """Kafka's OffsetFetchResponse (response), API key 9, versions 0-10, flexible 6+.

    - throttle_time_ms: int32, versions 3+, ignorable; how long the client should wait before its next request,
      because of a quota
    - topics: []OffsetFetchResponseTopic, versions 0-7
    - error_code: int16, versions 2-7, ignorable; an ErrorCode, 0 for success
    - groups: []OffsetFetchResponseGroup, versions 8+
    """

    class OffsetFetchResponsePartition(Structure):
        """Structure OffsetFetchResponsePartition, versions 0-7.

        - partition_index: int32, versions 0-7
        - committed_offset: int64, versions 0-7
        - committed_leader_epoch: int32, versions 5-7, ignorable
        - metadata: string, versions 0-7, nullable 0-7
        - error_code: int16, versions 0-7; an ErrorCode, 0 for success
        """

        __slots__ = (
            "partition_index",
            "committed_offset",
            "committed_leader_epoch",
            "metadata",
            "error_code",
        )

        def __init__(
            self,
            partition_index: int = 0,
            committed_offset: int = 0,
            committed_leader_epoch: int = -1,
            metadata: str | None = "",
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.committed_offset = committed_offset
            self.committed_leader_epoch = committed_leader_epoch
            self.metadata = metadata
            self.error_code = error_code
            self.unknown_tagged_fields = None

    class OffsetFetchResponseTopic(Structure):
        """Structure OffsetFetchResponseTopic, versions 0-7.

        - name: string, versions 0-7
        - partitions: []OffsetFetchResponsePartition, versions 0-7
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class OffsetFetchResponsePartitions(Structure):
        """Structure OffsetFetchResponsePartitions, versions 8+.

        - partition_index: int32, versions 8+
        - committed_offset: int64, versions 8+
        - committed_leader_epoch: int32, versions 8+, ignorable
        - metadata: string, versions 8+, nullable 8+
        - error_code: int16, versions 8+; an ErrorCode, 0 for success
        """

        __slots__ = (
            "partition_index",
            "committed_offset",
            "committed_leader_epoch",
            "metadata",
            "error_code",
        )

        def __init__(
            self,
            partition_index: int = 0,
            committed_offset: int = 0,
            committed_leader_epoch: int = -1,
            metadata: str | None = "",
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.committed_offset = committed_offset
            self.committed_leader_epoch = committed_leader_epoch
            self.metadata = metadata
            self.error_code = error_code
            self.unknown_tagged_fields = None

    class OffsetFetchResponseTopics(Structure):
        """Structure OffsetFetchResponseTopics, versions 8+.

        - name: string, versions 8-9, ignorable
        - topic_id: uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - partitions: []OffsetFetchResponsePartitions, versions 8+
        """

        __slots__ = (
            "name",
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] | None = None,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class OffsetFetchResponseGroup(Structure):
        """Structure OffsetFetchResponseGroup, versions 8+.

        - group_id: string, versions 8+
        - topics: []OffsetFetchResponseTopics, versions 8+
        - error_code: int16, versions 8+; an ErrorCode, 0 for success
        """

        __slots__ = (
            "group_id",
            "topics",
            "error_code",
        )

        def __init__(
            self,
            group_id: str = "",
            topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] | None = None,
            error_code: int = 0,
        ) -> None:
            self.group_id = group_id
            self.topics = [] if topics is None else topics
            self.error_code = error_code
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
        "error_code",
        "groups",
    )

    NAME: ClassVar[str] = "OffsetFetchResponse"
    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[tuple[int, int]] = (0, 10)
    FLEXIBLE_SINCE: ClassVar[int] = 6

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] | None = None,
        error_code: int = 0,
        groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.error_code = error_code
        self.groups = [] if groups is None else groups
        self.unknown_tagged_fields = None


class SyncGroupRequest(Message):
    """Kafka's SyncGroupRequest (request), API key 14, versions 0-5, flexible 4+, listeners broker.

    - group_id: string, versions 0+
    - generation_id: int32, versions 0+; counts the rebalances of the group
    - member_id: string, versions 0+
    - group_instance_id: string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic
      one
    - protocol_type: string, versions 5+, nullable 5+, ignorable
    - protocol_name: string, versions 5+, nullable 5+, ignorable
    - assignments: []SyncGroupRequestAssignment, versions 0+
    """

    class SyncGroupRequestAssignment(Structure):
        """Structure SyncGroupRequestAssignment, versions 0+.

        - member_id: string, versions 0+
        - assignment: bytes, versions 0+
        """

        __slots__ = (
            "member_id",
            "assignment",
        )

        def __init__(
            self,
            member_id: str = "",
            assignment: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.assignment = assignment
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
    )

    NAME: ClassVar[str] = "SyncGroupRequest"
    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is None else assignments
        self.unknown_tagged_fields = None


class SyncGroupResponse(Message):
    """Kafka's SyncGroupResponse (response), API key 14, versions 0-5, flexible 4+.

    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - protocol_type: string, versions 5+, nullable 5+, ignorable
    - protocol_name: string, versions 5+, nullable 5+, ignorable
    - assignment: bytes, versions 0+
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "protocol_type",
        "protocol_name",
        "assignment",
    )

    NAME: ClassVar[str] = "SyncGroupResponse"
    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
        self.unknown_tagged_fields = None
