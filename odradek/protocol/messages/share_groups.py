"""Share groups (KIP-932).

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Records, Structure


class AlterShareGroupOffsetsRequest(Message):
    """Kafka's AlterShareGroupOffsetsRequest (request), API key 91, versions 0, flexible 0+, listeners broker."""

    class AlterShareGroupOffsetsRequestPartition(Structure):
        """Structure AlterShareGroupOffsetsRequestPartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        start_offset: int = 0
        """int64, versions 0+"""

    class AlterShareGroupOffsetsRequestTopic(Structure):
        """Structure AlterShareGroupOffsetsRequestTopic, versions 0+."""

        topic_name: str = ""
        """string, versions 0+, map key"""
        partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition] = NEW_LIST
        """[]AlterShareGroupOffsetsRequestPartition, versions 0+"""

    NAME = "AlterShareGroupOffsetsRequest"
    API_KEY = 91
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    topics: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic] = NEW_LIST
    """[]AlterShareGroupOffsetsRequestTopic, versions 0+"""


class AlterShareGroupOffsetsResponse(Message):
    """Kafka's AlterShareGroupOffsetsResponse (response), API key 91, versions 0, flexible 0+."""

    class AlterShareGroupOffsetsResponsePartition(Structure):
        """Structure AlterShareGroupOffsetsResponsePartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""

    class AlterShareGroupOffsetsResponseTopic(Structure):
        """Structure AlterShareGroupOffsetsResponseTopic, versions 0+."""

        topic_name: str = ""
        """string, versions 0+, map key"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition] = NEW_LIST
        """[]AlterShareGroupOffsetsResponsePartition, versions 0+"""

    NAME = "AlterShareGroupOffsetsResponse"
    API_KEY = 91
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
    responses: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic] = NEW_LIST
    """[]AlterShareGroupOffsetsResponseTopic, versions 0+"""


class DeleteShareGroupOffsetsRequest(Message):
    """Kafka's DeleteShareGroupOffsetsRequest (request), API key 92, versions 0, flexible 0+, listeners broker."""

    class DeleteShareGroupOffsetsRequestTopic(Structure):
        """Structure DeleteShareGroupOffsetsRequestTopic, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""

    NAME = "DeleteShareGroupOffsetsRequest"
    API_KEY = 92
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    topics: list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic] = NEW_LIST
    """[]DeleteShareGroupOffsetsRequestTopic, versions 0+"""


class DeleteShareGroupOffsetsResponse(Message):
    """Kafka's DeleteShareGroupOffsetsResponse (response), API key 92, versions 0, flexible 0+."""

    class DeleteShareGroupOffsetsResponseTopic(Structure):
        """Structure DeleteShareGroupOffsetsResponseTopic, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""

    NAME = "DeleteShareGroupOffsetsResponse"
    API_KEY = 92
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
    responses: list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic] = NEW_LIST
    """[]DeleteShareGroupOffsetsResponseTopic, versions 0+"""


class DeleteShareGroupStateRequest(Message):
    """Kafka's DeleteShareGroupStateRequest (request), API key 86, versions 0, flexible 0+, listeners broker."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""

    class DeleteStateData(Structure):
        """Structure DeleteStateData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[DeleteShareGroupStateRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    NAME = "DeleteShareGroupStateRequest"
    API_KEY = 86
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    topics: list[DeleteShareGroupStateRequest.DeleteStateData] = NEW_LIST
    """[]DeleteStateData, versions 0+"""


class DeleteShareGroupStateResponse(Message):
    """Kafka's DeleteShareGroupStateResponse (response), API key 86, versions 0, flexible 0+."""

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""

    class DeleteStateResult(Structure):
        """Structure DeleteStateResult, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[DeleteShareGroupStateResponse.PartitionResult] = NEW_LIST
        """[]PartitionResult, versions 0+"""

    NAME = "DeleteShareGroupStateResponse"
    API_KEY = 86
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    results: list[DeleteShareGroupStateResponse.DeleteStateResult] = NEW_LIST
    """[]DeleteStateResult, versions 0+"""


class DescribeShareGroupOffsetsRequest(Message):
    """Kafka's DescribeShareGroupOffsetsRequest (request), API key 90, versions 0-1, flexible 0+, listeners
    broker.
    """

    class DescribeShareGroupOffsetsRequestTopic(Structure):
        """Structure DescribeShareGroupOffsetsRequestTopic, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class DescribeShareGroupOffsetsRequestGroup(Structure):
        """Structure DescribeShareGroupOffsetsRequestGroup, versions 0+."""

        group_id: str = ""
        """string, versions 0+"""
        topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None = NEW_NULLABLE_LIST
        """[]DescribeShareGroupOffsetsRequestTopic, versions 0+, nullable 0+"""

    NAME = "DescribeShareGroupOffsetsRequest"
    API_KEY = 90
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    groups: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup] = NEW_LIST
    """[]DescribeShareGroupOffsetsRequestGroup, versions 0+"""


class DescribeShareGroupOffsetsResponse(Message):
    """Kafka's DescribeShareGroupOffsetsResponse (response), API key 90, versions 0-1, flexible 0+."""

    class DescribeShareGroupOffsetsResponsePartition(Structure):
        """Structure DescribeShareGroupOffsetsResponsePartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        start_offset: int = 0
        """int64, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        lag: int = -1
        """int64, versions 1+, ignorable"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""

    class DescribeShareGroupOffsetsResponseTopic(Structure):
        """Structure DescribeShareGroupOffsetsResponseTopic, versions 0+."""

        topic_name: str = ""
        """string, versions 0+"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition] = NEW_LIST
        """[]DescribeShareGroupOffsetsResponsePartition, versions 0+"""

    class DescribeShareGroupOffsetsResponseGroup(Structure):
        """Structure DescribeShareGroupOffsetsResponseGroup, versions 0+."""

        group_id: str = ""
        """string, versions 0+"""
        topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic] = NEW_LIST
        """[]DescribeShareGroupOffsetsResponseTopic, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""

    NAME = "DescribeShareGroupOffsetsResponse"
    API_KEY = 90
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    groups: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup] = NEW_LIST
    """[]DescribeShareGroupOffsetsResponseGroup, versions 0+"""


class InitializeShareGroupStateRequest(Message):
    """Kafka's InitializeShareGroupStateRequest (request), API key 83, versions 0, flexible 0+, listeners broker."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        state_epoch: int = 0
        """int32, versions 0+"""
        start_offset: int = 0
        """int64, versions 0+"""

    class InitializeStateData(Structure):
        """Structure InitializeStateData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[InitializeShareGroupStateRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    NAME = "InitializeShareGroupStateRequest"
    API_KEY = 83
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    topics: list[InitializeShareGroupStateRequest.InitializeStateData] = NEW_LIST
    """[]InitializeStateData, versions 0+"""


class InitializeShareGroupStateResponse(Message):
    """Kafka's InitializeShareGroupStateResponse (response), API key 83, versions 0, flexible 0+."""

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""

    class InitializeStateResult(Structure):
        """Structure InitializeStateResult, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[InitializeShareGroupStateResponse.PartitionResult] = NEW_LIST
        """[]PartitionResult, versions 0+"""

    NAME = "InitializeShareGroupStateResponse"
    API_KEY = 83
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    results: list[InitializeShareGroupStateResponse.InitializeStateResult] = NEW_LIST
    """[]InitializeStateResult, versions 0+"""


class ReadShareGroupStateRequest(Message):
    """Kafka's ReadShareGroupStateRequest (request), API key 84, versions 0, flexible 0+, listeners broker."""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class ReadStateData(Structure):
        """Structure ReadStateData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[ReadShareGroupStateRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    NAME = "ReadShareGroupStateRequest"
    API_KEY = 84
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    topics: list[ReadShareGroupStateRequest.ReadStateData] = NEW_LIST
    """[]ReadStateData, versions 0+"""


class ReadShareGroupStateResponse(Message):
    """Kafka's ReadShareGroupStateResponse (response), API key 84, versions 0, flexible 0+."""

    class StateBatch(Structure):
        """Structure StateBatch, versions 0+."""

        first_offset: int = 0
        """int64, versions 0+"""
        last_offset: int = 0
        """int64, versions 0+"""
        delivery_state: int = 0
        """int8, versions 0+"""
        delivery_count: int = 0
        """int16, versions 0+"""

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""
        state_epoch: int = 0
        """int32, versions 0+"""
        start_offset: int = 0
        """int64, versions 0+"""
        state_batches: list[ReadShareGroupStateResponse.StateBatch] = NEW_LIST
        """[]StateBatch, versions 0+"""

    class ReadStateResult(Structure):
        """Structure ReadStateResult, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[ReadShareGroupStateResponse.PartitionResult] = NEW_LIST
        """[]PartitionResult, versions 0+"""

    NAME = "ReadShareGroupStateResponse"
    API_KEY = 84
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    results: list[ReadShareGroupStateResponse.ReadStateResult] = NEW_LIST
    """[]ReadStateResult, versions 0+"""


class ReadShareGroupStateSummaryRequest(Message):
    """Kafka's ReadShareGroupStateSummaryRequest (request), API key 87, versions 0-1, flexible 0+, listeners
    broker.
    """

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class ReadStateSummaryData(Structure):
        """Structure ReadStateSummaryData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[ReadShareGroupStateSummaryRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    NAME = "ReadShareGroupStateSummaryRequest"
    API_KEY = 87
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    topics: list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData] = NEW_LIST
    """[]ReadStateSummaryData, versions 0+"""


class ReadShareGroupStateSummaryResponse(Message):
    """Kafka's ReadShareGroupStateSummaryResponse (response), API key 87, versions 0-1, flexible 0+."""

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""
        state_epoch: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        start_offset: int = 0
        """int64, versions 0+"""
        delivery_complete_count: int = -1
        """int32, versions 1+, ignorable"""

    class ReadStateSummaryResult(Structure):
        """Structure ReadStateSummaryResult, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[ReadShareGroupStateSummaryResponse.PartitionResult] = NEW_LIST
        """[]PartitionResult, versions 0+"""

    NAME = "ReadShareGroupStateSummaryResponse"
    API_KEY = 87
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    results: list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult] = NEW_LIST
    """[]ReadStateSummaryResult, versions 0+"""


class ShareAcknowledgeRequest(Message):
    """Kafka's ShareAcknowledgeRequest (request), API key 79, versions 1-2, flexible 0+, listeners broker."""

    class AcknowledgementBatch(Structure):
        """Structure AcknowledgementBatch, versions 0+."""

        first_offset: int = 0
        """int64, versions 0+"""
        last_offset: int = 0
        """int64, versions 0+"""
        acknowledge_types: list[int] = NEW_LIST
        """[]int8, versions 0+"""

    class AcknowledgePartition(Structure):
        """Structure AcknowledgePartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+, map key"""
        acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgementBatch] = NEW_LIST
        """[]AcknowledgementBatch, versions 0+"""

    class AcknowledgeTopic(Structure):
        """Structure AcknowledgeTopic, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+, map key; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[ShareAcknowledgeRequest.AcknowledgePartition] = NEW_LIST
        """[]AcknowledgePartition, versions 0+"""

    NAME = "ShareAcknowledgeRequest"
    API_KEY = 79
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 0

    group_id: str | None = None
    """string, versions 0+, nullable 0+"""
    member_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    share_session_epoch: int = 0
    """int32, versions 0+"""
    is_renew_ack: bool = False
    """bool, versions 2+"""
    topics: list[ShareAcknowledgeRequest.AcknowledgeTopic] = NEW_LIST
    """[]AcknowledgeTopic, versions 0+"""


class ShareAcknowledgeResponse(Message):
    """Kafka's ShareAcknowledgeResponse (response), API key 79, versions 1-2, flexible 0+."""

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 0+."""

        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""
        current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch = NEW_STRUCTURE
        """LeaderIdAndEpoch, versions 0+"""

    class ShareAcknowledgeTopicResponse(Structure):
        """Structure ShareAcknowledgeTopicResponse, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+, map key; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[ShareAcknowledgeResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 0+."""

        node_id: int = 0
        """int32, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """int32, versions 0+"""
        rack: str | None = None
        """string, versions 0+, nullable 0+"""

    NAME = "ShareAcknowledgeResponse"
    API_KEY = 79
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
    acquisition_lock_timeout_ms: int = 0
    """int32, versions 2+, ignorable"""
    responses: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = NEW_LIST
    """[]ShareAcknowledgeTopicResponse, versions 0+"""
    node_endpoints: list[ShareAcknowledgeResponse.NodeEndpoint] = NEW_LIST
    """[]NodeEndpoint, versions 0+"""


class ShareFetchRequest(Message):
    """Kafka's ShareFetchRequest (request), API key 78, versions 1-2, flexible 0+, listeners broker."""

    class AcknowledgementBatch(Structure):
        """Structure AcknowledgementBatch, versions 0+."""

        first_offset: int = 0
        """int64, versions 0+"""
        last_offset: int = 0
        """int64, versions 0+"""
        acknowledge_types: list[int] = NEW_LIST
        """[]int8, versions 0+"""

    class FetchPartition(Structure):
        """Structure FetchPartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+, map key"""
        partition_max_bytes: int = 0
        """int32, versions 0"""
        acknowledgement_batches: list[ShareFetchRequest.AcknowledgementBatch] = NEW_LIST
        """[]AcknowledgementBatch, versions 0+"""

    class FetchTopic(Structure):
        """Structure FetchTopic, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+, map key; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[ShareFetchRequest.FetchPartition] = NEW_LIST
        """[]FetchPartition, versions 0+"""

    class ForgottenTopic(Structure):
        """Structure ForgottenTopic, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "ShareFetchRequest"
    API_KEY = 78
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 0

    group_id: str | None = None
    """string, versions 0+, nullable 0+"""
    member_id: str | None = ""
    """string, versions 0+, nullable 0+"""
    share_session_epoch: int = 0
    """int32, versions 0+"""
    max_wait_ms: int = 0
    """int32, versions 0+"""
    min_bytes: int = 0
    """int32, versions 0+"""
    max_bytes: int = 2147483647
    """int32, versions 0+"""
    max_records: int = 0
    """int32, versions 1+"""
    batch_size: int = 0
    """int32, versions 1+"""
    share_acquire_mode: int = 0
    """int8, versions 2+, ignorable"""
    is_renew_ack: bool = False
    """bool, versions 2+"""
    topics: list[ShareFetchRequest.FetchTopic] = NEW_LIST
    """[]FetchTopic, versions 0+"""
    forgotten_topics_data: list[ShareFetchRequest.ForgottenTopic] = NEW_LIST
    """[]ForgottenTopic, versions 0+"""


class ShareFetchResponse(Message):
    """Kafka's ShareFetchResponse (response), API key 78, versions 1-2, flexible 0+."""

    class LeaderIdAndEpoch(Structure):
        """Structure LeaderIdAndEpoch, versions 0+."""

        leader_id: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""

    class AcquiredRecords(Structure):
        """Structure AcquiredRecords, versions 0+."""

        first_offset: int = 0
        """int64, versions 0+"""
        last_offset: int = 0
        """int64, versions 0+"""
        delivery_count: int = 0
        """int16, versions 0+"""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""
        acknowledge_error_code: int = 0
        """int16, versions 0+"""
        acknowledge_error_message: str | None = None
        """string, versions 0+, nullable 0+"""
        current_leader: ShareFetchResponse.LeaderIdAndEpoch = NEW_STRUCTURE
        """LeaderIdAndEpoch, versions 0+"""
        records: Records | None = None
        """records, versions 0+, nullable 0"""
        acquired_records: list[ShareFetchResponse.AcquiredRecords] = NEW_LIST
        """[]AcquiredRecords, versions 0+"""

    class ShareFetchableTopicResponse(Structure):
        """Structure ShareFetchableTopicResponse, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+, map key; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[ShareFetchResponse.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    class NodeEndpoint(Structure):
        """Structure NodeEndpoint, versions 0+."""

        node_id: int = 0
        """int32, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """int32, versions 0+"""
        rack: str | None = None
        """string, versions 0+, nullable 0+"""

    NAME = "ShareFetchResponse"
    API_KEY = 78
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
    acquisition_lock_timeout_ms: int = 0
    """int32, versions 1+"""
    responses: list[ShareFetchResponse.ShareFetchableTopicResponse] = NEW_LIST
    """[]ShareFetchableTopicResponse, versions 0+"""
    node_endpoints: list[ShareFetchResponse.NodeEndpoint] = NEW_LIST
    """[]NodeEndpoint, versions 0+"""


class ShareGroupDescribeRequest(Message):
    """Kafka's ShareGroupDescribeRequest (request), API key 77, versions 1, flexible 0+, listeners broker."""

    NAME = "ShareGroupDescribeRequest"
    API_KEY = 77
    VERSIONS = (1, 1)
    FLEXIBLE_SINCE = 0

    group_ids: list[str] = NEW_LIST
    """[]string, versions 0+"""
    include_authorized_operations: bool = False
    """bool, versions 0+"""


class ShareGroupDescribeResponse(Message):
    """Kafka's ShareGroupDescribeResponse (response), API key 77, versions 1, flexible 0+."""

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        topic_name: str = ""
        """string, versions 0+"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class Assignment(Structure):
        """Structure Assignment, versions 0+."""

        topic_partitions: list[ShareGroupDescribeResponse.TopicPartitions] = NEW_LIST
        """[]TopicPartitions, versions 0+"""

    class Member(Structure):
        """Structure Member, versions 0+."""

        member_id: str = ""
        """string, versions 0+"""
        rack_id: str | None = None
        """string, versions 0+, nullable 0+"""
        member_epoch: int = 0
        """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
        client_id: str = ""
        """string, versions 0+"""
        client_host: str = ""
        """string, versions 0+"""
        subscribed_topic_names: list[str] = NEW_LIST
        """[]string, versions 0+"""
        assignment: ShareGroupDescribeResponse.Assignment = NEW_STRUCTURE
        """Assignment, versions 0+"""

    class DescribedGroup(Structure):
        """Structure DescribedGroup, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""
        group_id: str = ""
        """string, versions 0+"""
        group_state: str = ""
        """string, versions 0+"""
        group_epoch: int = 0
        """int32, versions 0+"""
        assignment_epoch: int = 0
        """int32, versions 0+"""
        assignor_name: str = ""
        """string, versions 0+"""
        members: list[ShareGroupDescribeResponse.Member] = NEW_LIST
        """[]Member, versions 0+"""
        authorized_operations: int = -2147483648
        """int32, versions 0+"""

    NAME = "ShareGroupDescribeResponse"
    API_KEY = 77
    VERSIONS = (1, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    groups: list[ShareGroupDescribeResponse.DescribedGroup] = NEW_LIST
    """[]DescribedGroup, versions 0+"""


class ShareGroupHeartbeatRequest(Message):
    """Kafka's ShareGroupHeartbeatRequest (request), API key 76, versions 1, flexible 0+, listeners broker."""

    NAME = "ShareGroupHeartbeatRequest"
    API_KEY = 76
    VERSIONS = (1, 1)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    member_id: str = ""
    """string, versions 0+"""
    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    rack_id: str | None = None
    """string, versions 0+, nullable 0+"""
    subscribed_topic_names: list[str] | None = None
    """[]string, versions 0+, nullable 0+"""


class ShareGroupHeartbeatResponse(Message):
    """Kafka's ShareGroupHeartbeatResponse (response), API key 76, versions 1, flexible 0+."""

    class TopicPartitions(Structure):
        """Structure TopicPartitions, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class Assignment(Structure):
        """Structure Assignment, versions 0+."""

        topic_partitions: list[ShareGroupHeartbeatResponse.TopicPartitions] = NEW_LIST
        """[]TopicPartitions, versions 0+"""

    NAME = "ShareGroupHeartbeatResponse"
    API_KEY = 76
    VERSIONS = (1, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = None
    """string, versions 0+, nullable 0+; a text for people"""
    member_id: str | None = None
    """string, versions 0+, nullable 0+"""
    member_epoch: int = 0
    """int32, versions 0+; counts the assignments that the member has taken over (KIP-848)"""
    heartbeat_interval_ms: int = 0
    """int32, versions 0+"""
    assignment: ShareGroupHeartbeatResponse.Assignment | None = None
    """Assignment, versions 0+, nullable 0+"""


class WriteShareGroupStateRequest(Message):
    """Kafka's WriteShareGroupStateRequest (request), API key 85, versions 0-1, flexible 0+, listeners broker."""

    class StateBatch(Structure):
        """Structure StateBatch, versions 0+."""

        first_offset: int = 0
        """int64, versions 0+"""
        last_offset: int = 0
        """int64, versions 0+"""
        delivery_state: int = 0
        """int8, versions 0+"""
        delivery_count: int = 0
        """int16, versions 0+"""

    class PartitionData(Structure):
        """Structure PartitionData, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        state_epoch: int = 0
        """int32, versions 0+"""
        leader_epoch: int = 0
        """int32, versions 0+; counts the changes of the leader"""
        start_offset: int = 0
        """int64, versions 0+"""
        delivery_complete_count: int = -1
        """int32, versions 1+, ignorable"""
        state_batches: list[WriteShareGroupStateRequest.StateBatch] = NEW_LIST
        """[]StateBatch, versions 0+"""

    class WriteStateData(Structure):
        """Structure WriteStateData, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[WriteShareGroupStateRequest.PartitionData] = NEW_LIST
        """[]PartitionData, versions 0+"""

    NAME = "WriteShareGroupStateRequest"
    API_KEY = 85
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    group_id: str = ""
    """string, versions 0+"""
    topics: list[WriteShareGroupStateRequest.WriteStateData] = NEW_LIST
    """[]WriteStateData, versions 0+"""


class WriteShareGroupStateResponse(Message):
    """Kafka's WriteShareGroupStateResponse (response), API key 85, versions 0-1, flexible 0+."""

    class PartitionResult(Structure):
        """Structure PartitionResult, versions 0+."""

        partition: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""

    class WriteStateResult(Structure):
        """Structure WriteStateResult, versions 0+."""

        topic_id: bytes = ZERO_UUID
        """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
        partitions: list[WriteShareGroupStateResponse.PartitionResult] = NEW_LIST
        """[]PartitionResult, versions 0+"""

    NAME = "WriteShareGroupStateResponse"
    API_KEY = 85
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    results: list[WriteShareGroupStateResponse.WriteStateResult] = NEW_LIST
    """[]WriteStateResult, versions 0+"""
