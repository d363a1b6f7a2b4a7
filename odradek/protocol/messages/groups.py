"""Groups under the classic protocol, and committed offsets.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, ZERO_UUID, Message, Structure


class DeleteGroupsRequest(Message):
    """Kafka's DeleteGroupsRequest (request), API key 42, versions 0-3, flexible 2+, listeners broker."""

    NAME = "DeleteGroupsRequest"
    API_KEY = 42
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    groups_names: list[str] = NEW_LIST
    """[]string, versions 0+"""


class DeleteGroupsResponse(Message):
    """Kafka's DeleteGroupsResponse (response), API key 42, versions 0-3, flexible 2+."""

    class DeletableGroupResult(Structure):
        """Structure DeletableGroupResult, versions 0+."""

        group_id: str = ""
        """string, versions 0+, map key"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 3+, nullable 3+, ignorable; a text for people"""

    NAME = "DeleteGroupsResponse"
    API_KEY = 42
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    results: list[DeleteGroupsResponse.DeletableGroupResult] = NEW_LIST
    """[]DeletableGroupResult, versions 0+"""


class DescribeGroupsRequest(Message):
    """Kafka's DescribeGroupsRequest (request), API key 15, versions 0-6, flexible 5+, listeners broker."""

    NAME = "DescribeGroupsRequest"
    API_KEY = 15
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 5

    groups: list[str] = NEW_LIST
    """[]string, versions 0+"""
    include_authorized_operations: bool = False
    """bool, versions 3+"""


class DescribeGroupsResponse(Message):
    """Kafka's DescribeGroupsResponse (response), API key 15, versions 0-6, flexible 5+."""

    class DescribedGroupMember(Structure):
        """Structure DescribedGroupMember, versions 0+."""

        member_id: str = ""
        """string, versions 0+"""
        group_instance_id: str | None = None
        """string, versions 4+, nullable 4+, ignorable; the name of a static member (KIP-345), null for a dynamic one"""
        client_id: str = ""
        """string, versions 0+"""
        client_host: str = ""
        """string, versions 0+"""
        member_metadata: bytes = b""
        """bytes, versions 0+"""
        member_assignment: bytes = b""
        """bytes, versions 0+"""

    class DescribedGroup(Structure):
        """Structure DescribedGroup, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 6+, nullable 6+; a text for people"""
        group_id: str = ""
        """string, versions 0+"""
        group_state: str = ""
        """string, versions 0+"""
        protocol_type: str = ""
        """string, versions 0+"""
        protocol_data: str = ""
        """string, versions 0+"""
        members: list[DescribeGroupsResponse.DescribedGroupMember] = NEW_LIST
        """[]DescribedGroupMember, versions 0+"""
        authorized_operations: int = -2147483648
        """int32, versions 3+"""

    NAME = "DescribeGroupsResponse"
    API_KEY = 15
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 5

    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    groups: list[DescribeGroupsResponse.DescribedGroup] = NEW_LIST
    """[]DescribedGroup, versions 0+"""


class FindCoordinatorRequest(Message):
    """Kafka's FindCoordinatorRequest (request), API key 10, versions 0-6, flexible 3+, listeners broker."""

    NAME = "FindCoordinatorRequest"
    API_KEY = 10
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 3

    key: str = ""
    """string, versions 0-3"""
    key_type: int = 0
    """int8, versions 1+"""
    coordinator_keys: list[str] = NEW_LIST
    """[]string, versions 4+"""


class FindCoordinatorResponse(Message):
    """Kafka's FindCoordinatorResponse (response), API key 10, versions 0-6, flexible 3+."""

    class Coordinator(Structure):
        """Structure Coordinator, versions 4+."""

        key: str = ""
        """string, versions 4+"""
        node_id: int = 0
        """int32, versions 4+"""
        host: str = ""
        """string, versions 4+"""
        port: int = 0
        """int32, versions 4+"""
        error_code: int = 0
        """int16, versions 4+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 4+, nullable 4+, ignorable; a text for people"""

    NAME = "FindCoordinatorResponse"
    API_KEY = 10
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 3

    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0-3; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 1-3, nullable 1-3, ignorable; a text for people"""
    node_id: int = 0
    """int32, versions 0-3"""
    host: str = ""
    """string, versions 0-3"""
    port: int = 0
    """int32, versions 0-3"""
    coordinators: list[FindCoordinatorResponse.Coordinator] = NEW_LIST
    """[]Coordinator, versions 4+"""


class HeartbeatRequest(Message):
    """Kafka's HeartbeatRequest (request), API key 12, versions 0-4, flexible 4+, listeners broker."""

    NAME = "HeartbeatRequest"
    API_KEY = 12
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    group_id: str = ""
    """string, versions 0+"""
    generation_id: int = 0
    """int32, versions 0+; counts the rebalances of the group"""
    member_id: str = ""
    """string, versions 0+"""
    group_instance_id: str | None = None
    """string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic one"""


class HeartbeatResponse(Message):
    """Kafka's HeartbeatResponse (response), API key 12, versions 0-4, flexible 4+."""

    NAME = "HeartbeatResponse"
    API_KEY = 12
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""


class JoinGroupRequest(Message):
    """Kafka's JoinGroupRequest (request), API key 11, versions 0-9, flexible 6+, listeners broker."""

    class JoinGroupRequestProtocol(Structure):
        """Structure JoinGroupRequestProtocol, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        metadata: bytes = b""
        """bytes, versions 0+"""

    NAME = "JoinGroupRequest"
    API_KEY = 11
    VERSIONS = (0, 9)
    FLEXIBLE_SINCE = 6

    group_id: str = ""
    """string, versions 0+"""
    session_timeout_ms: int = 0
    """int32, versions 0+; how long a member may be silent before it is removed"""
    rebalance_timeout_ms: int = -1
    """int32, versions 1+, ignorable; how long members have to join, or to give up partitions"""
    member_id: str = ""
    """string, versions 0+"""
    group_instance_id: str | None = None
    """string, versions 5+, nullable 5+; the name of a static member (KIP-345), null for a dynamic one"""
    protocol_type: str = ""
    """string, versions 0+"""
    protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = NEW_LIST
    """[]JoinGroupRequestProtocol, versions 0+"""
    reason: str | None = None
    """string, versions 8+, nullable 8+, ignorable"""


class JoinGroupResponse(Message):
    """Kafka's JoinGroupResponse (response), API key 11, versions 0-9, flexible 6+."""

    class JoinGroupResponseMember(Structure):
        """Structure JoinGroupResponseMember, versions 0+."""

        member_id: str = ""
        """string, versions 0+"""
        group_instance_id: str | None = None
        """string, versions 5+, nullable 5+, ignorable; the name of a static member (KIP-345), null for a dynamic one"""
        metadata: bytes = b""
        """bytes, versions 0+"""

    NAME = "JoinGroupResponse"
    API_KEY = 11
    VERSIONS = (0, 9)
    FLEXIBLE_SINCE = 6

    throttle_time_ms: int = 0
    """int32, versions 2+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    generation_id: int = -1
    """int32, versions 0+; counts the rebalances of the group"""
    protocol_type: str | None = None
    """string, versions 7+, nullable 7+, ignorable"""
    protocol_name: str | None = ""
    """string, versions 0+, nullable 7+"""
    leader: str = ""
    """string, versions 0+"""
    skip_assignment: bool = False
    """bool, versions 9+"""
    member_id: str = ""
    """string, versions 0+"""
    members: list[JoinGroupResponse.JoinGroupResponseMember] = NEW_LIST
    """[]JoinGroupResponseMember, versions 0+"""


class LeaveGroupRequest(Message):
    """Kafka's LeaveGroupRequest (request), API key 13, versions 0-5, flexible 4+, listeners broker."""

    class MemberIdentity(Structure):
        """Structure MemberIdentity, versions 3+."""

        member_id: str = ""
        """string, versions 3+"""
        group_instance_id: str | None = None
        """string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic one"""
        reason: str | None = None
        """string, versions 5+, nullable 5+, ignorable"""

    NAME = "LeaveGroupRequest"
    API_KEY = 13
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 4

    group_id: str = ""
    """string, versions 0+"""
    member_id: str = ""
    """string, versions 0-2"""
    members: list[LeaveGroupRequest.MemberIdentity] = NEW_LIST
    """[]MemberIdentity, versions 3+"""


class LeaveGroupResponse(Message):
    """Kafka's LeaveGroupResponse (response), API key 13, versions 0-5, flexible 4+."""

    class MemberResponse(Structure):
        """Structure MemberResponse, versions 3+."""

        member_id: str = ""
        """string, versions 3+"""
        group_instance_id: str | None = ""
        """string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic one"""
        error_code: int = 0
        """int16, versions 3+; an ErrorCode, 0 for success"""

    NAME = "LeaveGroupResponse"
    API_KEY = 13
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 4

    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    members: list[LeaveGroupResponse.MemberResponse] = NEW_LIST
    """[]MemberResponse, versions 3+"""


class ListGroupsRequest(Message):
    """Kafka's ListGroupsRequest (request), API key 16, versions 0-5, flexible 3+, listeners broker."""

    NAME = "ListGroupsRequest"
    API_KEY = 16
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    states_filter: list[str] = NEW_LIST
    """[]string, versions 4+"""
    types_filter: list[str] = NEW_LIST
    """[]string, versions 5+"""


class ListGroupsResponse(Message):
    """Kafka's ListGroupsResponse (response), API key 16, versions 0-5, flexible 3+."""

    class ListedGroup(Structure):
        """Structure ListedGroup, versions 0+."""

        group_id: str = ""
        """string, versions 0+"""
        protocol_type: str = ""
        """string, versions 0+"""
        group_state: str = ""
        """string, versions 4+, ignorable"""
        group_type: str = ""
        """string, versions 5+, ignorable"""

    NAME = "ListGroupsResponse"
    API_KEY = 16
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    groups: list[ListGroupsResponse.ListedGroup] = NEW_LIST
    """[]ListedGroup, versions 0+"""


class OffsetCommitRequest(Message):
    """Kafka's OffsetCommitRequest (request), API key 8, versions 0-10, flexible 8+, listeners broker."""

    class OffsetCommitRequestPartition(Structure):
        """Structure OffsetCommitRequestPartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        committed_offset: int = 0
        """int64, versions 0+"""
        committed_leader_epoch: int = -1
        """int32, versions 6+, ignorable"""
        committed_metadata: str | None = ""
        """string, versions 0+, nullable 0+"""
        commit_timestamp: int = -1
        """int64, versions 1"""

    class OffsetCommitRequestTopic(Structure):
        """Structure OffsetCommitRequestTopic, versions 0+."""

        name: str = ""
        """string, versions 0-9, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] = NEW_LIST
        """[]OffsetCommitRequestPartition, versions 0+"""

    NAME = "OffsetCommitRequest"
    API_KEY = 8
    VERSIONS = (0, 10)
    FLEXIBLE_SINCE = 8

    group_id: str = ""
    """string, versions 0+"""
    generation_id_or_member_epoch: int = -1
    """int32, versions 1+, ignorable"""
    member_id: str = ""
    """string, versions 1+, ignorable"""
    group_instance_id: str | None = None
    """string, versions 7+, nullable 7+; the name of a static member (KIP-345), null for a dynamic one"""
    retention_time_ms: int = -1
    """int64, versions 2-4, ignorable"""
    topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = NEW_LIST
    """[]OffsetCommitRequestTopic, versions 0+"""


class OffsetCommitResponse(Message):
    """Kafka's OffsetCommitResponse (response), API key 8, versions 0-10, flexible 8+."""

    class OffsetCommitResponsePartition(Structure):
        """Structure OffsetCommitResponsePartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""

    class OffsetCommitResponseTopic(Structure):
        """Structure OffsetCommitResponseTopic, versions 0+."""

        name: str = ""
        """string, versions 0-9, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] = NEW_LIST
        """[]OffsetCommitResponsePartition, versions 0+"""

    NAME = "OffsetCommitResponse"
    API_KEY = 8
    VERSIONS = (0, 10)
    FLEXIBLE_SINCE = 8

    throttle_time_ms: int = 0
    """int32, versions 3+, ignorable; how long the client should wait before its next request, because of a quota"""
    topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = NEW_LIST
    """[]OffsetCommitResponseTopic, versions 0+"""


class OffsetDeleteRequest(Message):
    """Kafka's OffsetDeleteRequest (request), API key 47, versions 0, listeners broker."""

    class OffsetDeleteRequestPartition(Structure):
        """Structure OffsetDeleteRequestPartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""

    class OffsetDeleteRequestTopic(Structure):
        """Structure OffsetDeleteRequestTopic, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition] = NEW_LIST
        """[]OffsetDeleteRequestPartition, versions 0+"""

    NAME = "OffsetDeleteRequest"
    API_KEY = 47
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0+"""
    topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] = NEW_LIST
    """[]OffsetDeleteRequestTopic, versions 0+"""


class OffsetDeleteResponse(Message):
    """Kafka's OffsetDeleteResponse (response), API key 47, versions 0."""

    class OffsetDeleteResponsePartition(Structure):
        """Structure OffsetDeleteResponsePartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+, map key"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""

    class OffsetDeleteResponseTopic(Structure):
        """Structure OffsetDeleteResponseTopic, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition] = NEW_LIST
        """[]OffsetDeleteResponsePartition, versions 0+"""

    NAME = "OffsetDeleteResponse"
    API_KEY = 47
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    throttle_time_ms: int = 0
    """int32, versions 0+, ignorable; how long the client should wait before its next request, because of a quota"""
    topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] = NEW_LIST
    """[]OffsetDeleteResponseTopic, versions 0+"""


class OffsetFetchRequest(Message):
    """Kafka's OffsetFetchRequest (request), API key 9, versions 0-10, flexible 6+, listeners broker."""

    class OffsetFetchRequestTopic(Structure):
        """Structure OffsetFetchRequestTopic, versions 0-7."""

        name: str = ""
        """string, versions 0-7"""
        partition_indexes: list[int] = NEW_LIST
        """[]int32, versions 0-7"""

    class OffsetFetchRequestTopics(Structure):
        """Structure OffsetFetchRequestTopics, versions 8+."""

        name: str = ""
        """string, versions 8-9, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partition_indexes: list[int] = NEW_LIST
        """[]int32, versions 8+"""

    class OffsetFetchRequestGroup(Structure):
        """Structure OffsetFetchRequestGroup, versions 8+."""

        group_id: str = ""
        """string, versions 8+"""
        member_id: str | None = None
        """string, versions 9+, nullable 9+, ignorable"""
        member_epoch: int = -1
        """int32, versions 9+, ignorable; counts the assignments that the member has taken over (KIP-848)"""
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = NEW_NULLABLE_LIST
        """[]OffsetFetchRequestTopics, versions 8+, nullable 8+"""

    NAME = "OffsetFetchRequest"
    API_KEY = 9
    VERSIONS = (0, 10)
    FLEXIBLE_SINCE = 6

    group_id: str = ""
    """string, versions 0-7"""
    topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = NEW_NULLABLE_LIST
    """[]OffsetFetchRequestTopic, versions 0-7, nullable 2-7"""
    groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = NEW_LIST
    """[]OffsetFetchRequestGroup, versions 8+"""
    require_stable: bool = False
    """bool, versions 7+"""


class OffsetFetchResponse(Message):
    """Kafka's OffsetFetchResponse (response), API key 9, versions 0-10, flexible 6+."""

    class OffsetFetchResponsePartition(Structure):
        """Structure OffsetFetchResponsePartition, versions 0-7."""

        partition_index: int = 0
        """int32, versions 0-7"""
        committed_offset: int = 0
        """int64, versions 0-7"""
        committed_leader_epoch: int = -1
        """int32, versions 5-7, ignorable"""
        metadata: str | None = ""
        """string, versions 0-7, nullable 0-7"""
        error_code: int = 0
        """int16, versions 0-7; an ErrorCode, 0 for success"""

    class OffsetFetchResponseTopic(Structure):
        """Structure OffsetFetchResponseTopic, versions 0-7."""

        name: str = ""
        """string, versions 0-7"""
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = NEW_LIST
        """[]OffsetFetchResponsePartition, versions 0-7"""

    class OffsetFetchResponsePartitions(Structure):
        """Structure OffsetFetchResponsePartitions, versions 8+."""

        partition_index: int = 0
        """int32, versions 8+"""
        committed_offset: int = 0
        """int64, versions 8+"""
        committed_leader_epoch: int = -1
        """int32, versions 8+, ignorable"""
        metadata: str | None = ""
        """string, versions 8+, nullable 8+"""
        error_code: int = 0
        """int16, versions 8+; an ErrorCode, 0 for success"""

    class OffsetFetchResponseTopics(Structure):
        """Structure OffsetFetchResponseTopics, versions 8+."""

        name: str = ""
        """string, versions 8-9, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 10+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = NEW_LIST
        """[]OffsetFetchResponsePartitions, versions 8+"""

    class OffsetFetchResponseGroup(Structure):
        """Structure OffsetFetchResponseGroup, versions 8+."""

        group_id: str = ""
        """string, versions 8+"""
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = NEW_LIST
        """[]OffsetFetchResponseTopics, versions 8+"""
        error_code: int = 0
        """int16, versions 8+; an ErrorCode, 0 for success"""

    NAME = "OffsetFetchResponse"
    API_KEY = 9
    VERSIONS = (0, 10)
    FLEXIBLE_SINCE = 6

    throttle_time_ms: int = 0
    """int32, versions 3+, ignorable; how long the client should wait before its next request, because of a quota"""
    topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = NEW_LIST
    """[]OffsetFetchResponseTopic, versions 0-7"""
    error_code: int = 0
    """int16, versions 2-7, ignorable; an ErrorCode, 0 for success"""
    groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = NEW_LIST
    """[]OffsetFetchResponseGroup, versions 8+"""


class SyncGroupRequest(Message):
    """Kafka's SyncGroupRequest (request), API key 14, versions 0-5, flexible 4+, listeners broker."""

    class SyncGroupRequestAssignment(Structure):
        """Structure SyncGroupRequestAssignment, versions 0+."""

        member_id: str = ""
        """string, versions 0+"""
        assignment: bytes = b""
        """bytes, versions 0+"""

    NAME = "SyncGroupRequest"
    API_KEY = 14
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 4

    group_id: str = ""
    """string, versions 0+"""
    generation_id: int = 0
    """int32, versions 0+; counts the rebalances of the group"""
    member_id: str = ""
    """string, versions 0+"""
    group_instance_id: str | None = None
    """string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic one"""
    protocol_type: str | None = None
    """string, versions 5+, nullable 5+, ignorable"""
    protocol_name: str | None = None
    """string, versions 5+, nullable 5+, ignorable"""
    assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = NEW_LIST
    """[]SyncGroupRequestAssignment, versions 0+"""


class SyncGroupResponse(Message):
    """Kafka's SyncGroupResponse (response), API key 14, versions 0-5, flexible 4+."""

    NAME = "SyncGroupResponse"
    API_KEY = 14
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 4

    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    protocol_type: str | None = None
    """string, versions 5+, nullable 5+, ignorable"""
    protocol_name: str | None = None
    """string, versions 5+, nullable 5+, ignorable"""
    assignment: bytes = b""
    """bytes, versions 0+"""
