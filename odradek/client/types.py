"""The values that the client takes and returns: partitions, offsets, record metadata, records, group metadata.

Plain data with Kafka's names (``org.apache.kafka.common.TopicPartition``, ``clients.producer.RecordMetadata``,
``clients.consumer.ConsumerRecord``, ``ConsumerGroupMetadata``); no I/O and no behaviour beyond naming.
"""

from collections.abc import Iterable
from typing import NamedTuple

Header = tuple[str, bytes | None]
"""A record header: key and value; the value may be null."""


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def partitions_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partition numbers of each topic."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


class OffsetAndMetadata(NamedTuple):
    """A committed position: ``offset`` is the next offset to read, ``metadata`` the committer's own text."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """An answer of ListOffsets: an offset and its record's timestamp in ms (-1 for the start or end of the log)."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


class RecordMetadata(NamedTuple):
    """Where an acknowledged record was stored. ``offset`` is -1 with acks=0; ``timestamp`` is in ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int

    @property
    def topic_partition(self) -> TopicPartition:
        """Topic and partition as one value."""
        return TopicPartition(self.topic, self.partition)


TIMESTAMP_TYPE_NAMES = ("CreateTime", "LogAppendTime")
"""Names of ``ConsumerRecord.timestamp_type``, as Kafka's console consumer prints them."""


class ConsumerRecord(NamedTuple):
    """One consumed record. ``timestamp`` is in ms; ``timestamp_type`` 0 is CreateTime, 1 LogAppendTime."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: list[Header]
    leader_epoch: int

    @property
    def topic_partition(self) -> TopicPartition:
        """Topic and partition as one value."""
        return TopicPartition(self.topic, self.partition)


class Identity(NamedTuple):
    """The member that commits offsets. An empty member id is for commits from outside the group (admin clients)."""

    member_id: str = ""
    generation_id: int = -1
    """The generation in a classic group, the member epoch in a group of the consumer protocol."""
    group_instance_id: str | None = None


class GroupMetadata(NamedTuple):
    """What a transactional producer needs to commit a consumer's offsets (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class ControllerEndpoint(NamedTuple):
    """A listener of a controller."""

    listener_name: str
    host: str
    port: int
