"""Whether there is memory for a JoinGroup of a classic group.

Owns: the comparison with the limits. Never does: I/O. Pure. Source: ours (see :mod:`..memory`).
"""

from odradek.protocol.errors import ErrorCode

from ..config import GroupCoordinatorConfig
from ..memory import limit_reached
from .group import ClassicGroup
from .member import Protocols, bytes_of


def refusal_of(
    config: GroupCoordinatorConfig, group: ClassicGroup, member_id: str, protocols: Protocols
) -> tuple[ErrorCode, str] | None:
    """Returns the error of a JoinGroup that would exceed a memory limit, and the config key of the limit; None if there
    is room.

    Above the limit of a group the error is GROUP_MAX_SIZE_REACHED, which is fatal for clients. Above the limit of all
    groups it is COORDINATOR_NOT_AVAILABLE, after which clients retry. A member whose new protocols need no more memory
    than its present ones is never refused.
    """
    member = group.members.get(member_id)
    growth = bytes_of(protocols) - (0 if member is None else bytes_of(member.protocols))
    return limit_reached(config, group.member_bytes, group.memory, growth)
