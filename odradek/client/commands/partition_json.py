"""Parses the JSON files of Kafka's tools that name partitions. Pure. Source: Kafka's Json, DecodeJson."""

import json
from typing import Any

from ..types import TopicPartition
from .running import CommandError

JAVA_TYPES = {int: "Integer", str: "String", list: "List"}


def parse_json(text: str, otherwise: str) -> dict[str, Any]:
    """Parses a JSON object. Raises CommandError with the message ``otherwise`` if the text is not JSON."""
    try:
        document = json.loads(text)
    except ValueError:
        raise CommandError(otherwise) from None
    if not isinstance(document, dict):
        raise CommandError(f"Expected JSON object, received {json.dumps(document)}")
    return document


def field(document: Any, name: str, kind: type[Any]) -> Any:
    """The value of a required field of this type. Raises CommandError with Kafka's message."""
    if not isinstance(document, dict):
        raise CommandError(f"Expected JSON object, received {json.dumps(document)}")
    if name not in document:
        raise CommandError(f"No such field exists: `{name}`")
    value = document[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CommandError(f"Expected `{JAVA_TYPES[kind]}` value, received {json.dumps(value)}")
    return value


def partition_of(document: Any) -> TopicPartition:
    """The partition named by the fields ``topic`` and ``partition``. Raises CommandError."""
    return TopicPartition(field(document, "topic", str), field(document, "partition", int))


def repeated(partitions: list[TopicPartition]) -> list[TopicPartition]:
    """The partitions that occur more than once, sorted; each is returned once."""
    return sorted({partition for partition in partitions if partitions.count(partition) > 1})
