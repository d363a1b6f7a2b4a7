"""The consumer protocol: subscriptions and assignments in JoinGroup, SyncGroup and the group metadata records.

    int16   version
    ...     ConsumerProtocolSubscription or ConsumerProtocolAssignment

Pure. Owns: this framing. Invariant: a version that is newer than ours is read as ours, because later versions only add
fields at the end. Source: ``org.apache.kafka.clients.consumer.internals.ConsumerProtocol``.
"""

from struct import Struct
from typing import TypeVar

from ..codec import decode, encode
from ..errors import ProtocolError
from ..messages.group_records import ConsumerProtocolAssignment, ConsumerProtocolSubscription

_VERSION = Struct(">h")
Embedded = TypeVar("Embedded", bound=ConsumerProtocolAssignment | ConsumerProtocolSubscription)
Buffer = bytes | memoryview


def encode_embedded(message: ConsumerProtocolAssignment | ConsumerProtocolSubscription, version: int) -> bytes:
    """Encodes a subscription or an assignment. Raises ProtocolError if the version can't carry a value."""
    return _VERSION.pack(version) + encode(message, version)


def embedded_version(data: Buffer) -> int:
    """The version as which to read the bytes, at most ours. Raises ProtocolError for a missing or negative version."""
    if len(data) < _VERSION.size:
        raise ProtocolError(f"{len(data)} bytes are too few for consumer protocol data", "version")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise ProtocolError(f"consumer protocol data has the negative version {version}", "version")
    return min(version, ConsumerProtocolSubscription.VERSIONS[1])


def decode_embedded(cls: type[Embedded], data: Buffer) -> Embedded:
    """Decodes a subscription or an assignment. Raises ProtocolError."""
    return decode(cls, embedded_version(data), data, _VERSION.size)[0]
