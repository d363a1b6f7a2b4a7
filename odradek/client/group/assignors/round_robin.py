"""The ``roundrobin`` assignor: assigns all partitions of all topics in turn to the members that subscribe to them.

Pure. Source: ``org.apache.kafka.clients.consumer.RoundRobinAssignor``.
"""

from collections.abc import Mapping

from .subscriptions import Assignment, MemberSubscription, TopicPartitions, in_assignment_order, subscribed_topics


def round_robin_assignor(members: Mapping[str, MemberSubscription], topics: TopicPartitions) -> Assignment:
    """Assigns the partitions in turn, in the order of topics and numbers."""
    assignment: Assignment = {member_id: [] for member_id in members}
    order = in_assignment_order(members, members)
    topics_of_member = {member_id: frozenset(member.topics) for member_id, member in members.items()}
    turn = 0
    for topic in subscribed_topics(members, topics):
        for partition in topics.of(topic):
            while topic not in topics_of_member[order[turn % len(order)]]:
                turn += 1
            assignment[order[turn % len(order)]].append(partition)
            turn += 1
    return assignment
