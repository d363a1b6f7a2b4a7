"""What a server-side assignor is given and what it answers.

Owns: the words between a consumer group and its assignors. Never does: assigning, state. Invariants: an assignor is a
pure function, equal input gives equal output; its input is not changed, and what it answers is not changed afterwards.
Source: ``GroupSpec``, ``MemberSubscription``, ``SubscribedTopicDescriber``, ``GroupAssignment``,
``ConsumerGroupPartitionAssignor``; KIP-848.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from .....protocol.steps import Steps

TopicId = bytes
"""The 16 bytes of a topic's id."""

Assignment = dict[TopicId, frozenset[int]]
"""Partition indexes by topic id; a topic without partitions is left out."""

SubscribedTopics = frozenset[TopicId]
"""Ids of topics that exist."""


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """One member, as an assignor sees it.

    ``subscribed_topic_ids``: of all topics that it subscribes to, by name and by regular expression, those that exist.
    Members with equal subscriptions may share one set. ``assignment``: its target assignment until now, of which a
    sticky assignor keeps what it can; partitions and topics that no longer exist may be in it.
    """

    subscribed_topic_ids: SubscribedTopics
    instance_id: str | None
    rack_id: str | None
    assignment: Mapping[TopicId, frozenset[int]]


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """The members by their ids, and whether all of them subscribe to the same topics (``SubscriptionType``)."""

    members: Mapping[str, MemberSpec]
    is_homogeneous: bool


class SubscribedTopicDescriber(Protocol):
    """What there is to assign."""

    def partition_count(self, topic_id: TopicId) -> int:
        """The number of partitions of a topic, or -1 where it does not exist."""


GroupAssignment = dict[str, Assignment]
"""Member id -> what it shall own. A member without an entry shall own nothing."""


class PartitionAssignorError(Exception):
    """The assignor cannot assign (``PartitionAssignorException``): the heartbeat is answered UNKNOWN_SERVER_ERROR."""


Assignor = Callable[[GroupSpec, SubscribedTopicDescriber], Steps[GroupAssignment]]
"""Computes in steps, so that a large group holds up no one. Raises PartitionAssignorError."""

A_STEP = 256
"""Members, or partitions, that one step looks at, each in some 2 us."""
