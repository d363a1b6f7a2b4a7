"""Partitions in arguments such as ``TOPIC`` and ``TOPIC:0,1``, and in the JSON files of Kafka's tools.

Source: Kafka's Json, DecodeJson.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from ..types import TopicPartition
from .running import CommandError

if TYPE_CHECKING:
    from ..admin.topics import TopicAdmin

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


def parse_topic_partitions(texts: Iterable[str]) -> dict[str, list[int] | None]:
    """Topic -> partition numbers, None for all of them. Raises UsageError."""
    numbers_of_topic: dict[str, list[int] | None] = {}
    for text in texts:
        topic, separator, numbers = text.partition(":")
        if not separator or (known := numbers_of_topic.get(topic, [])) is None:
            numbers_of_topic[topic] = None
            continue
        try:
            numbers_of_topic[topic] = list(dict.fromkeys([*known, *(int(number) for number in numbers.split(","))]))
        except ValueError:
            raise click.UsageError(
                f"--topic {text}: partitions must be numbers with commas, like {topic}:0,1"
            ) from None
    return numbers_of_topic


async def the_partitions(admin: TopicAdmin, numbers_of_topic: dict[str, list[int] | None]) -> list[TopicPartition]:
    """The partitions with these numbers; all of a topic without numbers. Raises AdminError if a topic is missing."""
    described = await admin.describe_topics(list(numbers_of_topic))
    return [
        TopicPartition(topic, number)
        for topic, numbers in numbers_of_topic.items()
        for number in (sorted(described[topic].partitions) if numbers is None else numbers)
    ]


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
