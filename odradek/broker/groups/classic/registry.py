"""The classic groups of one partition of ``__consumer_offsets``.

Owns: the groups by id, and what JoinGroup needs besides: configuration, new member ids, the count of memory. Never
does: deciding. Pure. Source: ``GroupMetadataManager``, its field ``groups``.
"""

from collections.abc import Callable

from ..config import GroupCoordinatorConfig
from ..memory import GroupMemory
from .group import ClassicGroup


class ClassicGroupRegistry:
    """Classic groups by id, with the configuration of the coordinator."""

    __slots__ = ("config", "groups", "memory", "new_uuid")

    def __init__(self, config: GroupCoordinatorConfig, new_uuid: Callable[[], str], memory: GroupMemory) -> None:
        """``new_uuid`` returns the text of a fresh UUID, for each new member id.

        ``memory`` counts the bytes of the members of these groups, and of the groups of other partitions.
        """
        self.config = config
        self.new_uuid = new_uuid
        self.memory = memory
        self.groups: dict[str, ClassicGroup] = {}
