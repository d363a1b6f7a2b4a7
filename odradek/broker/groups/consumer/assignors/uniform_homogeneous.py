"""``uniform`` for a group whose members all subscribe to the same topics: members' totals differ by one at most.

Owns: that case. Never does: balancing each topic (only the total number of partitions of a member counts). Invariants:
equal input, equal output; no member gives up more than balance requires. Source: Kafka 4.3's
``UniformHomogeneousAssignmentBuilder``. If its result depends on the order of a Java hash collection, that order is
used here.
"""

from collections.abc import Mapping
from itertools import islice

from odradek.protocol.common.steps import Steps
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
