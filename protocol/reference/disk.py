"""The structures at fixed offsets of a log directory, as construct Structs: for dump-log and checks.

Owns: where each field lies. Never does: I/O, judging contents (a CRC is shown, not checked). Invariant: an entry's
Struct has a fixed size (``sizeof()``). Source: Kafka's ``DefaultRecordBatch``, ``DefaultRecord``, ``OffsetIndex``,
``TimeIndex``, ``AbortedTxn``, ``ProducerStateManager``. What serves and recovers reads the same bytes with ``struct``.
"""

from typing import Any

from construct import (
    BitsInteger,
    BitStruct,
    Construct,
    Container,
    Enum,
    Flag,
    Int8sb,
    Int16sb,
    Int32sb,
    Int32ub,
    Int64sb,
    Struct,
)

from .primitives import VARINT, VARLONG, Elements, SizedBytes, Utf8
from .wire import parse

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
    "base_offset" / Int64sb,
    "batch_length" / Int32sb,  # the bytes behind this field
    "partition_leader_epoch" / Int32sb,
    "magic" / Int8sb,
    "crc" / Int32ub,  # CRC-32C of everything from the attributes to the end of the batch
    "attributes" / RECORD_BATCH_ATTRIBUTES,
    "last_offset_delta" / Int32sb,
    "base_timestamp" / Int64sb,
    "max_timestamp" / Int64sb,
    "producer_id" / Int64sb,
    "producer_epoch" / Int16sb,
    "base_sequence" / Int32sb,
    "records_count" / Int32sb,
)
"""The 61 bytes before the records of a batch of magic 2; the records follow, compressed as the attributes say."""

RECORD_HEADER = Struct(
    "key" / Utf8(SizedBytes(VARINT, nullable=False)),
    "value" / SizedBytes(VARINT, nullable=True),
)
"""One header of a record."""

RECORD = Struct(
    "length" / VARINT,  # the bytes behind this field
    "attributes" / Int8sb,  # none is defined
    "timestamp_delta" / VARLONG,
    "offset_delta" / VARINT,
    "key" / SizedBytes(VARINT, nullable=True),
    "value" / SizedBytes(VARINT, nullable=True),
    "headers" / Elements(VARINT, RECORD_HEADER, 2, "header", nullable=False),
)
"""One record of an uncompressed (or decompressed) batch of magic 2."""

OFFSET_INDEX_ENTRY = Struct("relative_offset" / Int32sb, "position" / Int32sb)
"""``.index``, 8 bytes: an offset, relative to the segment's base offset, and where its batch lies in the log file."""

TIME_INDEX_ENTRY = Struct("timestamp" / Int64sb, "relative_offset" / Int32sb)
"""``.timeindex``, 12 bytes: the largest timestamp (ms) up to the relative offset that carries it."""

TRANSACTION_INDEX_ENTRY = Struct(
    "version" / Int16sb,
    "producer_id" / Int64sb,
    "first_offset" / Int64sb,
    "last_offset" / Int64sb,
    "last_stable_offset" / Int64sb,
)
"""``.txnindex``, 34 bytes: an aborted transaction and the last stable offset when it was aborted."""

PRODUCER_SNAPSHOT_ENTRY = Struct(
    "producer_id" / Int64sb,
    "producer_epoch" / Int16sb,
    "last_sequence" / Int32sb,
    "last_offset" / Int64sb,
    "offset_delta" / Int32sb,
    "timestamp" / Int64sb,
    "coordinator_epoch" / Int32sb,
    "current_transaction_first_offset" / Int64sb,
)
"""The state of one producer in a ``.snapshot``, 46 bytes."""

PRODUCER_SNAPSHOT = Struct(
    "version" / Int16sb,
    "crc" / Int32ub,  # CRC-32C of everything behind it
    "producer_entries" / Elements(Int32sb, PRODUCER_SNAPSHOT_ENTRY, 46, "producer", nullable=False),
)
"""A whole ``.snapshot`` file, version 1: the producers known at the offset that is its name."""


def entries(structure: Construct, data: bytes | memoryview) -> list[Container[Any]]:
    """All entries of an index file's content; raises ProtocolError where it ends inside one.

    Preallocated indexes of an active segment end in zeros: entries too; what they mean is the caller's matter.
    """
    size = structure.sizeof()
    return [parse(structure, data[start : start + size]) for start in range(0, len(data), size)]
