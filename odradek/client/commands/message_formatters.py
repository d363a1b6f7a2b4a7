"""``--formatter``: how ``odradek consume`` prints records, by the names of Kafka's classes.

    DefaultMessageFormatter           the value, and other fields if the properties enable them
    LoggingMessageFormatter           the same, and a line for each record on standard error
    NoOpMessageFormatter              nothing
    OffsetsMessageFormatter           committed offsets, from __consumer_offsets, as JSON
    GroupMetadataMessageFormatter     classic groups, from __consumer_offsets, as JSON
    TransactionLogMessageFormatter    transactional ids, from __transaction_state, as JSON
    ShareGroupStateMessageFormatter   share groups, from __share_group_state, as JSON

LoggingMessageFormatter writes to standard error; the others do no I/O. Source: ``org.apache.kafka.tools.consumer``.
"""

import sys
from collections.abc import Mapping
from typing import Protocol

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ProtocolError
from odradek.protocol.names.transaction_states import transaction_state_name

from ..types import TIMESTAMP_TYPE_NAMES, ConsumerRecord
from .deserializers import DeserializationError
from .record_format import RecordFormat

with lazy_imports:
    from odradek.protocol import codec, messages
    from odradek.protocol.show import message_documents


class Formatter(Protocol):
    """A function that returns the output for a record; empty if nothing is printed. Raises DeserializationError."""

    def __call__(self, record: ConsumerRecord, delivery_count: int | None = None) -> bytes:
        """The bytes to print. ``delivery_count``: how often a share group has delivered the record."""


INTERNAL_RECORDS: Mapping[str, Mapping[int, str]] = {
    "OffsetsMessageFormatter": {0: "LegacyOffsetCommit", 1: "OffsetCommit"},
    "GroupMetadataMessageFormatter": {2: "GroupMetadata"},
    "TransactionLogMessageFormatter": {0: "TransactionLog"},
    "ShareGroupStateMessageFormatter": {0: "ShareSnapshot", 1: "ShareUpdate"},
}
"""Formatter class -> record types that it prints (number at the start of the key -> message name without Key/Value)."""
VERSION_BYTES = 2
PLAIN = ("DefaultMessageFormatter", "LoggingMessageFormatter", "NoOpMessageFormatter")


def formatter_of(class_name: str, record_format: RecordFormat) -> Formatter:
    """The formatter of a class, with or without its package. Raises ValueError for an unknown one."""
    name = class_name.replace("$", ".").rpartition(".")[2]
    if name == "DefaultMessageFormatter":
        return record_format.line
    if name == "LoggingMessageFormatter":
        return lambda record, delivery_count=None: _logged(record, record_format, delivery_count)
    if name == "NoOpMessageFormatter":
        return lambda record, delivery_count=None: b""
    if name in INTERNAL_RECORDS:
        return _internal(INTERNAL_RECORDS[name])
    known = ", ".join((*PLAIN, *INTERNAL_RECORDS))
    raise ValueError(f"{class_name} is an unknown formatter; known are {known}")


def _logged(record: ConsumerRecord, record_format: RecordFormat, delivery_count: int | None) -> bytes:
    line = record_format.line(record, delivery_count)
    parts = [f"{TIMESTAMP_TYPE_NAMES[record.timestamp_type]}:{record.timestamp}"] if record.timestamp >= 0 else []
    for what, data in (("key", record.key), ("value", record.value)):
        parts.append(f"{what}:{'null' if data is None else data.decode('utf-8', 'replace')}")
    print(", ".join(parts), file=sys.stderr)
    return line


def _internal(types: Mapping[int, str]) -> Formatter:
    """A formatter for the records of an internal topic: JSON without separators between records, as in Kafka."""

    def shown(class_name: str, version: int, data: bytes) -> object:
        kind_of_message = messages.message_class(class_name)
        low, high = kind_of_message.VERSIONS
        if not low <= version <= high:
            return "unknown"
        try:
            found = message_documents.document(codec.decode(kind_of_message, version, data, VERSION_BYTES)[0], version)
        except ProtocolError as error:
            raise DeserializationError(f"a malformed {class_name}: {error}") from None
        if class_name == "TransactionLogValue":
            found["transactionStatus"] = transaction_state_name(found["transactionStatus"])
        return found

    def line(record: ConsumerRecord, delivery_count: int | None = None) -> bytes:
        kind = -1 if record.key is None else _int16(record.key)
        if record.key is None or kind not in types:
            return b""
        value: object = None
        if record.value is not None:
            version = _int16(record.value)
            value = {"version": version, "data": shown(f"{types[kind]}Value", version, record.value)}
        key = {"type": kind, "data": shown(f"{types[kind]}Key", 0, record.key)}
        return message_documents.kafka_json({"key": key, "value": value}).encode()

    return line


def _int16(data: bytes) -> int:
    return int.from_bytes(data[:VERSION_BYTES], "big", signed=True)
