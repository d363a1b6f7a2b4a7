"""Log directories of a broker.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, Message, Structure


class AlterReplicaLogDirsRequest(Message):
    """Kafka's AlterReplicaLogDirsRequest (request), API key 34, versions 0-2, flexible 2+, listeners broker."""

    class AlterReplicaLogDirTopic(Structure):
        """Structure AlterReplicaLogDirTopic, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class AlterReplicaLogDir(Structure):
        """Structure AlterReplicaLogDir, versions 0+."""

        path: str = ""
        """string, versions 0+, map key"""
        topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = NEW_LIST
        """[]AlterReplicaLogDirTopic, versions 0+"""

    NAME = "AlterReplicaLogDirsRequest"
    API_KEY = 34
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = NEW_LIST
    """[]AlterReplicaLogDir, versions 0+"""


class AlterReplicaLogDirsResponse(Message):
    """Kafka's AlterReplicaLogDirsResponse (response), API key 34, versions 0-2, flexible 2+."""

    class AlterReplicaLogDirPartitionResult(Structure):
        """Structure AlterReplicaLogDirPartitionResult, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""

    class AlterReplicaLogDirTopicResult(Structure):
        """Structure AlterReplicaLogDirTopicResult, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = NEW_LIST
        """[]AlterReplicaLogDirPartitionResult, versions 0+"""

    NAME = "AlterReplicaLogDirsResponse"
    API_KEY = 34
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = NEW_LIST
    """[]AlterReplicaLogDirTopicResult, versions 0+"""


class DescribeLogDirsRequest(Message):
    """Kafka's DescribeLogDirsRequest (request), API key 35, versions 0-5, flexible 2+, listeners broker."""

    class DescribableLogDirTopic(Structure):
        """Structure DescribableLogDirTopic, versions 0+."""

        topic: str = ""
        """string, versions 0+, map key"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "DescribeLogDirsRequest"
    API_KEY = 35
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 2

    topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = NEW_NULLABLE_LIST
    """[]DescribableLogDirTopic, versions 0+, nullable 0+"""


class DescribeLogDirsResponse(Message):
    """Kafka's DescribeLogDirsResponse (response), API key 35, versions 0-5, flexible 2+."""

    class DescribeLogDirsPartition(Structure):
        """Structure DescribeLogDirsPartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        partition_size: int = 0
        """int64, versions 0+"""
        offset_lag: int = 0
        """int64, versions 0+"""
        is_future_key: bool = False
        """bool, versions 0+"""

    class DescribeLogDirsTopic(Structure):
        """Structure DescribeLogDirsTopic, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] = NEW_LIST
        """[]DescribeLogDirsPartition, versions 0+"""

    class DescribeLogDirsResult(Structure):
        """Structure DescribeLogDirsResult, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        log_dir: str = ""
        """string, versions 0+"""
        topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] = NEW_LIST
        """[]DescribeLogDirsTopic, versions 0+"""
        total_bytes: int = -1
        """int64, versions 4+, ignorable"""
        usable_bytes: int = -1
        """int64, versions 4+, ignorable"""
        is_cordoned: bool = False
        """bool, versions 5+, ignorable"""

    NAME = "DescribeLogDirsResponse"
    API_KEY = 35
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 3+, ignorable; an ErrorCode, 0 for success"""
    results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = NEW_LIST
    """[]DescribeLogDirsResult, versions 0+"""
