"""A group with epochs and a target assignment: what consumer, share and streams groups have in common.

Pure. Owns: the fields that all kinds store. Never does: deciding. Source: ``ModernGroup``.
"""

from typing import Generic, Protocol, TypeVar

from odradek.protocol.errors import ErrorCode, KafkaError

from ..memory import GroupMemory, MemberAccount
from .epochs import INITIAL_EPOCH, REFRESH_NOW


class ModernMember(Protocol):
    """A member of any kind of modern group."""

    @property
    def member_id(self) -> str:
        """The id of the member."""


Member = TypeVar("Member", bound=ModernMember)
Target = TypeVar("Target")


class ModernGroup(MemberAccount, Generic[Member, Target]):
    """One group. ``members`` and ``target_assignment``: by member id."""

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp_ms",
        "group_epoch",
        "members",
        "metadata_hash",
        "refresh_deadline",
        "target_assignment",
    )

    def __init__(self, group_id: str, memory: GroupMemory) -> None:
        """``memory`` counts the bytes of the members of this group and of others."""
        super().__init__(group_id, memory)
        self.group_epoch = INITIAL_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = INITIAL_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, Member] = {}
        self.target_assignment: dict[str, Target] = {}
        self.refresh_deadline = REFRESH_NOW

    def __repr__(self) -> str:
        kind, count = type(self).__name__, len(self.members)
        return f"{kind}({self.group_id!r}, {self.state}, epoch {self.group_epoch}, {count} members)"

    @property
    def state(self) -> str:
        """The state that clients see."""
        raise NotImplementedError

    def existing_member(self, member_id: str) -> Member:
        """The member of that id. Raises KafkaError UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            message = f"Member {member_id} is not a member of group {self.group_id}."
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, message)
        return member

    def must_refresh(self, now_ms: int) -> bool:
        """Whether the subscribed topics must be checked again."""
        return self.refresh_deadline.is_over(self.group_epoch, now_ms)

    def snapshot(self) -> dict[str, object]:
        """Returns the state that a restart restores, as values that can be compared."""
        return {
            "epochs": (self.group_epoch, self.metadata_hash, self.assignment_epoch, self.assignment_timestamp_ms),
            "members": dict(self.members),
            "targets": dict(self.target_assignment),
        }


class StaticGroup(ModernGroup[Member, Target]):
    """A group whose members may be static (KIP-345). ``static_members``: instance id -> member id."""

    __slots__ = ("static_members",)

    def __init__(self, group_id: str, memory: GroupMemory) -> None:
        """``memory`` counts the bytes of the members of this group and of others."""
        super().__init__(group_id, memory)
        self.static_members: dict[str, str] = {}

    def static_member(self, instance_id: str | None) -> Member | None:
        """Returns the member with a group.instance.id, or None. Raises KafkaError UNKNOWN_MEMBER_ID if that member has
        left.

        The latter happens, as in Kafka, if a member joins again with another instance id and then leaves: the old
        instance id stays mapped to it.
        """
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.existing_member(member_id)

    def existing_static_member(self, member_id: str, instance_id: str) -> Member:
        """The member with that instance id. Raises KafkaError UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if it has
        another member id."""
        member = self.static_member(instance_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise KafkaError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
            )
        return member

    def sender(self, member_id: str, instance_id: str | None) -> Member:
        """Returns the member that has sent a request. Raises KafkaError as the two do that it calls."""
        if instance_id is None:
            return self.existing_member(member_id)
        return self.existing_static_member(member_id, instance_id)
