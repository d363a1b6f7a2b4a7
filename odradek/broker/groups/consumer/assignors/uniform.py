"""The assignor ``uniform``: members own equal numbers of partitions as far as subscriptions allow, and it is sticky.

Homogeneous groups, whose members all subscribe to the same topics: members' totals differ by one at most, while single
topics are not balanced; no member gives up more than balance requires. Heterogeneous ones: balance topic by topic, in
up to 16 rounds, never over several topics at once (if A shares a topic with B, and B one with C, then A may own two
partitions more than C); partitions that need not move stay.

Never does: keeping state. Invariants: equal input, equal output; balance comes before stickiness. If Kafka's result
depends on the order of a Java hash collection, that order is used here. Source: Kafka 4.3's ``UniformAssignor``,
``UniformHomogeneousAssignmentBuilder``, ``UniformHeterogeneousAssignmentBuilder``.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from struct import Struct

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.java.hash import hash_map_order_steps

from ...modern.assignment import (
    A_STEP,
    Assignment,
    GroupAssignment,
    GroupSpec,
    PartitionAssignorError,
    SubscribedTopicDescriber,
    SubscribedTopics,
    TopicId,
)
from ...modern.hash_order import partition_order, topic_map_order, topic_set_order
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


_TopicPartition = tuple[TopicId, int]


def assign_homogeneous(spec: GroupSpec, describer: SubscribedTopicDescriber) -> Steps[GroupAssignment]:
    """Returns the target assignment; empty if no member subscribes to an existing topic.

    Raises PartitionAssignorError for a topic that does not exist.
    """
    member_ids = yield from hash_map_order_steps(spec.members)
    topic_ids = spec.members[member_ids[0]].subscribed_topic_ids
    if not topic_ids:
        return {}
    unassigned, partition_count = yield from _unassigned_partitions(spec, topic_ids, describer)
    min_quota, extra_members = divmod(partition_count, len(member_ids))

    target: GroupAssignment = {}
    unfilled: list[tuple[str, int]] = []
    for members_left, member_id in zip(range(len(member_ids), 0, -1), member_ids, strict=True):
        if members_left % A_STEP == 0:
            yield
        takes_extra = extra_members > 0
        quota = min_quota + takes_extra
        kept, given_up = _revoke(spec.members[member_id].assignment, topic_ids, quota)
        target[member_id] = kept
        unassigned += given_up
        quota -= sum(map(len, kept.values()))
        if quota > 0 and takes_extra and members_left > extra_members:
            # The extra partition is left to a later member, which may already own one and would have to give it up.
            quota -= 1
            takes_extra = False
        if quota > 0:
            unfilled.append((member_id, quota))
        extra_members -= takes_extra
    yield from _assign_quotas(unassigned, unfilled, target)
    return target


def _unassigned_partitions(
    spec: GroupSpec, topic_ids: SubscribedTopics, describer: SubscribedTopicDescriber
) -> Steps[tuple[list[_TopicPartition], int]]:
    """Returns the partitions that are in no member's target assignment, and the total number of partitions."""
    owned: dict[TopicId, set[int]] = {}
    for number, member in enumerate(spec.members.values()):
        if number % A_STEP == 0:
            yield
        for topic_id, partitions in member.assignment.items():
            owned.setdefault(topic_id, set()).update(partitions)
    unassigned: list[_TopicPartition] = []
    total = 0
    for topic_id in topic_set_order(topic_ids):
        count = describer.partition_count(topic_id)
        if count == -1:
            raise PartitionAssignorError("Members are subscribed to a topic which doesn't exist in the topic metadata.")
        taken = owned.get(topic_id, set())
        unassigned += [(topic_id, partition) for partition in range(count) if partition not in taken]
        total += count
        yield
    return unassigned, total


def _revoke(
    old: Mapping[TopicId, frozenset[int]], topic_ids: SubscribedTopics, quota: int
) -> tuple[Assignment, list[_TopicPartition]]:
    """Returns the part of ``old`` that a member keeps within its quota, and the part that it gives up."""
    if topic_ids.issuperset(old) and sum(map(len, old.values())) <= quota:
        return dict(old), []
    kept: Assignment = {}
    given_up: list[_TopicPartition] = []
    for topic_id in topic_map_order(old):
        if topic_id not in topic_ids:
            continue
        partitions = old[topic_id]
        if len(partitions) > quota:
            in_order = partition_order(partitions)
            given_up += [(topic_id, partition) for partition in in_order[quota:]]
            partitions = frozenset(in_order[:quota])
        if partitions:
            kept[topic_id] = partitions
        quota -= len(partitions)
    return kept, given_up


def _assign_quotas(
    unassigned: list[_TopicPartition], unfilled: list[tuple[str, int]], target: GroupAssignment
) -> Steps[None]:
    """Gives each member of ``unfilled``, in order, its number of unassigned partitions."""
    waiting = iter(unassigned)
    for number, (member_id, quota) in enumerate(unfilled):
        if number % A_STEP == 0:
            yield
        more: dict[TopicId, list[int]] = {}
        for topic_id, partition in islice(waiting, quota):
            more.setdefault(topic_id, []).append(partition)
        owned = target[member_id]
        for topic_id, partitions in more.items():
            owned[topic_id] = owned.get(topic_id, frozenset()).union(partitions)
    assert next(waiting, None) is None, "partitions were left unassigned"


def assign(spec: GroupSpec, describer: SubscribedTopicDescriber) -> GroupAssignment:
    """The target assignment of all members. Raises PartitionAssignorError for a topic that does not exist."""
    return run_to_end(assign_in_steps(spec, describer))


def assign_in_steps(spec: GroupSpec, describer: SubscribedTopicDescriber) -> Steps[GroupAssignment]:
    """:func:`assign` in steps."""
    if not spec.members:
        return {}
    if spec.is_homogeneous:
        return (yield from assign_homogeneous(spec, describer))
    return (yield from assign_heterogeneous(spec, describer))
