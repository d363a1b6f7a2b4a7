"""Keys and values of ``__consumer_offsets``, and what classic members put into their metadata.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Structure


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """Kafka's ConsumerGroupCurrentMemberAssignmentKey (record key), type 8, versions 0."""

    NAME = "ConsumerGroupCurrentMemberAssignmentKey"
    API_KEY = 8
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """Kafka's ConsumerGroupCurrentMemberAssignmentValue (record value), type 8, versions 0, flexible 0+."""

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        assignment_epochs: list[int] | None = NEW_NULLABLE_LIST
        """[]int32, versions 0+, nullable 0+, tag 0"""

    NAME = "ConsumerGroupCurrentMemberAssignmentValue"
    API_KEY = 8
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    previous_member_epoch: int = 0
    """int32, versions 0+"""
    state: int = 0
    """int8, versions 0+"""
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = NEW_LIST
    """[]TopicPartitions, versions 0+"""
    partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = NEW_LIST
    """[]TopicPartitions, versions 0+"""


class ConsumerGroupMemberMetadataKey(Message):
    """Kafka's ConsumerGroupMemberMetadataKey (record key), type 5, versions 0."""

    NAME = "ConsumerGroupMemberMetadataKey"
    API_KEY = 5
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class ConsumerGroupMemberMetadataValue(Message):
    """Kafka's ConsumerGroupMemberMetadataValue (record value), type 5, versions 0, flexible 0+."""

    class ClassicProtocol(Structure):
        """Structure ClassicProtocol, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        metadata: bytes = b""
        """bytes, versions 0+"""

    class ClassicMemberMetadata(Structure):
        """Structure ClassicMemberMetadata, versions 0+."""

        session_timeout_ms: int = 0
        """int32, versions 0+; how long a member may be silent before it is removed"""
        supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol] = NEW_LIST
        """[]ClassicProtocol, versions 0+"""

    NAME = "ConsumerGroupMemberMetadataValue"
    API_KEY = 5
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    instance_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    rack_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    client_id: str = ""
    """string, versions 0+"""
    client_host: str = ""
    """string, versions 0+"""
    subscribed_topic_names: list[str] = NEW_LIST
    """[]string, versions 0+"""
    subscribed_topic_regex: str | None = ""
    """string, versions 0+, nullable 0+"""
    rebalance_timeout_ms: int = -1
    """int32, versions 0+; how long members have to join, or to give up partitions"""
    server_assignor: str | None = ""
    """string, versions 0+, nullable 0+"""
    classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = NEW_STRUCTURE
    """ClassicMemberMetadata, versions 0+, nullable 0+, tag 0"""


class ConsumerGroupMetadataKey(Message):
    """Kafka's ConsumerGroupMetadataKey (record key), type 3, versions 0."""

    NAME = "ConsumerGroupMetadataKey"
    API_KEY = 3
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class ConsumerGroupMetadataValue(Message):
    """Kafka's ConsumerGroupMetadataValue (record value), type 3, versions 0, flexible 0+."""

    NAME = "ConsumerGroupMetadataValue"
    API_KEY = 3
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    epoch: int = 0
    """int32, versions 0+"""
    metadata_hash: int = 0
    """int64, versions 0+, tag 0"""


class ConsumerGroupPartitionMetadataKey(Message):
    """Kafka's ConsumerGroupPartitionMetadataKey (record key), type 4, versions 0."""

    NAME = "ConsumerGroupPartitionMetadataKey"
    API_KEY = 4
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class ConsumerGroupPartitionMetadataValue(Message):
    """Kafka's ConsumerGroupPartitionMetadataValue (record value), type 4, versions 0, flexible 0+."""

    class PartitionMetadata(Structure):
        """Structure PartitionMetadata, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        racks: list[str] = NEW_LIST
        """[]string, versions 0+"""

    class TopicMetadata(Structure):
        """Structure TopicMetadata, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        topic_name: str = ""
        """string, versions 0+"""
        num_partitions: int = 0
        """int32, versions 0+"""
        partition_metadata: list[ConsumerGroupPartitionMetadataValue.PartitionMetadata] = NEW_LIST
        """[]PartitionMetadata, versions 0+"""

    NAME = "ConsumerGroupPartitionMetadataValue"
    API_KEY = 4
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topics: list[ConsumerGroupPartitionMetadataValue.TopicMetadata] = NEW_LIST
    """[]TopicMetadata, versions 0+"""


class ConsumerGroupRegularExpressionKey(Message):
    """Kafka's ConsumerGroupRegularExpressionKey (record key), type 16, versions 0."""

    NAME = "ConsumerGroupRegularExpressionKey"
    API_KEY = 16
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    regular_expression: str = ""
    """string, versions 0"""


class ConsumerGroupRegularExpressionValue(Message):
    """Kafka's ConsumerGroupRegularExpressionValue (record value), type 16, versions 0, flexible 0+."""

    NAME = "ConsumerGroupRegularExpressionValue"
    API_KEY = 16
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topics: list[str] = NEW_LIST
    """[]string, versions 0+"""
    version: int = 0
    """int64, versions 0+"""
    timestamp: int = 0
    """int64, versions 0+"""


class ConsumerGroupTargetAssignmentMemberKey(Message):
    """Kafka's ConsumerGroupTargetAssignmentMemberKey (record key), type 7, versions 0."""

    NAME = "ConsumerGroupTargetAssignmentMemberKey"
    API_KEY = 7
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class ConsumerGroupTargetAssignmentMemberValue(Message):
    """Kafka's ConsumerGroupTargetAssignmentMemberValue (record value), type 7, versions 0, flexible 0+."""

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "ConsumerGroupTargetAssignmentMemberValue"
    API_KEY = 7
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topic_partitions: list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition] = NEW_LIST
    """[]TopicPartition, versions 0+"""


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """Kafka's ConsumerGroupTargetAssignmentMetadataKey (record key), type 6, versions 0."""

    NAME = "ConsumerGroupTargetAssignmentMetadataKey"
    API_KEY = 6
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """Kafka's ConsumerGroupTargetAssignmentMetadataValue (record value), type 6, versions 0, flexible 0+."""

    NAME = "ConsumerGroupTargetAssignmentMetadataValue"
    API_KEY = 6
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    assignment_epoch: int = 0
    """int32, versions 0+"""
    assignment_timestamp: int = 0
    """int64, versions 0+, tag 0, ignorable"""


class ConsumerProtocolAssignment(Message):
    """Kafka's ConsumerProtocolAssignment (data), versions 0-3."""

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 0+."""

        topic: str = ""
        """string, versions 0+, map key"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "ConsumerProtocolAssignment"
    API_KEY = -1
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 32767

    assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition] = NEW_LIST
    """[]TopicPartition, versions 0+"""
    user_data: bytes | None = None
    """bytes, versions 0+, nullable 0+"""


class ConsumerProtocolSubscription(Message):
    """Kafka's ConsumerProtocolSubscription (data), versions 0-3."""

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 1+."""

        topic: str = ""
        """string, versions 1+, map key"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 1+"""

    NAME = "ConsumerProtocolSubscription"
    API_KEY = -1
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 32767

    topics: list[str] = NEW_LIST
    """[]string, versions 0+"""
    user_data: bytes | None = None
    """bytes, versions 0+, nullable 0+"""
    owned_partitions: list[ConsumerProtocolSubscription.TopicPartition] = NEW_LIST
    """[]TopicPartition, versions 1+, ignorable"""
    generation_id: int = -1
    """int32, versions 2+, ignorable; counts the rebalances of the group"""
    rack_id: str | None = None
    """string, versions 3+, nullable 3+, ignorable"""


class GroupMetadataKey(Message):
    """Kafka's GroupMetadataKey (record key), type 2, versions 0."""

    NAME = "GroupMetadataKey"
    API_KEY = 2
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group: str = ""
    """string, versions 0"""


class GroupMetadataValue(Message):
    """Kafka's GroupMetadataValue (record value), type 2, versions 0-4, flexible 4+."""

    class MemberMetadata(Structure):
        """Structure MemberMetadata, versions 0+."""

        member_id: str = ""
        """string, versions 0+"""
        group_instance_id: str | None = None
        """string, versions 3+, nullable 3+, ignorable; the name of a static member (KIP-345), null for a dynamic one"""
        client_id: str = ""
        """string, versions 0+"""
        client_host: str = ""
        """string, versions 0+"""
        rebalance_timeout: int = -1
        """int32, versions 1+, ignorable"""
        session_timeout: int = 0
        """int32, versions 0+"""
        subscription: bytes = b""
        """bytes, versions 0+"""
        assignment: bytes = b""
        """bytes, versions 0+"""

    NAME = "GroupMetadataValue"
    API_KEY = 2
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    protocol_type: str = ""
    """string, versions 0+"""
    generation: int = 0
    """int32, versions 0+"""
    protocol: str | None = ""
    """string, versions 0+, nullable 0+"""
    leader: str | None = ""
    """string, versions 0+, nullable 0+"""
    current_state_timestamp: int = -1
    """int64, versions 2+, ignorable"""
    members: list[GroupMetadataValue.MemberMetadata] = NEW_LIST
    """[]MemberMetadata, versions 0+"""


class LegacyOffsetCommitKey(Message):
    """Kafka's LegacyOffsetCommitKey (record key), type 0, versions 0."""

    NAME = "LegacyOffsetCommitKey"
    API_KEY = 0
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group: str = ""
    """string, versions 0"""
    topic: str = ""
    """string, versions 0"""
    partition: int = 0
    """int32, versions 0"""


class LegacyOffsetCommitValue(Message):
    """Kafka's LegacyOffsetCommitValue (record value), type 0, versions 0."""

    NAME = "LegacyOffsetCommitValue"
    API_KEY = 0
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    offset: int = 0
    """int64, versions 0"""
    metadata: str = ""
    """string, versions 0"""
    commit_timestamp: int = 0
    """int64, versions 0"""


class OffsetCommitKey(Message):
    """Kafka's OffsetCommitKey (record key), type 1, versions 0."""

    NAME = "OffsetCommitKey"
    API_KEY = 1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group: str = ""
    """string, versions 0"""
    topic: str = ""
    """string, versions 0"""
    partition: int = 0
    """int32, versions 0"""


class OffsetCommitValue(Message):
    """Kafka's OffsetCommitValue (record value), type 1, versions 0-4, flexible 4+."""

    NAME = "OffsetCommitValue"
    API_KEY = 1
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    offset: int = 0
    """int64, versions 0+"""
    leader_epoch: int = -1
    """int32, versions 3+, ignorable; counts the changes of the leader"""
    metadata: str = ""
    """string, versions 0+"""
    commit_timestamp: int = 0
    """int64, versions 0+"""
    expire_timestamp: int = -1
    """int64, versions 1, ignorable"""
    topic_id: bytes = ZERO_UUID
    """uuid, versions 4+, tag 0, ignorable; the id of the topic, which a new topic of the same name does not
    share (KIP-516)
    """


class ShareGroupCurrentMemberAssignmentKey(Message):
    """Kafka's ShareGroupCurrentMemberAssignmentKey (record key), type 14, versions 0."""

    NAME = "ShareGroupCurrentMemberAssignmentKey"
    API_KEY = 14
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class ShareGroupCurrentMemberAssignmentValue(Message):
    """Kafka's ShareGroupCurrentMemberAssignmentValue (record value), type 14, versions 0, flexible 0+."""

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "ShareGroupCurrentMemberAssignmentValue"
    API_KEY = 14
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    previous_member_epoch: int = 0
    """int32, versions 0+"""
    state: int = 0
    """int8, versions 0+"""
    assigned_partitions: list[ShareGroupCurrentMemberAssignmentValue.TopicPartitions] = NEW_LIST
    """[]TopicPartitions, versions 0+"""


class ShareGroupMemberMetadataKey(Message):
    """Kafka's ShareGroupMemberMetadataKey (record key), type 10, versions 0."""

    NAME = "ShareGroupMemberMetadataKey"
    API_KEY = 10
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class ShareGroupMemberMetadataValue(Message):
    """Kafka's ShareGroupMemberMetadataValue (record value), type 10, versions 0, flexible 0+."""

    NAME = "ShareGroupMemberMetadataValue"
    API_KEY = 10
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    rack_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    client_id: str = ""
    """string, versions 0+"""
    client_host: str = ""
    """string, versions 0+"""
    subscribed_topic_names: list[str] = NEW_LIST
    """[]string, versions 0+"""


class ShareGroupMetadataKey(Message):
    """Kafka's ShareGroupMetadataKey (record key), type 11, versions 0."""

    NAME = "ShareGroupMetadataKey"
    API_KEY = 11
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class ShareGroupMetadataValue(Message):
    """Kafka's ShareGroupMetadataValue (record value), type 11, versions 0, flexible 0+."""

    NAME = "ShareGroupMetadataValue"
    API_KEY = 11
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    epoch: int = 0
    """int32, versions 0+"""
    metadata_hash: int = 0
    """int64, versions 0+"""


class ShareGroupStatePartitionMetadataKey(Message):
    """Kafka's ShareGroupStatePartitionMetadataKey (record key), type 15, versions 0."""

    NAME = "ShareGroupStatePartitionMetadataKey"
    API_KEY = 15
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class ShareGroupStatePartitionMetadataValue(Message):
    """Kafka's ShareGroupStatePartitionMetadataValue (record value), type 15, versions 0, flexible 0+."""

    class TopicPartitionsInfo(Structure):
        """Structure TopicPartitionsInfo, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class TopicInfo(Structure):
        """Structure TopicInfo, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        topic_name: str = ""
        """string, versions 0+"""

    NAME = "ShareGroupStatePartitionMetadataValue"
    API_KEY = 15
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    initializing_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = NEW_LIST
    """[]TopicPartitionsInfo, versions 0+"""
    initialized_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = NEW_LIST
    """[]TopicPartitionsInfo, versions 0+"""
    deleting_topics: list[ShareGroupStatePartitionMetadataValue.TopicInfo] = NEW_LIST
    """[]TopicInfo, versions 0+"""


class ShareGroupTargetAssignmentMemberKey(Message):
    """Kafka's ShareGroupTargetAssignmentMemberKey (record key), type 13, versions 0."""

    NAME = "ShareGroupTargetAssignmentMemberKey"
    API_KEY = 13
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class ShareGroupTargetAssignmentMemberValue(Message):
    """Kafka's ShareGroupTargetAssignmentMemberValue (record value), type 13, versions 0, flexible 0+."""

    class TopicPartition(Structure):
        """Structure TopicPartition, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "ShareGroupTargetAssignmentMemberValue"
    API_KEY = 13
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topic_partitions: list[ShareGroupTargetAssignmentMemberValue.TopicPartition] = NEW_LIST
    """[]TopicPartition, versions 0+"""


class ShareGroupTargetAssignmentMetadataKey(Message):
    """Kafka's ShareGroupTargetAssignmentMetadataKey (record key), type 12, versions 0."""

    NAME = "ShareGroupTargetAssignmentMetadataKey"
    API_KEY = 12
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class ShareGroupTargetAssignmentMetadataValue(Message):
    """Kafka's ShareGroupTargetAssignmentMetadataValue (record value), type 12, versions 0, flexible 0+."""

    NAME = "ShareGroupTargetAssignmentMetadataValue"
    API_KEY = 12
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    assignment_epoch: int = 0
    """int32, versions 0+"""
    assignment_timestamp: int = 0
    """int64, versions 0+, tag 0, ignorable"""


class StreamsGroupCurrentMemberAssignmentKey(Message):
    """Kafka's StreamsGroupCurrentMemberAssignmentKey (record key), type 22, versions 0."""

    NAME = "StreamsGroupCurrentMemberAssignmentKey"
    API_KEY = 22
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class StreamsGroupCurrentMemberAssignmentValue(Message):
    """Kafka's StreamsGroupCurrentMemberAssignmentValue (record value), type 22, versions 0, flexible 0+."""

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""
        assignment_epochs: list[int] | None = NEW_NULLABLE_LIST
        """[]int32, versions 0+, nullable 0+, tag 0"""

    NAME = "StreamsGroupCurrentMemberAssignmentValue"
    API_KEY = 22
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    previous_member_epoch: int = 0
    """int32, versions 0+"""
    state: int = 0
    """int8, versions 0+"""
    active_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""


class StreamsGroupMemberMetadataKey(Message):
    """Kafka's StreamsGroupMemberMetadataKey (record key), type 19, versions 0."""

    NAME = "StreamsGroupMemberMetadataKey"
    API_KEY = 19
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class StreamsGroupMemberMetadataValue(Message):
    """Kafka's StreamsGroupMemberMetadataValue (record value), type 19, versions 0, flexible 0+."""

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+."""

        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""

    class KeyValue(Structure):
        """Structure KeyValue, versions 0+."""

        key: str = ""
        """string, versions 0+"""
        value: str = ""
        """string, versions 0+"""

    NAME = "StreamsGroupMemberMetadataValue"
    API_KEY = 19
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    instance_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    rack_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    client_id: str = ""
    """string, versions 0+"""
    client_host: str = ""
    """string, versions 0+"""
    rebalance_timeout_ms: int = -1
    """int32, versions 0+; how long members have to join, or to give up partitions"""
    topology_epoch: int = 0
    """int32, versions 0+"""
    process_id: str = ""
    """string, versions 0+"""
    user_endpoint: StreamsGroupMemberMetadataValue.Endpoint | None = None
    """Endpoint, versions 0+, nullable 0+"""
    client_tags: list[StreamsGroupMemberMetadataValue.KeyValue] = NEW_LIST
    """[]KeyValue, versions 0+"""


class StreamsGroupMetadataKey(Message):
    """Kafka's StreamsGroupMetadataKey (record key), type 17, versions 0."""

    NAME = "StreamsGroupMetadataKey"
    API_KEY = 17
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class StreamsGroupMetadataValue(Message):
    """Kafka's StreamsGroupMetadataValue (record value), type 17, versions 0, flexible 0+."""

    class LastAssignmentConfig(Structure):
        """Structure LastAssignmentConfig, versions 0+."""

        key: str = ""
        """string, versions 0+"""
        value: str = ""
        """string, versions 0+"""

    NAME = "StreamsGroupMetadataValue"
    API_KEY = 17
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    epoch: int = 0
    """int32, versions 0+"""
    metadata_hash: int = 0
    """int64, versions 0+"""
    validated_topology_epoch: int = -1
    """int32, versions 0+, tag 0"""
    last_assignment_configs: list[StreamsGroupMetadataValue.LastAssignmentConfig] | None = NEW_NULLABLE_LIST
    """[]LastAssignmentConfig, versions 0+, nullable 0+, tag 1"""
    stored_description_topology_epoch: int = -1
    """int32, versions 0+, tag 2"""
    failed_description_topology_epoch: int = -1
    """int32, versions 0+, tag 3"""


class StreamsGroupTargetAssignmentMemberKey(Message):
    """Kafka's StreamsGroupTargetAssignmentMemberKey (record key), type 21, versions 0."""

    NAME = "StreamsGroupTargetAssignmentMemberKey"
    API_KEY = 21
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    member_id: str = ""
    """string, versions 0"""


class StreamsGroupTargetAssignmentMemberValue(Message):
    """Kafka's StreamsGroupTargetAssignmentMemberValue (record value), type 21, versions 0, flexible 0+."""

    class TaskIds(Structure):
        """Structure TaskIds, versions 0+."""

        subtopology_id: str = ""
        """string, versions 0+; the part of a Streams topology that runs in one task"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "StreamsGroupTargetAssignmentMemberValue"
    API_KEY = 21
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    active_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""
    standby_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = NEW_LIST
    """[]TaskIds, versions 0+"""


class StreamsGroupTargetAssignmentMetadataKey(Message):
    """Kafka's StreamsGroupTargetAssignmentMetadataKey (record key), type 20, versions 0."""

    NAME = "StreamsGroupTargetAssignmentMetadataKey"
    API_KEY = 20
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class StreamsGroupTargetAssignmentMetadataValue(Message):
    """Kafka's StreamsGroupTargetAssignmentMetadataValue (record value), type 20, versions 0, flexible 0+."""

    NAME = "StreamsGroupTargetAssignmentMetadataValue"
    API_KEY = 20
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    assignment_epoch: int = 0
    """int32, versions 0+"""
    assignment_timestamp: int = 0
    """int64, versions 0+, tag 0, ignorable"""


class StreamsGroupTopologyKey(Message):
    """Kafka's StreamsGroupTopologyKey (record key), type 23, versions 0."""

    NAME = "StreamsGroupTopologyKey"
    API_KEY = 23
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""


class StreamsGroupTopologyValue(Message):
    """Kafka's StreamsGroupTopologyValue (record value), type 23, versions 0, flexible 0+."""

    class TopicConfig(Structure):
        """Structure TopicConfig, versions 0+."""

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
        topic_configs: list[StreamsGroupTopologyValue.TopicConfig] = NEW_LIST
        """[]TopicConfig, versions 0+"""

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
        state_changelog_topics: list[StreamsGroupTopologyValue.TopicInfo] = NEW_LIST
        """[]TopicInfo, versions 0+"""
        repartition_sink_topics: list[str] = NEW_LIST
        """[]string, versions 0+"""
        repartition_source_topics: list[StreamsGroupTopologyValue.TopicInfo] = NEW_LIST
        """[]TopicInfo, versions 0+"""
        copartition_groups: list[StreamsGroupTopologyValue.CopartitionGroup] = NEW_LIST
        """[]CopartitionGroup, versions 0+"""

    NAME = "StreamsGroupTopologyValue"
    API_KEY = 23
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    epoch: int = 0
    """int32, versions 0+"""
    subtopologies: list[StreamsGroupTopologyValue.Subtopology] = NEW_LIST
    """[]Subtopology, versions 0+"""
