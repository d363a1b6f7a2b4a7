"""Fetching records.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Records, Structure


class FetchRequest(Message):
    """Kafka's FetchRequest (request), API key 1, versions 0-18, flexible 12+, listeners broker and controller."""

    class ReplicaState(Structure):
        """Structure ReplicaState, versions 15+."""

        replica_id: int = -1
        """int32, versions 15+"""
        replica_epoch: int = -1
        """int64, versions 15+"""

    class FetchPartition(Structure):
        """Structure FetchPartition, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        current_leader_epoch: int = -1
        """int32, versions 9+, ignorable; the leader epoch that the sender knows, -1 for none"""
        fetch_offset: int = 0
        """int64, versions 0+"""
        last_fetched_epoch: int = -1
        """int32, versions 12+"""
        log_start_offset: int = -1
        """int64, versions 5+, ignorable; the first offset that is not deleted"""
        partition_max_bytes: int = 0
        """int32, versions 0+"""
        replica_directory_id: bytes = ZERO_UUID
        """uuid, versions 17+, tag 0, ignorable"""
        high_watermark: int = 9223372036854775807
        """int64, versions 18+, tag 1, ignorable; the end of the records that all in-sync replicas have"""

    class FetchTopic(Structure):
        """Structure FetchTopic, versions 0+."""

        topic: str = ""
        """string, versions 0-12, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 13+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[FetchRequest.FetchPartition] = NEW_LIST
        """[]FetchPartition, versions 0+"""

    class ForgottenTopic(Structure):
        """Structure ForgottenTopic, versions 7+."""

        topic: str = ""
        """string, versions 7-12, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 13+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[int] = NEW_LIST
        """[]int32, versions 7+"""

    NAME = "FetchRequest"
    API_KEY = 1
    VERSIONS = (0, 18)
    FLEXIBLE_SINCE = 12

    cluster_id: str | None = None
    """string, versions 12+, nullable 12+, tag 0, ignorable"""
    replica_id: int = -1
    """int32, versions 0-14"""
    replica_state: FetchRequest.ReplicaState = NEW_STRUCTURE
    """ReplicaState, versions 15+, tag 1"""
    max_wait_ms: int = 0
    """int32, versions 0+"""
    min_bytes: int = 0
    """int32, versions 0+"""
    max_bytes: int = 2147483647
    """int32, versions 3+, ignorable"""
    isolation_level: int = 0
    """int8, versions 4+, ignorable; 0 reads all records, 1 only committed ones"""
    session_id: int = 0
    """int32, versions 7+, ignorable"""
    session_epoch: int = -1
    """int32, versions 7+, ignorable"""
    topics: list[FetchRequest.FetchTopic] = NEW_LIST
    """[]FetchTopic, versions 0+"""
    forgotten_topics_data: list[FetchRequest.ForgottenTopic] = NEW_LIST
    """[]ForgottenTopic, versions 7+"""
    rack_id: str = ""
    """string, versions 11+, ignorable"""


class FetchResponse(Message):
    """Kafka's FetchResponse (response), API key 1, versions 0-18, flexible 12+."""

    class EpochEndOffset(Structure):
        """Structure EpochEndOffset, versions 12+."""

        epoch: int = -1
        """int32, versions 12+"""
        end_offset: int = -1
        """int64, versions 12+"""

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 12+."""

        leader_id: int = -1
        """int32, versions 12+"""
        leader_epoch: int = -1
        """int32, versions 12+; counts the changes of the leader"""

    class SnapshotId(Structure):
        """Structure SnapshotId, versions 12+."""

        end_offset: int = -1
        """int64, versions 0+"""
        epoch: int = -1
        """int32, versions 0+"""

    class AbortedTransaction(Structure):
        """Structure AbortedTransaction, versions 4+."""

        producer_id: int = 0
        """int64, versions 4+; the id of an idempotent or transactional producer"""
        first_offset: int = 0
        """int64, versions 4+"""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        high_watermark: int = 0
        """int64, versions 0+; the end of the records that all in-sync replicas have"""
        last_stable_offset: int = -1
        """int64, versions 4+, ignorable; the end of the records that readers of committed records see"""
        log_start_offset: int = -1
        """int64, versions 5+, ignorable; the first offset that is not deleted"""
        diverging_epoch: FetchResponse.EpochEndOffset = NEW_STRUCTURE
        """EpochEndOffset, versions 12+, tag 0"""
        current_leader: FetchResponse.LeaderIdAndEpoch = NEW_STRUCTURE
        """LeaderIdAndEpoch, versions 12+, tag 1"""
        snapshot_id: FetchResponse.SnapshotId = NEW_STRUCTURE
        """SnapshotId, versions 12+, tag 2"""
        aborted_transactions: list[FetchResponse.AbortedTransaction] | None = NEW_NULLABLE_LIST
        """[]AbortedTransaction, versions 4+, nullable 4+, ignorable"""
        preferred_read_replica: int = -1
        """int32, versions 11+"""
        records: Records | None = None
        """records, versions 0+, nullable 0+"""

    class FetchableTopicResponse(Structure):
        """Structure FetchableTopicResponse, versions 0+."""

        topic: str = ""
        """string, versions 0-12, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 13+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[FetchResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 16+."""

        node_id: int = 0
        """int32, versions 16+, map key"""
        host: str = ""
        """string, versions 16+"""
        port: int = 0
        """int32, versions 16+"""
        rack: str | None = None
        """string, versions 16+, nullable 16+"""

    NAME = "FetchResponse"
    API_KEY = 1
    VERSIONS = (0, 18)
    FLEXIBLE_SINCE = 12

    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 7+, ignorable; an ErrorCode, 0 for success"""
    session_id: int = 0
    """int32, versions 7+"""
    responses: list[FetchResponse.FetchableTopicResponse] = NEW_LIST
    """[]FetchableTopicResponse, versions 0+"""
    node_endpoints: list[FetchResponse.NodeEndpoint] = NEW_LIST
    """[]NodeEndpoint, versions 16+, tag 0"""
