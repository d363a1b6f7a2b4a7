"""Converts arguments such as ``TOPIC`` and ``TOPIC:0,1``, as in Kafka's tools, to partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from ..types import TopicPartition

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
