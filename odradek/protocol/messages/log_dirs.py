"""Log directories of a broker.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, Message, Structure


class AlterReplicaLogDirsRequest(Message):
    """Kafka's AlterReplicaLogDirsRequest (request), API key 34, versions 0-2, flexible 2+, listeners broker.

    - dirs: []AlterReplicaLogDir, versions 0+
    """

    class AlterReplicaLogDirTopic(Structure):
        """Structure AlterReplicaLogDirTopic, versions 0+.

        - name: string, versions 0+, map key
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class AlterReplicaLogDir(Structure):
        """Structure AlterReplicaLogDir, versions 0+.

        - path: string, versions 0+, map key
        - topics: []AlterReplicaLogDirTopic, versions 0+
        """

        __slots__ = (
            "path",
            "topics",
        )

        def __init__(
            self,
            path: str = "",
            topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] | None = None,
        ) -> None:
            self.path = path
            self.topics = [] if topics is None else topics
            self.unknown_tagged_fields = None

    __slots__ = ("dirs",)

    NAME: ClassVar[str] = "AlterReplicaLogDirsRequest"
    API_KEY: ClassVar[int] = 34
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] | None = None,
    ) -> None:
        self.dirs = [] if dirs is None else dirs
        self.unknown_tagged_fields = None


class AlterReplicaLogDirsResponse(Message):
    """Kafka's AlterReplicaLogDirsResponse (response), API key 34, versions 0-2, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - results: []AlterReplicaLogDirTopicResult, versions 0+
    """

    class AlterReplicaLogDirPartitionResult(Structure):
        """Structure AlterReplicaLogDirPartitionResult, versions 0+.

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

    class AlterReplicaLogDirTopicResult(Structure):
        """Structure AlterReplicaLogDirTopicResult, versions 0+.

        - topic_name: string, versions 0+
        - partitions: []AlterReplicaLogDirPartitionResult, versions 0+
        """

        __slots__ = (
            "topic_name",
            "partitions",
        )

        def __init__(
            self,
            topic_name: str = "",
            partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "results",
    )

    NAME: ClassVar[str] = "AlterReplicaLogDirsResponse"
    API_KEY: ClassVar[int] = 34
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class DescribeLogDirsRequest(Message):
    """Kafka's DescribeLogDirsRequest (request), API key 35, versions 0-5, flexible 2+, listeners broker.

    - topics: []DescribableLogDirTopic, versions 0+, nullable 0+
    """

    class DescribableLogDirTopic(Structure):
        """Structure DescribableLogDirTopic, versions 0+.

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

    __slots__ = ("topics",)

    NAME: ClassVar[str] = "DescribeLogDirsRequest"
    API_KEY: ClassVar[int] = 35
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = NEW_LIST,
    ) -> None:
        self.topics = [] if topics is NEW_LIST else topics
        self.unknown_tagged_fields = None


class DescribeLogDirsResponse(Message):
    """Kafka's DescribeLogDirsResponse (response), API key 35, versions 0-5, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 3+, ignorable; an ErrorCode, 0 for success
    - results: []DescribeLogDirsResult, versions 0+
    """

    class DescribeLogDirsPartition(Structure):
        """Structure DescribeLogDirsPartition, versions 0+.

        - partition_index: int32, versions 0+
        - partition_size: int64, versions 0+
        - offset_lag: int64, versions 0+
        - is_future_key: bool, versions 0+
        """

        __slots__ = (
            "partition_index",
            "partition_size",
            "offset_lag",
            "is_future_key",
        )

        def __init__(
            self,
            partition_index: int = 0,
            partition_size: int = 0,
            offset_lag: int = 0,
            is_future_key: bool = False,
        ) -> None:
            self.partition_index = partition_index
            self.partition_size = partition_size
            self.offset_lag = offset_lag
            self.is_future_key = is_future_key
            self.unknown_tagged_fields = None

    class DescribeLogDirsTopic(Structure):
        """Structure DescribeLogDirsTopic, versions 0+.

        - name: string, versions 0+
        - partitions: []DescribeLogDirsPartition, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class DescribeLogDirsResult(Structure):
        """Structure DescribeLogDirsResult, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - log_dir: string, versions 0+
        - topics: []DescribeLogDirsTopic, versions 0+
        - total_bytes: int64, versions 4+, ignorable
        - usable_bytes: int64, versions 4+, ignorable
        - is_cordoned: bool, versions 5+, ignorable
        """

        __slots__ = (
            "error_code",
            "log_dir",
            "topics",
            "total_bytes",
            "usable_bytes",
            "is_cordoned",
        )

        def __init__(
            self,
            error_code: int = 0,
            log_dir: str = "",
            topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] | None = None,
            total_bytes: int = -1,
            usable_bytes: int = -1,
            is_cordoned: bool = False,
        ) -> None:
            self.error_code = error_code
            self.log_dir = log_dir
            self.topics = [] if topics is None else topics
            self.total_bytes = total_bytes
            self.usable_bytes = usable_bytes
            self.is_cordoned = is_cordoned
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "results",
    )

    NAME: ClassVar[str] = "DescribeLogDirsResponse"
    API_KEY: ClassVar[int] = 35
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResponse.DescribeLogDirsResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None
