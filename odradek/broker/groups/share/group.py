"""A share group: its epochs, its members, their targets, and the share partitions whose state is stored.

Pure. Owns: what belongs to one group, and the bookkeeping that keeps it consistent. Never does: deciding. Invariants:
changed by :mod:`.replay` alone, except ``refresh_deadline`` and ``calm``, which a restart drops; the group's epoch is
never below that of its target assignment. Source: ``ShareGroup``, ``ModernGroup``,
``ShareGroupStatePartitionMetadataInfo``.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

from odradek.protocol.common.steps import Steps

from ..memory import GroupMemory
from ..modern.assignment import Assignment, TopicId
from ..modern.group import ModernGroup
from ..modern.groups import ModernGroups
from ..records import CoordinatorRecord
from .member import ShareGroupMember, member_bytes


class ShareGroupState(StrEnum):
    """A group's state, under the name that clients see."""

    EMPTY = "Empty"
    STABLE = "Stable"
    """It has members. Their targets may still belong to an earlier epoch."""
    DEAD = "Dead"


class StatePartitions(NamedTuple):
    """Some partitions of a topic. ``since_ms``: when the record that names them was replayed, wall clock."""

    topic_name: str
    partitions: frozenset[int]
    since_ms: int


class StateTopics(NamedTuple):
    """The topics of a share group, by the progress of their state in ``__share_group_state``."""

    initializing: Mapping[TopicId, StatePartitions] = {}
    """The persister was asked to begin the state, and has not answered yet."""
    initialized: Mapping[TopicId, StatePartitions] = {}
    """Their state is stored. Only these partitions are assigned to members."""
    deleting: Mapping[TopicId, str] = {}
    """Topic id -> name. The persister was asked to delete the state, and has not answered yet."""


NO_STATE_TOPICS = StateTopics()


class ShareAssignmentComputation:
    """A target assignment that is computed in steps. ``asked_ms``: when it was requested, wall clock. ``group`` and
    ``steps`` are None until the computation begins."""

    __slots__ = ("asked_ms", "group", "steps")

    def __init__(self, asked_ms: int) -> None:
        self.asked_ms = asked_ms
        self.group: ShareGroup | None = None
        self.steps: Steps[list[CoordinatorRecord]] | None = None


class ShareGroup(ModernGroup[ShareGroupMember, Assignment]):
    """One group. ``subscribed_topics``: topic name -> the number of members that subscribe to it."""

    __slots__ = (
        "calm",
        "deletions",
        "state_topics",
        "subscribed_topics",
    )

    def __init__(self, group_id: str, memory: GroupMemory) -> None:
        """``memory`` counts the bytes of the members of this group and of others."""
        super().__init__(group_id, memory)
        self.subscribed_topics: dict[str, int] = {}
        self.state_topics: StateTopics | None = None
        """None before the first record about them."""
        self.deletions = 0
        """The number of replayed records by which topics began to be deleted."""
        self.calm = False
        """Whether a heartbeat has found nothing to initialize or to assign, and no record was replayed since."""

    @property
    def state(self) -> ShareGroupState:
        """The state that clients see."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    def topic_counts_with(self, old: ShareGroupMember, new: ShareGroupMember | None) -> dict[str, int]:
        """Returns the subscribed topics as they will be after ``new`` replaces ``old``, or after ``old`` has left."""
        counts = dict(self.subscribed_topics)
        if old.member_id in self.members:
            _count(counts, old, -1)
        if new is not None:
            _count(counts, new, 1)
        return counts

    def snapshot(self) -> dict[str, object]:
        """Returns the state that a restart restores, as values that can be compared."""
        topics = self.state_topics
        return super().snapshot() | {
            "initializing": topics and {key: one[:2] for key, one in topics.initializing.items()},
            "initialized": topics and {key: one[:2] for key, one in topics.initialized.items()},
            "deleting": topics and set(topics.deleting),
        }

    # --- changed by replayed records

    def put_member(self, member: ShareGroupMember) -> None:
        """Adds a member, or replaces it by its new state."""
        self._uncount(self.members.get(member.member_id))
        self.members[member.member_id] = member
        _count(self.subscribed_topics, member, 1)
        self._hold(member_bytes(member))

    def remove_member(self, member_id: str) -> None:
        """Removes a member."""
        self._uncount(self.members.pop(member_id, None))

    def _uncount(self, old: ShareGroupMember | None) -> None:
        if old is not None:
            _count(self.subscribed_topics, old, -1)
            self._hold(-member_bytes(old))


class ShareGroups(ModernGroups, Protocol):
    """The share groups of one partition of ``__consumer_offsets``, and what they need besides."""

    @property
    def share(self) -> dict[str, ShareGroup]:
        """The share groups by id."""

    @property
    def sharing(self) -> dict[str, ShareAssignmentComputation]:
        """The target assignments of large share groups that are being computed."""

    def is_taken(self, group_id: str) -> bool:
        """Whether the id belongs to a group of another kind."""


def _count(counts: dict[str, int], member: ShareGroupMember, change: int) -> None:
    for name in member.subscribed_topic_names:
        count = counts.get(name, 0) + change
        if count > 0:
            counts[name] = count
        else:
            counts.pop(name, None)
