"""Turns the message of a record into a document for JSON: decodes messages inside group records, hides secrets.

Pure. Group records hold messages of the consumer protocol (subscriptions, assignments). Kafka's tool decodes those in
GroupMetadataValue, but prints those in ConsumerGroupMemberMetadataValue (classic members of a KIP-848 group) as base64;
here `deeper` decodes them, too. Kafka's tool shows salt and keys of SCRAM users, and configs that are passwords; here
they are hidden. Source: DumpLogSegments.OffsetsMessageParser.
"""

from typing import Any

from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.consumer_protocol import decode_embedded, embedded_version
from odradek.protocol.messages.group_records import (
    ConsumerGroupMemberMetadataValue,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    GroupMetadataValue,
)
from odradek.protocol.messages.metadata_records import ConfigRecord, UserScramCredentialRecord
from odradek.protocol.messages.structure import HIDDEN, is_secret_config
from odradek.protocol.messages.transaction_records import TransactionLogValue
from odradek.protocol.names.transaction_states import transaction_state_name
from odradek.protocol.show.message_documents import Document, document

from .decoders import Typed

CONSUMER_PROTOCOL = "consumer"
SCRAM_SECRETS = ("salt", "storedKey", "serverKey")


def data_document(typed: Typed, *, deeper: bool) -> Document:
    """The message of a record as a document, with embedded messages decoded.

    With ``deeper``, also decodes those that Kafka's own tool does not.
    """
    found = document(typed.message, typed.version)
    match typed.message:
        case UserScramCredentialRecord():
            found |= dict.fromkeys(SCRAM_SECRETS, HIDDEN)
        case ConfigRecord(name=name) if is_secret_config(name):
            found["value"] = HIDDEN
        case TransactionLogValue(transaction_status=number):
            found["transactionStatus"] = transaction_state_name(number)
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
    """Replaces the bytes of an embedded message by the message, if they are valid."""
    if data is None:
        return
    try:
        shown[name] = document(decode_embedded(cls, data), embedded_version(data))
    except ProtocolError:
        return
