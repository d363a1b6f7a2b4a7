"""A classic group: its state, generation and members. Source: ``ClassicGroup``.

Owns: what belongs to one group, and the bookkeeping that keeps it consistent. Never does: deciding (join.py, sync.py,
leave.py and the others do). Invariants: ``awaiting_join_count`` is the number of members whose JoinGroup is parked;
``static_members`` maps each group.instance.id in ``members`` to its member id; a group with members has a leader.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from struct import Struct
from struct import error as StructError  # noqa: N812 - its name in the library says nothing
from typing import Protocol

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.java.hash import in_hash_map_order

from ...coordinator.effects import Token
from ..config import GroupCoordinatorConfig
from ..memory import MEMBER_BYTES, GroupMemory, MemberAccount
from .member import ClassicMember, Protocols, bytes_of

_INT16 = Struct(">h")
_INT32 = Struct(">i")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Returns the topics of all subscriptions, or None if one of them cannot be read.

    The metadata of members is opaque, except in groups of protocol type "consumer": there it starts as version 0 of the
    consumer protocol, whatever its version, and the coordinator reads the topics (offsets of topics still read do not
    expire). Source: ``ClassicGroup.computeSubscribedTopics``.
    """
    topics: set[str] = set()
    for subscription in subscriptions:
        try:
            topics.update(_read_topics(subscription))
        except (StructError, ValueError):
            return None
    return frozenset(topics)


def _read_topics(subscription: bytes) -> list[str]:
    if _INT16.unpack_from(subscription)[0] < 0:
        raise ValueError("a version below 0")
    count = _INT32.unpack_from(subscription, 2)[0]
    position = 6
    if count < 0 or count * 2 > len(subscription) - position:
        raise ValueError("more topics than bytes")
    topics = []
    for _ in range(count):
        length = _INT16.unpack_from(subscription, position)[0]
        position += 2
        if length < 0 or position + length > len(subscription):
            raise ValueError("a topic longer than the bytes left")
        topics.append(subscription[position : position + length].decode())
        position += length
    # The user data must be present too: Kafka reads all of version 0.
    length = _INT32.unpack_from(subscription, position)[0]
    if length > len(subscription) - position - 4:
        raise ValueError("user data longer than the bytes left")
    return topics


class GroupState(StrEnum):
    """A classic group's state, under the name that clients see. Source: ``ClassicGroupState``.

    =====================  =====================================================================================
    Empty                  has no members, perhaps committed offsets. A join leads to PreparingRebalance
    PreparingRebalance     waits for the members to join. When all have joined, or after the timeout, leads to
                           CompletingRebalance (to Empty if no members are left)
    CompletingRebalance    waits for the leader's assignment, which leads to Stable. A join, leave or failure
                           of a member leads to PreparingRebalance
    Stable                 serves heartbeats. A join, leave or failure leads to PreparingRebalance
    Dead                   the partition is being unloaded
    =====================  =====================================================================================
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS_STATES: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset((GroupState.PREPARING_REBALANCE,)),
    GroupState.PREPARING_REBALANCE: frozenset(
        (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY),
    ),
    GroupState.COMPLETING_REBALANCE: frozenset((GroupState.PREPARING_REBALANCE,)),
    GroupState.STABLE: frozenset((GroupState.COMPLETING_REBALANCE,)),
    GroupState.DEAD: frozenset(GroupState),
}
"""State -> the states from which it may be entered."""


CONSUMER_PROTOCOL_TYPE = "consumer"
NO_TIMESTAMP = -1
MAX_GENERATION = 2**31 - 1


class ClassicGroup(MemberAccount):
    """One group. ``state_timestamp_ms``: when it entered its state, -1 if the record of an old version has no such
    time."""

    __slots__ = (
        "awaiting_join_count",
        "generation_id",
        "leader_id",
        "members",
        "new_member_added",
        "pending_join_members",
        "pending_sync_members",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "supported_protocols",
    )

    def __init__(self, group_id: str, now_ms: int, memory: GroupMemory) -> None:
        """``memory`` counts the bytes of the members of this group and of others."""
        super().__init__(group_id, memory)
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.state_timestamp_ms = now_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        self.pending_join_members: set[str] = set()
        self.pending_sync_members: dict[str, None] = {}
        self.supported_protocols: dict[str, int] = {}
        self.subscribed_topics: frozenset[str] | None = None
        self.awaiting_join_count = 0
        self.new_member_added = False

    def __repr__(self) -> str:
        return (
            f"ClassicGroup({self.group_id!r}, {self.state}, generation {self.generation_id}, "
            f"{len(self.members)} members, protocol {self.protocol_name!r})"
        )

    # --- queries

    @property
    def uses_consumer_protocol(self) -> bool:
        """Whether its members are consumers, so that the coordinator may know their topics."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic. If a subscription cannot be read, a group of consumers counts as reading
        every topic."""
        if self.subscribed_topics is not None:
            return topic in self.subscribed_topics
        return self.uses_consumer_protocol

    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of a member."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def has_all_members_joined(self) -> bool:
        """Whether all members have a parked JoinGroup, and no member is pending."""
        return len(self.members) == self.awaiting_join_count and not self.pending_join_members

    def can_rebalance(self) -> bool:
        """Whether a rebalance can start from this state."""
        return self.state in VALID_PREVIOUS_STATES[GroupState.PREPARING_REBALANCE]

    def is_leader(self, member_id: str) -> bool:
        """Whether the member is the leader."""
        return self.leader_id == member_id

    def supports_protocols(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member of that type and with these protocols can be in the group."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        if self.protocol_type is None or self.protocol_type != protocol_type:
            return False
        count = len(self.members)
        return any(self.supported_protocols.get(name, 0) == count for name in names)

    def validate_member(self, member_id: str, group_instance_id: str | None) -> None:
        """Raises KafkaError UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if another member has the instance id."""
        if group_instance_id is not None:
            known = self.static_members.get(group_instance_id)
            if known is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if known != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    def assignments(self) -> dict[str, bytes]:
        """The assignment of each member."""
        return {member.member_id: member.assignment for member in self.members.values()}

    # --- state

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        """Enters ``state``. Only the transitions in the table of :mod:`.group` are allowed."""
        assert self.state in VALID_PREVIOUS_STATES[state], f"{self.group_id}: from {self.state} to {state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms

    def start_next_generation(self, now_ms: int) -> None:
        """Raises the generation and enters CompletingRebalance, or Empty if no members are left."""
        # A log may hold the highest generation: Java's counter would become negative and refuse every member.
        self.generation_id = 1 if self.generation_id >= MAX_GENERATION else self.generation_id + 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self._compute_subscribed_topics()
        self.transition_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms)
        self.pending_sync_members.clear()

    def select_protocol(self) -> str:
        """The protocol that all members support and most of them prefer."""
        count = len(self.members)
        candidates = {name for name, supporters in self.supported_protocols.items() if supporters == count}
        votes: dict[str, int] = {}
        for member in self.members.values():
            name = member.vote(candidates)
            votes[name] = votes.get(name, 0) + 1
        # Equal votes: the first in the order of Kafka's hash map, so that a group chooses the same one here and in
        # Kafka.
        return max(in_hash_map_order(votes), key=votes.__getitem__)

    def _compute_subscribed_topics(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        return subscribed_topics(member.metadata(self.protocol_name) for member in self.members.values())

    def refresh_subscribed_topics(self) -> None:
        """Reads the members' subscriptions again (after loading)."""
        self.subscribed_topics = self._compute_subscribed_topics()

    # --- members

    def add(self, member: ClassicMember, join_token: Token | None) -> None:
        """Adds a member. The first one sets the group's protocol type and becomes its leader."""
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members, "the instance id is taken"
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        assert self.protocol_type == member.protocol_type, "a member of another protocol type"
        assert self.supports_protocols(member.protocol_type, (name for name, _ in member.protocols))
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        self._park_join(member, join_token)
        self._discard_pending(member.member_id)

    def add_pending(self, member_id: str) -> None:
        """Adds the id of a client that must join again with it (KIP-394)."""
        if member_id not in self.pending_join_members:
            self.pending_join_members.add(member_id)
            self._hold(MEMBER_BYTES)

    def _discard_pending(self, member_id: str) -> None:
        if member_id in self.pending_join_members:
            self.pending_join_members.discard(member_id)
            self._hold(-MEMBER_BYTES)

    def remove(self, member_id: str) -> None:
        """Removes a member, pending or not. If it was the leader, the member that joined first among the others becomes
        the leader."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            if member.is_awaiting_join:
                self.awaiting_join_count -= 1
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self._discard_pending(member_id)
        self.pending_sync_members.pop(member_id, None)

    def update_member(
        self,
        member: ClassicMember,
        protocols: Protocols,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        join_token: Token | None,
    ) -> None:
        """Updates a member from its JoinGroup, and parks the request (unless ``join_token`` is None)."""
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._park_join(member, join_token)

    def replace_static_member(self, group_instance_id: str, old_member_id: str, new_member_id: str) -> ClassicMember:
        """Gives a static member a new member id; the caller has answered the old one's parked requests."""
        old = self.members.pop(old_member_id)
        assert old.join_token is None, "its parked JoinGroup is answered first"
        assert old.sync_token is None, "its parked SyncGroup is answered first"
        new = ClassicMember(
            self.group_id,
            new_member_id,
            old.group_instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocol_type,
            old.protocols,
            old.assignment,
        )
        self.members[new_member_id] = new
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        self.static_members[group_instance_id] = new_member_id
        if old_member_id in self.pending_sync_members:
            # Kafka keeps waiting for the old id, which can never synchronise, and then rebalances without need.
            del self.pending_sync_members[old_member_id]
            self.pending_sync_members[new_member_id] = None
        return new

    def elect_joined_leader(self) -> bool:
        """Makes a member that has joined the leader, if the present leader has not joined. Returns False if no member
        has joined."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].is_awaiting_join:
            return True
        for member in self.members.values():
            if member.is_awaiting_join:
                self.leader_id = member.member_id
                return True
        return False

    def pop_join_token(self, member: ClassicMember) -> Token | None:
        """Removes the token of the member's parked JoinGroup and returns it; None if none is parked."""
        token = member.join_token
        if token is not None:
            self._park_join(member, None)
        return token

    def _park_join(self, member: ClassicMember, token: Token | None) -> None:
        self.awaiting_join_count += (token is not None) - (member.join_token is not None)
        member.join_token = token

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        for name in dict(member.protocols):  # a protocol that is named twice counts once
            self.supported_protocols[name] = self.supported_protocols.get(name, 0) + change
            if not self.supported_protocols[name]:
                del self.supported_protocols[name]
        self._hold(change * bytes_of(member.protocols))


class ClassicGroups(Protocol):
    """What classic groups need of the groups of one partition: the groups by id, the configuration of the coordinator,
    new member ids, and the count of memory. Source: ``GroupMetadataManager``, its fields.
    """

    config: GroupCoordinatorConfig
    new_uuid: Callable[[], str]
    memory: GroupMemory
    classic: dict[str, ClassicGroup]
