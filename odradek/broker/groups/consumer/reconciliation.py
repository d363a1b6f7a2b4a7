"""Moves a member to its target assignment in steps: give up partitions, enter the next epoch, take over free ones.

Owns: the steps between the states of a member. Never does: taking a partition from a member that has not given it up.
Invariant: at most one member owns a partition, pending revocation counts as owned. Source:
``CurrentAssignmentBuilder``; KIP-848.

=====================  =======================================================================================
STABLE                 computes the next step if the target assignment is newer
UNREVOKED_PARTITIONS   waits while it owns partitions to give up, then computes the next step
UNRELEASED_PARTITIONS  computes the next step: takes over partitions that have become free
=====================  =======================================================================================
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError

from ..modern.assignment import TopicId
from ..modern.epochs import NO_EPOCH
from .member import NO_PARTITIONS, ConsumerGroupMember, MemberState, PartitionEpochs

OwnedPartitions = Mapping[TopicId, frozenset[int]]
NO_INDEXES: frozenset[int] = frozenset()
NO_EPOCHS: Mapping[int, int] = {}


class Reconciliation(NamedTuple):
    """The input of a member's next step towards its target assignment.

    ``subscribed``: the existing topics that the member subscribes to. ``owner_epoch`` returns the epoch of a
    partition's owner, -1 if it has none. ``owned``: the partitions that the member reports in its request; None if the
    request has no such field, then no partition counts as given up.
    """

    target_epoch: int
    target: Mapping[TopicId, frozenset[int]]
    subscription_changed: bool
    subscribed: frozenset[TopicId]
    owner_epoch: Callable[[TopicId, int], int]
    owned: OwnedPartitions | None

    def next(self, member: ConsumerGroupMember) -> ConsumerGroupMember:
        """Returns the member after its next step; the same object if it has nothing to do. Raises KafkaError
        FENCED_MEMBER_EPOCH."""
        match member.state:
            case MemberState.STABLE:
                if member.member_epoch != self.target_epoch:
                    return self._computed(member, member.member_epoch)
                return self._within_subscription(member) if self.subscription_changed else member
            case MemberState.UNREVOKED_PARTITIONS:
                if not self._owns_any(member.pending_revocation):
                    return self._computed(member, member.member_epoch)
                return self._within_subscription(member) if self.subscription_changed else member
            case MemberState.UNRELEASED_PARTITIONS:
                return self._computed(member, member.member_epoch)
        # A newer Kafka wrote an unknown state: the member starts again without partitions.
        if self.owned is None or self.owned:
            raise KafkaError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. The member must abandon all its partitions and "
                "rejoin.",
            )
        return self._computed(member, self.target_epoch)

    def _owns_any(self, partitions: PartitionEpochs) -> bool:
        if self.owned is None:
            return True
        return any(
            index in partitions.get(topic_id, NO_INDEXES) for topic_id, owned in self.owned.items() for index in owned
        )

    def _within_subscription(self, member: ConsumerGroupMember) -> ConsumerGroupMember:
        """Removes topics that the member no longer subscribes to, in its present epoch."""
        gone = [topic_id for topic_id in member.assigned if topic_id not in self.subscribed]
        if not gone and (self.subscribed or member.pending_revocation):
            return member
        assigned = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in gone}
        pending = dict(member.pending_revocation)
        for topic_id in gone:
            pending[topic_id] = {**pending.get(topic_id, {}), **member.assigned[topic_id]}
        member = member.with_epoch(member.member_epoch)._replace(assigned=assigned)
        if not self._owns_any(pending):
            # The member has given them up already.
            return member
        return member._replace(state=MemberState.UNREVOKED_PARTITIONS, pending_revocation=pending)

    def _computed(self, member: ConsumerGroupMember, member_epoch: int) -> ConsumerGroupMember:
        kept: dict[TopicId, Mapping[int, int]] = {}
        to_revoke: dict[TopicId, dict[int, int]] = {}
        to_assign: dict[TopicId, set[int]] = {}
        unreleased = False
        assigned, pending, owner_epoch = member.assigned, member.pending_revocation, self.owner_epoch
        for topic_id in [*self.target, *(other_id for other_id in assigned if other_id not in self.target)]:
            target = self.target.get(topic_id, NO_INDEXES) if topic_id in self.subscribed else NO_INDEXES
            missing = target
            current = assigned.get(topic_id)
            if current:  # saves time if the member gets thousands of topics of which it owns none yet
                if current.keys() == target:  # saves time if it keeps thousands of topics
                    kept[topic_id] = current
                    continue
                kept_here = {index: epoch for index, epoch in current.items() if index in target}
                revoked_here = {index: epoch for index, epoch in current.items() if index not in target}
                missing = target - kept_here.keys()
                if kept_here:
                    kept[topic_id] = kept_here
                if revoked_here:
                    to_revoke[topic_id] = revoked_here
            # A partition that the member is giving up may be assigned to it again, because no other member can own it.
            own = pending.get(topic_id, NO_EPOCHS)
            free = {index for index in missing if owner_epoch(topic_id, index) == NO_EPOCH or index in own}
            unreleased = unreleased or len(free) < len(missing)
            if free:
                to_assign[topic_id] = free
        if to_revoke and self._owns_any(to_revoke):
            return member.with_epoch(member_epoch)._replace(
                state=MemberState.UNREVOKED_PARTITIONS, assigned=kept, pending_revocation=to_revoke
            )
        for topic_id, indexes in to_assign.items():
            kept[topic_id] = {**kept.get(topic_id, NO_EPOCHS), **dict.fromkeys(indexes, self.target_epoch)}
        return member.with_epoch(self.target_epoch)._replace(
            state=MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE,
            assigned=kept,
            pending_revocation=NO_PARTITIONS,
        )
