"""``uniform`` for a group whose members subscribe to different topics: balance topic by topic, in up to 16 rounds.

Owns: that case. Never does: balancing over several topics at once (if A shares a topic with B, and B one with C, then A
may own two partitions more than C). Invariants: equal input, equal output; partitions that need not move stay. Source:
Kafka's ``UniformHeterogeneousAssignmentBuilder``.
"""

from collections.abc import Iterable
from struct import Struct

from odradek.protocol.common.steps import Steps
from odradek.protocol.java.hash import hash_map_order_steps

from ...modern.assignment import (
    A_STEP,
    Assignment,
    GroupAssignment,
    GroupSpec,
    PartitionAssignorError,
    SubscribedTopicDescriber,
    TopicId,
)
from .load_balancer import LoadBalancer

_MAX_ROUNDS = 16
_NOBODY = -1
_SIGNED_UUID = Struct(">2q")


def assign_heterogeneous(spec: GroupSpec, describer: SubscribedTopicDescriber) -> Steps[GroupAssignment]:
    """Returns the target assignment; empty if no member subscribes to an existing topic.

    Raises PartitionAssignorError for a topic that does not exist.
    """
    member_ids = yield from hash_map_order_steps(spec.members)
    builder = _Builder(spec, member_ids)
    yield from builder.find_subscribers(describer)
    if not builder.subscribers:
        return {}
    yield from builder.retain_subscribed()
    yield from builder.assign_remaining()
    yield from builder.balance()
    return (yield from builder.assignment())


class _Builder:
    """One computation. Members are represented by their indexes in ``member_ids``."""

    def __init__(self, spec: GroupSpec, member_ids: list[str]) -> None:
        self._spec = spec
        self._member_ids = member_ids
        self._sizes = [0] * len(member_ids)
        self.subscribers: dict[TopicId, list[int]] = {}
        self._owners: dict[TopicId, list[int]] = {}
        self._changed: set[int] = set()
        """Members whose assignment has changed."""
        self._until_yield = A_STEP

    def _is_step(self, count: int) -> bool:
        """Adds ``count`` to the work of the present step. Returns True if the step is full: then the caller yields."""
        self._until_yield -= count
        if self._until_yield > 0:
            return False
        self._until_yield = A_STEP
        return True

    def find_subscribers(self, describer: SubscribedTopicDescriber) -> Steps[None]:
        """Collects the subscribers of each topic. Raises PartitionAssignorError for a topic that does not exist."""
        for index, member_id in enumerate(self._member_ids):
            topic_ids = self._spec.members[member_id].subscribed_topic_ids
            if self._is_step(1 + len(topic_ids) // 8):
                yield
            for topic_id in topic_ids:
                self.subscribers.setdefault(topic_id, []).append(index)
        for topic_id in self.subscribers:
            count = describer.partition_count(topic_id)
            if count == -1:
                text = "Members are subscribed to a topic which doesn't exist in the topic metadata."
                raise PartitionAssignorError(text)
            self._owners[topic_id] = [_NOBODY] * count

    def retain_subscribed(self) -> Steps[None]:
        """Lets members keep their partitions of the topics that they still subscribe to."""
        for index, member_id in enumerate(self._member_ids):
            member = self._spec.members[member_id]
            if self._is_step(1 + len(member.assignment)):
                yield
            for topic_id, partitions in member.assignment.items():
                if topic_id not in member.subscribed_topic_ids:
                    self._changed.add(index)
                    continue
                self._sizes[index] += len(partitions)
                owners = self._owners[topic_id]
                for partition in partitions:
                    owners[partition] = index

    def assign_remaining(self) -> Steps[None]:
        """Assigns each partition without an owner to the topic's subscriber with the fewest partitions. Topics with the
        most partitions per subscriber come first."""
        unassigned = {
            topic_id: [partition for partition, owner in enumerate(owners) if owner == _NOBODY]
            for topic_id, owners in self._owners.items()
            if _NOBODY in owners
        }
        for topic_id in self._in_order(unassigned):
            balancer = LoadBalancer(self.subscribers[topic_id], self._sizes)
            if self._is_step(len(self.subscribers[topic_id]) // 8):
                yield
            for partition in unassigned[topic_id]:
                if self._is_step(1):
                    yield
                self._assign(topic_id, partition, balancer.next_least_loaded())

    def balance(self) -> Steps[None]:
        """Moves partitions until a whole round over the topics has moved none, or _MAX_ROUNDS rounds are over."""
        topic_ids = self._in_order(topic_id for topic_id, members in self.subscribers.items() if len(members) >= 2)
        last_changed: TopicId | None = None
        for _ in range(_MAX_ROUNDS):
            for topic_id in topic_ids:
                if topic_id == last_changed:
                    return
                moved = yield from self._balance_topic(topic_id)
                if moved or last_changed is None:
                    last_changed = topic_id

    def _balance_topic(self, topic_id: TopicId) -> Steps[bool]:
        """Moves partitions of one topic from the most loaded to the least loaded subscribers. Returns whether it moved
        any."""
        balancer = LoadBalancer(self.subscribers[topic_id], self._sizes)
        if self._is_step(1 + len(self.subscribers[topic_id]) // 8):
            yield
        if balancer.imbalance <= 1:
            return False
        to_give: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic_id]):
            if self._is_step(1):
                yield
            to_give.setdefault(owner, []).append(partition)
        moved = False
        while (giver := balancer.next_most_loaded(to_give)) is not None:
            if self._is_step(2):
                yield
            partition = to_give[giver].pop()
            taker = balancer.next_least_loaded()
            if balancer.is_balanced:
                break
            self._assign(topic_id, partition, taker)
            moved = True
        return moved

    def _assign(self, topic_id: TopicId, partition: int, member: int) -> None:
        owners = self._owners[topic_id]
        before = owners[partition]
        if before != _NOBODY:
            self._sizes[before] -= 1
            self._changed.add(before)
        owners[partition] = member
        self._sizes[member] += 1
        self._changed.add(member)

    def _in_order(self, topic_ids: Iterable[TopicId]) -> list[TopicId]:
        """Sorts topics: the most partitions per subscriber first, then the fewest subscribers, then by id (compared as
        two signed int64, as ``Uuid`` does)."""

        def order(topic_id: TopicId) -> tuple[float, int, tuple[int, ...]]:
            count = len(self.subscribers[topic_id])
            return -len(self._owners[topic_id]) / count, count, _SIGNED_UUID.unpack(topic_id)

        return sorted(topic_ids, key=order)

    def assignment(self) -> Steps[GroupAssignment]:
        """Returns every member's partitions. Unchanged assignments are shared with the input."""
        owned: dict[int, dict[TopicId, list[int]]] = {member: {} for member in self._changed}
        for topic_id, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                if self._is_step(1):
                    yield
                if owner in owned:
                    owned[owner].setdefault(topic_id, []).append(partition)
        target: GroupAssignment = {}
        for index, member_id in enumerate(self._member_ids):
            if self._is_step(1):
                yield
            kept: Assignment = dict(self._spec.members[member_id].assignment)
            if index in owned:
                kept = {topic_id: frozenset(partitions) for topic_id, partitions in owned[index].items()}
            target[member_id] = kept
        return target
