"""Records of ``__remote_log_metadata``.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import ZERO_UUID, Message, Structure


class RemoteLogSegmentMetadataRecord(Message):
    """Kafka's RemoteLogSegmentMetadataRecord (metadata record), type 0, versions 0, flexible 0+.

    - remote_log_segment_id: RemoteLogSegmentIdEntry, versions 0+
    - start_offset: int64, versions 0+
    - end_offset: int64, versions 0+
    - broker_id: int32, versions 0+
    - max_timestamp_ms: int64, versions 0+
    - event_timestamp_ms: int64, versions 0+
    - segment_leader_epochs: []SegmentLeaderEpochEntry, versions 0+
    - segment_size_in_bytes: int32, versions 0+
    - custom_metadata: bytes, versions 0+, nullable 0+
    - remote_log_segment_state: int8, versions 0+
    - txn_index_empty: bool, versions 0+, tag 0
    """

    class TopicIdPartitionEntry(Structure):
        """Structure TopicIdPartitionEntry, versions 0+.

        - name: string, versions 0+
        - id: uuid, versions 0+
        - partition: int32, versions 0+
        """

        __slots__ = (
            "name",
            "id",
            "partition",
        )

        def __init__(
            self,
            name: str = "",
            id: bytes = ZERO_UUID,
            partition: int = 0,
        ) -> None:
            self.name = name
            self.id = id
            self.partition = partition
            self.unknown_tagged_fields = None

    class RemoteLogSegmentIdEntry(Structure):
        """Structure RemoteLogSegmentIdEntry, versions 0+.

        - topic_id_partition: TopicIdPartitionEntry, versions 0+
        - id: uuid, versions 0+
        """

        __slots__ = (
            "topic_id_partition",
            "id",
        )

        def __init__(
            self,
            topic_id_partition: RemoteLogSegmentMetadataRecord.TopicIdPartitionEntry | None = None,
            id: bytes = ZERO_UUID,
        ) -> None:
            self.topic_id_partition = (
                RemoteLogSegmentMetadataRecord.TopicIdPartitionEntry()
                if topic_id_partition is None
                else topic_id_partition
            )
            self.id = id
            self.unknown_tagged_fields = None

    class SegmentLeaderEpochEntry(Structure):
        """Structure SegmentLeaderEpochEntry, versions 0+.

        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - offset: int64, versions 0+
        """

        __slots__ = (
            "leader_epoch",
            "offset",
        )

        def __init__(
            self,
            leader_epoch: int = 0,
            offset: int = 0,
        ) -> None:
            self.leader_epoch = leader_epoch
            self.offset = offset
            self.unknown_tagged_fields = None

    __slots__ = (
        "remote_log_segment_id",
        "start_offset",
        "end_offset",
        "broker_id",
        "max_timestamp_ms",
        "event_timestamp_ms",
        "segment_leader_epochs",
        "segment_size_in_bytes",
        "custom_metadata",
        "remote_log_segment_state",
        "txn_index_empty",
    )

    NAME: ClassVar[str] = "RemoteLogSegmentMetadataRecord"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        remote_log_segment_id: RemoteLogSegmentMetadataRecord.RemoteLogSegmentIdEntry | None = None,
        start_offset: int = 0,
        end_offset: int = 0,
        broker_id: int = 0,
        max_timestamp_ms: int = 0,
        event_timestamp_ms: int = 0,
        segment_leader_epochs: list[RemoteLogSegmentMetadataRecord.SegmentLeaderEpochEntry] | None = None,
        segment_size_in_bytes: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        txn_index_empty: bool = False,
    ) -> None:
        self.remote_log_segment_id = (
            RemoteLogSegmentMetadataRecord.RemoteLogSegmentIdEntry()
            if remote_log_segment_id is None
            else remote_log_segment_id
        )
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.broker_id = broker_id
        self.max_timestamp_ms = max_timestamp_ms
        self.event_timestamp_ms = event_timestamp_ms
        self.segment_leader_epochs = [] if segment_leader_epochs is None else segment_leader_epochs
        self.segment_size_in_bytes = segment_size_in_bytes
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.txn_index_empty = txn_index_empty
        self.unknown_tagged_fields = None


class RemoteLogSegmentMetadataSnapshotRecord(Message):
    """Kafka's RemoteLogSegmentMetadataSnapshotRecord (metadata record), type 3, versions 0, flexible 0+.

    - segment_id: uuid, versions 0+
    - start_offset: int64, versions 0+
    - end_offset: int64, versions 0+
    - broker_id: int32, versions 0+
    - max_timestamp_ms: int64, versions 0+
    - event_timestamp_ms: int64, versions 0+
    - segment_leader_epochs: []SegmentLeaderEpochEntry, versions 0+
    - segment_size_in_bytes: int32, versions 0+
    - custom_metadata: bytes, versions 0+, nullable 0+
    - remote_log_segment_state: int8, versions 0+
    - txn_index_empty: bool, versions 0+, tag 0
    """

    class SegmentLeaderEpochEntry(Structure):
        """Structure SegmentLeaderEpochEntry, versions 0+.

        - leader_epoch: int32, versions 0+; counts the changes of the leader
        - offset: int64, versions 0+
        """

        __slots__ = (
            "leader_epoch",
            "offset",
        )

        def __init__(
            self,
            leader_epoch: int = 0,
            offset: int = 0,
        ) -> None:
            self.leader_epoch = leader_epoch
            self.offset = offset
            self.unknown_tagged_fields = None

    __slots__ = (
        "segment_id",
        "start_offset",
        "end_offset",
        "broker_id",
        "max_timestamp_ms",
        "event_timestamp_ms",
        "segment_leader_epochs",
        "segment_size_in_bytes",
        "custom_metadata",
        "remote_log_segment_state",
        "txn_index_empty",
    )

    NAME: ClassVar[str] = "RemoteLogSegmentMetadataSnapshotRecord"
    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        segment_id: bytes = ZERO_UUID,
        start_offset: int = 0,
        end_offset: int = 0,
        broker_id: int = 0,
        max_timestamp_ms: int = 0,
        event_timestamp_ms: int = 0,
        segment_leader_epochs: list[RemoteLogSegmentMetadataSnapshotRecord.SegmentLeaderEpochEntry] | None = None,
        segment_size_in_bytes: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        txn_index_empty: bool = False,
    ) -> None:
        self.segment_id = segment_id
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.broker_id = broker_id
        self.max_timestamp_ms = max_timestamp_ms
        self.event_timestamp_ms = event_timestamp_ms
        self.segment_leader_epochs = [] if segment_leader_epochs is None else segment_leader_epochs
        self.segment_size_in_bytes = segment_size_in_bytes
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.txn_index_empty = txn_index_empty
        self.unknown_tagged_fields = None


class RemoteLogSegmentMetadataUpdateRecord(Message):
    """Kafka's RemoteLogSegmentMetadataUpdateRecord (metadata record), type 1, versions 0, flexible 0+.

    - remote_log_segment_id: RemoteLogSegmentIdEntry, versions 0+
    - broker_id: int32, versions 0+
    - event_timestamp_ms: int64, versions 0+
    - custom_metadata: bytes, versions 0+, nullable 0+
    - remote_log_segment_state: int8, versions 0+
    """

    class TopicIdPartitionEntry(Structure):
        """Structure TopicIdPartitionEntry, versions 0+.

        - name: string, versions 0+
        - id: uuid, versions 0+
        - partition: int32, versions 0+
        """

        __slots__ = (
            "name",
            "id",
            "partition",
        )

        def __init__(
            self,
            name: str = "",
            id: bytes = ZERO_UUID,
            partition: int = 0,
        ) -> None:
            self.name = name
            self.id = id
            self.partition = partition
            self.unknown_tagged_fields = None

    class RemoteLogSegmentIdEntry(Structure):
        """Structure RemoteLogSegmentIdEntry, versions 0+.

        - topic_id_partition: TopicIdPartitionEntry, versions 0+
        - id: uuid, versions 0+
        """

        __slots__ = (
            "topic_id_partition",
            "id",
        )

        def __init__(
            self,
            topic_id_partition: RemoteLogSegmentMetadataUpdateRecord.TopicIdPartitionEntry | None = None,
            id: bytes = ZERO_UUID,
        ) -> None:
            self.topic_id_partition = (
                RemoteLogSegmentMetadataUpdateRecord.TopicIdPartitionEntry()
                if topic_id_partition is None
                else topic_id_partition
            )
            self.id = id
            self.unknown_tagged_fields = None

    __slots__ = (
        "remote_log_segment_id",
        "broker_id",
        "event_timestamp_ms",
        "custom_metadata",
        "remote_log_segment_state",
    )

    NAME: ClassVar[str] = "RemoteLogSegmentMetadataUpdateRecord"
    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecord.RemoteLogSegmentIdEntry | None = None,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
    ) -> None:
        self.remote_log_segment_id = (
            RemoteLogSegmentMetadataUpdateRecord.RemoteLogSegmentIdEntry()
            if remote_log_segment_id is None
            else remote_log_segment_id
        )
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.unknown_tagged_fields = None


class RemotePartitionDeleteMetadataRecord(Message):
    """Kafka's RemotePartitionDeleteMetadataRecord (metadata record), type 2, versions 0, flexible 0+.

    - topic_id_partition: TopicIdPartitionEntry, versions 0+
    - broker_id: int32, versions 0+
    - event_timestamp_ms: int64, versions 0+
    - remote_partition_delete_state: int8, versions 0+
    """

    class TopicIdPartitionEntry(Structure):
        """Structure TopicIdPartitionEntry, versions 0+.

        - name: string, versions 0+
        - id: uuid, versions 0+
        - partition: int32, versions 0+
        """

        __slots__ = (
            "name",
            "id",
            "partition",
        )

        def __init__(
            self,
            name: str = "",
            id: bytes = ZERO_UUID,
            partition: int = 0,
        ) -> None:
            self.name = name
            self.id = id
            self.partition = partition
            self.unknown_tagged_fields = None

    __slots__ = (
        "topic_id_partition",
        "broker_id",
        "event_timestamp_ms",
        "remote_partition_delete_state",
    )

    NAME: ClassVar[str] = "RemotePartitionDeleteMetadataRecord"
    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topic_id_partition: RemotePartitionDeleteMetadataRecord.TopicIdPartitionEntry | None = None,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        remote_partition_delete_state: int = 0,
    ) -> None:
        self.topic_id_partition = (
            RemotePartitionDeleteMetadataRecord.TopicIdPartitionEntry()
            if topic_id_partition is None
            else topic_id_partition
        )
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.remote_partition_delete_state = remote_partition_delete_state
        self.unknown_tagged_fields = None
