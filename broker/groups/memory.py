"""The memory that members of classic groups hold, and its limits.

Owns: the count of bytes, and whether a JoinGroup has room. Never does: I/O. Invariant: a group's bytes are counted for
as long as the group object lives. Kafka bounds the number of members (``group.max.size``) and, since a group is stored
as one record, what its members send for the chosen protocol (``max.message.bytes`` of ``__consumer_offsets``, 1 MiB).
It does not bound what waits for a rebalance; the two limits here are ours.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ErrorCode

if TYPE_CHECKING:
    from .config import GroupCoordinatorConfig
    from .group import ClassicGroup
    from .member import Protocols

MEMBER_BYTES = 1024
"""A member or a pending member without what it sends: object, timers, ids, entries of dictionaries."""
GROUP_MAX_KEY = "odradek.group.members.max.bytes"
TOTAL_MAX_KEY = "odradek.groups.members.max.bytes"


class GroupMemory:
    """The bytes of the members of several groups."""

    __slots__ = ("used_bytes",)

    def __init__(self) -> None:
        self.used_bytes = 0


def bytes_of(protocols: "Protocols") -> int:
    """What a member with these protocols holds."""
    return MEMBER_BYTES + sum(len(name) + len(metadata) for name, metadata in protocols)


def refusal_of(
    config: "GroupCoordinatorConfig", group: "ClassicGroup", member_id: str, protocols: "Protocols"
) -> tuple[ErrorCode, str] | None:
    """The error of a JoinGroup for which there is no memory, and the key of the limit; None if there is room.

    GROUP_MAX_SIZE_REACHED, which ends a client, beyond the limit of a group; COORDINATOR_NOT_AVAILABLE, after which it
    tries again, while the groups of others leave no room. A member that asks for no more than it has is never refused.
    """
    member = group.members.get(member_id)
    growth = bytes_of(protocols) - (0 if member is None else bytes_of(member.protocols))
    if growth <= 0:
        return None
    if group.member_bytes + growth > config.group_members_max_bytes:
        return ErrorCode.GROUP_MAX_SIZE_REACHED, GROUP_MAX_KEY
    if group.memory.used_bytes + growth > config.groups_members_max_bytes:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, TOTAL_MAX_KEY
    return None
