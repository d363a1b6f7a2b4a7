"""The bytes of a metadata record: the value of a record in ``__cluster_metadata-0``; its key is null.

    unsigned varint   frame version, 1
    unsigned varint   record type (the message's API key)
    unsigned varint   record version
    ...               the message

Pure. Source: Kafka's MetadataRecordSerde (AbstractApiMessageSerde).
"""

from functools import cache

from ...protocol.codec import decode, encode
from ...protocol.errors import ProtocolError
from ...protocol.messages import metadata_records
from ...protocol.messages.structure import Message

FRAME_VERSION = 1


@cache
def record_types() -> dict[int, type[Message]]:
    """Record type -> message class."""
    classes = [found for found in vars(metadata_records).values() if isinstance(found, type)]
    return {found.API_KEY: found for found in classes if issubclass(found, Message) and found is not Message}


def encode_record(record: Message, version: int) -> bytes:
    """The value of a record."""
    assert 0 <= record.API_KEY < 0x80
    assert 0 <= version < 0x80
    return bytes((FRAME_VERSION, record.API_KEY, version)) + encode(record, version)


def decode_record(value: bytes | memoryview | None) -> tuple[Message, int]:
    """The message and its version. Raises ProtocolError for what is no record of Kafka 4.3.1, as Kafka does."""
    if value is None or len(value) < 3:
        raise ProtocolError("metadata record: shorter than its header")
    frame_version, record_type, version = value[0], value[1], value[2]
    if frame_version != FRAME_VERSION:
        raise ProtocolError(f"metadata record: frame version {frame_version}, only {FRAME_VERSION} is known")
    message_class = record_types().get(record_type)
    if message_class is None:
        raise ProtocolError(f"metadata record: unknown metadata id {record_type}")
    lowest, highest = message_class.VERSIONS
    if not lowest <= version <= highest:
        raise ProtocolError(f"{message_class.NAME}: version {version}, only {lowest} to {highest} are known")
    message, end = decode(message_class, version, value, 3)
    if end != len(value):
        raise ProtocolError(f"{message_class.NAME} v{version}: {len(value) - end} bytes behind its last field")
    return message, version
