"""Keys and values of ``__consumer_offsets``, and what classic members put into their metadata.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Structure


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """Kafka's ConsumerGroupCurrentMemberAssignmentKey (record key), type 8, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "ConsumerGroupCurrentMemberAssignmentKey"
    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """Kafka's ConsumerGroupCurrentMemberAssignmentValue (record value), type 8, versions 0, flexible 0+.

    - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
    - previous_member_epoch: int32, versions 0+
    - state: int8, versions 0+
    - assigned_partitions: []TopicPartitions, versions 0+
    - partitions_pending_revocation: []TopicPartitions, versions 0+
    """

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []int32, versions 0+
        - assignment_epochs: []int32, versions 0+, nullable 0+, tag 0
        """

        __slots__ = (
            "topic_id",
            "partitions",
            "assignment_epochs",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[int] | None = None,
            assignment_epochs: list[int] | None = NEW_LIST,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.assignment_epochs = [] if assignment_epochs is NEW_LIST else assignment_epochs
            self.unknown_tagged_fields = None

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
    )

    NAME: ClassVar[str] = "ConsumerGroupCurrentMemberAssignmentValue"
    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] | None = None,
        partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] | None = None,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is None else assigned_partitions
        self.partitions_pending_revocation = (
            [] if partitions_pending_revocation is None else partitions_pending_revocation
        )
        self.unknown_tagged_fields = None


class ConsumerGroupMemberMetadataKey(Message):
    """Kafka's ConsumerGroupMemberMetadataKey (record key), type 5, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "ConsumerGroupMemberMetadataKey"
    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class ConsumerGroupMemberMetadataValue(Message):
    """Kafka's ConsumerGroupMemberMetadataValue (record value), type 5, versions 0, flexible 0+.

    - instance_id: string, versions 0+, nullable 0+
    - rack_id: string, versions 0+, nullable 0+
    - client_id: string, versions 0+
    - client_host: string, versions 0+
    - subscribed_topic_names: []string, versions 0+
    - subscribed_topic_regex: string, versions 0+, nullable 0+
    - rebalance_timeout_ms: int32, versions 0+; how long members have to join, or to give up partitions
    - server_assignor: string, versions 0+, nullable 0+
    - classic_member_metadata: ClassicMemberMetadata, versions 0+, nullable 0+, tag 0
    """

    class ClassicProtocol(Structure):
        """Structure ClassicProtocol, versions 0+.

        - name: string, versions 0+
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

    class ClassicMemberMetadata(Structure):
        """Structure ClassicMemberMetadata, versions 0+.

        - session_timeout_ms: int32, versions 0+; how long a member may be silent before it is removed
        - supported_protocols: []ClassicProtocol, versions 0+
        """

        __slots__ = (
            "session_timeout_ms",
            "supported_protocols",
        )

        def __init__(
            self,
            session_timeout_ms: int = 0,
            supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol] | None = None,
        ) -> None:
            self.session_timeout_ms = session_timeout_ms
            self.supported_protocols = [] if supported_protocols is None else supported_protocols
            self.unknown_tagged_fields = None

    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
    )

    NAME: ClassVar[str] = "ConsumerGroupMemberMetadataValue"
    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = NEW_STRUCTURE,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is None else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = (
            ConsumerGroupMemberMetadataValue.ClassicMemberMetadata()
            if classic_member_metadata is NEW_STRUCTURE
            else classic_member_metadata
        )
        self.unknown_tagged_fields = None


class ConsumerGroupMetadataKey(Message):
    """Kafka's ConsumerGroupMetadataKey (record key), type 3, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "ConsumerGroupMetadataKey"
    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class ConsumerGroupMetadataValue(Message):
    """Kafka's ConsumerGroupMetadataValue (record value), type 3, versions 0, flexible 0+.

    - epoch: int32, versions 0+
    - metadata_hash: int64, versions 0+, tag 0
    """

    __slots__ = (
        "epoch",
        "metadata_hash",
    )

    NAME: ClassVar[str] = "ConsumerGroupMetadataValue"
    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.unknown_tagged_fields = None


class ConsumerGroupPartitionMetadataKey(Message):
    """Kafka's ConsumerGroupPartitionMetadataKey (record key), type 4, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "ConsumerGroupPartitionMetadataKey"
    API_KEY: ClassVar[int] = 4
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class ConsumerGroupPartitionMetadataValue(Message):
    """Kafka's ConsumerGroupPartitionMetadataValue (record value), type 4, versions 0, flexible 0+.

    - topics: []TopicMetadata, versions 0+
    """

    class PartitionMetadata(Structure):
        """Structure PartitionMetadata, versions 0+.

        - partition: int32, versions 0+
        - racks: []string, versions 0+
        """

        __slots__ = (
            "partition",
            "racks",
        )

        def __init__(
            self,
            partition: int = 0,
            racks: list[str] | None = None,
        ) -> None:
            self.partition = partition
            self.racks = [] if racks is None else racks
            self.unknown_tagged_fields = None

    class TopicMetadata(Structure):
        """Structure TopicMetadata, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - topic_name: string, versions 0+
        - num_partitions: int32, versions 0+
        - partition_metadata: []PartitionMetadata, versions 0+
        """

        __slots__ = (
            "topic_id",
            "topic_name",
            "num_partitions",
            "partition_metadata",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            topic_name: str = "",
            num_partitions: int = 0,
            partition_metadata: list[ConsumerGroupPartitionMetadataValue.PartitionMetadata] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.topic_name = topic_name
            self.num_partitions = num_partitions
            self.partition_metadata = [] if partition_metadata is None else partition_metadata
            self.unknown_tagged_fields = None

    __slots__ = ("topics",)

    NAME: ClassVar[str] = "ConsumerGroupPartitionMetadataValue"
    API_KEY: ClassVar[int] = 4
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topics: list[ConsumerGroupPartitionMetadataValue.TopicMetadata] | None = None,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class ConsumerGroupRegularExpressionKey(Message):
    """Kafka's ConsumerGroupRegularExpressionKey (record key), type 16, versions 0.

    - group_id: string, versions 0
    - regular_expression: string, versions 0
    """

    __slots__ = (
        "group_id",
        "regular_expression",
    )

    NAME: ClassVar[str] = "ConsumerGroupRegularExpressionKey"
    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        regular_expression: str = "",
    ) -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression
        self.unknown_tagged_fields = None


class ConsumerGroupRegularExpressionValue(Message):
    """Kafka's ConsumerGroupRegularExpressionValue (record value), type 16, versions 0, flexible 0+.

    - topics: []string, versions 0+
    - version: int64, versions 0+
    - timestamp: int64, versions 0+
    """

    __slots__ = (
        "topics",
        "version",
        "timestamp",
    )

    NAME: ClassVar[str] = "ConsumerGroupRegularExpressionValue"
    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topics: list[str] | None = None,
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.version = version
        self.timestamp = timestamp
        self.unknown_tagged_fields = None


class ConsumerGroupTargetAssignmentMemberKey(Message):
    """Kafka's ConsumerGroupTargetAssignmentMemberKey (record key), type 7, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "ConsumerGroupTargetAssignmentMemberKey"
    API_KEY: ClassVar[int] = 7
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class ConsumerGroupTargetAssignmentMemberValue(Message):
    """Kafka's ConsumerGroupTargetAssignmentMemberValue (record value), type 7, versions 0, flexible 0+.

    - topic_partitions: []TopicPartition, versions 0+
    """

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 0+.

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

    __slots__ = ("topic_partitions",)

    NAME: ClassVar[str] = "ConsumerGroupTargetAssignmentMemberValue"
    API_KEY: ClassVar[int] = 7
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topic_partitions: list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition] | None = None,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is None else topic_partitions
        self.unknown_tagged_fields = None


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """Kafka's ConsumerGroupTargetAssignmentMetadataKey (record key), type 6, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "ConsumerGroupTargetAssignmentMetadataKey"
    API_KEY: ClassVar[int] = 6
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """Kafka's ConsumerGroupTargetAssignmentMetadataValue (record value), type 6, versions 0, flexible 0+.

    - assignment_epoch: int32, versions 0+
    - assignment_timestamp: int64, versions 0+, tag 0, ignorable
    """

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp",
    )

    NAME: ClassVar[str] = "ConsumerGroupTargetAssignmentMetadataValue"
    API_KEY: ClassVar[int] = 6
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tagged_fields = None


class ConsumerProtocolAssignment(Message):
    """Kafka's ConsumerProtocolAssignment (data), versions 0-3.

    - assigned_partitions: []TopicPartition, versions 0+
    - user_data: bytes, versions 0+, nullable 0+
    """

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 0+.

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
        "assigned_partitions",
        "user_data",
    )

    NAME: ClassVar[str] = "ConsumerProtocolAssignment"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition] | None = None,
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions = [] if assigned_partitions is None else assigned_partitions
        self.user_data = user_data
        self.unknown_tagged_fields = None


class ConsumerProtocolSubscription(Message):
    """Kafka's ConsumerProtocolSubscription (data), versions 0-3.

    - topics: []string, versions 0+
    - user_data: bytes, versions 0+, nullable 0+
    - owned_partitions: []TopicPartition, versions 1+, ignorable
    - generation_id: int32, versions 2+, ignorable; counts the rebalances of the group
    - rack_id: string, versions 3+, nullable 3+, ignorable
    """

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 1+.

        - topic: string, versions 1+, map key
        - partitions: []int32, versions 1+
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
        "topics",
        "user_data",
        "owned_partitions",
        "generation_id",
        "rack_id",
    )

    NAME: ClassVar[str] = "ConsumerProtocolSubscription"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        topics: list[str] | None = None,
        user_data: bytes | None = None,
        owned_partitions: list[ConsumerProtocolSubscription.TopicPartition] | None = None,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is None else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id
        self.unknown_tagged_fields = None


class GroupMetadataKey(Message):
    """Kafka's GroupMetadataKey (record key), type 2, versions 0.

    - group: string, versions 0
    """

    __slots__ = ("group",)

    NAME: ClassVar[str] = "GroupMetadataKey"
    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group: str = "",
    ) -> None:
        self.group = group
        self.unknown_tagged_fields = None


class GroupMetadataValue(Message):
    """Kafka's GroupMetadataValue (record value), type 2, versions 0-4, flexible 4+.

    - protocol_type: string, versions 0+
    - generation: int32, versions 0+
    - protocol: string, versions 0+, nullable 0+
    - leader: string, versions 0+, nullable 0+
    - current_state_timestamp: int64, versions 2+, ignorable
    - members: []MemberMetadata, versions 0+
    """

    class MemberMetadata(Structure):
        """Structure MemberMetadata, versions 0+.

        - member_id: string, versions 0+
        - group_instance_id: string, versions 3+, nullable 3+, ignorable; the name of a static member (KIP-345), null
          for a dynamic one
        - client_id: string, versions 0+
        - client_host: string, versions 0+
        - rebalance_timeout: int32, versions 1+, ignorable
        - session_timeout: int32, versions 0+
        - subscription: bytes, versions 0+
        - assignment: bytes, versions 0+
        """

        __slots__ = (
            "member_id",
            "group_instance_id",
            "client_id",
            "client_host",
            "rebalance_timeout",
            "session_timeout",
            "subscription",
            "assignment",
        )

        def __init__(
            self,
            member_id: str = "",
            group_instance_id: str | None = None,
            client_id: str = "",
            client_host: str = "",
            rebalance_timeout: int = -1,
            session_timeout: int = 0,
            subscription: bytes = b"",
            assignment: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.client_id = client_id
            self.client_host = client_host
            self.rebalance_timeout = rebalance_timeout
            self.session_timeout = session_timeout
            self.subscription = subscription
            self.assignment = assignment
            self.unknown_tagged_fields = None

    __slots__ = (
        "protocol_type",
        "generation",
        "protocol",
        "leader",
        "current_state_timestamp",
        "members",
    )

    NAME: ClassVar[str] = "GroupMetadataValue"
    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[GroupMetadataValue.MemberMetadata] | None = None,
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is None else members
        self.unknown_tagged_fields = None


class LegacyOffsetCommitKey(Message):
    """Kafka's LegacyOffsetCommitKey (record key), type 0, versions 0.

    - group: string, versions 0
    - topic: string, versions 0
    - partition: int32, versions 0
    """

    __slots__ = (
        "group",
        "topic",
        "partition",
    )

    NAME: ClassVar[str] = "LegacyOffsetCommitKey"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
        self.unknown_tagged_fields = None


class LegacyOffsetCommitValue(Message):
    """Kafka's LegacyOffsetCommitValue (record value), type 0, versions 0.

    - offset: int64, versions 0
    - metadata: string, versions 0
    - commit_timestamp: int64, versions 0
    """

    __slots__ = (
        "offset",
        "metadata",
        "commit_timestamp",
    )

    NAME: ClassVar[str] = "LegacyOffsetCommitValue"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.unknown_tagged_fields = None


class OffsetCommitKey(Message):
    """Kafka's OffsetCommitKey (record key), type 1, versions 0.

    - group: string, versions 0
    - topic: string, versions 0
    - partition: int32, versions 0
    """

    __slots__ = (
        "group",
        "topic",
        "partition",
    )

    NAME: ClassVar[str] = "OffsetCommitKey"
    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
        self.unknown_tagged_fields = None


class OffsetCommitValue(Message):
    """Kafka's OffsetCommitValue (record value), type 1, versions 0-4, flexible 4+.

    - offset: int64, versions 0+
    - leader_epoch: int32, versions 3+, ignorable; counts the changes of the leader
    - metadata: string, versions 0+
    - commit_timestamp: int64, versions 0+
    - expire_timestamp: int64, versions 1, ignorable
    - topic_id: uuid, versions 4+, tag 0, ignorable; the id of the topic, which a new topic of the same name does
      not share (KIP-516)
    """

    __slots__ = (
        "offset",
        "leader_epoch",
        "metadata",
        "commit_timestamp",
        "expire_timestamp",
        "topic_id",
    )

    NAME: ClassVar[str] = "OffsetCommitValue"
    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id
        self.unknown_tagged_fields = None


class ShareGroupCurrentMemberAssignmentKey(Message):
    """Kafka's ShareGroupCurrentMemberAssignmentKey (record key), type 14, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "ShareGroupCurrentMemberAssignmentKey"
    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class ShareGroupCurrentMemberAssignmentValue(Message):
    """Kafka's ShareGroupCurrentMemberAssignmentValue (record value), type 14, versions 0, flexible 0+.

    - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
    - previous_member_epoch: int32, versions 0+
    - state: int8, versions 0+
    - assigned_partitions: []TopicPartitions, versions 0+
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
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
    )

    NAME: ClassVar[str] = "ShareGroupCurrentMemberAssignmentValue"
    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ShareGroupCurrentMemberAssignmentValue.TopicPartitions] | None = None,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is None else assigned_partitions
        self.unknown_tagged_fields = None


class ShareGroupMemberMetadataKey(Message):
    """Kafka's ShareGroupMemberMetadataKey (record key), type 10, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "ShareGroupMemberMetadataKey"
    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class ShareGroupMemberMetadataValue(Message):
    """Kafka's ShareGroupMemberMetadataValue (record value), type 10, versions 0, flexible 0+.

    - rack_id: string, versions 0+, nullable 0+
    - client_id: string, versions 0+
    - client_host: string, versions 0+
    - subscribed_topic_names: []string, versions 0+
    """

    __slots__ = (
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
    )

    NAME: ClassVar[str] = "ShareGroupMemberMetadataValue"
    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] | None = None,
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is None else subscribed_topic_names
        self.unknown_tagged_fields = None


class ShareGroupMetadataKey(Message):
    """Kafka's ShareGroupMetadataKey (record key), type 11, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "ShareGroupMetadataKey"
    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class ShareGroupMetadataValue(Message):
    """Kafka's ShareGroupMetadataValue (record value), type 11, versions 0, flexible 0+.

    - epoch: int32, versions 0+
    - metadata_hash: int64, versions 0+
    """

    __slots__ = (
        "epoch",
        "metadata_hash",
    )

    NAME: ClassVar[str] = "ShareGroupMetadataValue"
    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.unknown_tagged_fields = None


class ShareGroupStatePartitionMetadataKey(Message):
    """Kafka's ShareGroupStatePartitionMetadataKey (record key), type 15, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "ShareGroupStatePartitionMetadataKey"
    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class ShareGroupStatePartitionMetadataValue(Message):
    """Kafka's ShareGroupStatePartitionMetadataValue (record value), type 15, versions 0, flexible 0+.

    - initializing_topics: []TopicPartitionsInfo, versions 0+
    - initialized_topics: []TopicPartitionsInfo, versions 0+
    - deleting_topics: []TopicInfo, versions 0+
    """

    class TopicPartitionsInfo(Structure):
        """Structure TopicPartitionsInfo, versions 0+.

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

    class TopicInfo(Structure):
        """Structure TopicInfo, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - topic_name: string, versions 0+
        """

        __slots__ = (
            "topic_id",
            "topic_name",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            topic_name: str = "",
        ) -> None:
            self.topic_id = topic_id
            self.topic_name = topic_name
            self.unknown_tagged_fields = None

    __slots__ = (
        "initializing_topics",
        "initialized_topics",
        "deleting_topics",
    )

    NAME: ClassVar[str] = "ShareGroupStatePartitionMetadataValue"
    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        initializing_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] | None = None,
        initialized_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] | None = None,
        deleting_topics: list[ShareGroupStatePartitionMetadataValue.TopicInfo] | None = None,
    ) -> None:
        self.initializing_topics = [] if initializing_topics is None else initializing_topics
        self.initialized_topics = [] if initialized_topics is None else initialized_topics
        self.deleting_topics = [] if deleting_topics is None else deleting_topics
        self.unknown_tagged_fields = None


class ShareGroupTargetAssignmentMemberKey(Message):
    """Kafka's ShareGroupTargetAssignmentMemberKey (record key), type 13, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "ShareGroupTargetAssignmentMemberKey"
    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class ShareGroupTargetAssignmentMemberValue(Message):
    """Kafka's ShareGroupTargetAssignmentMemberValue (record value), type 13, versions 0, flexible 0+.

    - topic_partitions: []TopicPartition, versions 0+
    """

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 0+.

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

    __slots__ = ("topic_partitions",)

    NAME: ClassVar[str] = "ShareGroupTargetAssignmentMemberValue"
    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topic_partitions: list[ShareGroupTargetAssignmentMemberValue.TopicPartition] | None = None,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is None else topic_partitions
        self.unknown_tagged_fields = None


class ShareGroupTargetAssignmentMetadataKey(Message):
    """Kafka's ShareGroupTargetAssignmentMetadataKey (record key), type 12, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "ShareGroupTargetAssignmentMetadataKey"
    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class ShareGroupTargetAssignmentMetadataValue(Message):
    """Kafka's ShareGroupTargetAssignmentMetadataValue (record value), type 12, versions 0, flexible 0+.

    - assignment_epoch: int32, versions 0+
    - assignment_timestamp: int64, versions 0+, tag 0, ignorable
    """

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp",
    )

    NAME: ClassVar[str] = "ShareGroupTargetAssignmentMetadataValue"
    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tagged_fields = None


class StreamsGroupCurrentMemberAssignmentKey(Message):
    """Kafka's StreamsGroupCurrentMemberAssignmentKey (record key), type 22, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "StreamsGroupCurrentMemberAssignmentKey"
    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class StreamsGroupCurrentMemberAssignmentValue(Message):
    """Kafka's StreamsGroupCurrentMemberAssignmentValue (record value), type 22, versions 0, flexible 0+.

    - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
    - previous_member_epoch: int32, versions 0+
    - state: int8, versions 0+
    - active_tasks: []TaskIds, versions 0+
    - standby_tasks: []TaskIds, versions 0+
    - warmup_tasks: []TaskIds, versions 0+
    - active_tasks_pending_revocation: []TaskIds, versions 0+
    - standby_tasks_pending_revocation: []TaskIds, versions 0+
    - warmup_tasks_pending_revocation: []TaskIds, versions 0+
    """

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+.

        - subtopology_id: string, versions 0+; the part of a Streams topology that runs in one task
        - partitions: []int32, versions 0+
        - assignment_epochs: []int32, versions 0+, nullable 0+, tag 0
        """

        __slots__ = (
            "subtopology_id",
            "partitions",
            "assignment_epochs",
        )

        def __init__(
            self,
            subtopology_id: str = "",
            partitions: list[int] | None = None,
            assignment_epochs: list[int] | None = NEW_LIST,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partitions = [] if partitions is None else partitions
            self.assignment_epochs = [] if assignment_epochs is NEW_LIST else assignment_epochs
            self.unknown_tagged_fields = None

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "active_tasks_pending_revocation",
        "standby_tasks_pending_revocation",
        "warmup_tasks_pending_revocation",
    )

    NAME: ClassVar[str] = "StreamsGroupCurrentMemberAssignmentValue"
    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] | None = None,
        standby_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] | None = None,
        warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] | None = None,
        active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] | None = None,
        standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] | None = None,
        warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] | None = None,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = [] if active_tasks is None else active_tasks
        self.standby_tasks = [] if standby_tasks is None else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is None else warmup_tasks
        self.active_tasks_pending_revocation = (
            [] if active_tasks_pending_revocation is None else active_tasks_pending_revocation
        )
        self.standby_tasks_pending_revocation = (
            [] if standby_tasks_pending_revocation is None else standby_tasks_pending_revocation
        )
        self.warmup_tasks_pending_revocation = (
            [] if warmup_tasks_pending_revocation is None else warmup_tasks_pending_revocation
        )
        self.unknown_tagged_fields = None


class StreamsGroupMemberMetadataKey(Message):
    """Kafka's StreamsGroupMemberMetadataKey (record key), type 19, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "StreamsGroupMemberMetadataKey"
    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class StreamsGroupMemberMetadataValue(Message):
    """Kafka's StreamsGroupMemberMetadataValue (record value), type 19, versions 0, flexible 0+.

    - instance_id: string, versions 0+, nullable 0+
    - rack_id: string, versions 0+, nullable 0+
    - client_id: string, versions 0+
    - client_host: string, versions 0+
    - rebalance_timeout_ms: int32, versions 0+; how long members have to join, or to give up partitions
    - topology_epoch: int32, versions 0+
    - process_id: string, versions 0+
    - user_endpoint: Endpoint, versions 0+, nullable 0+
    - client_tags: []KeyValue, versions 0+
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

    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "rebalance_timeout_ms",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
    )

    NAME: ClassVar[str] = "StreamsGroupMemberMetadataValue"
    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: StreamsGroupMemberMetadataValue.Endpoint | None = None,
        client_tags: list[StreamsGroupMemberMetadataValue.KeyValue] | None = None,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is None else client_tags
        self.unknown_tagged_fields = None


class StreamsGroupMetadataKey(Message):
    """Kafka's StreamsGroupMetadataKey (record key), type 17, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "StreamsGroupMetadataKey"
    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class StreamsGroupMetadataValue(Message):
    """Kafka's StreamsGroupMetadataValue (record value), type 17, versions 0, flexible 0+.

    - epoch: int32, versions 0+
    - metadata_hash: int64, versions 0+
    - validated_topology_epoch: int32, versions 0+, tag 0
    - last_assignment_configs: []LastAssignmentConfig, versions 0+, nullable 0+, tag 1
    """

    class LastAssignmentConfig(Structure):
        """Structure LastAssignmentConfig, versions 0+.

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

    __slots__ = (
        "epoch",
        "metadata_hash",
        "validated_topology_epoch",
        "last_assignment_configs",
    )

    NAME: ClassVar[str] = "StreamsGroupMetadataValue"
    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: list[StreamsGroupMetadataValue.LastAssignmentConfig] | None = NEW_LIST,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = [] if last_assignment_configs is NEW_LIST else last_assignment_configs
        self.unknown_tagged_fields = None


class StreamsGroupTargetAssignmentMemberKey(Message):
    """Kafka's StreamsGroupTargetAssignmentMemberKey (record key), type 21, versions 0.

    - group_id: string, versions 0
    - member_id: string, versions 0
    """

    __slots__ = (
        "group_id",
        "member_id",
    )

    NAME: ClassVar[str] = "StreamsGroupTargetAssignmentMemberKey"
    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = None


class StreamsGroupTargetAssignmentMemberValue(Message):
    """Kafka's StreamsGroupTargetAssignmentMemberValue (record value), type 21, versions 0, flexible 0+.

    - active_tasks: []TaskIds, versions 0+
    - standby_tasks: []TaskIds, versions 0+
    - warmup_tasks: []TaskIds, versions 0+
    """

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

    __slots__ = (
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
    )

    NAME: ClassVar[str] = "StreamsGroupTargetAssignmentMemberValue"
    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        active_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] | None = None,
        standby_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] | None = None,
        warmup_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] | None = None,
    ) -> None:
        self.active_tasks = [] if active_tasks is None else active_tasks
        self.standby_tasks = [] if standby_tasks is None else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is None else warmup_tasks
        self.unknown_tagged_fields = None


class StreamsGroupTargetAssignmentMetadataKey(Message):
    """Kafka's StreamsGroupTargetAssignmentMetadataKey (record key), type 20, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "StreamsGroupTargetAssignmentMetadataKey"
    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class StreamsGroupTargetAssignmentMetadataValue(Message):
    """Kafka's StreamsGroupTargetAssignmentMetadataValue (record value), type 20, versions 0, flexible 0+.

    - assignment_epoch: int32, versions 0+
    - assignment_timestamp: int64, versions 0+, tag 0, ignorable
    """

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp",
    )

    NAME: ClassVar[str] = "StreamsGroupTargetAssignmentMetadataValue"
    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tagged_fields = None


class StreamsGroupTopologyKey(Message):
    """Kafka's StreamsGroupTopologyKey (record key), type 23, versions 0.

    - group_id: string, versions 0
    """

    __slots__ = ("group_id",)

    NAME: ClassVar[str] = "StreamsGroupTopologyKey"
    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = None


class StreamsGroupTopologyValue(Message):
    """Kafka's StreamsGroupTopologyValue (record value), type 23, versions 0, flexible 0+.

    - epoch: int32, versions 0+
    - subtopologies: []Subtopology, versions 0+
    """

    class TopicConfig(Structure):
        """Structure TopicConfig, versions 0+.

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
        - topic_configs: []TopicConfig, versions 0+
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
            topic_configs: list[StreamsGroupTopologyValue.TopicConfig] | None = None,
        ) -> None:
            self.name = name
            self.partitions = partitions
            self.replication_factor = replication_factor
            self.topic_configs = [] if topic_configs is None else topic_configs
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
            state_changelog_topics: list[StreamsGroupTopologyValue.TopicInfo] | None = None,
            repartition_sink_topics: list[str] | None = None,
            repartition_source_topics: list[StreamsGroupTopologyValue.TopicInfo] | None = None,
            copartition_groups: list[StreamsGroupTopologyValue.CopartitionGroup] | None = None,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.source_topics = [] if source_topics is None else source_topics
            self.source_topic_regex = [] if source_topic_regex is None else source_topic_regex
            self.state_changelog_topics = [] if state_changelog_topics is None else state_changelog_topics
            self.repartition_sink_topics = [] if repartition_sink_topics is None else repartition_sink_topics
            self.repartition_source_topics = [] if repartition_source_topics is None else repartition_source_topics
            self.copartition_groups = [] if copartition_groups is None else copartition_groups
            self.unknown_tagged_fields = None

    __slots__ = (
        "epoch",
        "subtopologies",
    )

    NAME: ClassVar[str] = "StreamsGroupTopologyValue"
    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[StreamsGroupTopologyValue.Subtopology] | None = None,
    ) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is None else subtopologies
        self.unknown_tagged_fields = None
