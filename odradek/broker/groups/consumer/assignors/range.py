"""The assignor ``range``: each subscriber of a topic owns one run of consecutive partitions.

Owns: that rule. Never does: looking at the present assignment (a member keeps its partitions only because the order of
the members stays). Invariants: equal input, equal output; with equal subscriptions and equal partition counts a member
owns the same partition numbers of every topic (co-partitioning). Source:
``org.apache.kafka.coordinator.group.assignor.RangeAssignor``.
"""

from collections.abc import Sequence

from odradek.protocol.common.steps import Steps, run_to_end

from ...modern.assignment import (
    A_STEP,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    PartitionAssignorError,
    SubscribedTopicDescriber,
    TopicId,
)


def assign(spec: GroupSpec, describer: SubscribedTopicDescriber) -> GroupAssignment:
    """The target assignment of all members. Raises PartitionAssignorError for a topic that does not exist."""
    return run_to_end(assign_in_steps(spec, describer))


def assign_in_steps(spec: GroupSpec, describer: SubscribedTopicDescriber) -> Steps[GroupAssignment]:
    """:func:`assign` in steps."""
    members = sorted(spec.members.items(), key=_static_first)
    yield
    assignment: GroupAssignment = {member_id: {} for member_id, _ in members}
    shared: dict[tuple[int, int], list[frozenset[int]]] = {}  # (partition count, subscriber count) -> runs
    subscribers_of = yield from _subscribers(members, spec.is_homogeneous)
    for topic_id, subscribers in subscribers_of.items():
        partition_count = describer.partition_count(topic_id)
        if partition_count == -1:
            raise PartitionAssignorError("Member is subscribed to a non-existent topic")
        shape = partition_count, len(subscribers)
        if shape not in shared:
            shared[shape] = _runs(*shape)
        for member_id, run in zip(subscribers, shared[shape], strict=False):
            assignment[member_id][topic_id] = run
        yield
    return assignment


def _subscribers(members: Sequence[tuple[str, MemberSpec]], is_homogeneous: bool) -> Steps[dict[TopicId, list[str]]]:
    """The members that subscribe to each topic, in the order of ``members``."""
    if is_homogeneous and members:
        everybody = [member_id for member_id, _ in members]
        return dict.fromkeys(members[0][1].subscribed_topic_ids, everybody)
    subscribers: dict[TopicId, list[str]] = {}
    for number, (member_id, member) in enumerate(members):
        if number % A_STEP == 0:
            yield
        for topic_id in member.subscribed_topic_ids:
            subscribers.setdefault(topic_id, []).append(member_id)
    return subscribers


def _runs(partition_count: int, subscriber_count: int) -> list[frozenset[int]]:
    """Returns the runs of partitions for the first subscribers; the others get none. If the division has a remainder,
    the first runs have one partition more."""
    quota, extra = divmod(partition_count, subscriber_count)
    runs: list[frozenset[int]] = []
    start = 0
    for position in range(min(partition_count, subscriber_count)):
        end = start + quota + (position < extra)
        runs.append(frozenset(range(start, end)))
        start = end
    return runs


def _static_first(entry: tuple[str, MemberSpec]) -> tuple[bool, bytes]:
    """Sort key: static members by instance id first, then the others by member id. So a static member that restarts
    gets the same partitions again.

    The names are compared by UTF-16 code units, as Java does.
    """
    member_id, member = entry
    is_dynamic = member.instance_id is None
    name = member_id if member.instance_id is None else member.instance_id
    return is_dynamic, name.encode("utf-16-be", "surrogatepass")
