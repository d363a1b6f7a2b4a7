"""The records of ``__transaction_state``: one for each transactional id; the latest one counts.

Value version 1 (with the tagged fields of KIP-890) is written if transaction.version is finalised at 1 or more. The
framing is in :mod:`odradek.protocol.internal_records`. Pure but for log lines. Source: ``TransactionLog``.
"""

import logging
from collections.abc import Iterable
from typing import cast

from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.coordinator_serde import (
    TRANSACTION_RECORDS,
    encode_key,
    encode_value,
    record_type_of,
)
from odradek.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from odradek.protocol.names.topics import TopicPartition
from odradek.protocol.names.transaction_states import TransactionState

from .transaction import NO_PRODUCER_ID, Transaction

logger = logging.getLogger(__name__)

TAGGED_FIELDS_SINCE = 1


class TransactionRecord:
    """One record: the state of a transactional id, or None if it is deleted."""

    __slots__ = ("transaction", "transactional_id", "value_version")

    def __init__(self, transactional_id: str, transaction: Transaction | None, value_version: int) -> None:
        self.transactional_id = transactional_id
        self.transaction = transaction
        self.value_version = value_version

    def __repr__(self) -> str:
        return f"TransactionRecord({self.transactional_id!r}, {self.transaction!r}, {self.value_version})"

    def key_bytes(self) -> bytes:
        """The key as it is stored."""
        return encode_key(TransactionLogKey(self.transactional_id))

    def value_bytes(self) -> bytes | None:
        """The value as it is stored; None is a tombstone."""
        if self.transaction is None:
            return None
        return encode_value(_value(self.transaction, self.value_version), self.value_version)


def value_version(transaction_version: int) -> int:
    """Returns the version of values at a finalised level of transaction.version."""
    return 1 if transaction_version >= 1 else 0


def decode_record(key: bytes | None, value: bytes | None) -> TransactionRecord | None:
    """Reads a stored record; None for a key type that we do not know. Raises ProtocolError if the bytes are broken."""
    record_type = record_type_of(key)
    if record_type != TransactionLogKey.API_KEY:
        return None
    transactional_id = cast(TransactionLogKey, TRANSACTION_RECORDS.decode_key(key)).transactional_id
    if value is None:
        return TransactionRecord(transactional_id, None, 0)
    # An unknown version is an error: to skip it would be to forget a transaction. Kafka refuses to load it too.
    stored, version = TRANSACTION_RECORDS.decode_value(record_type, value)
    transaction = _transaction(transactional_id, cast(TransactionLogValue, stored))
    return TransactionRecord(transactional_id, transaction, version)


def _value(transaction: Transaction, version: int) -> TransactionLogValue:
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None
        if transaction.state is TransactionState.EMPTY
        else [
            TransactionLogValue.PartitionsSchema(topic, partitions)
            for topic, partitions in by_topic(transaction.partitions).items()
        ],
        transaction_last_update_timestamp_ms=transaction.last_update_timestamp_ms,
        transaction_start_timestamp_ms=transaction.start_timestamp_ms,
    )
    if version >= TAGGED_FIELDS_SINCE:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_transaction_version
    return value


def _transaction(transactional_id: str, value: TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise ProtocolError(f"{transactional_id!r} has transaction status {value.transaction_status}") from None
    if value.producer_id < 0 or value.producer_epoch < 0 or value.next_producer_id < NO_PRODUCER_ID:
        # No marker could be written for it. Only this id is refused, as in Kafka.
        producer = (value.producer_id, value.producer_epoch, value.next_producer_id)
        logger.error("transactional id %r can't be used: invalid producer %s in its record", transactional_id, producer)
        state = TransactionState.DEAD
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            (entry.topic, partition)
            for entry in value.transaction_partitions or ()
            for partition in entry.partition_ids
        ),
        start_timestamp_ms=value.transaction_start_timestamp_ms,
        last_update_timestamp_ms=value.transaction_last_update_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_transaction_version=value.client_transaction_version,
    )


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Returns partitions by topic, in a stable order."""
    grouped: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        grouped.setdefault(topic, []).append(partition)
    return grouped
