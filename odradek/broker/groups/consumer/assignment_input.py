"""Makes the input of an assignor: the members of a group, their subscribed topics, and their target assignments.

Owns: the conversion of a group to that input. Never does: assigning. Source: ``TargetAssignmentBuilder``.
"""

from collections.abc import Mapping
from importlib import import_module

from odradek.protocol.common.steps import Steps

from ..modern.assignment import A_STEP, NO_ASSIGNMENT, Assignment, Assignor, MemberSpec, SubscribedTopics, TopicId
from ..modern.topics import GroupTopics, TopicsSnapshot
from .group import ConsumerGroup
from .member import ConsumerGroupMember
from .registry import GroupRegistry

TOPICS_A_STEP = 1_024
"""Topic names whose ids are looked up in one step: 0.5 us each."""


class SubscribedTopicIds:
    """Finds the ids of the topics that members subscribe to. Members with equal subscriptions share one look-up."""

    def __init__(self, group: ConsumerGroup, topics: GroupTopics | TopicsSnapshot) -> None:
        self._group = group
        self._topics = topics
        self._known: dict[tuple[frozenset[str], str | None], SubscribedTopics] = {}

    def unknown(self, member: ConsumerGroupMember) -> int:
        """The number of topic names that :meth:`of` has to look up."""
        names, regex = subscription = member.subscribed_topic_names, member.subscribed_topic_regex
        if subscription in self._known:
            return 0
        resolved = self._group.resolved.get(regex) if regex else None
        return len(names) + (0 if resolved is None else len(resolved.topics))

    def of(self, member: ConsumerGroupMember) -> SubscribedTopics:
        """Returns the ids of the existing topics that the member names or that its regular expression matches. An
        expression that is not resolved yet matches none."""
        subscription = member.subscribed_topic_names, member.subscribed_topic_regex
        known = self._known.get(subscription)
        if known is None:
            names, regex = subscription
            resolved = self._group.resolved.get(regex) if regex else None
            if resolved is not None:
                names |= resolved.topics
            ids = (self._topics.topic_id(name) for name in names)
            known = self._known[subscription] = frozenset(topic_id for topic_id in ids if topic_id is not None)
        return known


def member_specs(
    members: Mapping[str, ConsumerGroupMember],
    targets: Mapping[str, Assignment],
    subscribed: SubscribedTopicIds,
    topics: GroupTopics | TopicsSnapshot,
) -> Steps[dict[str, MemberSpec]]:
    """Returns the input of an assignor: members and their target assignments, in steps."""
    specs: dict[str, MemberSpec] = {}
    taken: dict[TopicId, set[int]] = {}
    looked_up = 0
    for number, (member_id, member) in enumerate(members.items()):
        looked_up += subscribed.unknown(member)
        if number % A_STEP == 0 or looked_up >= TOPICS_A_STEP:
            looked_up = 0
            yield
        target = targets.get(member_id)
        specs[member_id] = MemberSpec(
            subscribed.of(member),
            member.instance_id,
            member.rack_id,
            NO_ASSIGNMENT if target is None else _possible(target, taken, topics),
        )
    return specs


def _possible(
    target: Mapping[TopicId, frozenset[int]], taken: dict[TopicId, set[int]], topics: GroupTopics | TopicsSnapshot
) -> Mapping[TopicId, frozenset[int]]:
    """Returns the target without partitions that do not exist or that are in the target of a member before. ``taken``
    collects the partitions of all targets.

    A log may hold targets with such partitions; the assignors would then leave partitions without an owner.
    """
    impossible: dict[TopicId, set[int]] = {}
    for topic_id, partitions in target.items():
        count = topics.partition_count(topic_id)
        others = taken.setdefault(topic_id, set())
        wrong = others & partitions
        if count >= 0 and partitions and (min(partitions) < 0 or max(partitions) >= count):
            wrong |= {partition for partition in partitions if not 0 <= partition < count}
        others |= partitions
        if wrong:
            impossible[topic_id] = wrong
    if not impossible:
        return target
    return {topic_id: partitions - impossible.get(topic_id, set()) for topic_id, partitions in target.items()}


def assignor_of(groups: GroupRegistry, name: str) -> Assignor:
    """Returns the assignor of that name, as a function that works in steps."""
    # A member of a stored group may name an assignor that has been removed from the configuration.
    if name not in groups.config.group_consumer_assignors:
        name = groups.config.group_consumer_assignors[0]
    assign: Assignor = import_module(f".assignors.{name}", __package__).assign_in_steps
    return assign
