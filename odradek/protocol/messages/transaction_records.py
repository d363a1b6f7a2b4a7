"""Keys and values of ``__transaction_state``, and the marker that ends a transaction.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, Message, Structure


class EndTxnMarker(Message):
    """Kafka's EndTxnMarker (data), versions 0.

    - coordinator_epoch: int32, versions 0+
    """

    __slots__ = ("coordinator_epoch",)

    NAME: ClassVar[str] = "EndTxnMarker"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        coordinator_epoch: int = 0,
    ) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.unknown_tagged_fields = None


class TransactionLogKey(Message):
    """Kafka's TransactionLogKey (record key), type 0, versions 0.

    - transactional_id: string, versions 0; the name of a transactional producer, the same after its restart
    """

    __slots__ = ("transactional_id",)

    NAME: ClassVar[str] = "TransactionLogKey"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        transactional_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.unknown_tagged_fields = None


class TransactionLogValue(Message):
    """Kafka's TransactionLogValue (record value), type 0, versions 0-1, flexible 1+.

    - producer_id: int64, versions 0+; the id of an idempotent or transactional producer
    - previous_producer_id: int64, versions 1+, tag 0
    - next_producer_id: int64, versions 1+, tag 1
    - producer_epoch: int16, versions 0+; fences earlier instances of the producer
    - next_producer_epoch: int16, versions 1+, tag 3
    - transaction_timeout_ms: int32, versions 0+
    - transaction_status: int8, versions 0+
    - transaction_partitions: []PartitionsSchema, versions 0+, nullable 0+
    - transaction_last_update_timestamp_ms: int64, versions 0+
    - transaction_start_timestamp_ms: int64, versions 0+
    - client_transaction_version: int16, versions 1+, tag 2
    """

    class PartitionsSchema(Structure):
        """Structure PartitionsSchema, versions 0+.

        - topic: string, versions 0+
        - partition_ids: []int32, versions 0+
        """

        __slots__ = (
            "topic",
            "partition_ids",
        )

        def __init__(
            self,
            topic: str = "",
            partition_ids: list[int] | None = None,
        ) -> None:
            self.topic = topic
            self.partition_ids = [] if partition_ids is None else partition_ids
            self.unknown_tagged_fields = None

    __slots__ = (
        "producer_id",
        "previous_producer_id",
        "next_producer_id",
        "producer_epoch",
        "next_producer_epoch",
        "transaction_timeout_ms",
        "transaction_status",
        "transaction_partitions",
        "transaction_last_update_timestamp_ms",
        "transaction_start_timestamp_ms",
        "client_transaction_version",
    )

    NAME: ClassVar[str] = "TransactionLogValue"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[TransactionLogValue.PartitionsSchema] | None = NEW_LIST,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = [] if transaction_partitions is NEW_LIST else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version
        self.unknown_tagged_fields = None
