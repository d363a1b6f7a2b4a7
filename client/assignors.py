"""How a group's leader shares partitions among members: Kafka's range, round-robin and sticky assignors.

Pure functions over the members' subscriptions; results equal to ``org.apache.kafka.clients.consumer.RangeAssignor``
and ``RoundRobinAssignor`` partition by partition (without racks), so that a group with Java members gets the same
from either leader. The sticky assignor keeps what members own as far as balance allows, as ``StickyAssignor`` does in
the common case that all subscribe to the same; the exact partitions may differ from Java's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .types import TopicPartition


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """What a member told the leader: its topics, and for sticky assignment what it owned in which generation."""

    topics: list[str]
    owned_partitions: list[TopicPartition] = field(default_factory=list)
    group_instance_id: str | None = None
    generation_id: int = -1


Assignment = dict[str, list[TopicPartition]]
"""Member id -> its partitions."""

Assignor = Callable[[Mapping[str, MemberSubscription], Mapping[str, int]], Assignment]
"""(members by id, number of partitions by topic) -> assignment; topics that do not exist are missing in the second."""


def _assignment_order(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Members in the order that both assignors use: static ones first, by instance id, then by member id."""

    def key(member_id: str) -> tuple[bool, str]:
        instance = members[member_id].group_instance_id
        return (False, instance) if instance is not None else (True, member_id)

    return sorted(members, key=key)


def range_assignor(members: Mapping[str, MemberSubscription], partition_counts: Mapping[str, int]) -> Assignment:
    """Each topic on its own: consecutive partitions, the first members get one more (``RangeAssignor``)."""
    assignment: Assignment = {member_id: [] for member_id in members}
    order = _assignment_order(members)
    for topic in sorted({topic for member in members.values() for topic in member.topics}):
        subscribers = [member_id for member_id in order if topic in members[member_id].topics]
        each, more = divmod(partition_counts.get(topic, 0), len(subscribers))
        next_partition = 0
        for position, member_id in enumerate(subscribers):
            count = each + (1 if position < more else 0)
            assignment[member_id] += [TopicPartition(topic, next_partition + i) for i in range(count)]
            next_partition += count
    return assignment


def round_robin_assignor(members: Mapping[str, MemberSubscription], partition_counts: Mapping[str, int]) -> Assignment:
    """All partitions of all topics in turn to the members that subscribe to them (``RoundRobinAssignor``)."""
    assignment: Assignment = {member_id: [] for member_id in members}
    order = _assignment_order(members)
    turn = 0
    for topic in sorted({topic for member in members.values() for topic in member.topics}):
        for partition in range(partition_counts.get(topic, 0)):
            while topic not in members[order[turn % len(order)]].topics:
                turn += 1
            assignment[order[turn % len(order)]].append(TopicPartition(topic, partition))
            turn += 1
    return assignment


def sticky_assignor(members: Mapping[str, MemberSubscription], partition_counts: Mapping[str, int]) -> Assignment:
    """Balanced to within one partition where subscriptions allow, moving as few partitions as possible."""
    partitions = [
        TopicPartition(topic, partition)
        for topic in sorted({topic for member in members.values() for topic in member.topics})
        for partition in range(partition_counts.get(topic, 0))
    ]
    assignment = _still_owned(members, set(partitions))
    owned = {partition for owned in assignment.values() for partition in owned}
    order = _assignment_order(members)
    for partition in partitions:
        if partition not in owned:
            candidates = [member_id for member_id in order if partition.topic in members[member_id].topics]
            assignment[min(candidates, key=lambda member_id: len(assignment[member_id]))].append(partition)
    _balance(members, assignment, order)
    return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}


def _still_owned(members: Mapping[str, MemberSubscription], existing: set[TopicPartition]) -> Assignment:
    """What members may keep: existing, still subscribed, and claimed by the highest generation only."""
    generation_of: dict[TopicPartition, int] = {}
    for member in members.values():
        for partition in member.owned_partitions:
            generation_of[partition] = max(generation_of.get(partition, -1), member.generation_id)
    claims: dict[TopicPartition, list[str]] = {}
    for member_id, member in members.items():
        for partition in member.owned_partitions:
            newest = generation_of[partition] == member.generation_id
            if newest and partition in existing and partition.topic in member.topics:
                claims.setdefault(partition, []).append(member_id)
    kept: Assignment = {member_id: [] for member_id in members}
    for partition, claimants in claims.items():
        if len(claimants) == 1:  # two members of one generation that claim the same: neither keeps it
            kept[claimants[0]].append(partition)
    return kept


def _balance(members: Mapping[str, MemberSubscription], assignment: Assignment, order: list[str]) -> None:
    """Moves single partitions from the fullest to the emptiest member that takes them, while it helps.

    Each move lowers the sum of the squared loads, so that this ends.
    """
    moved = True
    while moved:
        moved = False
        for giver in sorted(order, key=lambda member_id: -len(assignment[member_id])):
            for partition in reversed(assignment[giver]):
                takers = [member_id for member_id in order if partition.topic in members[member_id].topics]
                taker = min(takers, key=lambda member_id: len(assignment[member_id]))
                if len(assignment[taker]) + 1 < len(assignment[giver]):
                    assignment[giver].remove(partition)
                    assignment[taker].append(partition)
                    moved = True
                    break
            if moved:
                break


ASSIGNORS: dict[str, Assignor] = {
    "range": range_assignor,
    "roundrobin": round_robin_assignor,
    "sticky": sticky_assignor,
}
"""The assignors by the protocol names that go over the wire."""
