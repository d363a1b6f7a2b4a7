"""Records of ``__remote_log_metadata``.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Structure


class RemoteLogSegmentMetadataRecord(Message):
    """Kafka's RemoteLogSegmentMetadataRecord (metadata record), type 0, versions 0, flexible 0+."""

    class TopicIdPartitionEntry(Structure):
        """Structure TopicIdPartitionEntry, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        id: bytes = ZERO_UUID
        """uuid, versions 0+"""
        partition: int = 0
        """int32, versions 0+"""

    class RemoteLogSegmentIdEntry(Structure):
        """Structure RemoteLogSegmentIdEntry, versions 0+."""

        topic_id_partition: RemoteLogSegmentMetadataRecord.TopicIdPartitionEntry = NEW_STRUCTURE
        """TopicIdPartitionEntry, versions 0+"""
        id: bytes = ZERO_UUID
        """uuid, versions 0+"""

    class SegmentLeaderEpochEntry(Structure):
        """Structure SegmentLeaderEpochEntry, versions 0+."""

        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        offset: int = 0
        """int64, versions 0+"""

    NAME = "RemoteLogSegmentMetadataRecord"
    API_KEY = 0
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    remote_log_segment_id: RemoteLogSegmentMetadataRecord.RemoteLogSegmentIdEntry = NEW_STRUCTURE
    """RemoteLogSegmentIdEntry, versions 0+"""
    start_offset: int = 0
    """int64, versions 0+"""
    end_offset: int = 0
    """int64, versions 0+"""
    broker_id: int = 0
    """int32, versions 0+"""
    max_timestamp_ms: int = 0
    """int64, versions 0+"""
    event_timestamp_ms: int = 0
    """int64, versions 0+"""
    segment_leader_epochs: list[RemoteLogSegmentMetadataRecord.SegmentLeaderEpochEntry] = NEW_LIST
    """[]SegmentLeaderEpochEntry, versions 0+"""
    segment_size_in_bytes: int = 0
    """int32, versions 0+"""
    custom_metadata: bytes | None = None
    """bytes, versions 0+, nullable 0+"""
    remote_log_segment_state: int = 0
    """int8, versions 0+"""
    txn_index_empty: bool = False
    """bool, versions 0+, tag 0"""


class RemoteLogSegmentMetadataSnapshotRecord(Message):
    """Kafka's RemoteLogSegmentMetadataSnapshotRecord (metadata record), type 3, versions 0, flexible 0+."""

    class SegmentLeaderEpochEntry(Structure):
        """Structure SegmentLeaderEpochEntry, versions 0+."""

        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        offset: int = 0
        """int64, versions 0+"""

    NAME = "RemoteLogSegmentMetadataSnapshotRecord"
    API_KEY = 3
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    segment_id: bytes = ZERO_UUID
    """uuid, versions 0+"""
    start_offset: int = 0
    """int64, versions 0+"""
    end_offset: int = 0
    """int64, versions 0+"""
    broker_id: int = 0
    """int32, versions 0+"""
    max_timestamp_ms: int = 0
    """int64, versions 0+"""
    event_timestamp_ms: int = 0
    """int64, versions 0+"""
    segment_leader_epochs: list[RemoteLogSegmentMetadataSnapshotRecord.SegmentLeaderEpochEntry] = NEW_LIST
    """[]SegmentLeaderEpochEntry, versions 0+"""
    segment_size_in_bytes: int = 0
    """int32, versions 0+"""
    custom_metadata: bytes | None = None
    """bytes, versions 0+, nullable 0+"""
    remote_log_segment_state: int = 0
    """int8, versions 0+"""
    txn_index_empty: bool = False
    """bool, versions 0+, tag 0"""


class RemoteLogSegmentMetadataUpdateRecord(Message):
    """Kafka's RemoteLogSegmentMetadataUpdateRecord (metadata record), type 1, versions 0, flexible 0+."""

    class TopicIdPartitionEntry(Structure):
        """Structure TopicIdPartitionEntry, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        id: bytes = ZERO_UUID
        """uuid, versions 0+"""
        partition: int = 0
        """int32, versions 0+"""

    class RemoteLogSegmentIdEntry(Structure):
        """Structure RemoteLogSegmentIdEntry, versions 0+."""

        topic_id_partition: RemoteLogSegmentMetadataUpdateRecord.TopicIdPartitionEntry = NEW_STRUCTURE
        """TopicIdPartitionEntry, versions 0+"""
        id: bytes = ZERO_UUID
        """uuid, versions 0+"""

    NAME = "RemoteLogSegmentMetadataUpdateRecord"
    API_KEY = 1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecord.RemoteLogSegmentIdEntry = NEW_STRUCTURE
    """RemoteLogSegmentIdEntry, versions 0+"""
    broker_id: int = 0
    """int32, versions 0+"""
    event_timestamp_ms: int = 0
    """int64, versions 0+"""
    custom_metadata: bytes | None = None
    """bytes, versions 0+, nullable 0+"""
    remote_log_segment_state: int = 0
    """int8, versions 0+"""


class RemotePartitionDeleteMetadataRecord(Message):
    """Kafka's RemotePartitionDeleteMetadataRecord (metadata record), type 2, versions 0, flexible 0+."""

    class TopicIdPartitionEntry(Structure):
        """Structure TopicIdPartitionEntry, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        id: bytes = ZERO_UUID
        """uuid, versions 0+"""
        partition: int = 0
        """int32, versions 0+"""

    NAME = "RemotePartitionDeleteMetadataRecord"
    API_KEY = 2
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topic_id_partition: RemotePartitionDeleteMetadataRecord.TopicIdPartitionEntry = NEW_STRUCTURE
    """TopicIdPartitionEntry, versions 0+"""
    broker_id: int = 0
    """int32, versions 0+"""
    event_timestamp_ms: int = 0
    """int64, versions 0+"""
    remote_partition_delete_state: int = 0
    """int8, versions 0+"""
