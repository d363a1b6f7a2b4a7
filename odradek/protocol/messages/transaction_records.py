"""Keys and values of ``__transaction_state``, the marker that ends a transaction, entries of transaction indexes.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, Message, Structure


class AbortedTxn(Message):
    """Kafka's AbortedTxn (data), versions 0."""

    NAME = "AbortedTxn"
    API_KEY = -1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    producer_id: int = 0
    """int64, versions 0+; the id of an idempotent or transactional producer"""
    first_offset: int = 0
    """int64, versions 0+"""
    last_offset: int = 0
    """int64, versions 0+"""
    last_stable_offset: int = 0
    """int64, versions 0+; the end of the records that readers of committed records see"""


class EndTxnMarker(Message):
    """Kafka's EndTxnMarker (data), versions 0."""

    NAME = "EndTxnMarker"
    API_KEY = -1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    coordinator_epoch: int = 0
    """int32, versions 0+"""


class TransactionLogKey(Message):
    """Kafka's TransactionLogKey (record key), type 0, versions 0."""

    NAME = "TransactionLogKey"
    API_KEY = 0
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    transactional_id: str = ""
    """string, versions 0; the name of a transactional producer, the same after its restart"""


class TransactionLogValue(Message):
    """Kafka's TransactionLogValue (record value), type 0, versions 0-1, flexible 1+."""

    class PartitionsSchema(Structure):
        """Structure PartitionsSchema, versions 0+."""

        topic: str = ""
        """string, versions 0+"""
        partition_ids: list[int] = NEW_LIST
        """[]int32, versions 0+"""

    NAME = "TransactionLogValue"
    API_KEY = 0
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    producer_id: int = 0
    """int64, versions 0+; the id of an idempotent or transactional producer"""
    previous_producer_id: int = -1
    """int64, versions 1+, tag 0"""
    next_producer_id: int = -1
    """int64, versions 1+, tag 1"""
    producer_epoch: int = 0
    """int16, versions 0+; fences earlier instances of the producer"""
    next_producer_epoch: int = -1
    """int16, versions 1+, tag 3"""
    transaction_timeout_ms: int = 0
    """int32, versions 0+"""
    transaction_status: int = 0
    """int8, versions 0+"""
    transaction_partitions: list[TransactionLogValue.PartitionsSchema] | None = NEW_NULLABLE_LIST
    """[]PartitionsSchema, versions 0+, nullable 0+"""
    transaction_last_update_timestamp_ms: int = 0
    """int64, versions 0+"""
    transaction_start_timestamp_ms: int = 0
    """int64, versions 0+"""
    client_transaction_version: int = 0
    """int16, versions 1+, tag 2"""
