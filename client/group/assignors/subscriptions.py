"""What a group's leader knows of the members and the topics, in the types that all assignors share.

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
    """The assignor's own bytes."""


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """The topics that exist: how many partitions each has, in which racks their replicas are."""

    counts: Mapping[str, int]
    racks: Mapping[TopicPartition, frozenset[str]] = field(default_factory=dict)
    """The racks of a partition's replicas; brokers without a rack are left out."""

    def of(self, topic: str) -> list[TopicPartition]:
        """A topic's partitions in their order."""
        return [TopicPartition(topic, number) for number in range(self.counts.get(topic, 0))]

    def racks_of(self, partition: TopicPartition) -> frozenset[str]:
        """Where the partition has replicas."""
        return self.racks.get(partition, frozenset())


Assignment = dict[str, list[TopicPartition]]
"""Member id -> its partitions."""

Assignor = Callable[[Mapping[str, MemberSubscription], TopicPartitions], Assignment]
"""(members by id in the order of the JoinGroup answer, the topics that exist) -> assignment."""


def in_assignment_order(member_ids: Iterable[str], members: Mapping[str, MemberSubscription]) -> list[str]:
    """Members as range and round-robin serve them: static ones first, by instance id, then by member id."""

    def key(member_id: str) -> tuple[bool, str]:
        instance = members[member_id].group_instance_id
        return (False, instance) if instance is not None else (True, member_id)

    return sorted(member_ids, key=key)


def subscribed_topics(members: Mapping[str, MemberSubscription], topics: TopicPartitions) -> list[str]:
    """The topics that have a subscriber and partitions, sorted."""
    return sorted({topic for member in members.values() for topic in member.topics if topics.counts.get(topic, 0) > 0})


def use_racks(consumer_racks: Iterable[str], partition_racks: Mapping[TopicPartition, frozenset[str]]) -> bool:
    """Whether racks can make a difference: members are in racks that have replicas, and not all racks have all."""
    everywhere = frozenset().union(*partition_racks.values())
    if everywhere.isdisjoint(consumer_racks):
        return False
    return any(racks != everywhere for racks in partition_racks.values())
