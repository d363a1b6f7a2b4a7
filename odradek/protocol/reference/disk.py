"""The structures at fixed offsets of a log directory, as construct Structs: for dump-log and checks.

Owns: the position of each field. Never does: I/O, checking contents (a CRC is shown, not checked). Invariant: an
entry's Struct has a fixed size (``sizeof()``). Source: Kafka's ``DefaultRecordBatch``, ``DefaultRecord``,
``OffsetIndex``, ``TimeIndex``, ``AbortedTxn``, ``ProducerStateManager``. The broker itself uses ``struct``.
"""

from typing import Any

from construct import (
    BitsInteger,
    BitStruct,
    Construct,
    Container,
    Enum,
    Flag,
    Int32sb,
    Struct,
)

from .primitives import FIXED, VARINT, VARLONG, Elements, Field, SizedBytes, Utf8
from .wire import parse


def _fixed(name: str, kind: str) -> Field:
    return Field(name, kind, FIXED[kind])


RECORD_BATCH_ATTRIBUTES = BitStruct(
    "unused" / BitsInteger(9),
    "has_delete_horizon" / Flag,
    "is_control" / Flag,
    "is_transactional" / Flag,
    "timestamp_type" / Enum(BitsInteger(1), CREATE_TIME=0, LOG_APPEND_TIME=1),
    "compression" / Enum(BitsInteger(3), NONE=0, GZIP=1, SNAPPY=2, LZ4=3, ZSTD=4),
)
"""The 16 bits of a batch's attributes, most significant first."""

RECORD_BATCH_HEADER = Struct(
    _fixed("base_offset", "int64"),
    _fixed("batch_length", "int32"),  # the bytes after this field
    _fixed("partition_leader_epoch", "int32"),
    _fixed("magic", "int8"),
    _fixed("crc", "uint32"),  # CRC-32C of everything from the attributes to the end of the batch
    Field("attributes", "int16", RECORD_BATCH_ATTRIBUTES),
    _fixed("last_offset_delta", "int32"),
    _fixed("base_timestamp", "int64"),
    _fixed("max_timestamp", "int64"),
    _fixed("producer_id", "int64"),
    _fixed("producer_epoch", "int16"),
    _fixed("base_sequence", "int32"),
    _fixed("records_count", "int32"),
)
"""The 61 bytes before the records of a batch of magic 2; the records follow, compressed as the attributes say."""

MESSAGE_ATTRIBUTES = BitStruct(
    "unused" / BitsInteger(4),
    "timestamp_type" / Enum(BitsInteger(1), CREATE_TIME=0, LOG_APPEND_TIME=1),
    "compression" / Enum(BitsInteger(3), NONE=0, GZIP=1, SNAPPY=2, LZ4=3),
)
"""The 8 bits of the attributes of a message of format 0 or 1."""

_MESSAGE_START = (
    _fixed("offset", "int64"),
    _fixed("length", "int32"),  # the bytes after this field
    _fixed("crc", "uint32"),  # CRC-32 of everything after it
    _fixed("magic", "int8"),
    Field("attributes", "int8", MESSAGE_ATTRIBUTES),
)
_MESSAGE_END = (
    Field("key", "bytes", SizedBytes(Int32sb, nullable=True)),
    Field("value", "bytes", SizedBytes(Int32sb, nullable=True)),  # of a wrapper: compressed messages
)
MESSAGES = (
    Struct(*_MESSAGE_START, *_MESSAGE_END),
    Struct(*_MESSAGE_START, _fixed("timestamp", "int64"), *_MESSAGE_END),
)
"""By message format, 0 and 1: one message, as Kafka before 0.11 wrote them. Source: Kafka's ``LegacyRecord``."""

RECORD_HEADER = Struct(
    Field("key", "string", Utf8(SizedBytes(VARINT, nullable=False))),
    Field("value", "bytes", SizedBytes(VARINT, nullable=True)),
)
"""One header of a record."""

RECORD = Struct(
    Field("length", "varint", VARINT),  # the bytes after this field
    _fixed("attributes", "int8"),  # none is defined
    Field("timestamp_delta", "varlong", VARLONG),
    Field("offset_delta", "varint", VARINT),
    Field("key", "bytes", SizedBytes(VARINT, nullable=True)),
    Field("value", "bytes", SizedBytes(VARINT, nullable=True)),
    Field("headers", "[]header", Elements(VARINT, RECORD_HEADER, 2, "header", nullable=False)),
)
"""One record of an uncompressed (or decompressed) batch of magic 2."""

OFFSET_INDEX_ENTRY = Struct(_fixed("relative_offset", "int32"), _fixed("position", "int32"))
"""``.index``, 8 bytes: an offset, relative to the segment's base offset, and where its batch lies in the log file."""

TIME_INDEX_ENTRY = Struct(_fixed("timestamp", "int64"), _fixed("relative_offset", "int32"))
"""``.timeindex``, 12 bytes: the largest timestamp (ms) up to the relative offset that carries it."""

TRANSACTION_INDEX_ENTRY = Struct(
    _fixed("version", "int16"),
    _fixed("producer_id", "int64"),
    _fixed("first_offset", "int64"),
    _fixed("last_offset", "int64"),
    _fixed("last_stable_offset", "int64"),
)
"""``.txnindex``, 34 bytes: an aborted transaction and the last stable offset when it was aborted."""

PRODUCER_SNAPSHOT_ENTRY = Struct(
    _fixed("producer_id", "int64"),
    _fixed("producer_epoch", "int16"),
    _fixed("last_sequence", "int32"),
    _fixed("last_offset", "int64"),
    _fixed("offset_delta", "int32"),
    _fixed("timestamp", "int64"),
    _fixed("coordinator_epoch", "int32"),
    _fixed("current_transaction_first_offset", "int64"),
)
"""The state of one producer in a ``.snapshot``, 46 bytes."""

PRODUCER_SNAPSHOT = Struct(
    _fixed("version", "int16"),
    _fixed("crc", "uint32"),  # CRC-32C of everything after it
    Field("producer_entries", "[]producer", Elements(Int32sb, PRODUCER_SNAPSHOT_ENTRY, 46, "producer", nullable=False)),
)
"""A whole ``.snapshot`` file, version 1: the producers known at the offset that is its name."""


def entries(structure: Construct, data: bytes | memoryview) -> list[Container[Any]]:
    """All entries in the bytes of an index file. Raises ProtocolError if the bytes end inside an entry.

    The index of an active segment is preallocated, so it may end with zeros. These are also returned as entries.
    """
    size = structure.sizeof()
    return [parse(structure, data[start : start + size]) for start in range(0, len(data), size)]
