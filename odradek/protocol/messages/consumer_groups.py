"""Consumer groups under the protocol of KIP-848.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Structure


class ConsumerGroupDescribeRequest(Message):
    """Kafka's ConsumerGroupDescribeRequest (request), API key 69, versions 0-1, flexible 0+, listeners broker."""

    NAME = "ConsumerGroupDescribeRequest"
    API_KEY = 69
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    group_ids: list[str] = NEW_LIST
    """[]string, versions 0+"""
    include_authorized_operations: bool = False
    """bool, versions 0+"""


class ConsumerGroupDescribeResponse(Message):
    """Kafka's ConsumerGroupDescribeResponse (response), API key 69, versions 0-1, flexible 0+."""

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class Assignment(Structure):
        """Structure Assignment, versions 0+."""

        topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions] = NEW_LIST
        """[]TopicPartitions, versions 0+"""

    class Member(Structure):
        """Structure Member, versions 0+."""

        member_id: str = ""
        """string, versions 0+"""
        instance_id: str | None = None
        """string, versions 0+, nullable 0+"""
        rack_id: str | None = None
        """string, versions 0+, nullable 0+"""
        member_epoch: int = 0
        """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
        client_id: str = ""
        """string, versions 0+"""
        client_host: str = ""
        """string, versions 0+"""
        subscribed_topic_names: list[str] = NEW_LIST
        """[]string, versions 0+"""
        subscribed_topic_regex: str | None = None
        """string, versions 0+, nullable 0+"""
        assignment: ConsumerGroupDescribeResponse.Assignment = NEW_STRUCTURE
        """Assignment, versions 0+"""
        target_assignment: ConsumerGroupDescribeResponse.Assignment = NEW_STRUCTURE
        """Assignment, versions 0+"""
        member_type: int = -1
        """int8, versions 1+, ignorable"""

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
        assignor_name: str = ""
        """string, versions 0+"""
        members: list[ConsumerGroupDescribeResponse.Member] = NEW_LIST
        """[]Member, versions 0+"""
        authorized_operations: int = -2147483648
        """int32, versions 0+"""

    NAME = "ConsumerGroupDescribeResponse"
    API_KEY = 69
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    groups: list[ConsumerGroupDescribeResponse.DescribedGroup] = NEW_LIST
    """[]DescribedGroup, versions 0+"""


class ConsumerGroupHeartbeatRequest(Message):
    """Kafka's ConsumerGroupHeartbeatRequest (request), API key 68, versions 0-1, flexible 0+, listeners broker."""

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "ConsumerGroupHeartbeatRequest"
    API_KEY = 68
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    member_id: str = ""
    """string, versions 0+"""
    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    instance_id: str | None = None
    """string, versions 0+, nullable 0+"""
    rack_id: str | None = None
    """string, versions 0+, nullable 0+"""
    rebalance_timeout_ms: int = -1
    """int32, versions 0+; how long members have to join, or to give up partitions"""
    subscribed_topic_names: list[str] | None = None
    """[]string, versions 0+, nullable 0+"""
    subscribed_topic_regex: str | None = None
    """string, versions 1+, nullable 1+"""
    server_assignor: str | None = None
    """string, versions 0+, nullable 0+"""
    topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None = None
    """[]TopicPartitions, versions 0+, nullable 0+"""


class ConsumerGroupHeartbeatResponse(Message):
    """Kafka's ConsumerGroupHeartbeatResponse (response), API key 68, versions 0-1, flexible 0+."""

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class Assignment(Structure):
        """Structure Assignment, versions 0+."""

        topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions] = NEW_LIST
        """[]TopicPartitions, versions 0+"""

    NAME = "ConsumerGroupHeartbeatResponse"
    API_KEY = 68
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
    member_id: str | None = None
    """string, versions 0+, nullable 0+"""
    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    heartbeat_interval_ms: int = 0
    """int32, versions 0+"""
    assignment: ConsumerGroupHeartbeatResponse.Assignment | None = None
    """Assignment, versions 0+, nullable 0+"""
