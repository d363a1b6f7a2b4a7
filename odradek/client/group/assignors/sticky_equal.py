"""Sticky assignment if all members subscribe to the same topics.

Members keep their partitions up to a quota; the others are assigned in turn. Pure. Invariants: each member gets the
floor or the ceiling of the average number. A member loses a partition only if it is above its quota, has no replica in
the member's rack, or is claimed by two members. Source: ``AbstractStickyAssignor.ConstrainedAssignmentBuilder``.
"""

from collections.abc import Mapping

from ...types import TopicPartition
from .sticky_racks import Racks
from .subscriptions import Assignment


class EqualSubscriptions:
    """Computes one assignment with ``build``."""

    def __init__(
        self,
        owned: Mapping[str, list[TopicPartition]],
        disputed: set[TopicPartition],
        partitions: list[TopicPartition],
        racks: Racks,
    ) -> None:
        """``owned`` is in Java's order of the members. ``partitions`` are all partitions, by topic and number."""
        self._owned = owned
        self._disputed = disputed
        self._partitions = partitions
        self._racks = racks
        self._least, self._members_above_least = divmod(len(partitions), len(owned))
        self._most = self._least + (1 if self._members_above_least else 0)
        self._above_least = 0
        """The number of members that have more than ``_least`` partitions so far."""
        self._below: list[str] = []
        """Members with fewer than ``_least`` partitions: they must get more."""
        self._at_least: list[str] = []
        """Members with ``_least`` partitions: they may get one more."""
        self._given_up: dict[TopicPartition, str] = {}
        self._assignment: Assignment = {member_id: [] for member_id in owned}
        self.moving: dict[TopicPartition, str] = {}
        """Partitions that move from one member to another, with their new owners."""

    def build(self) -> Assignment:
        """Computes the assignment, and fills ``moving``."""
        self._keep_owned()
        kept = {partition for partitions in self._assignment.values() for partition in partitions}
        left = self._racks.fewest_members_first([p for p in self._partitions if p not in kept])
        self._below.sort()
        self._at_least.sort()
        if self._racks.in_use:
            left = self._deal_in_racks(left)
        self._deal(left)
        return self._assignment

    def _keep_owned(self) -> None:
        for member_id, owned in self._owned.items():
            fitting = []
            for partition in sorted(owned, key=lambda p: (p.partition, p.topic)):
                if self._racks.mismatch(member_id, partition):
                    self._given_up[partition] = member_id
                elif partition not in self._disputed:
                    fitting.append(partition)
            if len(fitting) < self._least:
                quota = len(fitting)
                self._below.append(member_id)
            elif len(fitting) >= self._most and self._above_least < self._members_above_least:
                quota = self._most
                self._one_more_above_least()
            else:
                quota = self._least
                if self._above_least < self._members_above_least:
                    self._at_least.append(member_id)
            self._assignment[member_id] += fitting[:quota]
            self._given_up.update(dict.fromkeys(fitting[quota:], member_id))

    def _one_more_above_least(self) -> None:
        self._above_least += 1
        if self._above_least == self._members_above_least:
            self._at_least.clear()

    def _deal_in_racks(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Assigns partitions to members in a rack of their replicas. Returns the partitions left unassigned."""
        left: list[TopicPartition] = []
        turn = 0
        for partition in partitions:
            place = self._racks.next_near(partition, self._below, turn)
            if place >= 0:
                member_id = self._below[place]
                count = len(self._assignment[member_id]) + 1
                if count >= self._least:
                    self._below.remove(member_id)
                    if count < self._most and self._above_least < self._members_above_least:
                        self._at_least.append(member_id)
                else:
                    place += 1
                turn = place % len(self._below) if self._below else 0
                self._assign_to(partition, member_id)
                continue
            place = self._racks.next_near(partition, self._at_least, 0)
            if place < 0:
                left.append(partition)
                continue
            member_id = self._at_least[place]
            if len(self._assignment[member_id]) + 1 == self._most:
                del self._at_least[place]
                self._one_more_above_least()
            self._assign_to(partition, member_id)
        return left

    def _deal(self, partitions: list[TopicPartition]) -> None:
        """Assigns in turn to members in ``_below``; when it is empty, one each to the members in ``_at_least``."""
        turn = 0
        for partition in partitions:
            if not self._below:
                self._assign_to(partition, self._at_least.pop(0))
                continue
            if turn >= len(self._below):
                turn = 0
            member_id = self._below[turn]
            self._assign_to(partition, member_id)
            if len(self._assignment[member_id]) == self._least:
                del self._below[turn]
                self._at_least.append(member_id)
            else:
                turn += 1

    def _assign_to(self, partition: TopicPartition, member_id: str) -> None:
        self._assignment[member_id].append(partition)
        if self._given_up.get(partition, member_id) != member_id or partition in self._disputed:
            self.moving[partition] = member_id
