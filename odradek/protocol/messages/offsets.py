"""Offsets of a log, by time and by epoch.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, Message, Structure


class DeleteRecordsRequest(Message):
    """Kafka's DeleteRecordsRequest (request), API key 21, versions 0-2, flexible 2+, listeners broker."""

    class DeleteRecordsPartition(Structure):
        """Structure DeleteRecordsPartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        offset: int = 0
        """int64, versions 0+"""

    class DeleteRecordsTopic(Structure):
        """Structure DeleteRecordsTopic, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] = NEW_LIST
        """[]DeleteRecordsPartition, versions 0+"""

    NAME = "DeleteRecordsRequest"
    API_KEY = 21
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = NEW_LIST
    """[]DeleteRecordsTopic, versions 0+"""
    timeout_ms: int = 0
    """int32, versions 0+"""


class DeleteRecordsResponse(Message):
    """Kafka's DeleteRecordsResponse (response), API key 21, versions 0-2, flexible 2+."""

    class DeleteRecordsPartitionResult(Structure):
        """Structure DeleteRecordsPartitionResult, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+, map key"""
        low_watermark: int = 0
        """int64, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""

    class DeleteRecordsTopicResult(Structure):
        """Structure DeleteRecordsTopicResult, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] = NEW_LIST
        """[]DeleteRecordsPartitionResult, versions 0+"""

    NAME = "DeleteRecordsResponse"
    API_KEY = 21
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = NEW_LIST
    """[]DeleteRecordsTopicResult, versions 0+"""


class ListOffsetsRequest(Message):
    """Kafka's ListOffsetsRequest (request), API key 2, versions 0-11, flexible 6+, listeners broker."""

    class ListOffsetsPartition(Structure):
        """Structure ListOffsetsPartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        current_leader_epoch: int = -1
        """int32, versions 4+, ignorable; the leader epoch that the sender knows, -1 for none"""
        timestamp: int = 0
        """int64, versions 0+"""
        max_num_offsets: int = 1
        """int32, versions 0"""

    class ListOffsetsTopic(Structure):
        """Structure ListOffsetsTopic, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[ListOffsetsRequest.ListOffsetsPartition] = NEW_LIST
        """[]ListOffsetsPartition, versions 0+"""

    NAME = "ListOffsetsRequest"
    API_KEY = 2
    VERSIONS = (0, 11)
    FLEXIBLE_SINCE = 6

    replica_id: int = 0
    """int32, versions 0+"""
    isolation_level: int = 0
    """int8, versions 2+; 0 reads all records, 1 only committed ones"""
    topics: list[ListOffsetsRequest.ListOffsetsTopic] = NEW_LIST
    """[]ListOffsetsTopic, versions 0+"""
    timeout_ms: int = 0
    """int32, versions 10+, ignorable"""


class ListOffsetsResponse(Message):
    """Kafka's ListOffsetsResponse (response), API key 2, versions 0-11, flexible 6+."""

    class ListOffsetsPartitionResponse(Structure):
        """Structure ListOffsetsPartitionResponse, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        timestamp: int = -1
        """int64, versions 1+"""
        offset: int = -1
        """int64, versions 1+"""
        leader_epoch: int = -1
        """int32, versions 4+; counts the changes of the leader"""
        old_style_offsets: list[int] = NEW_LIST
        """[]int64, versions 0"""

    class ListOffsetsTopicResponse(Structure):
        """Structure ListOffsetsTopicResponse, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = NEW_LIST
        """[]ListOffsetsPartitionResponse, versions 0+"""

    NAME = "ListOffsetsResponse"
    API_KEY = 2
    VERSIONS = (0, 11)
    FLEXIBLE_SINCE = 6

    throttle_time_ms: int = 0
    """int32, versions 2+, ignorable; how long the client should wait before its next request, because of a quota"""
    topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = NEW_LIST
    """[]ListOffsetsTopicResponse, versions 0+"""


class OffsetForLeaderEpochRequest(Message):
    """Kafka's OffsetForLeaderEpochRequest (request), API key 23, versions 0-4, flexible 4+, listeners broker."""

    class OffsetForLeaderPartition(Structure):
        """Structure OffsetForLeaderPartition, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        current_leader_epoch: int = -1
        """int32, versions 2+, ignorable; the leader epoch that the sender knows, -1 for none"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class OffsetForLeaderTopic(Structure):
        """Structure OffsetForLeaderTopic, versions 0+."""

        topic: str = ""
        """string, versions 0+, map key"""
        partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = NEW_LIST
        """[]OffsetForLeaderPartition, versions 0+"""

    NAME = "OffsetForLeaderEpochRequest"
    API_KEY = 23
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    replica_id: int = -2
    """int32, versions 3+, ignorable"""
    topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = NEW_LIST
    """[]OffsetForLeaderTopic, versions 0+"""


class OffsetForLeaderEpochResponse(Message):
    """Kafka's OffsetForLeaderEpochResponse (response), API key 23, versions 0-4, flexible 4+."""

    class EpochEndOffset(Structure):
        """Structure EpochEndOffset, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        partition: int = 0
        """int32, versions 0+"""
        leader_epoch: int = -1
        """int32, versions 1+, ignorable; counts the changes of the leader"""
        end_offset: int = -1
        """int64, versions 0+"""

    class OffsetForLeaderTopicResult(Structure):
        """Structure OffsetForLeaderTopicResult, versions 0+."""

        topic: str = ""
        """string, versions 0+, map key"""
        partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = NEW_LIST
        """[]EpochEndOffset, versions 0+"""

    NAME = "OffsetForLeaderEpochResponse"
    API_KEY = 23
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    throttle_time_ms: int = 0
    """int32, versions 2+, ignorable; how long the client should wait before its next request, because of a quota"""
    topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = NEW_LIST
    """[]OffsetForLeaderTopicResult, versions 0+"""
