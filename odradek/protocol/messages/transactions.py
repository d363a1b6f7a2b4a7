"""Transactions and the producers in them.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import Message, Structure


class AddOffsetsToTxnRequest(Message):
    """Kafka's AddOffsetsToTxnRequest (request), API key 25, versions 0-4, flexible 3+, listeners broker.

    - transactional_id: string, versions 0+; the name of a transactional producer, the same after its restart
    - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
    - producer_epoch: int16, versions 0+; fences earlier instances of the producer
    - group_id: string, versions 0+
    """

    __slots__ = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "group_id",
    )

    NAME: ClassVar[str] = "AddOffsetsToTxnRequest"
    API_KEY: ClassVar[int] = 25
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id
        self.unknown_tagged_fields = None


class AddOffsetsToTxnResponse(Message):
    """Kafka's AddOffsetsToTxnResponse (response), API key 25, versions 0-4, flexible 3+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
    )

    NAME: ClassVar[str] = "AddOffsetsToTxnResponse"
    API_KEY: ClassVar[int] = 25
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tagged_fields = None


class AddPartitionsToTxnRequest(Message):
    """Kafka's AddPartitionsToTxnRequest (request), API key 24, versions 0-5, flexible 3+, listeners broker.

    - transactions: []AddPartitionsToTxnTransaction, versions 4+
    - v3_and_below_transactional_id: string, versions 0-3
    - v3_and_below_producer_id: int64, versions 0-3
    - v3_and_below_producer_epoch: int16, versions 0-3
    - v3_and_below_topics: []AddPartitionsToTxnTopic, versions 0-3
    """

    class AddPartitionsToTxnTopic(Structure):
        """Structure AddPartitionsToTxnTopic, versions 0+.

        - name: string, versions 0+, map key
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class AddPartitionsToTxnTransaction(Structure):
        """Structure AddPartitionsToTxnTransaction, versions 4+.

        - transactional_id: string, versions 4+, map key; the name of a transactional producer, the same after its
          restart
        - producer_id: int64, versions 4+; the id of an idempotent or transactional producer
        - producer_epoch: int16, versions 4+; fences earlier instances of the producer
        - verify_only: bool, versions 4+
        - topics: []AddPartitionsToTxnTopic, versions 4+
        """

        __slots__ = (
            "transactional_id",
            "producer_id",
            "producer_epoch",
            "verify_only",
            "topics",
        )

        def __init__(
            self,
            transactional_id: str = "",
            producer_id: int = 0,
            producer_epoch: int = 0,
            verify_only: bool = False,
            topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] | None = None,
        ) -> None:
            self.transactional_id = transactional_id
            self.producer_id = producer_id
            self.producer_epoch = producer_epoch
            self.verify_only = verify_only
            self.topics = [] if topics is None else topics
            self.unknown_tagged_fields = None

    __slots__ = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
    )

    NAME: ClassVar[str] = "AddPartitionsToTxnRequest"
    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] | None = None,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] | None = None,
    ) -> None:
        self.transactions = [] if transactions is None else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is None else v3_and_below_topics
        self.unknown_tagged_fields = None


class AddPartitionsToTxnResponse(Message):
    """Kafka's AddPartitionsToTxnResponse (response), API key 24, versions 0-5, flexible 3+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 4+, ignorable; an ErrorCode, 0 for success
    - results_by_transaction: []AddPartitionsToTxnResult, versions 4+
    - results_by_topic_v3_and_below: []AddPartitionsToTxnTopicResult, versions 0-3
    """

    class AddPartitionsToTxnTopicResult(Structure):
        """Structure AddPartitionsToTxnTopicResult, versions 0+.

        - name: string, versions 0+, map key
        - results_by_partition: []AddPartitionsToTxnPartitionResult, versions 0+
        """

        __slots__ = (
            "name",
            "results_by_partition",
        )

        def __init__(
            self,
            name: str = "",
            results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] | None = None,
        ) -> None:
            self.name = name
            self.results_by_partition = [] if results_by_partition is None else results_by_partition
            self.unknown_tagged_fields = None

    class AddPartitionsToTxnPartitionResult(Structure):
        """Structure AddPartitionsToTxnPartitionResult, versions 0+.

        - partition_index: int32, versions 0+, map key
        - partition_error_code: int16, versions 0+
        """

        __slots__ = (
            "partition_index",
            "partition_error_code",
        )

        def __init__(
            self,
            partition_index: int = 0,
            partition_error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.partition_error_code = partition_error_code
            self.unknown_tagged_fields = None

    class AddPartitionsToTxnResult(Structure):
        """Structure AddPartitionsToTxnResult, versions 4+.

        - transactional_id: string, versions 4+, map key; the name of a transactional producer, the same after its
          restart
        - topic_results: []AddPartitionsToTxnTopicResult, versions 4+
        """

        __slots__ = (
            "transactional_id",
            "topic_results",
        )

        def __init__(
            self,
            transactional_id: str = "",
            topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] | None = None,
        ) -> None:
            self.transactional_id = transactional_id
            self.topic_results = [] if topic_results is None else topic_results
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "results_by_transaction",
        "results_by_topic_v3_and_below",
    )

    NAME: ClassVar[str] = "AddPartitionsToTxnResponse"
    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] | None = None,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is None else results_by_transaction
        self.results_by_topic_v3_and_below = (
            [] if results_by_topic_v3_and_below is None else results_by_topic_v3_and_below
        )
        self.unknown_tagged_fields = None


class DescribeProducersRequest(Message):
    """Kafka's DescribeProducersRequest (request), API key 61, versions 0, flexible 0+, listeners broker.

    - topics: []TopicRequest, versions 0+
    """

    class TopicRequest(Structure):
        """Structure TopicRequest, versions 0+.

        - name: string, versions 0+
        - partition_indexes: []int32, versions 0+
        """

        __slots__ = (
            "name",
            "partition_indexes",
        )

        def __init__(
            self,
            name: str = "",
            partition_indexes: list[int] | None = None,
        ) -> None:
            self.name = name
            self.partition_indexes = [] if partition_indexes is None else partition_indexes
            self.unknown_tagged_fields = None

    __slots__ = ("topics",)

    NAME: ClassVar[str] = "DescribeProducersRequest"
    API_KEY: ClassVar[int] = 61
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topics: list[DescribeProducersRequest.TopicRequest] | None = None,
    ) -> None:
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class DescribeProducersResponse(Message):
    """Kafka's DescribeProducersResponse (response), API key 61, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - topics: []TopicResponse, versions 0+
    """

    class ProducerState(Structure):
        """Structure ProducerState, versions 0+.

        - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
        - producer_epoch: int32, versions 0+; fences earlier instances of the producer
        - last_sequence: int32, versions 0+
        - last_timestamp: int64, versions 0+
        - coordinator_epoch: int32, versions 0+
        - current_txn_start_offset: int64, versions 0+
        """

        __slots__ = (
            "producer_id",
            "producer_epoch",
            "last_sequence",
            "last_timestamp",
            "coordinator_epoch",
            "current_txn_start_offset",
        )

        def __init__(
            self,
            producer_id: int = 0,
            producer_epoch: int = 0,
            last_sequence: int = -1,
            last_timestamp: int = -1,
            coordinator_epoch: int = 0,
            current_txn_start_offset: int = -1,
        ) -> None:
            self.producer_id = producer_id
            self.producer_epoch = producer_epoch
            self.last_sequence = last_sequence
            self.last_timestamp = last_timestamp
            self.coordinator_epoch = coordinator_epoch
            self.current_txn_start_offset = current_txn_start_offset
            self.unknown_tagged_fields = None

    class PartitionResponse(Structure):
        """Structure PartitionResponse, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - active_producers: []ProducerState, versions 0+
        """

        __slots__ = (
            "partition_index",
            "error_code",
            "error_message",
            "active_producers",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
            active_producers: list[DescribeProducersResponse.ProducerState] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.active_producers = [] if active_producers is None else active_producers
            self.unknown_tagged_fields = None

    class TopicResponse(Structure):
        """Structure TopicResponse, versions 0+.

        - name: string, versions 0+
        - partitions: []PartitionResponse, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[DescribeProducersResponse.PartitionResponse] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "DescribeProducersResponse"
    API_KEY: ClassVar[int] = 61
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeProducersResponse.TopicResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class DescribeTransactionsRequest(Message):
    """Kafka's DescribeTransactionsRequest (request), API key 65, versions 0, flexible 0+, listeners broker.

    - transactional_ids: []string, versions 0+
    """

    __slots__ = ("transactional_ids",)

    NAME: ClassVar[str] = "DescribeTransactionsRequest"
    API_KEY: ClassVar[int] = 65
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        transactional_ids: list[str] | None = None,
    ) -> None:
        self.transactional_ids = [] if transactional_ids is None else transactional_ids
        self.unknown_tagged_fields = None


class DescribeTransactionsResponse(Message):
    """Kafka's DescribeTransactionsResponse (response), API key 65, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - transaction_states: []TransactionState, versions 0+
    """

    class TopicData(Structure):
        """Structure TopicData, versions 0+.

        - topic: string, versions 0+, map key
        - partitions: []int32, versions 0+
        """

        __slots__ = (
            "topic",
            "partitions",
        )

        def __init__(
            self,
            topic: str = "",
            partitions: list[int] | None = None,
        ) -> None:
            self.topic = topic
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class TransactionState(Structure):
        """Structure TransactionState, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - transactional_id: string, versions 0+; the name of a transactional producer, the same after its restart
        - transaction_state: string, versions 0+
        - transaction_timeout_ms: int32, versions 0+
        - transaction_start_time_ms: int64, versions 0+
        - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
        - producer_epoch: int16, versions 0+; fences earlier instances of the producer
        - topics: []TopicData, versions 0+
        """

        __slots__ = (
            "error_code",
            "transactional_id",
            "transaction_state",
            "transaction_timeout_ms",
            "transaction_start_time_ms",
            "producer_id",
            "producer_epoch",
            "topics",
        )

        def __init__(
            self,
            error_code: int = 0,
            transactional_id: str = "",
            transaction_state: str = "",
            transaction_timeout_ms: int = 0,
            transaction_start_time_ms: int = 0,
            producer_id: int = 0,
            producer_epoch: int = 0,
            topics: list[DescribeTransactionsResponse.TopicData] | None = None,
        ) -> None:
            self.error_code = error_code
            self.transactional_id = transactional_id
            self.transaction_state = transaction_state
            self.transaction_timeout_ms = transaction_timeout_ms
            self.transaction_start_time_ms = transaction_start_time_ms
            self.producer_id = producer_id
            self.producer_epoch = producer_epoch
            self.topics = [] if topics is None else topics
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "transaction_states",
    )

    NAME: ClassVar[str] = "DescribeTransactionsResponse"
    API_KEY: ClassVar[int] = 65
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[DescribeTransactionsResponse.TransactionState] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is None else transaction_states
        self.unknown_tagged_fields = None


class EndTxnRequest(Message):
    """Kafka's EndTxnRequest (request), API key 26, versions 0-5, flexible 3+, listeners broker.

    - transactional_id: string, versions 0+; the name of a transactional producer, the same after its restart
    - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
    - producer_epoch: int16, versions 0+; fences earlier instances of the producer
    - committed: bool, versions 0+
    """

    __slots__ = (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "committed",
    )

    NAME: ClassVar[str] = "EndTxnRequest"
    API_KEY: ClassVar[int] = 26
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed
        self.unknown_tagged_fields = None


class EndTxnResponse(Message):
    """Kafka's EndTxnResponse (response), API key 26, versions 0-5, flexible 3+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - producer_id: int64, versions 5+, ignorable; the id of an idempotent or transactional producer
    - producer_epoch: int16, versions 5+, ignorable; fences earlier instances of the producer
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
    )

    NAME: ClassVar[str] = "EndTxnResponse"
    API_KEY: ClassVar[int] = 26
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.unknown_tagged_fields = None


class InitProducerIdRequest(Message):
    """Kafka's InitProducerIdRequest (request), API key 22, versions 0-6, flexible 2+, listeners broker, the latest
    version is not stable yet.

    - transactional_id: string, versions 0+, nullable 0+; the name of a transactional producer, the same after its
      restart
    - transaction_timeout_ms: int32, versions 0+
    - producer_id: int64, versions 3+; the id of an idempotent or transactional producer
    - producer_epoch: int16, versions 3+; fences earlier instances of the producer
    - enable2_pc: bool, versions 6+
    - keep_prepared_txn: bool, versions 6+
    """

    __slots__ = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable2_pc",
        "keep_prepared_txn",
    )

    NAME: ClassVar[str] = "InitProducerIdRequest"
    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable2_pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable2_pc = enable2_pc
        self.keep_prepared_txn = keep_prepared_txn
        self.unknown_tagged_fields = None


class InitProducerIdResponse(Message):
    """Kafka's InitProducerIdResponse (response), API key 22, versions 0-6, flexible 2+.

    - throttle_time_ms: int32, versions 0+, ignorable; how long the client should wait before its next request,
      because of a quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
    - producer_epoch: int16, versions 0+; fences earlier instances of the producer
    - ongoing_txn_producer_id: int64, versions 6+
    - ongoing_txn_producer_epoch: int16, versions 6+
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "producer_id",
        "producer_epoch",
        "ongoing_txn_producer_id",
        "ongoing_txn_producer_epoch",
    )

    NAME: ClassVar[str] = "InitProducerIdResponse"
    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch
        self.unknown_tagged_fields = None


class ListTransactionsRequest(Message):
    """Kafka's ListTransactionsRequest (request), API key 66, versions 0-2, flexible 0+, listeners broker.

    - state_filters: []string, versions 0+
    - producer_id_filters: []int64, versions 0+
    - duration_filter: int64, versions 1+
    - transactional_id_pattern: string, versions 2+, nullable 2+
    """

    __slots__ = (
        "state_filters",
        "producer_id_filters",
        "duration_filter",
        "transactional_id_pattern",
    )

    NAME: ClassVar[str] = "ListTransactionsRequest"
    API_KEY: ClassVar[int] = 66
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        state_filters: list[str] | None = None,
        producer_id_filters: list[int] | None = None,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters = [] if state_filters is None else state_filters
        self.producer_id_filters = [] if producer_id_filters is None else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern
        self.unknown_tagged_fields = None


class ListTransactionsResponse(Message):
    """Kafka's ListTransactionsResponse (response), API key 66, versions 0-2, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - unknown_state_filters: []string, versions 0+
    - transaction_states: []TransactionState, versions 0+
    """

    class TransactionState(Structure):
        """Structure TransactionState, versions 0+.

        - transactional_id: string, versions 0+; the name of a transactional producer, the same after its restart
        - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
        - transaction_state: string, versions 0+
        """

        __slots__ = (
            "transactional_id",
            "producer_id",
            "transaction_state",
        )

        def __init__(
            self,
            transactional_id: str = "",
            producer_id: int = 0,
            transaction_state: str = "",
        ) -> None:
            self.transactional_id = transactional_id
            self.producer_id = producer_id
            self.transaction_state = transaction_state
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "unknown_state_filters",
        "transaction_states",
    )

    NAME: ClassVar[str] = "ListTransactionsResponse"
    API_KEY: ClassVar[int] = 66
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] | None = None,
        transaction_states: list[ListTransactionsResponse.TransactionState] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is None else unknown_state_filters
        self.transaction_states = [] if transaction_states is None else transaction_states
        self.unknown_tagged_fields = None


class TxnOffsetCommitRequest(Message):
    """Kafka's TxnOffsetCommitRequest (request), API key 28, versions 0-5, flexible 3+, listeners broker.

    - transactional_id: string, versions 0+; the name of a transactional producer, the same after its restart
    - group_id: string, versions 0+
    - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
    - producer_epoch: int16, versions 0+; fences earlier instances of the producer
    - generation_id: int32, versions 3+; counts the rebalances of the group
    - member_id: string, versions 3+
    - group_instance_id: string, versions 3+, nullable 3+; the name of a static member (KIP-345), null for a dynamic
      one
    - topics: []TxnOffsetCommitRequestTopic, versions 0+
    """

    class TxnOffsetCommitRequestPartition(Structure):
        """Structure TxnOffsetCommitRequestPartition, versions 0+.

        - partition_index: int32, versions 0+
        - committed_offset: int64, versions 0+
        - committed_leader_epoch: int32, versions 2+, ignorable
        - committed_metadata: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "partition_index",
            "committed_offset",
            "committed_leader_epoch",
            "committed_metadata",
        )

        def __init__(
            self,
            partition_index: int = 0,
            committed_offset: int = 0,
            committed_leader_epoch: int = -1,
            committed_metadata: str | None = "",
        ) -> None:
            self.partition_index = partition_index
            self.committed_offset = committed_offset
            self.committed_leader_epoch = committed_leader_epoch
            self.committed_metadata = committed_metadata
            self.unknown_tagged_fields = None

    class TxnOffsetCommitRequestTopic(Structure):
        """Structure TxnOffsetCommitRequestTopic, versions 0+.

        - name: string, versions 0+
        - partitions: []TxnOffsetCommitRequestPartition, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "member_id",
        "group_instance_id",
        "topics",
    )

    NAME: ClassVar[str] = "TxnOffsetCommitRequest"
    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class TxnOffsetCommitResponse(Message):
    """Kafka's TxnOffsetCommitResponse (response), API key 28, versions 0-5, flexible 3+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - topics: []TxnOffsetCommitResponseTopic, versions 0+
    """

    class TxnOffsetCommitResponsePartition(Structure):
        """Structure TxnOffsetCommitResponsePartition, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        """

        __slots__ = (
            "partition_index",
            "error_code",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.unknown_tagged_fields = None

    class TxnOffsetCommitResponseTopic(Structure):
        """Structure TxnOffsetCommitResponseTopic, versions 0+.

        - name: string, versions 0+
        - partitions: []TxnOffsetCommitResponsePartition, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    NAME: ClassVar[str] = "TxnOffsetCommitResponse"
    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_SINCE: ClassVar[int] = 3

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is None else topics
        self.unknown_tagged_fields = None


class WriteTxnMarkersRequest(Message):
    """Kafka's WriteTxnMarkersRequest (request), API key 27, versions 0-2, flexible 1+, listeners broker.

    - markers: []WritableTxnMarker, versions 0+
    """

    class WritableTxnMarkerTopic(Structure):
        """Structure WritableTxnMarkerTopic, versions 0+.

        - name: string, versions 0+
        - partition_indexes: []int32, versions 0+
        """

        __slots__ = (
            "name",
            "partition_indexes",
        )

        def __init__(
            self,
            name: str = "",
            partition_indexes: list[int] | None = None,
        ) -> None:
            self.name = name
            self.partition_indexes = [] if partition_indexes is None else partition_indexes
            self.unknown_tagged_fields = None

    class WritableTxnMarker(Structure):
        """Structure WritableTxnMarker, versions 0+.

        - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
        - producer_epoch: int16, versions 0+; fences earlier instances of the producer
        - transaction_result: bool, versions 0+
        - topics: []WritableTxnMarkerTopic, versions 0+
        - coordinator_epoch: int32, versions 0+
        - transaction_version: int8, versions 2+, ignorable
        """

        __slots__ = (
            "producer_id",
            "producer_epoch",
            "transaction_result",
            "topics",
            "coordinator_epoch",
            "transaction_version",
        )

        def __init__(
            self,
            producer_id: int = 0,
            producer_epoch: int = 0,
            transaction_result: bool = False,
            topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic] | None = None,
            coordinator_epoch: int = 0,
            transaction_version: int = 0,
        ) -> None:
            self.producer_id = producer_id
            self.producer_epoch = producer_epoch
            self.transaction_result = transaction_result
            self.topics = [] if topics is None else topics
            self.coordinator_epoch = coordinator_epoch
            self.transaction_version = transaction_version
            self.unknown_tagged_fields = None

    __slots__ = ("markers",)

    NAME: ClassVar[str] = "WriteTxnMarkersRequest"
    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        markers: list[WriteTxnMarkersRequest.WritableTxnMarker] | None = None,
    ) -> None:
        self.markers = [] if markers is None else markers
        self.unknown_tagged_fields = None


class WriteTxnMarkersResponse(Message):
    """Kafka's WriteTxnMarkersResponse (response), API key 27, versions 0-2, flexible 1+.

    - markers: []WritableTxnMarkerResult, versions 0+
    """

    class WritableTxnMarkerPartitionResult(Structure):
        """Structure WritableTxnMarkerPartitionResult, versions 0+.

        - partition_index: int32, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        """

        __slots__ = (
            "partition_index",
            "error_code",
        )

        def __init__(
            self,
            partition_index: int = 0,
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.unknown_tagged_fields = None

    class WritableTxnMarkerTopicResult(Structure):
        """Structure WritableTxnMarkerTopicResult, versions 0+.

        - name: string, versions 0+
        - partitions: []WritableTxnMarkerPartitionResult, versions 0+
        """

        __slots__ = (
            "name",
            "partitions",
        )

        def __init__(
            self,
            name: str = "",
            partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult] | None = None,
        ) -> None:
            self.name = name
            self.partitions = [] if partitions is None else partitions
            self.unknown_tagged_fields = None

    class WritableTxnMarkerResult(Structure):
        """Structure WritableTxnMarkerResult, versions 0+.

        - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
        - topics: []WritableTxnMarkerTopicResult, versions 0+
        """

        __slots__ = (
            "producer_id",
            "topics",
        )

        def __init__(
            self,
            producer_id: int = 0,
            topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] | None = None,
        ) -> None:
            self.producer_id = producer_id
            self.topics = [] if topics is None else topics
            self.unknown_tagged_fields = None

    __slots__ = ("markers",)

    NAME: ClassVar[str] = "WriteTxnMarkersResponse"
    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult] | None = None,
    ) -> None:
        self.markers = [] if markers is None else markers
        self.unknown_tagged_fields = None
