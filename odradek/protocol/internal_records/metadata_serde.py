"""The record values of ``__cluster_metadata`` and ``__remote_log_metadata``. The keys are null.

    unsigned varint   frame version, 1
    unsigned varint   record type (the message's API key), 0 to 32767
    unsigned varint   version of the message, 0 to 32767
    ...               the message

Pure. Owns: this framing, and the message class of each record type. Never does: interpreting a message. Invariant:
malformed bytes, and bytes after the last field, raise ProtocolError and nothing else; the codec compares every length
and count with the bytes left before it allocates. Source: ``AbstractApiMessageSerde``, ``MetadataRecordSerde``,
``RemoteLogMetadataSerde``.
"""

from functools import cache, cached_property
from typing import Final, NamedTuple

from ..codec import decode, encode
from ..codec.runtime import read_unsigned_varint, unsigned_varint
from ..errors import ProtocolError, UnknownRecordError
from ..messages import FAMILIES, message_class
from ..messages.structure import Message

FRAME_VERSION: Final = 1
_MAX_INT16 = 0x7FFF
Buffer = bytes | memoryview


class RecordFrame(NamedTuple):
    """The numbers before the message in a value, and the message's position."""

    record_type: int
    version: int
    message_position: int
    """The position of the message's first byte."""


def frame_of(value: Buffer | None) -> RecordFrame:
    """Reads the three numbers before a message. Raises ProtocolError."""
    if value is None:
        raise ProtocolError("the metadata record has no value")
    if len(value) > 2 and value[0] == FRAME_VERSION and value[1] < 0x80 and value[2] < 0x80:
        return RecordFrame(value[1], value[2], 3)  # fits every record of Kafka 4.4.0, and is 1 us faster
    frame_version, position = _read_int16(value, 0, "frame version")
    if frame_version != FRAME_VERSION:
        raise ProtocolError(
            f"Could not deserialize metadata record due to unknown frame version {frame_version}"
            f" (only frame version {FRAME_VERSION} is supported)"
        )
    record_type, position = _read_int16(value, position, "type")
    version, position = _read_int16(value, position, "version")
    return RecordFrame(record_type, version, position)


def encode_record(record: Message, version: int) -> bytes:
    """Encodes a record as a value. Raises ProtocolError if the version can't carry a field's value."""
    return _frame(record.API_KEY, version) + encode(record, version)


@cache
def _frame(record_type: int, version: int) -> bytes:
    """The bytes before a message. Cached, because a snapshot has thousands of records of few types."""
    return b"".join(map(unsigned_varint, (FRAME_VERSION, record_type, version)))


class MetadataRecordSerde:
    """Decodes the records of one topic."""

    def __init__(self, family: str) -> None:
        """``family``: the module of :mod:`..messages` that has the classes."""
        self._family = family

    @cached_property
    def types(self) -> dict[int, type[Message]]:
        """Record type -> message class. Imports their module on first use."""
        classes = [message_class(name) for name, family in FAMILIES.items() if family == self._family]
        return {cls.API_KEY: cls for cls in classes if cls.API_KEY >= 0}

    def decode(self, value: Buffer | None) -> tuple[Message, int]:
        """Decodes a value; returns the message and its version.

        Raises UnknownRecordError for an unknown type or version, ProtocolError for malformed bytes.
        """
        record_type, version, position = frame_of(value)
        assert value is not None, "frame_of() has refused it"
        message_class = self.types.get(record_type)
        if message_class is None:
            raise UnknownRecordError(f"Unknown metadata id {record_type}")
        lowest, highest = message_class.VERSIONS
        if not lowest <= version <= highest:
            raise UnknownRecordError(f"{message_class.NAME} has no version {version}, only {lowest} to {highest}")
        message, end = decode(message_class, version, value, position)
        if end != len(value):
            raise ProtocolError(f"Found {len(value) - end} byte(s) of garbage after {record_type}")
        return message, version


def _read_int16(value: Buffer, position: int, what: str) -> tuple[int, int]:
    """(number from 0 to 32767, position after it): an int16 as unsigned varint. Raises ProtocolError."""
    try:
        number, end = read_unsigned_varint(value, position)
    except IndexError:
        raise ProtocolError(f"Error while reading {what}: the value ends inside it") from None
    except ProtocolError as error:
        raise ProtocolError(f"Error while reading {what}: {error.what}") from error
    if number > _MAX_INT16:
        raise ProtocolError(f"Value for {what} was too large: {number}")
    return number, end


METADATA_RECORDS: Final = MetadataRecordSerde("metadata_records")
"""The records of ``__cluster_metadata`` and its snapshots."""
REMOTE_LOG_RECORDS: Final = MetadataRecordSerde("remote_log_records")
"""The records of ``__remote_log_metadata``."""
