"""Share groups (KIP-932).

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, ZERO_UUID, Message, Records, Structure


class AlterShareGroupOffsetsRequest(Message):
    """Kafka's AlterShareGroupOffsetsRequest (request), API key 91, versions 0, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - topics: []AlterShareGroupOffsetsRequestTopic, versions 0+
    """

    class AlterShareGroupOffsetsRequestPartition(Structure):
        """Structure AlterShareGroupOffsetsRequestPartition, versions 0+.

        - partition_index: int32, versions 0+
        - start_offset: int64, versions 0+
        """

        __slots__ = (
            "partition_index",
            "start_offset",
        )

        def __init__(
            self,
            partition_index: int = 0,
            start_offset: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.start_offset = start_offset
            self.unknown_tagged_fields = None

    class AlterShareGroupOffsetsRequestTopic(Structure):
        """Structure AlterShareGroupOffsetsRequestTopic, versions 0+.

        - topic_name: string, versions 0+, map key
        - partitions: []AlterShareGroupOffsetsRequestPartition, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
    )

    NAME: ClassVar[str] = "AlterShareGroupOffsetsRequest"
    API_KEY: ClassVar[int] = 91
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        topics: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class AlterShareGroupOffsetsResponse(Message):
    """Kafka's AlterShareGroupOffsetsResponse (response), API key 91, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - responses: []AlterShareGroupOffsetsResponseTopic, versions 0+
    """

    class AlterShareGroupOffsetsResponsePartition(Structure):
        """Structure AlterShareGroupOffsetsResponsePartition, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    class AlterShareGroupOffsetsResponseTopic(Structure):
        """Structure AlterShareGroupOffsetsResponseTopic, versions 0+.

        - topic_name: string, versions 0+, map key
        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []AlterShareGroupOffsetsResponsePartition, versions 0+
        """

        __slots__ = (
            "topic_name",
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "responses",
    )

    NAME: ClassVar[str] = "AlterShareGroupOffsetsResponse"
    API_KEY: ClassVar[int] = 91
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is None else responses
        self.unknown_tagged_fields = None


class DeleteShareGroupOffsetsRequest(Message):
    """Kafka's DeleteShareGroupOffsetsRequest (request), API key 92, versions 0, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - topics: []DeleteShareGroupOffsetsRequestTopic, versions 0+
    """

    class DeleteShareGroupOffsetsRequestTopic(Structure):
        """Structure DeleteShareGroupOffsetsRequestTopic, versions 0+.

        - topic_name: string, versions 0+
        """

        __slots__ = ("topic_name",)

        def __init__(
            self,
            topic_name: str = "",
        ) -> None:
            self.topic_name = topic_name
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
    )

    NAME: ClassVar[str] = "DeleteShareGroupOffsetsRequest"
    API_KEY: ClassVar[int] = 92
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class DeleteShareGroupOffsetsResponse(Message):
    """Kafka's DeleteShareGroupOffsetsResponse (response), API key 92, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - responses: []DeleteShareGroupOffsetsResponseTopic, versions 0+
    """

    class DeleteShareGroupOffsetsResponseTopic(Structure):
        """Structure DeleteShareGroupOffsetsResponseTopic, versions 0+.

        - topic_name: string, versions 0+
        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "topic_name",
            "topic_id",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            topic_name: str = "",
            topic_id: bytes = ZERO_UUID,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.topic_id = topic_id
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "responses",
    )

    NAME: ClassVar[str] = "DeleteShareGroupOffsetsResponse"
    API_KEY: ClassVar[int] = 92
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is None else responses
        self.unknown_tagged_fields = None


class DeleteShareGroupStateRequest(Message):
    """Kafka's DeleteShareGroupStateRequest (request), API key 86, versions 0, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - topics: []DeleteStateData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition: int32, versions 0+
        """

        __slots__ = ("partition",)

        def __init__(
            self,
            partition: int = 0,
        ) -> None:
            self.partition = partition
            self.unknown_tagged_fields = None

    class DeleteStateData(Structure):
        """Structure DeleteStateData, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[DeleteShareGroupStateRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
    )

    NAME: ClassVar[str] = "DeleteShareGroupStateRequest"
    API_KEY: ClassVar[int] = 86
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteShareGroupStateRequest.DeleteStateData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class DeleteShareGroupStateResponse(Message):
    """Kafka's DeleteShareGroupStateResponse (response), API key 86, versions 0, flexible 0+.

    - results: []DeleteStateResult, versions 0+
    """

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+.

        - partition: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "partition",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            partition: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.partition = partition
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    class DeleteStateResult(Structure):
        """Structure DeleteStateResult, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionResult, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[DeleteShareGroupStateResponse.PartitionResult] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = ("results",)

    NAME: ClassVar[str] = "DeleteShareGroupStateResponse"
    API_KEY: ClassVar[int] = 86
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        results: list[DeleteShareGroupStateResponse.DeleteStateResult] | None = None,
    ) -> None:
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class DescribeShareGroupOffsetsRequest(Message):
    """Kafka's DescribeShareGroupOffsetsRequest (request), API key 90, versions 0-1, flexible 0+, listeners broker.

    - groups: []DescribeShareGroupOffsetsRequestGroup, versions 0+
    """

    class DescribeShareGroupOffsetsRequestTopic(Structure):
        """Structure DescribeShareGroupOffsetsRequestTopic, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class DescribeShareGroupOffsetsRequestGroup(Structure):
        """Structure DescribeShareGroupOffsetsRequestGroup, versions 0+.

        - group_id: string, versions 0+
        - topics: []DescribeShareGroupOffsetsRequestTopic, versions 0+, nullable 0+
        """

        __slots__ = (
            "group_id",
            "topics",
        )

        def __init__(
            self,
            group_id: str = "",
            topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None = NEW_LIST,
        ) -> None:
            self.group_id = group_id
            self.topics = [] if topics is NEW_LIST else topics
            self.unknown_tagged_fields = None

    __slots__ = ("groups",)

    NAME: ClassVar[str] = "DescribeShareGroupOffsetsRequest"
    API_KEY: ClassVar[int] = 90
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        groups: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup] | None = None,
    ) -> None:
        self.groups = [] if groups is None else groups
        self.unknown_tagged_fields = None


class DescribeShareGroupOffsetsResponse(Message):
    """Kafka's DescribeShareGroupOffsetsResponse (response), API key 90, versions 0-1, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - groups: []DescribeShareGroupOffsetsResponseGroup, versions 0+
    """

    class DescribeShareGroupOffsetsResponsePartition(Structure):
        """Structure DescribeShareGroupOffsetsResponsePartition, versions 0+.

        - partition_index: int32, versions 0+
        - start_offset: int64, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - lag: int64, versions 1+, ignorable
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "partition_index",
            "start_offset",
            "leader_epoch",
            "lag",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            partition_index: int = 0,
            start_offset: int = 0,
            leader_epoch: int = 0,
            lag: int = -1,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.start_offset = start_offset
            self.leader_epoch = leader_epoch
            self.lag = lag
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    class DescribeShareGroupOffsetsResponseTopic(Structure):
        """Structure DescribeShareGroupOffsetsResponseTopic, versions 0+.

        - topic_name: string, versions 0+
        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []DescribeShareGroupOffsetsResponsePartition, versions 0+
        """

        __slots__ = (
            "topic_name",
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition]
            | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class DescribeShareGroupOffsetsResponseGroup(Structure):
        """Structure DescribeShareGroupOffsetsResponseGroup, versions 0+.

        - group_id: string, versions 0+
        - topics: []DescribeShareGroupOffsetsResponseTopic, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "group_id",
            "topics",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            group_id: str = "",
            topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic] | None = None,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.group_id = group_id
            self.topics = [] if topics is None else topics
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "groups",
    )

    NAME: ClassVar[str] = "DescribeShareGroupOffsetsResponse"
    API_KEY: ClassVar[int] = 90
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is None else groups
        self.unknown_tagged_fields = None


class InitializeShareGroupStateRequest(Message):
    """Kafka's InitializeShareGroupStateRequest (request), API key 83, versions 0, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - topics: []InitializeStateData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition: int32, versions 0+
        - state_epoch: int32, versions 0+
        - start_offset: int64, versions 0+
        """

        __slots__ = (
            "partition",
            "state_epoch",
            "start_offset",
        )

        def __init__(
            self,
            partition: int = 0,
            state_epoch: int = 0,
            start_offset: int = 0,
        ) -> None:
            self.partition = partition
            self.state_epoch = state_epoch
            self.start_offset = start_offset
            self.unknown_tagged_fields = None

    class InitializeStateData(Structure):
        """Structure InitializeStateData, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[InitializeShareGroupStateRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
    )

    NAME: ClassVar[str] = "InitializeShareGroupStateRequest"
    API_KEY: ClassVar[int] = 83
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        topics: list[InitializeShareGroupStateRequest.InitializeStateData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class InitializeShareGroupStateResponse(Message):
    """Kafka's InitializeShareGroupStateResponse (response), API key 83, versions 0, flexible 0+.

    - results: []InitializeStateResult, versions 0+
    """

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+.

        - partition: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "partition",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            partition: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.partition = partition
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    class InitializeStateResult(Structure):
        """Structure InitializeStateResult, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionResult, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[InitializeShareGroupStateResponse.PartitionResult] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = ("results",)

    NAME: ClassVar[str] = "InitializeShareGroupStateResponse"
    API_KEY: ClassVar[int] = 83
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        results: list[InitializeShareGroupStateResponse.InitializeStateResult] | None = None,
    ) -> None:
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class ReadShareGroupStateRequest(Message):
    """Kafka's ReadShareGroupStateRequest (request), API key 84, versions 0, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - topics: []ReadStateData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "partition",
            "leader_epoch",
        )

        def __init__(
            self,
            partition: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.partition = partition
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class ReadStateData(Structure):
        """Structure ReadStateData, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ReadShareGroupStateRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
    )

    NAME: ClassVar[str] = "ReadShareGroupStateRequest"
    API_KEY: ClassVar[int] = 84
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadShareGroupStateRequest.ReadStateData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class ReadShareGroupStateResponse(Message):
    """Kafka's ReadShareGroupStateResponse (response), API key 84, versions 0, flexible 0+.

    - results: []ReadStateResult, versions 0+
    """

    class StateBatch(Structure):
        """Structure StateBatch, versions 0+.

        - first_offset: int64, versions 0+
        - last_offset: int64, versions 0+
        - delivery_state: int8, versions 0+
        - delivery_count: int16, versions 0+
        """

        __slots__ = (
            "first_offset",
            "last_offset",
            "delivery_state",
            "delivery_count",
        )

        def __init__(
            self,
            first_offset: int = 0,
            last_offset: int = 0,
            delivery_state: int = 0,
            delivery_count: int = 0,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.delivery_state = delivery_state
            self.delivery_count = delivery_count
            self.unknown_tagged_fields = None

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+.

        - partition: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - state_epoch: int32, versions 0+
        - start_offset: int64, versions 0+
        - state_batches: []StateBatch, versions 0+
        """

        __slots__ = (
            "partition",
            "error_code",
            "error_message",
            "state_epoch",
            "start_offset",
            "state_batches",
        )

        def __init__(
            self,
            partition: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
            state_epoch: int = 0,
            start_offset: int = 0,
            state_batches: list[ReadShareGroupStateResponse.StateBatch] | None = None,
        ) -> None:
            self.partition = partition
            self.error_code = error_code
            self.error_message = error_message
            self.state_epoch = state_epoch
            self.start_offset = start_offset
            self.state_batches = [] if state_batches is None else state_batches
            self.unknown_tagged_fields = None

    class ReadStateResult(Structure):
        """Structure ReadStateResult, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionResult, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ReadShareGroupStateResponse.PartitionResult] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = ("results",)

    NAME: ClassVar[str] = "ReadShareGroupStateResponse"
    API_KEY: ClassVar[int] = 84
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        results: list[ReadShareGroupStateResponse.ReadStateResult] | None = None,
    ) -> None:
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class ReadShareGroupStateSummaryRequest(Message):
    """Kafka's ReadShareGroupStateSummaryRequest (request), API key 87, versions 0-1, flexible 0+, listeners
    broker.

    - group_id: string, versions 0+
    - topics: []ReadStateSummaryData, versions 0+
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "partition",
            "leader_epoch",
        )

        def __init__(
            self,
            partition: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.partition = partition
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class ReadStateSummaryData(Structure):
        """Structure ReadStateSummaryData, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ReadShareGroupStateSummaryRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
    )

    NAME: ClassVar[str] = "ReadShareGroupStateSummaryRequest"
    API_KEY: ClassVar[int] = 87
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class ReadShareGroupStateSummaryResponse(Message):
    """Kafka's ReadShareGroupStateSummaryResponse (response), API key 87, versions 0-1, flexible 0+.

    - results: []ReadStateSummaryResult, versions 0+
    """

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+.

        - partition: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - state_epoch: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - start_offset: int64, versions 0+
        - delivery_complete_count: int32, versions 1+, ignorable
        """

        __slots__ = (
            "partition",
            "error_code",
            "error_message",
            "state_epoch",
            "leader_epoch",
            "start_offset",
            "delivery_complete_count",
        )

        def __init__(
            self,
            partition: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
            state_epoch: int = 0,
            leader_epoch: int = 0,
            start_offset: int = 0,
            delivery_complete_count: int = -1,
        ) -> None:
            self.partition = partition
            self.error_code = error_code
            self.error_message = error_message
            self.state_epoch = state_epoch
            self.leader_epoch = leader_epoch
            self.start_offset = start_offset
            self.delivery_complete_count = delivery_complete_count
            self.unknown_tagged_fields = None

    class ReadStateSummaryResult(Structure):
        """Structure ReadStateSummaryResult, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionResult, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ReadShareGroupStateSummaryResponse.PartitionResult] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = ("results",)

    NAME: ClassVar[str] = "ReadShareGroupStateSummaryResponse"
    API_KEY: ClassVar[int] = 87
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        results: list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult] | None = None,
    ) -> None:
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class ShareAcknowledgeRequest(Message):
    """Kafka's ShareAcknowledgeRequest (request), API key 79, versions 0-2, flexible 0+, listeners broker.

    - group_id: string, versions 0+, nullable 0+
    - member_id: string, versions 0+, nullable 0+
    - share_session_epoch: int32, versions 0+
    - is_renew_ack: bool, versions 2+
    - topics: []AcknowledgeTopic, versions 0+
    """

    class AcknowledgementBatch(Structure):
        """Structure AcknowledgementBatch, versions 0+.

        - first_offset: int64, versions 0+
        - last_offset: int64, versions 0+
        - acknowledge_types: []int8, versions 0+
        """

        __slots__ = (
            "first_offset",
            "last_offset",
            "acknowledge_types",
        )

        def __init__(
            self,
            first_offset: int = 0,
            last_offset: int = 0,
            acknowledge_types: list[int] | None = None,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.acknowledge_types = [] if acknowledge_types is None else acknowledge_types
            self.unknown_tagged_fields = None

    class AcknowledgePartition(Structure):
        """Structure AcknowledgePartition, versions 0+.

        - partition_index: int32, versions 0+, map key
        - acknowledgement_batches: []AcknowledgementBatch, versions 0+
        """

        __slots__ = (
            "partition_index",
            "acknowledgement_batches",
        )

        def __init__(
            self,
            partition_index: int = 0,
            acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgementBatch] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.acknowledgement_batches = [] if acknowledgement_batches is None else acknowledgement_batches
            self.unknown_tagged_fields = None

    class AcknowledgeTopic(Structure):
        """Structure AcknowledgeTopic, versions 0+.

        - topic_id: uuid, versions 0+, map key; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - partitions: []AcknowledgePartition, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ShareAcknowledgeRequest.AcknowledgePartition] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "member_id",
        "share_session_epoch",
        "is_renew_ack",
        "topics",
    )

    NAME: ClassVar[str] = "ShareAcknowledgeRequest"
    API_KEY: ClassVar[int] = 79
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: list[ShareAcknowledgeRequest.AcknowledgeTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class ShareAcknowledgeResponse(Message):
    """Kafka's ShareAcknowledgeResponse (response), API key 79, versions 0-2, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - acquisition_lock_timeout_ms: int32, versions 2+, ignorable
    - responses: []ShareAcknowledgeTopicResponse, versions 0+
    - node_endpoints: []NodeEndpoint, versions 0+
    """

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 0+.

        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "leader_id",
            "leader_epoch",
        )

        def __init__(
            self,
            leader_id: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - current_leader: LeaderIdAndEpoch, versions 0+
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "error_message",
            "current_leader",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
            current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.current_leader = (
                ShareAcknowledgeResponse.LeaderIdAndEpoch() if current_leader is None else current_leader
            )
            self.unknown_tagged_fields = None

    class ShareAcknowledgeTopicResponse(Structure):
        """Structure ShareAcknowledgeTopicResponse, versions 0+.

        - topic_id: uuid, versions 0+, map key; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ShareAcknowledgeResponse.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 0+.

        - node_id: int32, versions 0+, map key
        - host: string, versions 0+
        - port: int32, versions 0+
        - rack: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "node_id",
            "host",
            "port",
            "rack",
        )

        def __init__(
            self,
            node_id: int = 0,
            host: str = "",
            port: int = 0,
            rack: str | None = None,
        ) -> None:
            self.node_id = node_id
            self.host = host
            self.port = port
            self.rack = rack
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",
        "responses",
        "node_endpoints",
    )

    NAME: ClassVar[str] = "ShareAcknowledgeResponse"
    API_KEY: ClassVar[int] = 79
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] | None = None,
        node_endpoints: list[ShareAcknowledgeResponse.NodeEndpoint] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is None else responses
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tagged_fields = None


class ShareFetchRequest(Message):
    """Kafka's ShareFetchRequest (request), API key 78, versions 0-2, flexible 0+, listeners broker.

    - group_id: string, versions 0+, nullable 0+
    - member_id: string, versions 0+, nullable 0+
    - share_session_epoch: int32, versions 0+
    - max_wait_ms: int32, versions 0+
    - min_bytes: int32, versions 0+
    - max_bytes: int32, versions 0+
    - max_records: int32, versions 1+
    - batch_size: int32, versions 1+
    - share_acquire_mode: int8, versions 2+, ignorable
    - is_renew_ack: bool, versions 2+
    - topics: []FetchTopic, versions 0+
    - forgotten_topics_data: []ForgottenTopic, versions 0+
    """

    class AcknowledgementBatch(Structure):
        """Structure AcknowledgementBatch, versions 0+.

        - first_offset: int64, versions 0+
        - last_offset: int64, versions 0+
        - acknowledge_types: []int8, versions 0+
        """

        __slots__ = (
            "first_offset",
            "last_offset",
            "acknowledge_types",
        )

        def __init__(
            self,
            first_offset: int = 0,
            last_offset: int = 0,
            acknowledge_types: list[int] | None = None,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.acknowledge_types = [] if acknowledge_types is None else acknowledge_types
            self.unknown_tagged_fields = None

    class FetchPartition(Structure):
        """Structure FetchPartition, versions 0+.

        - partition_index: int32, versions 0+, map key
        - partition_max_bytes: int32, versions 0
        - acknowledgement_batches: []AcknowledgementBatch, versions 0+
        """

        __slots__ = (
            "partition_index",
            "partition_max_bytes",
            "acknowledgement_batches",
        )

        def __init__(
            self,
            partition_index: int = 0,
            partition_max_bytes: int = 0,
            acknowledgement_batches: list[ShareFetchRequest.AcknowledgementBatch] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.partition_max_bytes = partition_max_bytes
            self.acknowledgement_batches = [] if acknowledgement_batches is None else acknowledgement_batches
            self.unknown_tagged_fields = None

    class FetchTopic(Structure):
        """Structure FetchTopic, versions 0+.

        - topic_id: uuid, versions 0+, map key; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - partitions: []FetchPartition, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ShareFetchRequest.FetchPartition] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class ForgottenTopic(Structure):
        """Structure ForgottenTopic, versions 0+.

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
        "share_session_epoch",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "max_records",
        "batch_size",
        "share_acquire_mode",
        "is_renew_ack",
        "topics",
        "forgotten_topics_data",
    )

    NAME: ClassVar[str] = "ShareFetchRequest"
    API_KEY: ClassVar[int] = 78
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: list[ShareFetchRequest.FetchTopic] | None = None,
        forgotten_topics_data: list[ShareFetchRequest.ForgottenTopic] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_records = max_records
        self.batch_size = batch_size
        self.share_acquire_mode = share_acquire_mode
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is None else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is None else forgotten_topics_data
        self.unknown_tagged_fields = None


class ShareFetchResponse(Message):
    """Kafka's ShareFetchResponse (response), API key 78, versions 0-2, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - acquisition_lock_timeout_ms: int32, versions 1+
    - responses: []ShareFetchableTopicResponse, versions 0+
    - node_endpoints: []NodeEndpoint, versions 0+
    """

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 0+.

        - leader_id: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        """

        __slots__ = (
            "leader_id",
            "leader_epoch",
        )

        def __init__(
            self,
            leader_id: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class AcquiredRecords(Structure):
        """Structure AcquiredRecords, versions 0+.

        - first_offset: int64, versions 0+
        - last_offset: int64, versions 0+
        - delivery_count: int16, versions 0+
        """

        __slots__ = (
            "first_offset",
            "last_offset",
            "delivery_count",
        )

        def __init__(
            self,
            first_offset: int = 0,
            last_offset: int = 0,
            delivery_count: int = 0,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.delivery_count = delivery_count
            self.unknown_tagged_fields = None

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - acknowledge_error_code: int16, versions 0+
        - acknowledge_error_message: string, versions 0+, nullable 0+
        - current_leader: LeaderIdAndEpoch, versions 0+
        - records: records, versions 0+, nullable 0
        - acquired_records: []AcquiredRecords, versions 0+
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "error_message",
            "acknowledge_error_code",
            "acknowledge_error_message",
            "current_leader",
            "records",
            "acquired_records",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
            acknowledge_error_code: int = 0,
            acknowledge_error_message: str | None = None,
            current_leader: ShareFetchResponse.LeaderIdAndEpoch | None = None,
            records: Records | None = None,
            acquired_records: list[ShareFetchResponse.AcquiredRecords] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.acknowledge_error_code = acknowledge_error_code
            self.acknowledge_error_message = acknowledge_error_message
            self.current_leader = ShareFetchResponse.LeaderIdAndEpoch() if current_leader is None else current_leader
            self.records = records
            self.acquired_records = [] if acquired_records is None else acquired_records
            self.unknown_tagged_fields = None

    class ShareFetchableTopicResponse(Structure):
        """Structure ShareFetchableTopicResponse, versions 0+.

        - topic_id: uuid, versions 0+, map key; the id of the topic, which a new topic of the same name does not share
          (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ShareFetchResponse.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 0+.

        - node_id: int32, versions 0+, map key
        - host: string, versions 0+
        - port: int32, versions 0+
        - rack: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "node_id",
            "host",
            "port",
            "rack",
        )

        def __init__(
            self,
            node_id: int = 0,
            host: str = "",
            port: int = 0,
            rack: str | None = None,
        ) -> None:
            self.node_id = node_id
            self.host = host
            self.port = port
            self.rack = rack
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",
        "responses",
        "node_endpoints",
    )

    NAME: ClassVar[str] = "ShareFetchResponse"
    API_KEY: ClassVar[int] = 78
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareFetchResponse.ShareFetchableTopicResponse] | None = None,
        node_endpoints: list[ShareFetchResponse.NodeEndpoint] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is None else responses
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tagged_fields = None


class ShareGroupDescribeRequest(Message):
    """Kafka's ShareGroupDescribeRequest (request), API key 77, versions 0-1, flexible 0+, listeners broker.

    - group_ids: []string, versions 0+
    - include_authorized_operations: bool, versions 0+
    """

    __slots__ = (
        "group_ids",
        "include_authorized_operations",
    )

    NAME: ClassVar[str] = "ShareGroupDescribeRequest"
    API_KEY: ClassVar[int] = 77
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


class ShareGroupDescribeResponse(Message):
    """Kafka's ShareGroupDescribeResponse (response), API key 77, versions 0-1, flexible 0+.

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
            topic_partitions: list[ShareGroupDescribeResponse.TopicPartitions] | None = None,
        ) -> None:
            self.topic_partitions = [] if topic_partitions is None else topic_partitions
            self.unknown_tagged_fields = None

    class Member(Structure):
        """Structure Member, versions 0+.

        - member_id: string, versions 0+
        - rack_id: string, versions 0+, nullable 0+
        - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
        - client_id: string, versions 0+
        - client_host: string, versions 0+
        - subscribed_topic_names: []string, versions 0+
        - assignment: Assignment, versions 0+
        """

        __slots__ = (
            "member_id",
            "rack_id",
            "member_epoch",
            "client_id",
            "client_host",
            "subscribed_topic_names",
            "assignment",
        )

        def __init__(
            self,
            member_id: str = "",
            rack_id: str | None = None,
            member_epoch: int = 0,
            client_id: str = "",
            client_host: str = "",
            subscribed_topic_names: list[str] | None = None,
            assignment: ShareGroupDescribeResponse.Assignment | None = None,
        ) -> None:
            self.member_id = member_id
            self.rack_id = rack_id
            self.member_epoch = member_epoch
            self.client_id = client_id
            self.client_host = client_host
            self.subscribed_topic_names = [] if subscribed_topic_names is None else subscribed_topic_names
            self.assignment = ShareGroupDescribeResponse.Assignment() if assignment is None else assignment
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
            members: list[ShareGroupDescribeResponse.Member] | None = None,
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

    NAME: ClassVar[str] = "ShareGroupDescribeResponse"
    API_KEY: ClassVar[int] = 77
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[ShareGroupDescribeResponse.DescribedGroup] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is None else groups
        self.unknown_tagged_fields = None


class ShareGroupHeartbeatRequest(Message):
    """Kafka's ShareGroupHeartbeatRequest (request), API key 76, versions 0-1, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - member_id: string, versions 0+
    - member_epoch: int32, versions 0+; counts the assignments that the member has taken over (KIP-848)
    - rack_id: string, versions 0+, nullable 0+
    - subscribed_topic_names: []string, versions 0+, nullable 0+
    """

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "rack_id",
        "subscribed_topic_names",
    )

    NAME: ClassVar[str] = "ShareGroupHeartbeatRequest"
    API_KEY: ClassVar[int] = 76
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names
        self.unknown_tagged_fields = None


class ShareGroupHeartbeatResponse(Message):
    """Kafka's ShareGroupHeartbeatResponse (response), API key 76, versions 0-1, flexible 0+.

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
            topic_partitions: list[ShareGroupHeartbeatResponse.TopicPartitions] | None = None,
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

    NAME: ClassVar[str] = "ShareGroupHeartbeatResponse"
    API_KEY: ClassVar[int] = 76
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
        assignment: ShareGroupHeartbeatResponse.Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
        self.unknown_tagged_fields = None


class WriteShareGroupStateRequest(Message):
    """Kafka's WriteShareGroupStateRequest (request), API key 85, versions 0-1, flexible 0+, listeners broker.

    - group_id: string, versions 0+
    - topics: []WriteStateData, versions 0+
    """

    class StateBatch(Structure):
        """Structure StateBatch, versions 0+.

        - first_offset: int64, versions 0+
        - last_offset: int64, versions 0+
        - delivery_state: int8, versions 0+
        - delivery_count: int16, versions 0+
        """

        __slots__ = (
            "first_offset",
            "last_offset",
            "delivery_state",
            "delivery_count",
        )

        def __init__(
            self,
            first_offset: int = 0,
            last_offset: int = 0,
            delivery_state: int = 0,
            delivery_count: int = 0,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.delivery_state = delivery_state
            self.delivery_count = delivery_count
            self.unknown_tagged_fields = None

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition: int32, versions 0+
        - state_epoch: int32, versions 0+
        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - start_offset: int64, versions 0+
        - delivery_complete_count: int32, versions 1+, ignorable
        - state_batches: []StateBatch, versions 0+
        """

        __slots__ = (
            "partition",
            "state_epoch",
            "leader_epoch",
            "start_offset",
            "delivery_complete_count",
            "state_batches",
        )

        def __init__(
            self,
            partition: int = 0,
            state_epoch: int = 0,
            leader_epoch: int = 0,
            start_offset: int = 0,
            delivery_complete_count: int = -1,
            state_batches: list[WriteShareGroupStateRequest.StateBatch] | None = None,
        ) -> None:
            self.partition = partition
            self.state_epoch = state_epoch
            self.leader_epoch = leader_epoch
            self.start_offset = start_offset
            self.delivery_complete_count = delivery_complete_count
            self.state_batches = [] if state_batches is None else state_batches
            self.unknown_tagged_fields = None

    class WriteStateData(Structure):
        """Structure WriteStateData, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[WriteShareGroupStateRequest.PartitionData] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "group_id",
        "topics",
    )

    NAME: ClassVar[str] = "WriteShareGroupStateRequest"
    API_KEY: ClassVar[int] = 85
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        group_id: str = "",
        topics: list[WriteShareGroupStateRequest.WriteStateData] | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class WriteShareGroupStateResponse(Message):
    """Kafka's WriteShareGroupStateResponse (response), API key 85, versions 0-1, flexible 0+.

    - results: []WriteStateResult, versions 0+
    """

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+.

        - partition: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "partition",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            partition: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.partition = partition
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    class WriteStateResult(Structure):
        """Structure WriteStateResult, versions 0+.

        - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
        - partitions: []PartitionResult, versions 0+
        """

        __slots__ = (
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic_id: bytes = ZERO_UUID,
            partitions: list[WriteShareGroupStateResponse.PartitionResult] | None = None,
        ) -> None:
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = ("results",)

    NAME: ClassVar[str] = "WriteShareGroupStateResponse"
    API_KEY: ClassVar[int] = 85
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        results: list[WriteShareGroupStateResponse.WriteStateResult] | None = None,
    ) -> None:
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None
