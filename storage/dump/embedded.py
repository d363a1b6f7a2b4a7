"""The consumer protocol's messages inside group records: subscriptions and assignments.

Pure. Kafka's tool shows those of GroupMetadataValue; those in ConsumerGroupMemberMetadataValue (members of the classic
protocol in a group of the new one, KIP-848) it leaves as base64, here they are decoded when asked to go deeper. Bytes
that are no such message stay as they are, as with Kafka. Source: DumpLogSegments.OffsetsMessageParser.
"""

from typing import Any

from ...protocol.codec import decode
from ...protocol.errors import ProtocolError
from ...protocol.message_documents import Document, document
from ...protocol.messages.group_records import (
    ConsumerGroupMemberMetadataValue,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    GroupMetadataValue,
)
from ...protocol.messages.structure import Message
from .decoders import Typed

CONSUMER_PROTOCOL = "consumer"


def data_document(typed: Typed, *, deeper: bool) -> Document:
    """The message of a record as a document, the embedded messages in the place of their bytes.

    With ``deeper`` also those that Kafka's own tool doesn't decode.
    """
    found = document(typed.message, typed.version)
    match typed.message:
        case GroupMetadataValue(protocol_type=kind) as group if kind == CONSUMER_PROTOCOL:
            for member, shown in zip(group.members, found["members"], strict=True):
                _replace(shown, "subscription", member.subscription, ConsumerProtocolSubscription)
                _replace(shown, "assignment", member.assignment, ConsumerProtocolAssignment)
        case ConsumerGroupMemberMetadataValue(classic_member_metadata=classic) if deeper and classic is not None:
            protocols = found["classicMemberMetadata"]["supportedProtocols"]
            for protocol, shown in zip(classic.supported_protocols, protocols, strict=True):
                _replace(shown, "metadata", protocol.metadata, ConsumerProtocolSubscription)
    return found


def _replace(shown: Document, name: str, data: bytes | None, cls: type[Any]) -> None:
    """Puts the embedded message (int16 version, message) in the place of its bytes, if they are one."""
    if data is None or len(data) < 2:
        return
    version = int.from_bytes(data[:2], "big", signed=True)
    lowest, highest = cls.VERSIONS
    if version < lowest:
        return
    version = min(version, highest)  # a newer client's fields behind the known ones are skipped
    try:
        embedded: Message = decode(cls, version, data, 2)[0]
    except ProtocolError:
        return
    shown[name] = document(embedded, version)
