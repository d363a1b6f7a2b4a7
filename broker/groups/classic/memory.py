"""Whether a JoinGroup of a classic group has room in memory.

Owns: the comparison with the limits. Never does: I/O. Pure. Source: ours (see :mod:`..memory`).
"""

from ....protocol.errors import ErrorCode
from ..config import GroupCoordinatorConfig
from ..memory import limit_reached
from .group import ClassicGroup
from .member import Protocols, bytes_of


def refusal_of(
    config: GroupCoordinatorConfig, group: ClassicGroup, member_id: str, protocols: Protocols
) -> tuple[ErrorCode, str] | None:
    """The error of a JoinGroup for which there is no memory, and the key of the limit; None if there is room.

    GROUP_MAX_SIZE_REACHED, which ends a client, beyond the limit of a group; COORDINATOR_NOT_AVAILABLE, after which it
    tries again, while the groups of others leave no room. A member that asks for no more than it has is never refused.
    """
    member = group.members.get(member_id)
    growth = bytes_of(protocols) - (0 if member is None else bytes_of(member.protocols))
    return limit_reached(config, group.member_bytes, group.memory, growth)
