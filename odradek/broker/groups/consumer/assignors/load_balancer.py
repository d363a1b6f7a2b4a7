"""Finds the least and the most loaded subscribers of a topic, while partitions move between them.

Owns: the subscribers, sorted by load once, and two ranges in that list: the low end at its start gets partitions, the
high end at its end gives them. Never does: moving a partition; the caller does, and changes the loads. Invariants: the
low end grows to the right, the high end to the left; all members of an end own the same number of partitions before a
pass over that end. Source: ``MemberAssignmentBalancer`` of Kafka's ``UniformHeterogeneousAssignmentBuilder``.
"""

from collections.abc import Mapping, Sequence


class LoadBalancer:
    """The subscribers of one topic, at least one. ``loads``: the number of partitions of all topics that each member
    owns. The caller updates it."""

    def __init__(self, members: Sequence[int], loads: Sequence[int]) -> None:
        self._loads = loads
        self._sorted = sorted(members, key=loads.__getitem__)  # ties stay in the members' order
        lowest, highest = loads[self._sorted[0]], loads[self._sorted[-1]]
        self.imbalance = highest - lowest
        self._low_end = 0
        self._low_load = lowest - 1
        self._next_low = 0
        self._high_start = self._high_end = len(self._sorted)
        self._high_load = highest + 1
        self._next_high = len(self._sorted) - 1

    @property
    def is_balanced(self) -> bool:
        """Whether the members last returned at both ends have loads that differ by one at most."""
        return self._high_load - self._low_load <= 1

    def next_least_loaded(self) -> int:
        """Returns the member that gets the next partition. Each member of the low end gets one in turn. After such a
        pass they all own one more, and the members that already owned that many join the low end."""
        if self._next_low >= self._low_end:
            self._low_load += 1
            while self._low_end < len(self._sorted) and self._load(self._low_end) == self._low_load:
                self._low_end += 1
            self._next_low = 0
        member = self._sorted[self._next_low]
        self._next_low += 1
        return member

    def next_most_loaded(self, to_give: Mapping[int, Sequence[int]]) -> int | None:
        """Returns the member that gives the next partition: the most loaded one that has partitions in ``to_give``
        (member -> its partitions of this topic). Returns None if no member has any."""
        while (member := self._step_high()) is not None:
            if to_give.get(member):
                return member
            self._exclude_last()
        return None

    def _step_high(self) -> int | None:
        if self._next_high < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                # All members of the high end were excluded: it starts again with the next member to the left.
                self._high_load = self._load(self._high_start - 1)
            else:
                self._high_load -= 1
            while self._high_start > 0 and self._load(self._high_start - 1) == self._high_load:
                self._high_start -= 1
            self._next_high = self._high_end - 1
        if self._next_high < 0:
            return None
        member = self._sorted[self._next_high]
        self._next_high -= 1
        return member

    def _exclude_last(self) -> None:
        """Removes the member that :meth:`_step_high` returned last: it has no partition to give."""
        at, last = self._next_high + 1, self._high_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._high_end = last

    def _load(self, at: int) -> int:
        return self._loads[self._sorted[at]]
