"""What members of the classic protocol put into their metadata and assignments, where they are consumers.

Owns: reading and writing both. Never does: state. A version that is newer than known is read as the newest known, as
Kafka does. Source: ``ConsumerProtocol``.
"""

from collections.abc import Mapping
from struct import Struct
from struct import error as StructError  # noqa: N812 - its name in the library says nothing

from ....protocol.codec import decode, encode
from ....protocol.errors import ProtocolError
from ....protocol.messages.group_records import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from .assignors.interface import TopicId
from .topics import GroupTopics

_VERSION = Struct(">h")


class MalformedConsumerProtocolError(Exception):
    """The bytes are no subscription or assignment of a consumer."""


def version_of(data: bytes) -> int:
    """The version in which a subscription or assignment is written. Raises MalformedConsumerProtocolError."""
    try:
        version: int = _VERSION.unpack_from(data)[0]
    except StructError as error:
        raise MalformedConsumerProtocolError("no version") from error
    if version < 0:
        raise MalformedConsumerProtocolError(f"version {version}")
    return min(version, ConsumerProtocolAssignment.VERSIONS[1])


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """A member's subscription. Raises MalformedConsumerProtocolError."""
    try:
        return decode(ConsumerProtocolSubscription, version_of(data), data, _VERSION.size)[0]
    except ProtocolError as error:
        raise MalformedConsumerProtocolError(str(error)) from error


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """A member's assignment. Raises MalformedConsumerProtocolError."""
    try:
        return decode(ConsumerProtocolAssignment, version_of(data), data, _VERSION.size)[0]
    except ProtocolError as error:
        raise MalformedConsumerProtocolError(str(error)) from error


def write_assignment(assigned: Mapping[TopicId, frozenset[int]], version: int, topics: GroupTopics) -> bytes:
    """An assignment in a version; topics that are no more are left out."""
    names = ((topics.topic_name(topic_id), partitions) for topic_id, partitions in assigned.items())
    found = [
        ConsumerProtocolAssignment.TopicPartition(name, sorted(partitions))
        for name, partitions in names
        if name is not None
    ]
    return _VERSION.pack(version) + encode(ConsumerProtocolAssignment(found), version)


def by_topic_id(
    partitions: list[ConsumerProtocolAssignment.TopicPartition] | list[ConsumerProtocolSubscription.TopicPartition],
    topics: GroupTopics,
) -> dict[TopicId, frozenset[int]]:
    """Partitions by the ids of their topics; topics that are no more are left out."""
    found = {}
    for topic in partitions:
        topic_id = topics.topic_id(topic.topic)
        if topic_id is not None:
            found[topic_id] = frozenset(topic.partitions)
    return found
