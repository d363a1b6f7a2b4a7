"""The invariants of consumer groups that the simulator checks."""

from collections.abc import Iterable, Mapping, Sequence

from odradek.broker.groups.consumer.group import ConsumerGroup, ConsumerGroupState
from odradek.broker.metadata.image.image import TopicImage

from ..simulated_member import TopicPartition
from .simulated_consumer import SimulatedConsumer


def check_calm(
    group: ConsumerGroup | None, living: Sequence[SimulatedConsumer], topics_by_id: Mapping[bytes, TopicImage]
) -> None:
    """Asserts that each consumer has reached its target, and that the targets have each partition exactly once."""
    topic_names = {topic_id: topic.name for topic_id, topic in topics_by_id.items()}
    if not living:
        assert group is None or group.state is ConsumerGroupState.EMPTY, f"{group} without a living member"
        return
    assert isinstance(group, ConsumerGroup)
    assert group.state is ConsumerGroupState.STABLE, f"{group} is stuck"
    assert group.members.keys() == {consumer.member_id for consumer in living}
    owners: dict[TopicPartition, SimulatedConsumer] = {}
    wanted: set[TopicPartition] = set()
    for consumer in living:
        target = group.target_assignment.get(consumer.member_id, {})
        shall_own = {(topic_id, partition) for topic_id, partitions in target.items() for partition in partitions}
        assert consumer.owned == consumer.assigned == shall_own, f"{consumer} is stuck"
        assert consumer.epoch == group.group_epoch
        topics = consumer.subscription.topics(topic_names)
        assert {topic_id for topic_id, _ in consumer.owned} <= topics
        for partition in consumer.owned:
            assert owners.setdefault(partition, consumer) is consumer
        wanted |= {(topic_id, index) for topic_id in topics for index in topics_by_id[topic_id].partitions}
    assert owners.keys() == wanted, f"{group}: partitions without an owner"


def check_owners(group: ConsumerGroup, consumers: Iterable[SimulatedConsumer]) -> None:
    """Asserts that a partition has one owner and one reader, and that the group's partition epochs are those of their
    owners.
    """
    owned: dict[TopicPartition, int] = {}
    for member in group.members.values():
        assert member.member_epoch <= group.group_epoch
        for partitions in (member.assigned, member.pending_revocation):
            for topic_id, indexes in partitions.items():
                for index in indexes:
                    assert (topic_id, index) not in owned, f"{group}: two owners of {topic_id.hex()}-{index}"
                    owned[topic_id, index] = member.member_epoch
    assert owned == {
        (topic_id, index): epoch
        for topic_id, epochs in group.partition_epochs.items()
        for index, epoch in epochs.items()
    }
    readers: dict[TopicPartition, SimulatedConsumer] = {}
    for consumer in consumers:
        # A removed member that does not know it yet continues to read, but its commits are refused.
        if consumer.owned and consumer.group_id == group.group_id and consumer.member_id in group.members:
            for partition in consumer.owned:
                other = readers.setdefault(partition, consumer)
                assert other is consumer, f"{partition} is read by {other} and by {consumer}"
