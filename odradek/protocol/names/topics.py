"""The names of topics: internal ones, the rules for all. Pure. Source: ``org.apache.kafka.common.internals.Topic``."""

import re
from typing import TYPE_CHECKING

from ..errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from ..messages.streams_groups import StreamsGroupDescribeResponse, StreamsGroupHeartbeatRequest

MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raises KafkaError INVALID_TOPIC_EXCEPTION for an invalid name."""
    problem = _problem(name)
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")


def is_legal(name: str) -> bool:
    """Whether a topic may have this name."""
    return _problem(name) is None


def _problem(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if _LEGAL.fullmatch(name) is None:
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def may_collide(name: str) -> bool:
    """Whether the name has a '.' or '_', so that another topic's name may differ only in those."""
    return "." in name or "_" in name


def unified(name: str) -> str:
    """A form that is equal for names that differ only in '.' and '_', which collide in metrics
    (``unifyCollisionChars``).
    """
    return name.replace(".", "_")


OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = bytes(15) + b"\x01"
"""Kafka's ``Uuid.METADATA_TOPIC_ID``."""

ALWAYS_COMPACTED = (OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_STATE_TOPIC)
"""Topics whose cleanup.policy is `compact` unless they are configured otherwise."""
INTERNAL_TOPICS = frozenset(ALWAYS_COMPACTED)
RESERVED_TOPICS = INTERNAL_TOPICS | {METADATA_TOPIC}
"""The internal topics, and the metadata log, which is not a topic for clients."""


def is_internal(topic: str) -> bool:
    """Whether clients may not write to the topic."""
    return topic in INTERNAL_TOPICS


TopicPartition = tuple[str, int]
"""Topic name and partition index."""


def topology_topics(
    topology: "StreamsGroupHeartbeatRequest.Topology | StreamsGroupDescribeResponse.Topology",
) -> list[str]:
    """Returns the names of all source, repartition and changelog topics, each once, in the order of the topology."""
    found: dict[str, None] = {}
    for each in topology.subtopologies or ():
        for names in (
            each.source_topics,
            each.repartition_sink_topics,
            [topic.name for topic in each.repartition_source_topics],
            [topic.name for topic in each.state_changelog_topics],
        ):
            found.update(dict.fromkeys(names))
    return list(found)
