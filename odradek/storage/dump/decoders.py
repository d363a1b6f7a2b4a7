"""Decodes the keys and values of records: plain text, or the record types of Kafka's internal topics.

Owns: the error texts for records that can't be decoded. Never does: I/O, formatting, the framing of internal topics
(:mod:`odradek.protocol.internal_records`). Invariant: for such a record, the result is a `Decoded` with its fault,
never an exception. Source: Kafka's DumpLogSegments.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ProtocolError
from odradek.protocol.records.record import Record

with lazy_imports:
    from odradek.protocol.internal_records import coordinator_serde, metadata_serde

if TYPE_CHECKING:
    from odradek.protocol.internal_records.coordinator_serde import CoordinatorRecordSerde
    from odradek.protocol.internal_records.metadata_serde import MetadataRecordSerde
    from odradek.protocol.messages.structure import Message


class Typed(NamedTuple):
    """A message found in a record."""

    message: "Message"
    type: int
    """Kafka's number of the record type."""
    version: int


class Tombstone(NamedTuple):
    """The null value of a record type: it deletes the object that its key names."""


class Decoded(NamedTuple):
    """A record's key and value: a message, a number, plain bytes or None (null); or a fault as text."""

    key: Typed | bytes | int | None
    value: Typed | Tombstone | bytes | int | None
    fault: str | None = None
    is_corrupt: bool = False
    """Whether the bytes are damaged. An unknown record type may be a newer Kafka's and is not damage."""
    fault_is_of_value: bool = False
    """Whether Kafka's tool prints the fault in place of the value, as in topics whose records have no keys."""


Decoder = Callable[[Record], Decoded]


def plain(key_kind: str, value_kind: str) -> Decoder:
    """Keys and values without a type of their own: ``text`` (unchanged bytes), ``integer`` or ``long``.

    These are Kafka's StringDecoder, IntegerDecoder and LongDecoder. The last two read the first 4 or 8 bytes.
    """
    sizes = {"text": 0, "integer": 4, "long": 8}
    key_size, value_size = sizes[key_kind], sizes[value_kind]

    def decode(record: Record) -> Decoded:
        for data, size in ((record.key, key_size), (record.value, value_size)):
            if data is not None and len(data) < size:
                what = f"expected a number of {size} bytes, found {len(data)} bytes"
                return Decoded(None, None, f"Error at offset {record.offset}, skipping. {what}")
        return Decoded(_number(record.key, key_size), _number(record.value, value_size))

    return decode


def _number(data: bytes | None, size: int) -> bytes | int | None:
    return data if data is None or not size else int.from_bytes(data[:size], "big", signed=True)


def group_record(record: Record) -> Decoded:
    """A record of ``__consumer_offsets``."""
    return _coordinator_record(record, coordinator_serde.GROUP_RECORDS)


def transaction_record(record: Record) -> Decoded:
    """A record of ``__transaction_state``."""
    return _coordinator_record(record, coordinator_serde.TRANSACTION_RECORDS)


def share_record(record: Record) -> Decoded:
    """A record of ``__share_group_state``."""
    return _coordinator_record(record, coordinator_serde.SHARE_RECORDS)


def metadata_record(record: Record) -> Decoded:
    """A record of ``__cluster_metadata`` or of one of its snapshots."""
    try:
        return Decoded(None, _typed(record.value, metadata_serde.METADATA_RECORDS))
    except ProtocolError as error:
        return Decoded(None, None, f"Error at {record.offset}, skipping. {error}", True, True)


def remote_log_record(record: Record) -> Decoded:
    """A record of ``__remote_log_metadata``."""
    try:
        return Decoded(None, _typed(record.value, metadata_serde.REMOTE_LOG_RECORDS))
    except ProtocolError as error:
        return Decoded(None, None, f"Error at offset {record.offset}, skipping. {error}", True, True)


def _coordinator_record(record: Record, serde: "CoordinatorRecordSerde") -> Decoded:
    try:
        record_type = coordinator_serde.record_type_of(record.key)
        if record_type not in serde.types:
            what = f"Unknown record type {record_type} at offset {record.offset}, skipping."
            return Decoded(None, None, what, is_corrupt=record_type < 0)
        key = Typed(serde.decode_key(record.key), record_type, coordinator_serde.KEY_VERSION)
        if record.value is None:
            return Decoded(key, Tombstone())
        value, version = serde.decode_value(record_type, record.value)
    except ProtocolError as error:
        return Decoded(None, None, f"Error at offset {record.offset}, skipping. {error}", is_corrupt=True)
    return Decoded(key, Typed(value, record_type, version))


def _typed(value: bytes | None, serde: "MetadataRecordSerde") -> Typed:
    """The message of a metadata record's value. Raises ProtocolError."""
    message, version = serde.decode(value)
    return Typed(message, message.API_KEY, version)
