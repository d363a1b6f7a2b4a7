"""The metadata and assignments of members of the classic protocol that are consumers.

Owns: reading and writing both. Never does: state, framing (:mod:`odradek.protocol.internal_records.consumer_protocol`).
Source: ``ConsumerProtocol``.
"""

from collections.abc import Mapping

from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.consumer_protocol import decode_embedded, embedded_version, encode_embedded
from odradek.protocol.messages.group_records import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from ..modern.assignment import TopicId
from ..modern.topics import GroupTopics


class MalformedConsumerProtocolError(Exception):
    """The bytes are not a valid subscription or assignment of a consumer."""


def version_of(data: bytes) -> int:
    """The version in which a subscription or assignment is written. Raises MalformedConsumerProtocolError."""
    try:
        return embedded_version(data)
    except ProtocolError as error:
        raise MalformedConsumerProtocolError(str(error)) from error


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """A member's subscription. Raises MalformedConsumerProtocolError."""
    try:
        return decode_embedded(ConsumerProtocolSubscription, data)
    except ProtocolError as error:
        raise MalformedConsumerProtocolError(str(error)) from error


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """A member's assignment. Raises MalformedConsumerProtocolError."""
    try:
        return decode_embedded(ConsumerProtocolAssignment, data)
    except ProtocolError as error:
        raise MalformedConsumerProtocolError(str(error)) from error


def write_assignment(assigned: Mapping[TopicId, frozenset[int]], version: int, topics: GroupTopics) -> bytes:
    """Returns the bytes of an assignment in a version; deleted topics are left out."""
    names = ((topics.topic_name(topic_id), partitions) for topic_id, partitions in assigned.items())
    found = [
        ConsumerProtocolAssignment.TopicPartition(name, sorted(partitions))
        for name, partitions in names
        if name is not None
    ]
    return encode_embedded(ConsumerProtocolAssignment(found), version)


def by_topic_id(
    partitions: list[ConsumerProtocolAssignment.TopicPartition] | list[ConsumerProtocolSubscription.TopicPartition],
    topics: GroupTopics,
) -> dict[TopicId, frozenset[int]]:
    """Returns partitions by the ids of their topics; deleted topics are left out."""
    found = {}
    for topic in partitions:
        topic_id = topics.topic_id(topic.topic)
        if topic_id is not None:
            found[topic_id] = frozenset(topic.partitions)
    return found
