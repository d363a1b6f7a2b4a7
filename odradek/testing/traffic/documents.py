"""Requests and answers as JSON, and back: fields by Kafka's names, records decoded, secrets hidden. Pure.

The fields are those of Kafka's own ``RequestConvertToJson``, apart from records and secrets.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from odradek.protocol.apis.api_keys import api
from odradek.protocol.codec import carries_records, decode
from odradek.protocol.messages.structure import HIDDEN, SECRETS, Message, is_secret_config
from odradek.protocol.show.message_documents import Document, document, read_document

from .record_documents import batches_as, batches_from

SECRET_FIELDS = {
    "".join(word.title() if place else word for place, word in enumerate(name.split("_"))) for name in SECRETS
}
RECORD_FIELDS = ("records", "unalignedRecords")
"""The fields that hold record batches, in the messages that carry records."""

Change = Callable[[Any], Any]


def request_document(api_key: int, version: int, body: bytes) -> Document:
    """Decodes the body of a request into a JSON document."""
    return _document(api(api_key).request_class(), version, body)


def response_document(api_key: int, version: int, body: bytes) -> Document:
    """Decodes the body of an answer into a JSON document."""
    return _document(api(api_key).response_class(), version, body)


def has_secrets(shown: Document) -> bool:
    """Whether a document has a hidden secret, such as a password. Such a request can't be replayed."""
    return any(value == HIDDEN for value in _leaves(shown))


def request_from(api_key: int, version: int, shown: Document) -> Message:
    """The request message of a document. Raises ProtocolError if the document is not a request of this API version."""
    cls: type[Message] = api(api_key).request_class()
    if carries_records(cls, version):
        shown = _changed(shown, dict.fromkeys(RECORD_FIELDS, _base64_records))
    return read_document(cls, version, shown)


def message_document(message: Message, version: int) -> Document:
    """The JSON document of a decoded message, with records decoded and secrets hidden."""
    changes: dict[str, Change] = dict.fromkeys(SECRET_FIELDS, lambda _: HIDDEN)
    if carries_records(type(message), version):
        changes |= dict.fromkeys(RECORD_FIELDS, _shown_records)
    shown = _changed(document(message, version), changes)
    _hide_configs(shown)
    return shown


def _document(cls: type[Message], version: int, body: bytes) -> Document:
    return message_document(decode(cls, version, body)[0], version)


def _shown_records(text: str) -> Any:
    return batches_as(b64decode(text))


def _base64_records(shown: Any) -> str:
    return b64encode(batches_from(shown)).decode()


def _changed(shown: Document, changes: Mapping[str, Change]) -> Document:
    """A copy of a document in which ``changes`` (by field name) are applied at any depth. Null stays null."""

    def copy(value: Any) -> Any:
        if isinstance(value, list):
            return [copy(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            name: changes[name](inner) if name in changes and inner is not None else copy(inner)
            for name, inner in value.items()
        }

    changed: Document = copy(shown)
    return changed


def _hide_configs(shown: Any) -> None:
    """Replaces the values of configs that are passwords, at any depth."""
    if isinstance(shown, dict):
        if is_secret_config(shown.get("name")) and shown.get("value") is not None:
            shown["value"] = HIDDEN
        shown = list(shown.values())
    if isinstance(shown, list):
        for item in shown:
            _hide_configs(item)


def _leaves(shown: Any) -> list[Any]:
    if isinstance(shown, dict):
        return [leaf for value in shown.values() for leaf in _leaves(value)]
    if isinstance(shown, list):
        return [leaf for value in shown for leaf in _leaves(value)]
    return [shown]
