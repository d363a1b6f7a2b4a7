"""The input and the result of a server-side assignor.

Owns: the types that a consumer group and its assignors share. Never does: assigning, state. Invariants: an assignor is
a pure function, equal input gives equal output; neither its input nor its result is changed. Source: ``GroupSpec``,
``MemberSubscription``, ``SubscribedTopicDescriber``, ``GroupAssignment``, ``ConsumerGroupPartitionAssignor``; KIP-848.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from odradek.protocol.common.steps import Steps

TopicId = bytes
"""The 16 bytes of a topic's id."""

Assignment = dict[TopicId, frozenset[int]]
"""Partition indexes by topic id; a topic without partitions is left out."""

NO_ASSIGNMENT: Mapping[TopicId, frozenset[int]] = {}

SubscribedTopics = frozenset[TopicId]
"""Ids of topics that exist."""


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """One member, as an assignor sees it.

    ``subscribed_topic_ids``: the existing topics that it subscribes to, by name and by regular expression. Members with
    equal subscriptions may share one set. ``assignment``: its present target assignment, which a sticky assignor keeps
    as far as it can; partitions and topics that no longer exist may be in it.
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
    """Gives an assignor the partition counts of topics."""

    def partition_count(self, topic_id: TopicId) -> int:
        """The number of partitions of a topic, or -1 if it does not exist."""


GroupAssignment = dict[str, Assignment]
"""Member id -> its target assignment. A member without an entry gets no partitions."""


class PartitionAssignorError(Exception):
    """The assignor cannot assign (``PartitionAssignorException``): the heartbeat is answered UNKNOWN_SERVER_ERROR."""


Assignor = Callable[[GroupSpec, SubscribedTopicDescriber], Steps[GroupAssignment]]
"""Computes in steps, so that a large group does not block other requests. Raises PartitionAssignorError."""

A_STEP = 256
"""The number of members or partitions that one step looks at, at about 2 us each."""
