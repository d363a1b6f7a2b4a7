"""The ``simple`` assignor of share groups: several members may read one partition.

Pure. With m members that subscribe to the same topics and p partitions, each partition goes to ceil(m / p) members, and
the numbers of partitions of two members differ by one at most. Within these limits, members keep what they have. If
members subscribe to different topics, this holds for each topic and its subscribers. Kafka's assignor has the same
limits; it keeps other partitions, and may miss a limit where members have to exchange partitions.

Source: ``SimpleAssignor``, ``SimpleHomogeneousAssignmentBuilder``, ``SimpleHeterogeneousAssignmentBuilder``; KIP-932.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from odradek.protocol.common.steps import Steps

from ..modern.assignment import A_STEP, GroupAssignment, GroupSpec, TopicId

TopicPartition = tuple[TopicId, int]


def assign_in_steps(spec: GroupSpec, assignable: Mapping[TopicId, frozenset[int]]) -> Steps[GroupAssignment]:
    """Computes the target assignment of all members, in steps. ``assignable``: the partitions that may be assigned."""
    members = sorted(spec.members)
    found: dict[str, set[TopicPartition]] = {member_id: set() for member_id in members}
    if spec.is_homogeneous and members:
        topics = spec.members[members[0]].subscribed_topic_ids
        yield from _share(spec, members, _partitions(topics, assignable), found)
    else:
        subscribers: dict[TopicId, list[str]] = {}
        for member_id in members:
            for topic_id in spec.members[member_id].subscribed_topic_ids:
                subscribers.setdefault(topic_id, []).append(member_id)
        for topic_id in sorted(subscribers):
            yield from _share(spec, subscribers[topic_id], _partitions((topic_id,), assignable), found)
    return {member_id: _by_topic(partitions) for member_id, partitions in found.items()}


def _partitions(topics: Iterable[TopicId], assignable: Mapping[TopicId, frozenset[int]]) -> dict[TopicPartition, None]:
    """The assignable partitions of some topics, in order."""
    return {(topic_id, index): None for topic_id in sorted(topics) for index in sorted(assignable.get(topic_id, ()))}


def _by_topic(partitions: set[TopicPartition]) -> dict[TopicId, frozenset[int]]:
    found: dict[TopicId, set[int]] = {}
    for topic_id, index in partitions:
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}


class _Sharing(NamedTuple):
    """The members that share some partitions. ``owned``: by member. ``readers``: by partition."""

    quotas: dict[str, int]
    wanted: int
    """The number of members that read each partition."""
    owned: dict[str, set[TopicPartition]]
    readers: dict[TopicPartition, set[str]]

    def give(self, member_id: str, partition: TopicPartition) -> None:
        self.owned[member_id].add(partition)
        self.readers[partition].add(member_id)

    def take(self, member_id: str, partition: TopicPartition) -> None:
        self.owned[member_id].discard(partition)
        self.readers[partition].discard(member_id)

    def has_room(self, member_id: str) -> bool:
        return len(self.owned[member_id]) < self.quotas[member_id]


def _share(
    spec: GroupSpec,
    members: Sequence[str],
    partitions: Mapping[TopicPartition, None],
    found: dict[str, set[TopicPartition]],
) -> Steps[None]:
    """Shares ``partitions`` between ``members``, and adds the result to ``found``."""
    if not partitions or not members:
        return
    wanted = -(-len(members) // len(partitions))
    sharing = _Sharing(
        _quotas(members, wanted * len(partitions)),
        wanted,
        {member_id: set() for member_id in members},
        {partition: set() for partition in partitions},
    )
    yield from _keep(spec, sharing)
    yield from _fill(sharing)
    for member_id, owned in sharing.owned.items():
        found[member_id] |= owned


def _quotas(members: Sequence[str], total: int) -> dict[str, int]:
    """How many partitions each member gets, of ``total`` assignments: the first members get one more than the others
    at most."""
    ends = [-(-total * number // len(members)) for number in range(len(members) + 1)]
    return {member_id: ends[number + 1] - ends[number] for number, member_id in enumerate(members)}


def _keep(spec: GroupSpec, sharing: _Sharing) -> Steps[None]:
    """Lets members keep partitions of their present target assignment, within both limits."""
    looked_at = 0
    for member_id in sharing.quotas:
        for topic_id, indexes in sorted(spec.members[member_id].assignment.items()):
            for index in sorted(indexes):
                looked_at += 1
                if looked_at % A_STEP == 0:
                    yield
                partition = (topic_id, index)
                readers = sharing.readers.get(partition)
                if readers is not None and len(readers) < sharing.wanted and sharing.has_room(member_id):
                    sharing.give(member_id, partition)


def _fill(sharing: _Sharing) -> Steps[None]:
    """Gives each partition the readers that it misses."""
    free = {member_id: None for member_id in sharing.quotas if sharing.has_room(member_id)}
    for number, (partition, readers) in enumerate(sharing.readers.items(), 1):
        if number % A_STEP == 0:
            yield
        while len(readers) < sharing.wanted:
            member_id = next((one for one in free if one not in readers), None)
            if member_id is None:
                # The only members with room read this partition already.
                member_id = next(iter(free))
                _exchange(sharing, member_id, partition)
            else:
                sharing.give(member_id, partition)
            # The next partition goes to the next member.
            del free[member_id]
            if sharing.has_room(member_id):
                free[member_id] = None


def _exchange(sharing: _Sharing, member_id: str, partition: TopicPartition) -> None:
    """Gives ``partition`` to a full member, which gives one of its partitions to ``member_id``.

    There is such a member: it has at least as many partitions as ``member_id``, and not this one, so it has another one
    that ``member_id`` lacks.
    """
    own = sharing.owned[member_id]
    for other, theirs in sharing.owned.items():
        if partition not in theirs and (others := theirs - own):
            exchanged = min(others)
            sharing.take(other, exchanged)
            sharing.give(member_id, exchanged)
            sharing.give(other, partition)
            return
    raise AssertionError("no member can take over a partition that misses a reader")
