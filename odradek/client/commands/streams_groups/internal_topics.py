"""The internal topics of streams groups, and deleting them.

Source: ``StreamsGroupCommand``: retrieveInternalTopics and maybeDeleteInternalTopics;
``StreamsResetter.matchesInternalTopicFormat``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from odradek.protocol.errors import ErrorCode

from ...errors import AdminError

if TYPE_CHECKING:
    from ...admin.streams_group_descriptions import StreamsGroupDescription
    from .admin import StreamsGroupsAdmin

INTERNAL = re.compile(
    r".*(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic)"
    r"|.+-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic"
)
"""The names of topics that Kafka Streams creates, without the application's id."""


def internal_topics_of(group: StreamsGroupDescription) -> list[str]:
    """The internal topics in the group's topology. One whose name is not that of an internal topic is left out.

    Prints on standard error which are left out.
    """
    topics = []
    for topic in group.internal_topics:
        if is_internal(topic, group.group_id):
            topics.append(topic)
        else:
            click.echo(
                f"\nError: The internal topic '{topic}' is not inferred as internal and thus will not be deleted with "
                f"the group '{group.group_id}'.",
                err=True,
            )
    return topics


async def delete_internal_topics(admin: StreamsGroupsAdmin, topics: Sequence[str]) -> dict[str, str]:
    """Deletes topics. Returns the errors of those that could not be deleted; one that does not exist is none."""
    if not topics:
        return {}
    try:
        await admin.delete_topics(topics)
    except AdminError as error:
        return {
            topic: str(failure.args[-1])
            for topic, failure in error.errors.items()
            if failure.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        }
    return {}


def print_failures(group_id: str, failures: dict[str, str]) -> None:
    """Prints the topics of a group that could not be deleted, on standard error."""
    for topic, reason in failures.items():
        click.echo(f"* Internal topic {topic} of the streams group '{group_id}' was not deleted: {reason}", err=True)


def is_internal(topic: str, application_id: str) -> bool:
    """Whether the application has created the topic, as far as the name says: it begins with the application's id."""
    return topic.startswith(f"{application_id}-") and INTERNAL.fullmatch(topic) is not None
