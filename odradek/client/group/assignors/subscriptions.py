"""The input types of all assignors: the members' subscriptions and the topics' partitions.

Pure data. Source: ``ConsumerPartitionAssignor.Subscription``, ``AbstractPartitionAssignor`` (order of members, use of
racks), KIP-881 (racks).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ...types import TopicPartition

NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """What a member sent to the leader: its topics, its owned partitions, and the generation of that ownership."""

    topics: list[str]
    owned_partitions: list[TopicPartition] = field(default_factory=list)
    group_instance_id: str | None = None
    generation_id: int = NO_GENERATION
    rack_id: str | None = None
    user_data: bytes | None = None
    """The bytes that the assignor itself encoded (sticky assignors: the previous assignment)."""


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """The existing topics: the number of partitions of each, and the racks of their replicas."""

    counts: Mapping[str, int]
    racks: Mapping[TopicPartition, frozenset[str]] = field(default_factory=dict)
    """The racks of a partition's replicas; brokers without a rack are left out."""

    def of(self, topic: str) -> list[TopicPartition]:
        """A topic's partitions, by number."""
        return [TopicPartition(topic, number) for number in range(self.counts.get(topic, 0))]

    def racks_of(self, partition: TopicPartition) -> frozenset[str]:
        """The racks in which the partition has replicas."""
        return self.racks.get(partition, frozenset())


Assignment = dict[str, list[TopicPartition]]
"""Member id -> its partitions."""

Assignor = Callable[[Mapping[str, MemberSubscription], TopicPartitions], Assignment]
"""(members by id in the order of the JoinGroup response, the existing topics) -> assignment."""


def in_assignment_order(member_ids: Iterable[str], members: Mapping[str, MemberSubscription]) -> list[str]:
    """The members in the order of range and round-robin: static ones by instance id, then the others by member id."""

    def key(member_id: str) -> tuple[bool, str]:
        instance = members[member_id].group_instance_id
        return (False, instance) if instance is not None else (True, member_id)

    return sorted(member_ids, key=key)


def subscribed_topics(members: Mapping[str, MemberSubscription], topics: TopicPartitions) -> list[str]:
    """The topics that have a subscriber and partitions, sorted."""
    return sorted({topic for member in members.values() for topic in member.topics if topics.counts.get(topic, 0) > 0})


def use_racks(consumer_racks: Iterable[str], partition_racks: Mapping[TopicPartition, frozenset[str]]) -> bool:
    """Whether to use racks: a member's rack has replicas, and some partition has no replica in some rack."""
    everywhere = frozenset().union(*partition_racks.values())
    if everywhere.isdisjoint(consumer_racks):
        return False
    return any(racks != everywhere for racks in partition_racks.values())
