"""Producing records.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Records, Structure


class ProduceRequest(Message):
    """Kafka's ProduceRequest (request), API key 0, versions 0-13, flexible 9+, listeners broker."""

    class PartitionProduceData(Structure):
        """Structure PartitionProduceData, versions 0+."""

        index: int = 0
        """int32, versions 0+"""
        records: Records | None = None
        """records, versions 0+, nullable 0+"""

    class TopicProduceData(Structure):
        """Structure TopicProduceData, versions 0+."""

        name: str = ""
        """string, versions 0-12, ignorable, map key"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 13+, ignorable, map key; the id of the topic, which a new topic of the same name does not
        share (KIP-516)
        """
        partition_data: list[ProduceRequest.PartitionProduceData] = NEW_LIST
        """[]PartitionProduceData, versions 0+"""

    NAME = "ProduceRequest"
    API_KEY = 0
    VERSIONS = (0, 13)
    FLEXIBLE_SINCE = 9

    transactional_id: str | None = None
    """string, versions 3+, nullable 3+; the name of a transactional producer, the same after its restart"""
    acks: int = 0
    """int16, versions 0+; the replicas that must have the records: -1 all in sync, 1 the leader, 0 without an
    answer
    """
    timeout_ms: int = 0
    """int32, versions 0+"""
    topic_data: list[ProduceRequest.TopicProduceData] = NEW_LIST
    """[]TopicProduceData, versions 0+"""


class ProduceResponse(Message):
    """Kafka's ProduceResponse (response), API key 0, versions 0-13, flexible 9+."""

    class BatchIndexAndErrorMessage(Structure):
        """Structure BatchIndexAndErrorMessage, versions 8+."""

        batch_index: int = 0
        """int32, versions 8+"""
        batch_index_error_message: str | None = None
        """string, versions 8+, nullable 8+"""

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 10+."""

        leader_id: int = -1
        """int32, versions 10+"""
        leader_epoch: int = -1
        """int32, versions 10+; counts the changes of the leader"""

    class PartitionProduceResponse(Structure):
        """Structure PartitionProduceResponse, versions 0+."""

        index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        base_offset: int = 0
        """int64, versions 0+"""
        log_append_time_ms: int = -1
        """int64, versions 2+, ignorable"""
        log_start_offset: int = -1
        """int64, versions 5+, ignorable; the first offset that is not deleted"""
        record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = NEW_LIST
        """[]BatchIndexAndErrorMessage, versions 8+, ignorable"""
        error_message: str | None = None
        """string, versions 8+, nullable 8+, ignorable; a text for people"""
        current_leader: ProduceResponse.LeaderIdAndEpoch = NEW_STRUCTURE
        """LeaderIdAndEpoch, versions 10+, tag 0"""

    class TopicProduceResponse(Structure):
        """Structure TopicProduceResponse, versions 0+."""

        name: str = ""
        """string, versions 0-12, ignorable, map key"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 13+, ignorable, map key; the id of the topic, which a new topic of the same name does not
        share (KIP-516)
        """
        partition_responses: list[ProduceResponse.PartitionProduceResponse] = NEW_LIST
        """[]PartitionProduceResponse, versions 0+"""

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 10+."""

        node_id: int = 0
        """int32, versions 10+, map key"""
        host: str = ""
        """string, versions 10+"""
        port: int = 0
        """int32, versions 10+"""
        rack: str | None = None
        """string, versions 10+, nullable 10+"""

    NAME = "ProduceResponse"
    API_KEY = 0
    VERSIONS = (0, 13)
    FLEXIBLE_SINCE = 9

    responses: list[ProduceResponse.TopicProduceResponse] = NEW_LIST
    """[]TopicProduceResponse, versions 0+"""
    throttle_time_ms: int = 0
    """int32, versions 1+, ignorable; how long the client should wait before its next request, because of a quota"""
    node_endpoints: list[ProduceResponse.NodeEndpoint] = NEW_LIST
    """[]NodeEndpoint, versions 10+, tag 0"""
