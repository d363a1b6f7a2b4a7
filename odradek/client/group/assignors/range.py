"""The ``range`` assignor: splits each topic into ranges of consecutive partitions; the first members get one more.

Pure. If members have racks, partitions with a replica in a member's rack are assigned to it first, within the sizes of
the ranges. Topics with the same number of partitions and the same subscribers get equal assignments, so that a member
has the same partition numbers of each (co-partitioning). Source:
``org.apache.kafka.clients.consumer.RangeAssignor``, KIP-881.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from ...types import TopicPartition
from .subscriptions import (
    Assignment,
    MemberSubscription,
    TopicPartitions,
    in_assignment_order,
    subscribed_topics,
    use_racks,
)


class _TopicAssignment:
    """The state of one topic during the assignment."""

    def __init__(self, topic: str, members: Mapping[str, MemberSubscription], topics: TopicPartitions) -> None:
        subscribers = [member_id for member_id, member in members.items() if topic in member.topics]
        self.name = topic
        self.members = in_assignment_order(subscribers, members)
        self.unassigned = dict.fromkeys(topics.of(topic))
        self.count = len(self.unassigned)
        self._each, self._more = divmod(self.count, len(self.members))
        self._assigned = dict.fromkeys(self.members, 0)
        self._member_racks = {m: rack for m in self.members if (rack := members[m].rack_id)}
        self._racks = {p: topics.racks_of(p) for p in self.unassigned} if self._member_racks else {}
        self.needs_racks = use_racks(self._member_racks.values(), self._racks)
        self.co_partitions = len(self._racks)

    def in_rack(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the partition has a replica in the member's rack. True if the member has no rack."""
        rack = self._member_racks.get(member_id)
        return rack is None or rack in self._racks[partition]

    def assignable(self, member_id: str) -> int:
        """The number of partitions that the member may still get."""
        return max(0, self._each + (1 if self._more > 0 else 0) - self._assigned[member_id])

    def assign(self, member_id: str, partitions: list[TopicPartition], assignment: Assignment) -> None:
        """Assigns partitions to the member."""
        assignment[member_id] += partitions
        self._assigned[member_id] += len(partitions)
        if self._assigned[member_id] > self._each:
            self._more -= 1
        for partition in partitions:
            del self.unassigned[partition]

    def assign_ranges(self, assignment: Assignment, may_assign: Callable[[str, TopicPartition], bool]) -> None:
        """Assigns to each member in turn the first unassigned partitions that ``may_assign`` allows."""
        for member_id in self.members:
            fitting = [partition for partition in self.unassigned if may_assign(member_id, partition)]
            chosen = fitting[: self.assignable(member_id)]
            if chosen:
                self.assign(member_id, chosen, assignment)


def range_assignor(members: Mapping[str, MemberSubscription], topics: TopicPartitions) -> Assignment:
    """Assigns each topic's partitions in ranges. Each member's partitions are sorted by topic and number."""
    assignment: Assignment = {member_id: [] for member_id in members}
    states = [_TopicAssignment(topic, members, topics) for topic in subscribed_topics(members, topics)]
    if any(state.needs_racks for state in states):
        _assign_in_racks(states, assignment)
    for state in states:
        state.assign_ranges(assignment, lambda _member, _partition: True)
    return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}


def _assign_in_racks(states: list[_TopicAssignment], assignment: Assignment) -> None:
    groups: dict[tuple[tuple[str, ...], int], list[_TopicAssignment]] = defaultdict(list)
    for state in states:
        groups[tuple(state.members), state.co_partitions].append(state)
    for (member_ids, count), together in groups.items():
        if len(together) > 1:
            _assign_co_partitioned(list(member_ids), count, together, assignment)
        elif together[0].needs_racks:
            together[0].assign_ranges(assignment, together[0].in_rack)


def _assign_co_partitioned(
    member_ids: list[str], count: int, states: list[_TopicAssignment], assignment: Assignment
) -> None:
    """For each partition number, assigns that partition of all topics to the first member whose rack has them all."""
    for number in range(count):
        for member_id in member_ids:
            if all(s.in_rack(member_id, TopicPartition(s.name, number)) and s.assignable(member_id) for s in states):
                for state in states:
                    state.assign(member_id, [TopicPartition(state.name, number)], assignment)
                if not any(state.assignable(member_id) for state in states):
                    member_ids.remove(member_id)
                break
        if not member_ids:
            return
