"""What the keys and values of records mean: plain text, or the record types of Kafka's internal topics.

    __consumer_offsets     key: int16 type, message; value: int16 version, message
    __transaction_state    the same
    __share_group_state    the same
    __cluster_metadata     value: varint 1, varint type, varint version, message; no key
    __remote_log_metadata  the same with types of its own

Owns: which message a record holds. Never does: I/O, formatting. Invariant: a record that can't be decoded gives a
`Decoded` with its fault, never an exception. Source: Kafka's CoordinatorRecordSerde, MetadataRecordSerde,
RemoteLogMetadataSerde, DumpLogSegments.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol.errors import ProtocolError
from ...protocol.messages import FAMILIES, message_class
from ...protocol.records.record import Record

if TYPE_CHECKING:
    from ...protocol.messages.structure import Message

FRAME_VERSION = 1


class Typed(NamedTuple):
    """A message found in a record."""

    message: "Message"
    type: int
    """Kafka's number of the record type."""
    version: int


class Tombstone(NamedTuple):
    """The null value of a record type: what its key names is deleted."""


class Decoded(NamedTuple):
    """What a record's key and value are: a message, a number, plain bytes (None where there are none), or a fault in
    words."""

    key: Typed | bytes | int | None
    value: Typed | Tombstone | bytes | int | None
    fault: str | None = None
    is_corrupt: bool = False
    """Whether the fault is in the bytes; an unknown record type may be a newer Kafka's."""
    fault_is_of_value: bool = False
    """Whether Kafka's tool prints it in the value's place: in topics whose records have no keys."""


Decoder = Callable[[Record], Decoded]


def plain(key_kind: str, value_kind: str) -> Decoder:
    """Keys and values without a type of their own: ``text`` (the bytes as they are), ``integer`` or ``long``.

    Kafka's StringDecoder, IntegerDecoder and LongDecoder; the last two take the first 4 or 8 bytes.
    """
    sizes = {"text": 0, "integer": 4, "long": 8}
    key_size, value_size = sizes[key_kind], sizes[value_kind]

    def decode(record: Record) -> Decoded:
        for data, size in ((record.key, key_size), (record.value, value_size)):
            if data is not None and len(data) < size:
                what = f"a number of {size} bytes expected, there are {len(data)}"
                return Decoded(None, None, f"Error at offset {record.offset}, skipping. {what}")
        return Decoded(_number(record.key, key_size), _number(record.value, value_size))

    return decode


def _number(data: bytes | None, size: int) -> bytes | int | None:
    return data if data is None or not size else int.from_bytes(data[:size], "big", signed=True)


def group_record(record: Record) -> Decoded:
    """A record of ``__consumer_offsets``."""
    return _coordinator_record(record, "group_records")


def transaction_record(record: Record) -> Decoded:
    """A record of ``__transaction_state``."""
    return _coordinator_record(record, "transaction_records")


def share_record(record: Record) -> Decoded:
    """A record of ``__share_group_state``."""
    return _coordinator_record(record, "share_records")


def metadata_record(record: Record) -> Decoded:
    """A record of ``__cluster_metadata`` or of one of its snapshots."""
    try:
        return Decoded(None, _framed(record.value, "metadata_records"))
    except ProtocolError as error:
        return Decoded(None, None, f"Error at {record.offset}, skipping. {error}", True, True)


def remote_log_record(record: Record) -> Decoded:
    """A record of ``__remote_log_metadata``."""
    try:
        return Decoded(None, _framed(record.value, "remote_log_records"))
    except ProtocolError as error:
        return Decoded(None, None, f"Error at offset {record.offset}, skipping. {error}", True, True)


@cache
def _key_classes(family: str) -> dict[int, tuple[type[Any], type[Any]]]:
    """The record types of a coordinator: type -> classes of key and value."""
    names = [name for name, its_family in FAMILIES.items() if its_family == family and name.endswith("Key")]
    pairs = [(message_class(name), message_class(name.removesuffix("Key") + "Value")) for name in names]
    return {key.API_KEY: (key, value) for key, value in pairs}


@cache
def _record_classes(family: str) -> dict[int, type[Any]]:
    """The record types of a metadata log: type -> class."""
    classes = [message_class(name) for name, its_family in FAMILIES.items() if its_family == family]
    return {cls.API_KEY: cls for cls in classes if cls.API_KEY >= 0}


def _coordinator_record(record: Record, family: str) -> Decoded:
    from ...protocol.codec import decode

    if record.key is None:
        return Decoded(None, None, f"Error at offset {record.offset}, skipping. The record has no key.", True)
    try:
        record_type = _int16(record.key, "key")
        classes = _key_classes(family).get(record_type)
        if classes is None:
            return Decoded(
                None, None, f"Unknown record type {record_type} at offset {record.offset}, skipping.", record_type < 0
            )
        key = Typed(decode(classes[0], 0, record.key, 2)[0], record_type, 0)
        if record.value is None:
            return Decoded(key, Tombstone())
        version = _int16(record.value, "value")
        value = Typed(decode(classes[1], version, record.value, 2)[0], record_type, version)
    except ProtocolError as error:
        return Decoded(None, None, f"Error at offset {record.offset}, skipping. {error}", True)
    return Decoded(key, value)


def _int16(data: bytes, where: str) -> int:
    if len(data) < 2:
        raise ProtocolError(f"Could not read version from {where}'s buffer: {len(data)} bytes")
    return int.from_bytes(data[:2], "big", signed=True)


def _framed(data: bytes | None, family: str) -> Typed:
    """The message of a metadata record's value. Raises ProtocolError."""
    from ...protocol.codec import decode

    if data is None:
        raise ProtocolError("a metadata record has a value, this one has none")
    frame_version, position = _unsigned_varint(data, 0, "frame version")
    if frame_version != FRAME_VERSION:
        raise ProtocolError(
            f"Could not deserialize metadata record due to unknown frame version {frame_version}"
            f" (only frame version {FRAME_VERSION} is supported)"
        )
    record_type, position = _unsigned_varint(data, position, "type")
    version, position = _unsigned_varint(data, position, "version")
    cls = _record_classes(family).get(record_type)
    if cls is None:
        raise ProtocolError(f"Unknown metadata id {record_type}")
    found, end = decode(cls, version, data, position)
    if end != len(data):
        raise ProtocolError(f"Found {len(data) - end} byte(s) of garbage after {record_type}")
    return Typed(found, record_type, version)


def _unsigned_varint(data: bytes, position: int, what: str) -> tuple[int, int]:
    """(number below 2^15, position behind it): an unsigned varint that holds an int16. Raises ProtocolError."""
    number = 0
    for shift in range(0, 35, 7):
        if position >= len(data):
            raise ProtocolError(f"Error while reading {what}: the value ends inside it")
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number > 0x7FFF:
                raise ProtocolError(f"Value for {what} was too large: {number}")
            return number, position
    raise ProtocolError(f"Error while reading {what}: a varint has five bytes at most")
