"""Sticky assignment if members subscribe to different topics: as balanced as possible, with few moves.

Pure. Invariant: a partition is assigned only to a member that subscribes to its topic. Source:
``AbstractStickyAssignor.GeneralAssignmentBuilder``. Its check for balance looks at each partition; this one looks only
at each topic's owner with the most partitions, which gives the same result.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping

from ...types import TopicPartition
from .sticky_movements import Movements
from .sticky_racks import Racks
from .subscriptions import Assignment, MemberSubscription, TopicPartitions


class UnequalSubscriptions:
    """Computes one assignment with ``build``."""

    def __init__(
        self,
        members: Mapping[str, MemberSubscription],
        owned: Mapping[str, list[TopicPartition]],
        earlier_owners: Mapping[TopicPartition, str],
        topics: TopicPartitions,
        racks: Racks,
    ) -> None:
        """``owned`` is in Java's order of the members. ``earlier_owners``: see ``Claims.earlier_owners``."""
        self._racks = racks
        self._topics = topics
        self._earlier_owners = earlier_owners
        subscribed = {topic for member in members.values() for topic in member.topics}
        self._counts = {topic: topics.counts[topic] for topic in subscribed if topics.counts.get(topic, 0) > 0}
        self._wanted = {m: [t for t in members[m].topics if t in self._counts] for m in owned}
        self._subscribers: dict[str, list[str]] = {topic: [] for topic in self._counts}
        for member_id, topics_of_member in self._wanted.items():
            for topic in topics_of_member:
                self._subscribers[topic].append(member_id)
        self._must_revoke = False
        self._assignment: Assignment = {}
        for member_id, partitions in owned.items():
            self._assignment[member_id] = [p for p in partitions if self._may_keep(member_id, p)]
        self._owner = {partition: m for m, partitions in self._assignment.items() for partition in partitions}
        self._sorted: list[tuple[int, str]] = []

    def _may_keep(self, member_id: str, partition: TopicPartition) -> bool:
        if partition.topic in self._wanted[member_id] and not self._racks.mismatch(member_id, partition):
            return True
        self._must_revoke = self._must_revoke or partition.topic in self._counts
        return False

    def build(self) -> Assignment:
        """Computes the assignment."""
        in_order = sorted(self._counts, key=lambda topic: (len(self._subscribers[topic]), topic))
        partitions = [partition for topic in in_order for partition in self._topics.of(topic)]
        unassigned = [partition for partition in partitions if partition not in self._owner]
        self._sorted = sorted((len(owned), member_id) for member_id, owned in self._assignment.items())
        initializing = self._sorted[-1][0] == 0
        left = unassigned
        if self._racks.in_use:
            left = [partition for partition in unassigned if not self._assign(partition, near=True)]
        for partition in left:
            self._assign(partition, near=False)
        self._balance(
            [partition for partition in unassigned if len(self._subscribers[partition.topic]) > 1],
            [partition for partition in partitions if len(self._subscribers[partition.topic]) > 1],
            initializing,
        )
        return self._assignment

    def _assign(self, partition: TopicPartition, *, near: bool) -> bool:
        """Assigns to the subscriber with the fewest partitions. ``near``: only to one without a rack mismatch.

        Returns False if there was no such member.
        """
        for _, member_id in self._sorted:
            if partition.topic in self._wanted[member_id] and not (near and self._racks.mismatch(member_id, partition)):
                self._remove_sorted(member_id)
                self._assignment[member_id].append(partition)
                self._owner[partition] = member_id
                self._insert_sorted(member_id)
                return True
        return False

    def _balance(self, unassigned: list[TopicPartition], movable: list[TopicPartition], initializing: bool) -> None:
        fixed = {member_id: owned for member_id, owned in self._assignment.items() if self._is_fixed(member_id, owned)}
        for member_id in fixed:
            self._remove_sorted(member_id)
            del self._assignment[member_id]
        before = {member_id: list(owned) for member_id, owned in self._assignment.items()}
        movements = Movements()
        if not self._must_revoke:
            self._reassign(unassigned, movements)
        moved = self._reassign(movable, movements)
        if moved and not initializing and _imbalance(self._assignment) >= _imbalance(before):
            self._assignment = before
        self._assignment.update(fixed)

    def _is_fixed(self, member_id: str, owned: list[TopicPartition]) -> bool:
        """Whether the member has all partitions of its topics, and no other member subscribes to theirs."""
        possible = sum(self._counts[topic] for topic in self._wanted[member_id])
        return len(owned) >= possible and all(len(self._subscribers[p.topic]) < 2 for p in owned)

    def _reassign(self, partitions: list[TopicPartition], movements: Movements) -> bool:
        """Moves partitions until no move improves the balance. Returns True if any partition moved."""
        moved = False
        again = True
        while again:
            again = False
            for partition in partitions:
                if self._is_balanced():
                    break
                taker = self._better_owner(partition)
                if taker is not None:
                    self._move(partition, taker, movements)
                    moved = again = True
        return moved

    def _is_balanced(self) -> bool:
        least, most = self._sorted[0][0], self._sorted[-1][0]
        if least >= most - 1:
            return True
        loads = dict.fromkeys(self._counts, 0)
        for owned in self._assignment.values():
            for partition in owned:
                loads[partition.topic] = max(loads[partition.topic], len(owned))
        for load, member_id in self._sorted:
            topics_of_member = self._wanted[member_id]
            if load != sum(self._counts[topic] for topic in topics_of_member) and any(
                load + 1 < loads[t] for t in topics_of_member
            ):
                return False
        return True

    def _better_owner(self, partition: TopicPartition) -> str | None:
        load = len(self._assignment[self._owner[partition]])
        earlier = self._earlier_owners.get(partition)
        if (
            earlier in self._assignment
            and partition.topic in self._wanted[earlier]  # Kafka does not check this
            and load > len(self._assignment[earlier]) + 1
        ):
            return earlier
        if any(load > len(self._assignment[other]) + 1 for other in self._subscribers[partition.topic]):
            return next(m for _, m in self._sorted if partition.topic in self._wanted[m])
        return None

    def _move(self, partition: TopicPartition, taker: str, movements: Movements) -> None:
        partition = movements.better(partition, self._owner[partition], taker)
        giver = self._owner[partition]
        self._remove_sorted(giver)
        if taker != giver:
            self._remove_sorted(taker)
        movements.moved(partition, giver, taker)
        self._assignment[giver].remove(partition)
        self._assignment[taker].append(partition)
        self._owner[partition] = taker
        self._insert_sorted(giver)
        if taker != giver:
            self._insert_sorted(taker)

    def _remove_sorted(self, member_id: str) -> None:
        entry = (len(self._assignment[member_id]), member_id)
        place = bisect_left(self._sorted, entry)
        assert self._sorted[place] == entry
        del self._sorted[place]

    def _insert_sorted(self, member_id: str) -> None:
        insort(self._sorted, (len(self._assignment[member_id]), member_id))


def _imbalance(assignment: Assignment) -> int:
    """The sum, over all pairs of members, of the difference of their numbers of partitions."""
    loads = sorted(len(owned) for owned in assignment.values())
    return sum(load * (2 * place - len(loads) + 1) for place, load in enumerate(loads))
