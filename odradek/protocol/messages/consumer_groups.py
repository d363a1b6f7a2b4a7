"""Consumer groups under the protocol of KIP-848.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import ZERO_UUID, Message, Structure


class ConsumerGroupDescribeRequest(Message):
    """Kafka's ConsumerGroupDescribeRequest (request), API key 69, versions 0-1, flexible 0+, listeners broker.

    - group_ids: []string, versions 0+
    - include_authorized_operations: bool, versions 0+
    """

    __slots__ = (
        "group_ids",
        "include_authorized_operations",
    )

    NAME: ClassVar[str] = "ConsumerGroupDescribeRequest"
    API_KEY: ClassVar[int] = 69
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_ids: list[str] | None = None,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = [] if group_ids is None else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tagged_fields = None


class ConsumerGroupDescribeResponse(Message):
    """Kafka's ConsumerGroupDescribeResponse (response), API key 69, versions 0-1, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - groups: []DescribedGroup, versions 0+
    """

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - topic_name: string, versions 0+
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "topic_id",
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            topic_name: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class Assignment(Structure):
        """Structure Assignment, versions 0+.

        - topic_partitions: []TopicPartitions, versions 0+
        """

        __slots__ = ("topic_partitions",)

        def __init__(
            self,
            topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions] | None = None,
        ) -> None:
            self.topic_partitions = [] if topic_partitions is None else topic_partitions
            self.unknown_tagged_fields = None

    class Member(Structure):
        """Structure Member, versions 0+.

        - member_id: string, versions 0+
        - instance_id: string, versions 0+, nullable 0+
        - rack_id: string, versions 0+, nullable 0+
        - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
        - client_id: string, versions 0+
        - client_host: string, versions 0+
        - subscribed_topic_names: []string, versions 0+
        - subscribed_topic_regex: string, versions 0+, nullable 0+
        - assignment: Assignment, versions 0+
        - target_assignment: Assignment, versions 0+
        - member_type: int8, versions 1+, ignorable
        """

        __slots__ = (
            "member_id",
            "instance_id",
            "rack_id",
            "member_epoch",
            "client_id",
            "client_host",
            "subscribed_topic_names",
            "subscribed_topic_regex",
            "assignment",
            "target_assignment",
            "member_type",
        )

        def __init__(
            self,
            member_id: str = "",
            instance_id: str | None = None,
            rack_id: str | None = None,
            member_epoch: int = 0,
            client_id: str = "",
            client_host: str = "",
            subscribed_topic_names: list[str] | None = None,
            subscribed_topic_regex: str | None = None,
            assignment: ConsumerGroupDescribeResponse.Assignment | None = None,
            target_assignment: ConsumerGroupDescribeResponse.Assignment | None = None,
            member_type: int = -1,
        ) -> None:
            self.member_id = member_id
            self.instance_id = instance_id
            self.rack_id = rack_id
            self.member_epoch = member_epoch
            self.client_id = client_id
            self.client_host = client_host
            self.subscribed_topic_names = [] if subscribed_topic_names is None else subscribed_topic_names
            self.subscribed_topic_regex = subscribed_topic_regex
            self.assignment = ConsumerGroupDescribeResponse.Assignment() if assignment is None else assignment
            self.target_assignment = (
                ConsumerGroupDescribeResponse.Assignment() if target_assignment is None else target_assignment
            )
            self.member_type = member_type
            self.unknown_tagged_fields = None

    class DescribedGroup(Structure):
        """Structure DescribedGroup, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - group_id: string, versions 0+
        - group_state: string, versions 0+
        - group_epoch: int32, versions 0+
        - assignment_epoch: int32, versions 0+
        - assignor_name: string, versions 0+
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
            "assignor_name",
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
            assignor_name: str = "",
            members: list[ConsumerGroupDescribeResponse.Member] | None = None,
            authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.group_id = group_id
            self.group_state = group_state
            self.group_epoch = group_epoch
            self.assignment_epoch = assignment_epoch
            self.assignor_name = assignor_name
            self.members = [] if members is None else members
            self.authorized_operations = authorized_operations
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "groups",
    )

    NAME: ClassVar[str] = "ConsumerGroupDescribeResponse"
    API_KEY: ClassVar[int] = 69
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[ConsumerGroupDescribeResponse.DescribedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is None else groups
        self.unknown_tagged_fields = None


class ConsumerGroupHeartbeatRequest(Message):
    """Kafka's ConsumerGroupHeartbeatRequest (request), API key 68, versions 0-1, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - member_id: string, versions 0+
    - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
    - instance_id: string, versions 0+, nullable 0+
    - rack_id: string, versions 0+, nullable 0+
    - rebalance_timeout_ms: int32, versions 0+; how long members have to join, or to give up partitions
    - subscribed_topic_names: []string, versions 0+, nullable 0+
    - subscribed_topic_regex: string, versions 1+, nullable 1+
    - server_assignor: string, versions 0+, nullable 0+
    - topic_partitions: []TopicPartitions, versions 0+, nullable 0+
    """

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[int] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
    )

    NAME: ClassVar[str] = "ConsumerGroupHeartbeatRequest"
    API_KEY: ClassVar[int] = 68
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions
        self.unknown_tagged_fields = None


class ConsumerGroupHeartbeatResponse(Message):
    """Kafka's ConsumerGroupHeartbeatResponse (response), API key 68, versions 0-1, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - member_id: string, versions 0+, nullable 0+
    - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
    - heartbeat_interval_ms: int32, versions 0+
    - assignment: Assignment, versions 0+, nullable 0+
    """

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[int] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class Assignment(Structure):
        """Structure Assignment, versions 0+.

        - topic_partitions: []TopicPartitions, versions 0+
        """

        __slots__ = ("topic_partitions",)

        def __init__(
            self,
            topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions] | None = None,
        ) -> None:
            self.topic_partitions = [] if topic_partitions is None else topic_partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )

    NAME: ClassVar[str] = "ConsumerGroupHeartbeatResponse"
    API_KEY: ClassVar[int] = 68
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: ConsumerGroupHeartbeatResponse.Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
        self.unknown_tagged_fields = None
