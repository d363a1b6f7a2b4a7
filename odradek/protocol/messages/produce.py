"""Producing records.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import ZERO_UUID, Message, Records, Structure


class ProduceRequest(Message):
    """Kafka's ProduceRequest (request), API key 0, versions 0-13, flexible 9+, listeners broker.

    - transactional_id: string, versions 3+, nullable 3+; the name of a transactional producer, the same after its
      restart
    - acks: int16, versions 0+; the replicas that must have the records: -1 all in sync, 1 the leader, 0 without an
      answer
    - timeout_ms: int32, versions 0+
    - topic_data: []TopicProduceData, versions 0+
    """

    class PartitionProduceData(Structure):
        """Structure PartitionProduceData, versions 0+.

        - index: int32, versions 0+
        - records: records, versions 0+, nullable 0+
        """

        __slots__ = (
            "index",
            "records",
        )

        def __init__(
            self,
            index: int = 0,
            records: Records | None = None,
        ) -> None:
            self.index = index
            self.records = records
            self.unknown_tagged_fields = None

    class TopicProduceData(Structure):
        """Structure TopicProduceData, versions 0+.

        - name: string, versions 0-12, ignorable, map key
        - topic_id: uuid, versions 13+, ignorable, map key; the id of the topic, which a new topic of the same name does
          not share (KIP-516)
        - partition_data: []PartitionProduceData, versions 0+
        """

        __slots__ = (
            "name",
            "topic_id",
            "partition_data",
        )

        def __init__(
            self,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partition_data: list[ProduceRequest.PartitionProduceData] | None = None,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partition_data = [] if partition_data is None else partition_data
            self.unknown_tagged_fields = None

    __slots__ = (
        "transactional_id",
        "acks",
        "timeout_ms",
        "topic_data",
    )

    NAME: ClassVar[str] = "ProduceRequest"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_SINCE: ClassVar[int] = 9

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[ProduceRequest.TopicProduceData] | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is None else topic_data
        self.unknown_tagged_fields = None


class ProduceResponse(Message):
    """Kafka's ProduceResponse (response), API key 0, versions 0-13, flexible 9+.

    - responses: []TopicProduceResponse, versions 0+
    - throttle_time_ms: int32, versions 1+, ignorable; how long the client should wait before its next request,
      because of a quota
    - node_endpoints: []NodeEndpoint, versions 10+, tag 0
    """

    class BatchIndexAndErrorMessage(Structure):
        """Structure BatchIndexAndErrorMessage, versions 8+.

        - batch_index: int32, versions 8+
        - batch_index_error_message: string, versions 8+, nullable 8+
        """

        __slots__ = (
            "batch_index",
            "batch_index_error_message",
        )

        def __init__(
            self,
            batch_index: int = 0,
            batch_index_error_message: str | None = None,
        ) -> None:
            self.batch_index = batch_index
            self.batch_index_error_message = batch_index_error_message
            self.unknown_tagged_fields = None

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 10+.

        - leader_id: int32, versions 10+
        - leader_epoch: int32, versions 10+; counts the changes of the leader
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

    class PartitionProduceResponse(Structure):
        """Structure PartitionProduceResponse, versions 0+.

        - index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - base_offset: int64, versions 0+
        - log_append_time_ms: int64, versions 2+, ignorable
        - log_start_offset: int64, versions 5+, ignorable; the first offset that is not deleted
        - record_errors: []BatchIndexAndErrorMessage, versions 8+, ignorable
        - error_message: string, versions 8+, nullable 8+, ignorable; a text for people
        - current_leader: LeaderIdAndEpoch, versions 10+, tag 0
        """

        __slots__ = (
            "index",
            "error_code",
            "base_offset",
            "log_append_time_ms",
            "log_start_offset",
            "record_errors",
            "error_message",
            "current_leader",
        )

        def __init__(
            self,
            index: int = 0,
            error_code: int = 0,
            base_offset: int = 0,
            log_append_time_ms: int = -1,
            log_start_offset: int = -1,
            record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] | None = None,
            error_message: str | None = None,
            current_leader: ProduceResponse.LeaderIdAndEpoch | None = None,
        ) -> None:
            self.index = index
            self.error_code = error_code
            self.base_offset = base_offset
            self.log_append_time_ms = log_append_time_ms
            self.log_start_offset = log_start_offset
            self.record_errors = [] if record_errors is None else record_errors
            self.error_message = error_message
            self.current_leader = ProduceResponse.LeaderIdAndEpoch() if current_leader is None else current_leader
            self.unknown_tagged_fields = None

    class TopicProduceResponse(Structure):
        """Structure TopicProduceResponse, versions 0+.

        - name: string, versions 0-12, ignorable, map key
        - topic_id: uuid, versions 13+, ignorable, map key; the id of the topic, which a new topic of the same name does
          not share (KIP-516)
        - partition_responses: []PartitionProduceResponse, versions 0+
        """

        __slots__ = (
            "name",
            "topic_id",
            "partition_responses",
        )

        def __init__(
            self,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partition_responses: list[ProduceResponse.PartitionProduceResponse] | None = None,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partition_responses = [] if partition_responses is None else partition_responses
            self.unknown_tagged_fields = None

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 10+.

        - node_id: int32, versions 10+, map key
        - host: string, versions 10+
        - port: int32, versions 10+
        - rack: string, versions 10+, nullable 10+
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
        "responses",
        "throttle_time_ms",
        "node_endpoints",
    )

    NAME: ClassVar[str] = "ProduceResponse"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_SINCE: ClassVar[int] = 9

    def __init__(
        self,
        responses: list[ProduceResponse.TopicProduceResponse] | None = None,
        throttle_time_ms: int = 0,
        node_endpoints: list[ProduceResponse.NodeEndpoint] | None = None,
    ) -> None:
        self.responses = [] if responses is None else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is None else node_endpoints
        self.unknown_tagged_fields = None
