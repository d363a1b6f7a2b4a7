"""A consumer group: its epochs, its members, and the counts over them. Source: ``ConsumerGroup``, ``ModernGroup``.

Owns: what belongs to one group, and the bookkeeping that keeps it consistent. Never does: deciding. Invariants: changed
by :mod:`.replay` alone, except state that a restart drops (``refresh_deadline``, ``rejoin_timeouts``); the group's
epoch is never below that of its target assignment.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from ..memory import GroupMemory, names_bytes
from ..modern.assignment import NO_ASSIGNMENT, Assignment, TopicId
from ..modern.epochs import NO_EPOCH
from ..modern.group import StaticGroup
from .member import ConsumerGroupMember, MemberState, PartitionEpochs, member_bytes


class ConsumerGroupState(StrEnum):
    """A group's state, under the name that clients see."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """The group's epoch is ahead of its target assignment."""
    RECONCILING = "Reconciling"
    """Not all members have reached the target assignment."""
    STABLE = "Stable"
    DEAD = "Dead"


class SubscriptionCount(NamedTuple):
    """How many members subscribe to a topic by name, and how many regular expressions of the group match it."""

    by_name: int
    by_regex: int


class ResolvedRegularExpression(NamedTuple):
    """The topics that matched a pattern at ``timestamp_ms``, when the metadata was at ``version``."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


TopicCounts = dict[str, SubscriptionCount]


class ConsumerGroup(StaticGroup[ConsumerGroupMember, Assignment]):
    """One group. ``subscribed_topics``: topic name -> number of its subscribers. ``partition_epochs``: topic id ->
    partition -> member epoch of its owner. ``server_assignors``, ``classic_protocols`` and ``subscribed_regexes`` count
    the members that have each."""

    __slots__ = (
        "classic_members",
        "classic_protocols",
        "has_subscription_metadata",
        "partition_epochs",
        "rejoin_timeouts",
        "resolved",
        "server_assignors",
        "subscribed_regexes",
        "subscribed_topics",
    )

    def __init__(self, group_id: str, memory: GroupMemory) -> None:
        """``memory`` counts the bytes of the members of this group and of others."""
        super().__init__(group_id, memory)
        self.resolved: dict[str, ResolvedRegularExpression] = {}
        self.subscribed_topics: TopicCounts = {}
        self.subscribed_regexes: dict[str, int] = {}
        self.server_assignors: dict[str, int] = {}
        self.classic_members = 0
        self.classic_protocols: dict[str, int] = {}
        self.partition_epochs: dict[TopicId, dict[int, int]] = {}
        self.has_subscription_metadata = False
        """Whether the log has a record of Kafka before 4.1 that must be removed."""
        self.rejoin_timeouts: set[str] = set()
        """Members of the classic protocol that must join again within the rebalance timeout."""

    # --- queries

    @property
    def state(self) -> ConsumerGroupState:
        """The state of the group. It depends on every member, and is computed at each call: only descriptions need
        it."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        epoch = self.assignment_epoch
        if all(member.is_reconciled_to(epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic."""
        return topic in self.subscribed_topics

    def target_of(self, member_id: str, instance_id: str | None) -> Mapping[TopicId, frozenset[int]]:
        """Returns the target assignment of a member. A member with an instance id gets that of the member which has the
        instance id now, so a static member that returns gets that of its predecessor."""
        if instance_id is not None:
            member_id = self.static_members.get(instance_id, "")
        return self.target_assignment.get(member_id, NO_ASSIGNMENT)

    def owner_epoch(self, topic_id: TopicId, partition: int) -> int:
        """Returns the epoch of the member that owns a partition, or -1 if it has no owner."""
        return self.partition_epochs.get(topic_id, {}).get(partition, NO_EPOCH)

    def waits_for_unreleased(self, member: ConsumerGroupMember) -> bool:
        """Whether other members still own partitions of the member's target assignment."""
        if member.state is not MemberState.UNRELEASED_PARTITIONS:
            return False
        return any(
            partition not in member.assigned.get(topic_id, {}) and self.owner_epoch(topic_id, partition) != NO_EPOCH
            for topic_id, partitions in self.target_assignment.get(member.member_id, NO_ASSIGNMENT).items()
            for partition in partitions
        )

    def supports_classic_protocols(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member that joins by the classic protocol has a protocol in common with the others."""
        if protocol_type != "consumer":
            return False
        return any(self.classic_protocols.get(name, 0) == self.classic_members for name in names)

    def preferred_assignor(self) -> str | None:
        """The assignor that most members ask for; None if no member asks for one.

        With equal votes the one that comes first in Kafka's hash map is returned, so that a group gets the same
        assignor in Kafka and here.
        """
        return _most_votes(self._assignor_votes())

    def preferred_assignor_with(self, old: ConsumerGroupMember, new: ConsumerGroupMember) -> str | None:
        """:meth:`preferred_assignor` as it will be after ``old`` is replaced by ``new``."""
        counts = self._assignor_votes()
        _count(counts, old.server_assignor, -1)
        if new.server_assignor and new.server_assignor not in counts:
            # Kafka adds the name to a copy of its hash map. There both names are in one bucket, the new one first.
            counts = {new.server_assignor: 1, **counts}
        else:
            _count(counts, new.server_assignor, 1)
        return _most_votes(counts)

    def _assignor_votes(self) -> dict[str, int]:
        return {name: self.server_assignors[name] for name in self.assignors_in_order()}

    def assignors_in_order(self) -> list[str]:
        """The assignors that members ask for, in the order of Kafka's hash map: uniform before range."""
        return sorted(self.server_assignors, reverse=True)

    def snapshot(self) -> dict[str, object]:
        """Returns the state that a restart restores, as values that can be compared."""
        return super().snapshot() | {"resolved": dict(self.resolved)}

    # --- subscriptions after a change

    def topic_counts_with(self, old: ConsumerGroupMember, new: ConsumerGroupMember) -> TopicCounts:
        """Returns the subscribed topics as they will be after ``old`` is replaced by ``new``."""
        counts = dict(self.subscribed_topics)
        _count_names(counts, old.subscribed_topic_names, -1)
        _count_names(counts, new.subscribed_topic_names, 1)
        regex = old.subscribed_topic_regex
        if regex and regex != new.subscribed_topic_regex and self.subscribed_regexes.get(regex) == 1:
            self._count_matches(counts, regex, -1)
        return counts

    def topic_counts_without(self, members: Iterable[ConsumerGroupMember], regexes: Iterable[str]) -> TopicCounts:
        """Returns the subscribed topics as they will be without ``members`` and without the expressions ``regexes``."""
        counts = dict(self.subscribed_topics)
        for member in members:
            _count_names(counts, member.subscribed_topic_names, -1)
        for regex in regexes:
            self._count_matches(counts, regex, -1)
        return counts

    def is_homogeneous_with(self, old: ConsumerGroupMember, new: ConsumerGroupMember) -> bool:
        """Whether all members will subscribe to the same topics after ``old`` is replaced by ``new``.

        Kafka leaves a joining member out. If it joins without a subscription while a target assignment is due, Kafka
        assigns it partitions that it does not read.
        """
        member_count = len(self.members)
        if new.member_id not in self.members and new.instance_id not in self.static_members:
            member_count += 1
        return is_homogeneous(self.regex_counts_with(old, new), self.topic_counts_with(old, new), member_count)

    def regex_counts_with(self, old: ConsumerGroupMember, new: ConsumerGroupMember) -> dict[str, int]:
        """Returns the number of members of each regular expression after ``old`` is replaced by ``new``."""
        counts = dict(self.subscribed_regexes)
        if old.subscribed_topic_regex != new.subscribed_topic_regex:
            _count(counts, old.subscribed_topic_regex, -1)
            _count(counts, new.subscribed_topic_regex, 1)
        return counts

    def _count_matches(self, counts: TopicCounts, regex: str, change: int) -> None:
        resolved = self.resolved.get(regex)
        if resolved is not None:
            count_matches(counts, resolved.topics, change)

    # --- changed by replayed records

    def put_member(self, member: ConsumerGroupMember) -> None:
        """Adds a member, or replaces it by its new state."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._uncount(old)
            self._forget_instance(old)
        self.members[member.member_id] = member
        self._hold(member_bytes(member))
        _count_names(self.subscribed_topics, member.subscribed_topic_names, 1)
        _count(self.subscribed_regexes, member.subscribed_topic_regex, 1)
        _count(self.server_assignors, member.server_assignor, 1)
        if member.classic is not None:
            self.classic_members += 1
            for name in dict(member.classic.protocols):
                _count(self.classic_protocols, name, 1)
        self._own(member.assigned, member.member_epoch)
        self._own(member.pending_revocation, member.member_epoch)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove_member(self, member_id: str) -> None:
        """Removes a member."""
        old = self.members.pop(member_id, None)
        if old is None:
            return
        self._uncount(old)
        self.rejoin_timeouts.discard(member_id)
        self._forget_instance(old)

    def _forget_instance(self, member: ConsumerGroupMember) -> None:
        """Removes the instance id of a member, unless another member has taken it over."""
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member.member_id:
            del self.static_members[member.instance_id]

    def _uncount(self, member: ConsumerGroupMember) -> None:
        self._hold(-member_bytes(member))
        _count_names(self.subscribed_topics, member.subscribed_topic_names, -1)
        _count(self.subscribed_regexes, member.subscribed_topic_regex, -1)
        _count(self.server_assignors, member.server_assignor, -1)
        if member.classic is not None:
            self.classic_members -= 1
            for name in dict(member.classic.protocols):
                _count(self.classic_protocols, name, -1)
        self._remove_owner(member.assigned, member.member_epoch)
        self._remove_owner(member.pending_revocation, member.member_epoch)

    def _own(self, partitions: PartitionEpochs, epoch: int) -> None:
        for topic_id, indexes in partitions.items():
            epochs = self.partition_epochs.setdefault(topic_id, {})
            for index in indexes:
                # A compacted log may have the record of the new owner before that of the old one: the later epoch
                # counts.
                if epochs.get(index, NO_EPOCH - 2) < epoch:
                    epochs[index] = epoch

    def _remove_owner(self, partitions: PartitionEpochs, epoch: int) -> None:
        for topic_id, indexes in partitions.items():
            epochs = self.partition_epochs.get(topic_id)
            if epochs is None:
                continue
            for index in indexes:
                if epochs.get(index) == epoch:
                    del epochs[index]
            if not epochs:
                del self.partition_epochs[topic_id]

    def put_resolved(self, regex: str, resolved: ResolvedRegularExpression | None) -> None:
        """Sets the topics of a regular expression, or removes them."""
        self._count_matches(self.subscribed_topics, regex, -1)
        old = self.resolved.pop(regex, None)
        if old is not None:
            self._hold(-names_bytes(old.topics))
        if resolved is not None:
            self.resolved[regex] = resolved
            self._hold(names_bytes(resolved.topics))
            self._count_matches(self.subscribed_topics, regex, 1)


def _most_votes(votes: dict[str, int]) -> str | None:
    return max(votes, key=votes.__getitem__, default=None)


def is_homogeneous(regex_counts: Mapping[str, int], topic_counts: TopicCounts, member_count: int) -> bool:
    """Whether all members subscribe to the same topics (``ConsumerGroup.subscriptionType``)."""
    if not regex_counts:
        return all(count.by_name == member_count for count in topic_counts.values())
    if next(iter(regex_counts.values())) != member_count:
        return False
    return all(count == (0, 1) for count in topic_counts.values())


def count_matches(counts: TopicCounts, names: Iterable[str], change: int) -> None:
    """Adds ``change`` to the number of regular expressions that match each of ``names``."""
    for name in names:
        by_name, by_regex = counts.get(name, (0, 0))
        _put_count(counts, name, by_name, by_regex + change)


def _count_names(counts: TopicCounts, names: Iterable[str], change: int) -> None:
    for name in names:
        by_name, by_regex = counts.get(name, (0, 0))
        _put_count(counts, name, by_name + change, by_regex)


def _put_count(counts: TopicCounts, name: str, by_name: int, by_regex: int) -> None:
    if by_name <= 0 and by_regex <= 0:
        counts.pop(name, None)
    else:
        counts[name] = SubscriptionCount(by_name, by_regex)


def _count(counts: dict[str, int], name: str | None, change: int) -> None:
    if not name:
        return
    count = counts.get(name, 0) + change
    if count > 0:
        counts[name] = count
    else:
        counts.pop(name, None)
