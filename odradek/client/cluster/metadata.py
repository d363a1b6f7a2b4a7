"""The client's cached metadata: brokers, topics, partitions and their leaders.

Plain data made from Metadata responses; no I/O, no clock. A refresh replaces the brokers and the requested topics, and
removes requested topics that no longer exist. Source: ``org.apache.kafka.clients.Metadata`` and KIP-516 (topic ids).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.protocol.messages.metadata import DescribeTopicPartitionsResponse, MetadataResponse

ZERO_TOPIC_ID = bytes(16)


class BrokerAddress(NamedTuple):
    """A broker's address as the cluster advertises it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class PartitionMetadata(NamedTuple):
    """A partition in a Metadata response. ``leader`` is -1 if it has none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
    error_code: int = 0
    eligible_leader_replicas: tuple[int, ...] | None = None
    """KIP-966; None if unknown: DescribeTopicPartitions responses have it, Metadata responses do not."""
    last_known_elr: tuple[int, ...] | None = None


@dataclass(slots=True)
class TopicMetadata:
    """A topic in a Metadata response. If ``error_code`` is not 0, it has no partitions. Never changed."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: dict[int, PartitionMetadata]
    error_code: int = 0
    numbers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """Those of all partitions: lists made once, since a producer reads them with every record."""
    available: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The partitions that have a leader."""

    def __post_init__(self) -> None:
        self.numbers = tuple(self.partitions)
        self.available = tuple(number for number, partition in self.partitions.items() if partition.leader >= 0)


@dataclass(slots=True)
class ClusterMetadata:
    """The newest known state of the cluster."""

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: dict[int, BrokerAddress] = field(default_factory=dict)
    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    topic_names: dict[bytes, str] = field(default_factory=dict)
    generation: int = 0
    """Counts the changes."""

    def leader(self, topic: str, partition: int) -> PartitionMetadata | None:
        """The partition, or None if it or its leader's address is unknown."""
        known = self.topics.get(topic)
        found = known.partitions.get(partition) if known is not None else None
        return found if found is not None and found.leader in self.brokers else None

    def update(self, response: MetadataResponse, asked: Iterable[str] | None) -> None:
        """Stores a response to a request for the topics ``asked`` (None: all topics)."""
        self.generation += 1
        if response.cluster_id is not None:
            self.cluster_id = response.cluster_id
        self.controller_id = response.controller_id
        self.brokers = {b.node_id: BrokerAddress(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
        for name in list(self.topics) if asked is None else asked:
            self._forget(name)
        for topic in topics_of(response):
            self._forget(topic.name)
            self.topics[topic.name] = topic
            if topic.topic_id != ZERO_TOPIC_ID:
                self.topic_names[topic.topic_id] = topic.name

    def learn_broker(self, broker: BrokerAddress) -> None:
        """Adds a broker, unless it is known."""
        if broker.node_id not in self.brokers:
            self.generation += 1
            self.brokers[broker.node_id] = broker

    def _forget(self, name: str) -> None:
        old = self.topics.pop(name, None)
        if old is not None:
            self.topic_names.pop(old.topic_id, None)


def topics_of(response: MetadataResponse) -> list[TopicMetadata]:
    """The topics of a Metadata response. Topics of unknown ids have no name and are left out."""
    return [
        _topic(topic, topic.name, [_partition(partition) for partition in topic.partitions])
        for topic in response.topics
        if topic.name is not None
    ]


def described_topics_of(response: DescribeTopicPartitionsResponse) -> list[TopicMetadata]:
    """The topics of a DescribeTopicPartitions response, with their eligible leader replicas."""
    return [
        _topic(
            topic,
            topic.name,
            [
                _partition(partition)._replace(
                    eligible_leader_replicas=tuple(partition.eligible_leader_replicas or ()),
                    last_known_elr=tuple(partition.last_known_elr or ()),
                )
                for partition in topic.partitions
            ],
        )
        for topic in response.topics
        if topic.name is not None
    ]


def _topic(
    topic: MetadataResponse.MetadataResponseTopic
    | DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic,
    name: str,
    partitions: Iterable[PartitionMetadata],
) -> TopicMetadata:
    by_number = {
        partition.partition: partition for partition in sorted(partitions, key=lambda partition: partition.partition)
    }
    return TopicMetadata(name, topic.topic_id, topic.is_internal, by_number, topic.error_code)


def _partition(
    partition: MetadataResponse.MetadataResponsePartition
    | DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition,
) -> PartitionMetadata:
    """A partition, from the fields that both responses have."""
    return PartitionMetadata(
        partition=partition.partition_index,
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        offline_replicas=tuple(partition.offline_replicas),
        error_code=partition.error_code,
    )
