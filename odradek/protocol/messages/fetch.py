"""Fetching records.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, ZERO_UUID, Message, Records, Structure


class FetchRequest(Message):
    """Kafka's FetchRequest (request), API key 1, versions 0-18, flexible 12+, listeners broker and controller.

    - cluster_id: string, versions 12+, nullable 12+, tag 0, ignorable
    - replica_id: int32, versions 0-14
    - replica_state: ReplicaState, versions 15+, tag 1
    - max_wait_ms: int32, versions 0+
    - min_bytes: int32, versions 0+
    - max_bytes: int32, versions 3+, ignorable
    - isolation_level: int8, versions 4+, ignorable; 0 reads all records, 1 only committed ones
    - session_id: int32, versions 7+, ignorable
    - session_epoch: int32, versions 7+, ignorable
    - topics: []FetchTopic, versions 0+
    - forgotten_topics_data: []ForgottenTopic, versions 7+
    - rack_id: string, versions 11+, ignorable
    """

    class ReplicaState(Structure):
        """Structure ReplicaState, versions 15+.

        - replica_id: int32, versions 15+
        - replica_epoch: int64, versions 15+
        """

        __slots__ = (
            "replica_id",
            "replica_epoch",
        )

        def __init__(
            self,
            replica_id: int = -1,
            replica_epoch: int = -1,
        ) -> None:
            self.replica_id = replica_id
            self.replica_epoch = replica_epoch
            self.unknown_tagged_fields = None

    class FetchPartition(Structure):
        """Structure FetchPartition, versions 0+.

        - partition: int32, versions 0+
        - current_leader_epoch: int32, versions 9+, ignorable; the leader epoch that the sender knows, -1 for none
        - fetch_offset: int64, versions 0+
        - last_fetched_epoch: int32, versions 12+
        - log_start_offset: int64, versions 5+, ignorable; the first offset that is not deleted
        - partition_max_bytes: int32, versions 0+
        - replica_directory_id: uuid, versions 17+, tag 0, ignorable
        - high_watermark: int64, versions 18+, tag 1, ignorable; the end of the records that all in-sync replicas have
        """

        __slots__ = (
            "partition",
            "current_leader_epoch",
            "fetch_offset",
            "last_fetched_epoch",
            "log_start_offset",
            "partition_max_bytes",
            "replica_directory_id",
            "high_watermark",
        )

        def __init__(
            self,
            partition: int = 0,
            current_leader_epoch: int = -1,
            fetch_offset: int = 0,
            last_fetched_epoch: int = -1,
            log_start_offset: int = -1,
            partition_max_bytes: int = 0,
            replica_directory_id: bytes = ZERO_UUID,
            high_watermark: int = 9223372036854775807,
        ) -> None:
            self.partition = partition
            self.current_leader_epoch = current_leader_epoch
            self.fetch_offset = fetch_offset
            self.last_fetched_epoch = last_fetched_epoch
            self.log_start_offset = log_start_offset
            self.partition_max_bytes = partition_max_bytes
            self.replica_directory_id = replica_directory_id
            self.high_watermark = high_watermark
            self.unknown_tagged_fields = None

    class FetchTopic(Structure):
        """Structure FetchTopic, versions 0+.

        - topic: string, versions 0-12, ignorable
        - topic_id: uuid, versions 13+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - partitions: []FetchPartition, versions 0+
        """

        __slots__ = (
            "topic",
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[FetchRequest.FetchPartition] | None = None,
        ) -> None:
            self.topic = topic
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class ForgottenTopic(Structure):
        """Structure ForgottenTopic, versions 7+.

        - topic: string, versions 7-12, ignorable
        - topic_id: uuid, versions 13+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - partitions: []int32, versions 7+
        """

        __slots__ = (
            "topic",
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[int] | None = None,
        ) -> None:
            self.topic = topic
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
    )

    NAME: ClassVar[str] = "FetchRequest"
    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 18)
    FLEXIBLE_SINCE: ClassVar[int] = 12

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: FetchRequest.ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchRequest.FetchTopic] | None = None,
        forgotten_topics_data: list[FetchRequest.ForgottenTopic] | None = None,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = FetchRequest.ReplicaState() if replica_state is None else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is None else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is None else forgotten_topics_data
        self.rack_id = rack_id
        self.unknown_tagged_fields = None


class FetchResponse(Message):
    """Kafka's FetchResponse (response), API key 1, versions 0-18, flexible 12+.

    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 7+, ignorable; an ErrorCode, 0 for success
    - session_id: int32, versions 7+
    - responses: []FetchableTopicResponse, versions 0+
    - node_endpoints: []NodeEndpoint, versions 16+, tag 0
    """

    class EpochEndOffset(Structure):
        """Structure EpochEndOffset, versions 12+.

        - epoch: int32, versions 12+
        - end_offset: int64, versions 12+
        """

        __slots__ = (
            "epoch",
            "end_offset",
        )

        def __init__(
            self,
            epoch: int = -1,
            end_offset: int = -1,
        ) -> None:
            self.epoch = epoch
            self.end_offset = end_offset
            self.unknown_tagged_fields = None

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 12+.

        - leader_id: int32, versions 12+
        - leader_epoch: int32, versions 12+; counts the changes of the leader
        """

        __slots__ = (
            "leader_id",
            "leader_epoch",
        )

        def __init__(
            self,
            leader_id: int = -1,
            leader_epoch: int = -1,
        ) -> None:
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.unknown_tagged_fields = None

    class SnapshotId(Structure):
        """Structure SnapshotId, versions 12+.

        - end_offset: int64, versions 0+
        - epoch: int32, versions 0+
        """

        __slots__ = (
            "end_offset",
            "epoch",
        )

        def __init__(
            self,
            end_offset: int = -1,
            epoch: int = -1,
        ) -> None:
            self.end_offset = end_offset
            self.epoch = epoch
            self.unknown_tagged_fields = None

    class AbortedTransaction(Structure):
        """Structure AbortedTransaction, versions 4+.

        - producer_id: int64, versions 4+; the id of an idempotent or transactional producer
        - first_offset: int64, versions 4+
        """

        __slots__ = (
            "producer_id",
            "first_offset",
        )

        def __init__(
            self,
            producer_id: int = 0,
            first_offset: int = 0,
        ) -> None:
            self.producer_id = producer_id
            self.first_offset = first_offset
            self.unknown_tagged_fields = None

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - high_watermark: int64, versions 0+; the end of the records that all in-sync replicas have
        - last_stable_offset: int64, versions 4+, ignorable; the end of the records that readers of committed records
          see
        - log_start_offset: int64, versions 5+, ignorable; the first offset that is not deleted
        - diverging_epoch: EpochEndOffset, versions 12+, tag 0
        - current_leader: LeaderIdAndEpoch, versions 12+, tag 1
        - snapshot_id: SnapshotId, versions 12+, tag 2
        - aborted_transactions: []AbortedTransaction, versions 4+, nullable 4+, ignorable
        - preferred_read_replica: int32, versions 11+
        - records: records, versions 0+, nullable 0+
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "high_watermark",
            "last_stable_offset",
            "log_start_offset",
            "diverging_epoch",
            "current_leader",
            "snapshot_id",
            "aborted_transactions",
            "preferred_read_replica",
            "records",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            high_watermark: int = 0,
            last_stable_offset: int = -1,
            log_start_offset: int = -1,
            diverging_epoch: FetchResponse.EpochEndOffset | None = None,
            current_leader: FetchResponse.LeaderIdAndEpoch | None = None,
            snapshot_id: FetchResponse.SnapshotId | None = None,
            aborted_transactions: list[FetchResponse.AbortedTransaction] | None = NEW_LIST,
            preferred_read_replica: int = -1,
            records: Records | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.high_watermark = high_watermark
            self.last_stable_offset = last_stable_offset
            self.log_start_offset = log_start_offset
            self.diverging_epoch = FetchResponse.EpochEndOffset() if diverging_epoch is None else diverging_epoch
            self.current_leader = FetchResponse.LeaderIdAndEpoch() if current_leader is None else current_leader
            self.snapshot_id = FetchResponse.SnapshotId() if snapshot_id is None else snapshot_id
            self.aborted_transactions = [] if aborted_transactions is NEW_LIST else aborted_transactions
            self.preferred_read_replica = preferred_read_replica
            self.records = records
            self.unknown_tagged_fields = None

    class FetchableTopicResponse(Structure):
        """Structure FetchableTopicResponse, versions 0+.

        - topic: string, versions 0-12, ignorable
        - topic_id: uuid, versions 13+, ignorable; the id of the topic, which a new topic of the same name does not
          share (KIP-516)
        - partitions: []PartitionData, versions 0+
        """

        __slots__ = (
            "topic",
            "topic_id",
            "partitions",
        )

        def __init__(
            self,
            topic: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[FetchResponse.PartitionData] | None = None,
        ) -> None:
            self.topic = topic
            self.topic_id = topic_id
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 16+.

        - node_id: int32, versions 16+, map key
        - host: string, versions 16+
        - port: int32, versions 16+
        - rack: string, versions 16+, nullable 16+
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
        "session_id",
        "responses",
        "node_endpoints",
    )

    NAME: ClassVar[str] = "FetchResponse"
    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 18)
    FLEXIBLE_SINCE: ClassVar[int] = 12

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchResponse.FetchableTopicResponse] | None = None,
        node_endpoints: list[FetchResponse.NodeEndpoint] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is None else responses
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tagged_fields = None
