"""Offsets of a log, by time and by epoch.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import Message, Structure


class DeleteRecordsRequest(Message):
    """Kafka's DeleteRecordsRequest (request), API key 21, versions 0-2, flexible 2+, listeners broker.

    - topics: []DeleteRecordsTopic, versions 0+
    - timeout_ms: int32, versions 0+
    """

    class DeleteRecordsPartition(Structure):
        """Structure DeleteRecordsPartition, versions 0+.

        - partition_index: int32, versions 0+
        - offset: int64, versions 0+
        """

        __slots__ = (
            "partition_index",
            "offset",
        )

        def __init__(
            self,
            partition_index: int = 0,
            offset: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.offset = offset
            self.unknown_tagged_fields = None

    class DeleteRecordsTopic(Structure):
        """Structure DeleteRecordsTopic, versions 0+.

        - name: string, versions 0+
        - partitions: []DeleteRecordsPartition, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "topics",
        "timeout_ms",
    )

    NAME: ClassVar[str] = "DeleteRecordsRequest"
    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        topics: list[DeleteRecordsRequest.DeleteRecordsTopic] | None = None,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = None


class DeleteRecordsResponse(Message):
    """Kafka's DeleteRecordsResponse (response), API key 21, versions 0-2, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - topics: []DeleteRecordsTopicResult, versions 0+
    """

    class DeleteRecordsPartitionResult(Structure):
        """Structure DeleteRecordsPartitionResult, versions 0+.

        - partition_index: int32, versions 0+, map key
        - low_watermark: int64, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        """

        __slots__ = (
            "partition_index",
            "low_watermark",
            "error_code",
        )

        def __init__(
            self,
            partition_index: int = 0,
            low_watermark: int = 0,
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.low_watermark = low_watermark
            self.error_code = error_code
            self.unknown_tagged_fields = None

    class DeleteRecordsTopicResult(Structure):
        """Structure DeleteRecordsTopicResult, versions 0+.

        - name: string, versions 0+, map key
        - partitions: []DeleteRecordsPartitionResult, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "DeleteRecordsResponse"
    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class ListOffsetsRequest(Message):
    """Kafka's ListOffsetsRequest (request), API key 2, versions 0-11, flexible 6+, listeners broker.

    - replica_id: int32, versions 0+
    - isolation_level: int8, versions 2+; 0 reads all records, 1 only committed ones
    - topics: []ListOffsetsTopic, versions 0+
    - timeout_ms: int32, versions 10+, ignorable
    """

    class ListOffsetsPartition(Structure):
        """Structure ListOffsetsPartition, versions 0+.

        - partition_index: int32, versions 0+
        - current_leader_epoch: int32, versions 4+, ignorable; the leader epoch that the sender knows, -1 for none
        - timestamp: int64, versions 0+
        - max_num_offsets: int32, versions 0
        """

        __slots__ = (
            "partition_index",
            "current_leader_epoch",
            "timestamp",
            "max_num_offsets",
        )

        def __init__(
            self,
            partition_index: int = 0,
            current_leader_epoch: int = -1,
            timestamp: int = 0,
            max_num_offsets: int = 1,
        ) -> None:
            self.partition_index = partition_index
            self.current_leader_epoch = current_leader_epoch
            self.timestamp = timestamp
            self.max_num_offsets = max_num_offsets
            self.unknown_tagged_fields = None

    class ListOffsetsTopic(Structure):
        """Structure ListOffsetsTopic, versions 0+.

        - name: string, versions 0+
        - partitions: []ListOffsetsPartition, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[ListOffsetsRequest.ListOffsetsPartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "replica_id",
        "isolation_level",
        "topics",
        "timeout_ms",
    )

    NAME: ClassVar[str] = "ListOffsetsRequest"
    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 11)
    FLEXIBLE_SINCE: ClassVar[int] = 6

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsRequest.ListOffsetsTopic] | None = None,
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is None else topics
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = None


class ListOffsetsResponse(Message):
    """Kafka's ListOffsetsResponse (response), API key 2, versions 0-11, flexible 6+.

    - throttle_time_ms: int32, versions 2+, ignorable; how long the client should wait before its next request,
      because of a quota
    - topics: []ListOffsetsTopicResponse, versions 0+
    """

    class ListOffsetsPartitionResponse(Structure):
        """Structure ListOffsetsPartitionResponse, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - timestamp: int64, versions 1+
        - offset: int64, versions 1+
        - leader_epoch: int32, versions 4+; counts the changes of the leader
        - old_style_offsets: []int64, versions 0
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "timestamp",
            "offset",
            "leader_epoch",
            "old_style_offsets",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            timestamp: int = -1,
            offset: int = -1,
            leader_epoch: int = -1,
            old_style_offsets: list[int] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.timestamp = timestamp
            self.offset = offset
            self.leader_epoch = leader_epoch
            self.old_style_offsets = [] if old_style_offsets is None else old_style_offsets
            self.unknown_tagged_fields = None

    class ListOffsetsTopicResponse(Structure):
        """Structure ListOffsetsTopicResponse, versions 0+.

        - name: string, versions 0+
        - partitions: []ListOffsetsPartitionResponse, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "ListOffsetsResponse"
    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 11)
    FLEXIBLE_SINCE: ClassVar[int] = 6

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class OffsetForLeaderEpochRequest(Message):
    """Kafka's OffsetForLeaderEpochRequest (request), API key 23, versions 0-4, flexible 4+, listeners broker.

    - replica_id: int32, versions 3+, ignorable
    - topics: []OffsetForLeaderTopic, versions 0+
    """

    class OffsetForLeaderPartition(Structure):
        """Structure OffsetForLeaderPartition, versions 0+.

        - partition: int32, versions 0+
        - current_leader_epoch: int32, versions 2+, ignorable; the leader epoch that the sender knows, -1 for none
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "partition",
            "current_leader_epoch",
            "leader_epoch",
        )

        def __init__(
            self,
            partition: int = 0,
            current_leader_epoch: int = -1,
            leader_epoch: int = 0,
        ) -> None:
            self.partition = partition
            self.current_leader_epoch = current_leader_epoch
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class OffsetForLeaderTopic(Structure):
        """Structure OffsetForLeaderTopic, versions 0+.

        - topic: string, versions 0+, map key
        - partitions: []OffsetForLeaderPartition, versions 0+
        """

        __slots__ = (
            "topic",
            "partitions",
        )

        def __init__(
            self,
            topic: str = "",
            partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] | None = None,
        ) -> None:
            self.topic = topic
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "replica_id",
        "topics",
    )

    NAME: ClassVar[str] = "OffsetForLeaderEpochRequest"
    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] | None = None,
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class OffsetForLeaderEpochResponse(Message):
    """Kafka's OffsetForLeaderEpochResponse (response), API key 23, versions 0-4, flexible 4+.

    - throttle_time_ms: int32, versions 2+, ignorable; how long the client should wait before its next request,
      because of a quota
    - topics: []OffsetForLeaderTopicResult, versions 0+
    """

    class EpochEndOffset(Structure):
        """Structure EpochEndOffset, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - partition: int32, versions 0+
        - leader_epoch: int32, versions 1+, ignorable; counts the changes of the leader
        - end_offset: int64, versions 0+
        """

        __slots__ = (
            "error_code",
            "partition",
            "leader_epoch",
            "end_offset",
        )

        def __init__(
            self,
            error_code: int = 0,
            partition: int = 0,
            leader_epoch: int = -1,
            end_offset: int = -1,
        ) -> None:
            self.error_code = error_code
            self.partition = partition
            self.leader_epoch = leader_epoch
            self.end_offset = end_offset
            self.unknown_tagged_fields = None

    class OffsetForLeaderTopicResult(Structure):
        """Structure OffsetForLeaderTopicResult, versions 0+.

        - topic: string, versions 0+, map key
        - partitions: []EpochEndOffset, versions 0+
        """

        __slots__ = (
            "topic",
            "partitions",
        )

        def __init__(
            self,
            topic: str = "",
            partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] | None = None,
        ) -> None:
            self.topic = topic
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "OffsetForLeaderEpochResponse"
    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None
