"""What the classic protocol needs of whoever keeps the groups of a partition (:class:`..core.GroupCore`).

Owns: the shape. Never does: anything.
"""

from collections.abc import Callable
from typing import Protocol

from ..config import GroupCoordinatorConfig
from ..memory import GroupMemory
from .group import ClassicGroup


class HasClassicGroups(Protocol):
    """Keeps classic groups: ``groups`` by their ids; ``new_uuid`` gives a fresh UUID's text for each new member id."""

    config: GroupCoordinatorConfig
    groups: dict[str, ClassicGroup]
    memory: GroupMemory
    new_uuid: Callable[[], str]
