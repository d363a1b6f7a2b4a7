"""The ``sticky`` and ``cooperative-sticky`` assignors: balanced assignments that move as few partitions as possible.

Pure. ``cooperative-sticky`` does not assign a partition that another member still owns: the owner revokes it and joins
again, and the next assignment assigns it (KIP-429). Source: ``StickyAssignor``, ``CooperativeStickyAssignor``, KIP-54.
"""

from collections.abc import Mapping

from ...types import TopicPartition
from .sticky_equal import EqualSubscriptions
from .sticky_owned import Claims, OwnedPartitions, owned_by_subscription, owned_by_user_data
from .sticky_racks import Racks
from .sticky_unequal import UnequalSubscriptions
from .subscriptions import Assignment, MemberSubscription, TopicPartitions, subscribed_topics


def sticky_assignor(members: Mapping[str, MemberSubscription], topics: TopicPartitions) -> Assignment:
    """Assigns all partitions at once, because the members revoked theirs before they joined."""
    return _assign(members, topics, {m: owned_by_user_data(member) for m, member in members.items()})[0]


def cooperative_sticky_assignor(members: Mapping[str, MemberSubscription], topics: TopicPartitions) -> Assignment:
    """Assigns partitions to members that keep theirs. Partitions that move to another member stay unassigned."""
    owned = {member_id: owned_by_subscription(member) for member_id, member in members.items()}
    assignment, moving = _assign(members, topics, owned)
    if moving is None:
        moving = _moving(members, assignment)
    return {m: [p for p in partitions if moving.get(p) != m] for m, partitions in assignment.items()}


def _assign(
    members: Mapping[str, MemberSubscription], topics: TopicPartitions, owned: Mapping[str, OwnedPartitions]
) -> tuple[Assignment, dict[TopicPartition, str] | None]:
    """The assignment, and moving partition -> new owner if the algorithm records it (otherwise None)."""
    claims = Claims(members, topics, owned)
    partitions = [partition for topic in subscribed_topics(members, topics) for partition in topics.of(topic)]
    racks = Racks(members, topics, partitions)
    subscriptions = {frozenset(member.topics) for member in members.values()}
    if len(subscriptions) == 1:
        existing = set(partitions)
        kept = {m: [p for p in claims.kept[m] if p in existing] for m in claims.order}
        equal = EqualSubscriptions(kept, claims.disputed, partitions, racks)
        return equal.build(), equal.moving
    earlier_owners = Claims.earlier_owners(owned, claims.order)
    return UnequalSubscriptions(members, claims.kept, earlier_owners, topics, racks).build(), None


def _moving(members: Mapping[str, MemberSubscription], assignment: Assignment) -> dict[TopicPartition, str]:
    """The partitions that move from one member to another, with their new owners."""
    added: dict[TopicPartition, str] = {}
    lost: set[TopicPartition] = set()
    for member_id, partitions in assignment.items():
        owned = set(members[member_id].owned_partitions)
        added.update({partition: member_id for partition in partitions if partition not in owned})
        lost |= owned.difference(partitions)
    return {partition: member_id for partition, member_id in added.items() if partition in lost}
