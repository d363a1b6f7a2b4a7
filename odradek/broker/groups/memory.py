"""The memory that members of groups hold, and its limits.

Owns: the count of bytes, and whether a request has room. Never does: I/O. Invariant: a group's bytes are counted for
as long as the group object lives. Kafka bounds the number of members (``group.max.size``) and, since a classic group is
stored as one record, what its members send for the chosen protocol (``max.message.bytes`` of ``__consumer_offsets``,
1 MiB). It does not bound requests that wait for a rebalance, nor what members of consumer groups send. The two limits
here are ours. The estimates for each kind of group are in its own ``member.py``.
"""

from collections.abc import Iterable

from odradek.protocol.errors import ErrorCode

from .config import GroupCoordinatorConfig

MEMBER_BYTES = 1024
"""The estimated bytes of a member or pending member besides the data it sends: object, timers, ids, entries in
dictionaries."""
NAME_BYTES = 256
"""The bytes of a topic name besides its characters: the string, its entry in the member's set, and its count in the
group. Measured with names that no other member has: 205 bytes."""
GROUP_MAX_KEY = "odradek.group.members.max.bytes"
TOTAL_MAX_KEY = "odradek.groups.members.max.bytes"


class GroupMemory:
    """Counts the bytes of the members of several groups. The broker has one for all its groups."""

    __slots__ = ("used_bytes",)

    def __init__(self) -> None:
        self.used_bytes = 0


class MemberAccount:
    """The bytes that the members of one group hold. It is the base of each kind of group. They are counted for as long
    as the group object lives, because it is dropped in several ways: by a tombstone, with its partition, and when it
    becomes a group of another kind."""

    __slots__ = ("group_id", "member_bytes", "memory")

    def __init__(self, group_id: str, memory: GroupMemory) -> None:
        """``memory`` counts the bytes of the members of this group and of others."""
        self.group_id = group_id
        self.memory = memory
        self.member_bytes = 0
        """The bytes of the members and of what the group keeps for them."""

    def __del__(self) -> None:
        self.memory.used_bytes -= self.member_bytes

    def _hold(self, more: int) -> None:
        """Counts ``more`` bytes, fewer if it is negative."""
        self.member_bytes += more
        self.memory.used_bytes += more


def text_bytes(text: str | None) -> int:
    """The bytes of a text in Python's memory, without the object around it: at most four for each character."""
    if text is None:
        return 0
    return len(text) if text.isascii() else 4 * len(text)


def names_bytes(names: Iterable[str]) -> int:
    """The bytes of a set of topic names."""
    return sum(NAME_BYTES + text_bytes(name) for name in names)


def protocol_bytes(protocols: Iterable[tuple[str, bytes]]) -> int:
    """The bytes of the protocols that a member sent in JoinGroup."""
    return sum(len(name) + len(metadata) for name, metadata in protocols)


def limit_reached(
    config: GroupCoordinatorConfig, group_bytes: int, memory: GroupMemory, growth: int
) -> tuple[ErrorCode, str] | None:
    """Returns the error of a request by which a group of ``group_bytes`` would grow by ``growth`` bytes beyond a limit,
    and the config key of that limit; None if there is room.

    A request that needs no further memory (``growth`` <= 0) is never refused.
    """
    if growth <= 0:
        return None
    if group_bytes + growth > config.group_members_max_bytes:
        return ErrorCode.GROUP_MAX_SIZE_REACHED, GROUP_MAX_KEY
    if memory.used_bytes + growth > config.groups_members_max_bytes:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, TOTAL_MAX_KEY
    return None
