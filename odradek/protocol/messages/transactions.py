"""Transactions and the producers in them.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, ZERO_UUID, Message, Structure


class AddOffsetsToTxnRequest(Message):
    """Kafka's AddOffsetsToTxnRequest (request), API key 25, versions 0-4, flexible 3+, listeners broker."""

    NAME = "AddOffsetsToTxnRequest"
    API_KEY = 25
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 3

    transactional_id: str = ""
    """string, versions 0+; the name of a transactional producer, the same after its restart"""
    producer_id: int = 0
    """int64, versions 0+; the id of an idempotent or transactional producer"""
    producer_epoch: int = 0
    """int16, versions 0+; fences earlier instances of the producer"""
    group_id: str = ""
    """string, versions 0+"""


class AddOffsetsToTxnResponse(Message):
    """Kafka's AddOffsetsToTxnResponse (response), API key 25, versions 0-4, flexible 3+."""

    NAME = "AddOffsetsToTxnResponse"
    API_KEY = 25
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 3

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""


class AddPartitionsToTxnRequest(Message):
    """Kafka's AddPartitionsToTxnRequest (request), API key 24, versions 0-5, flexible 3+, listeners broker."""

    class AddPartitionsToTxnTopic(Structure):
        """Structure AddPartitionsToTxnTopic, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class AddPartitionsToTxnTransaction(Structure):
        """Structure AddPartitionsToTxnTransaction, versions 4+."""

        transactional_id: str = ""
        """string, versions 4+, map key; the name of a transactional producer, the same after its restart"""
        producer_id: int = 0
        """int64, versions 4+; the id of an idempotent or transactional producer"""
        producer_epoch: int = 0
        """int16, versions 4+; fences earlier instances of the producer"""
        verify_only: bool = False
        """bool, versions 4+"""
        topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = NEW_LIST
        """[]AddPartitionsToTxnTopic, versions 4+"""

    NAME = "AddPartitionsToTxnRequest"
    API_KEY = 24
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = NEW_LIST
    """[]AddPartitionsToTxnTransaction, versions 4+"""
    v3_and_below_transactional_id: str = ""
    """string, versions 0-3"""
    v3_and_below_producer_id: int = 0
    """int64, versions 0-3"""
    v3_and_below_producer_epoch: int = 0
    """int16, versions 0-3"""
    v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = NEW_LIST
    """[]AddPartitionsToTxnTopic, versions 0-3"""


class AddPartitionsToTxnResponse(Message):
    """Kafka's AddPartitionsToTxnResponse (response), API key 24, versions 0-5, flexible 3+."""

    class AddPartitionsToTxnTopicResult(Structure):
        """Structure AddPartitionsToTxnTopicResult, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] = NEW_LIST
        """[]AddPartitionsToTxnPartitionResult, versions 0+"""

    class AddPartitionsToTxnPartitionResult(Structure):
        """Structure AddPartitionsToTxnPartitionResult, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+, map key"""
        partition_error_code: int = 0
        """int16, versions 0+"""

    class AddPartitionsToTxnResult(Structure):
        """Structure AddPartitionsToTxnResult, versions 4+."""

        transactional_id: str = ""
        """string, versions 4+, map key; the name of a transactional producer, the same after its restart"""
        topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = NEW_LIST
        """[]AddPartitionsToTxnTopicResult, versions 4+"""

    NAME = "AddPartitionsToTxnResponse"
    API_KEY = 24
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 4+, ignorable; an ErrorCode, 0 for success"""
    results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = NEW_LIST
    """[]AddPartitionsToTxnResult, versions 4+"""
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = NEW_LIST
    """[]AddPartitionsToTxnTopicResult, versions 0-3"""


class DescribeProducersRequest(Message):
    """Kafka's DescribeProducersRequest (request), API key 61, versions 0, flexible 0+, listeners broker."""

    class TopicRequest(Structure):
        """Structure TopicRequest, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        partition_indexes: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "DescribeProducersRequest"
    API_KEY = 61
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topics: list[DescribeProducersRequest.TopicRequest] = NEW_LIST
    """[]TopicRequest, versions 0+"""


class DescribeProducersResponse(Message):
    """Kafka's DescribeProducersResponse (response), API key 61, versions 0, flexible 0+."""

    class ProducerState(Structure):
        """Structure ProducerState, versions 0+."""

        producer_id: int = 0
        """int64, versions 0+; the id of an idempotent or transactional producer"""
        producer_epoch: int = 0
        """int32, versions 0+; fences earlier instances of the producer"""
        last_sequence: int = -1
        """int32, versions 0+"""
        last_timestamp: int = -1
        """int64, versions 0+"""
        coordinator_epoch: int = 0
        """int32, versions 0+"""
        current_txn_start_offset: int = -1
        """int64, versions 0+"""

    class PartitionResponse(Structure):
        """Structure PartitionResponse, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = None
        """string, versions 0+, nullable 0+; a text for people"""
        active_producers: list[DescribeProducersResponse.ProducerState] = NEW_LIST
        """[]ProducerState, versions 0+"""

    class TopicResponse(Structure):
        """Structure TopicResponse, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[DescribeProducersResponse.PartitionResponse] = NEW_LIST
        """[]PartitionResponse, versions 0+"""

    NAME = "DescribeProducersResponse"
    API_KEY = 61
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    topics: list[DescribeProducersResponse.TopicResponse] = NEW_LIST
    """[]TopicResponse, versions 0+"""


class DescribeTransactionsRequest(Message):
    """Kafka's DescribeTransactionsRequest (request), API key 65, versions 0, flexible 0+, listeners broker."""

    NAME = "DescribeTransactionsRequest"
    API_KEY = 65
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    transactional_ids: list[str] = NEW_LIST
    """[]string, versions 0+"""


class DescribeTransactionsResponse(Message):
    """Kafka's DescribeTransactionsResponse (response), API key 65, versions 0, flexible 0+."""

    class TopicData(Structure):
        """Structure TopicData, versions 0+."""

        topic: str = ""
        """string, versions 0+, map key"""
        partitions: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class TransactionState(Structure):
        """Structure TransactionState, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        transactional_id: str = ""
        """string, versions 0+; the name of a transactional producer, the same after its restart"""
        transaction_state: str = ""
        """string, versions 0+"""
        transaction_timeout_ms: int = 0
        """int32, versions 0+"""
        transaction_start_time_ms: int = 0
        """int64, versions 0+"""
        producer_id: int = 0
        """int64, versions 0+; the id of an idempotent or transactional producer"""
        producer_epoch: int = 0
        """int16, versions 0+; fences earlier instances of the producer"""
        topics: list[DescribeTransactionsResponse.TopicData] = NEW_LIST
        """[]TopicData, versions 0+"""

    NAME = "DescribeTransactionsResponse"
    API_KEY = 65
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    transaction_states: list[DescribeTransactionsResponse.TransactionState] = NEW_LIST
    """[]TransactionState, versions 0+"""


class EndTxnRequest(Message):
    """Kafka's EndTxnRequest (request), API key 26, versions 0-5, flexible 3+, listeners broker."""

    NAME = "EndTxnRequest"
    API_KEY = 26
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    transactional_id: str = ""
    """string, versions 0+; the name of a transactional producer, the same after its restart"""
    producer_id: int = 0
    """int64, versions 0+; the id of an idempotent or transactional producer"""
    producer_epoch: int = 0
    """int16, versions 0+; fences earlier instances of the producer"""
    committed: bool = False
    """bool, versions 0+"""


class EndTxnResponse(Message):
    """Kafka's EndTxnResponse (response), API key 26, versions 0-5, flexible 3+."""

    NAME = "EndTxnResponse"
    API_KEY = 26
    VERSIONS = (0, 5)
    FLEXIBLE_SINCE = 3

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    producer_id: int = -1
    """int64, versions 5+, ignorable; the id of an idempotent or transactional producer"""
    producer_epoch: int = -1
    """int16, versions 5+, ignorable; fences earlier instances of the producer"""


class InitProducerIdRequest(Message):
    """Kafka's InitProducerIdRequest (request), API key 22, versions 0-6, flexible 2+, listeners broker, the
    latest version is not stable yet.
    """

    NAME = "InitProducerIdRequest"
    API_KEY = 22
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 2

    transactional_id: str | None = ""
    """string, versions 0+, nullable 0+; the name of a transactional producer, the same after its restart"""
    transaction_timeout_ms: int = 0
    """int32, versions 0+"""
    producer_id: int = -1
    """int64, versions 3+; the id of an idempotent or transactional producer"""
    producer_epoch: int = -1
    """int16, versions 3+; fences earlier instances of the producer"""
    enable2_pc: bool = False
    """bool, versions 6+"""
    keep_prepared_txn: bool = False
    """bool, versions 6+"""


class InitProducerIdResponse(Message):
    """Kafka's InitProducerIdResponse (response), API key 22, versions 0-6, flexible 2+."""

    NAME = "InitProducerIdResponse"
    API_KEY = 22
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+, ignorable; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    producer_id: int = -1
    """int64, versions 0+; the id of an idempotent or transactional producer"""
    producer_epoch: int = 0
    """int16, versions 0+; fences earlier instances of the producer"""
    ongoing_txn_producer_id: int = -1
    """int64, versions 6+"""
    ongoing_txn_producer_epoch: int = -1
    """int16, versions 6+"""


class ListTransactionsRequest(Message):
    """Kafka's ListTransactionsRequest (request), API key 66, versions 0-2, flexible 0+, listeners broker."""

    NAME = "ListTransactionsRequest"
    API_KEY = 66
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    state_filters: list[str] = NEW_LIST
    """[]string, versions 0+"""
    producer_id_filters: list[int] = NEW_LIST
    """[]int64, versions 0+"""
    duration_filter: int = -1
    """int64, versions 1+"""
    transactional_id_pattern: str | None = None
    """string, versions 2+, nullable 2+"""


class ListTransactionsResponse(Message):
    """Kafka's ListTransactionsResponse (response), API key 66, versions 0-2, flexible 0+."""

    class TransactionState(Structure):
        """Structure TransactionState, versions 0+."""

        transactional_id: str = ""
        """string, versions 0+; the name of a transactional producer, the same after its restart"""
        producer_id: int = 0
        """int64, versions 0+; the id of an idempotent or transactional producer"""
        transaction_state: str = ""
        """string, versions 0+"""

    NAME = "ListTransactionsResponse"
    API_KEY = 66
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    unknown_state_filters: list[str] = NEW_LIST
    """[]string, versions 0+"""
    transaction_states: list[ListTransactionsResponse.TransactionState] = NEW_LIST
    """[]TransactionState, versions 0+"""


class TxnOffsetCommitRequest(Message):
    """Kafka's TxnOffsetCommitRequest (request), API key 28, versions 0-6, flexible 3+, listeners broker."""

    class TxnOffsetCommitRequestPartition(Structure):
        """Structure TxnOffsetCommitRequestPartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        committed_offset: int = 0
        """int64, versions 0+"""
        committed_leader_epoch: int = -1
        """int32, versions 2+, ignorable"""
        committed_metadata: str | None = ""
        """string, versions 0+, nullable 0+"""

    class TxnOffsetCommitRequestTopic(Structure):
        """Structure TxnOffsetCommitRequestTopic, versions 0+."""

        name: str = ""
        """string, versions 0-5, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 6+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = NEW_LIST
        """[]TxnOffsetCommitRequestPartition, versions 0+"""

    NAME = "TxnOffsetCommitRequest"
    API_KEY = 28
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 3

    transactional_id: str = ""
    """string, versions 0+; the name of a transactional producer, the same after its restart"""
    group_id: str = ""
    """string, versions 0+"""
    producer_id: int = 0
    """int64, versions 0+; the id of an idempotent or transactional producer"""
    producer_epoch: int = 0
    """int16, versions 0+; fences earlier instances of the producer"""
    generation_id_or_member_epoch: int = -1
    """int32, versions 3+"""
    member_id: str = ""
    """string, versions 3+"""
    group_instance_id: str | None = None
    """string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic one"""
    topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = NEW_LIST
    """[]TxnOffsetCommitRequestTopic, versions 0+"""


class TxnOffsetCommitResponse(Message):
    """Kafka's TxnOffsetCommitResponse (response), API key 28, versions 0-6, flexible 3+."""

    class TxnOffsetCommitResponsePartition(Structure):
        """Structure TxnOffsetCommitResponsePartition, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""

    class TxnOffsetCommitResponseTopic(Structure):
        """Structure TxnOffsetCommitResponseTopic, versions 0+."""

        name: str = ""
        """string, versions 0-5, ignorable"""
        topic_id: bytes = ZERO_UUID
        """uuid, versions 6+, ignorable; the id of the topic, which a new topic of the same name does not share
        (KIP-516)
        """
        partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = NEW_LIST
        """[]TxnOffsetCommitResponsePartition, versions 0+"""

    NAME = "TxnOffsetCommitResponse"
    API_KEY = 28
    VERSIONS = (0, 6)
    FLEXIBLE_SINCE = 3

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = NEW_LIST
    """[]TxnOffsetCommitResponseTopic, versions 0+"""


class WriteTxnMarkersRequest(Message):
    """Kafka's WriteTxnMarkersRequest (request), API key 27, versions 0-2, flexible 1+, listeners broker."""

    class WritableTxnMarkerTopic(Structure):
        """Structure WritableTxnMarkerTopic, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partition_indexes: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    class WritableTxnMarker(Structure):
        """Structure WritableTxnMarker, versions 0+."""

        producer_id: int = 0
        """int64, versions 0+; the id of an idempotent or transactional producer"""
        producer_epoch: int = 0
        """int16, versions 0+; fences earlier instances of the producer"""
        transaction_result: bool = False
        """bool, versions 0+"""
        topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic] = NEW_LIST
        """[]WritableTxnMarkerTopic, versions 0+"""
        coordinator_epoch: int = 0
        """int32, versions 0+"""
        transaction_version: int = 0
        """int8, versions 2+, ignorable"""

    NAME = "WriteTxnMarkersRequest"
    API_KEY = 27
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 1

    markers: list[WriteTxnMarkersRequest.WritableTxnMarker] = NEW_LIST
    """[]WritableTxnMarker, versions 0+"""


class WriteTxnMarkersResponse(Message):
    """Kafka's WriteTxnMarkersResponse (response), API key 27, versions 0-2, flexible 1+."""

    class WritableTxnMarkerPartitionResult(Structure):
        """Structure WritableTxnMarkerPartitionResult, versions 0+."""

        partition_index: int = 0
        """int32, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""

    class WritableTxnMarkerTopicResult(Structure):
        """Structure WritableTxnMarkerTopicResult, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult] = NEW_LIST
        """[]WritableTxnMarkerPartitionResult, versions 0+"""

    class WritableTxnMarkerResult(Structure):
        """Structure WritableTxnMarkerResult, versions 0+."""

        producer_id: int = 0
        """int64, versions 0+; the id of an idempotent or transactional producer"""
        topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] = NEW_LIST
        """[]WritableTxnMarkerTopicResult, versions 0+"""

    NAME = "WriteTxnMarkersResponse"
    API_KEY = 27
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 1

    markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult] = NEW_LIST
    """[]WritableTxnMarkerResult, versions 0+"""
