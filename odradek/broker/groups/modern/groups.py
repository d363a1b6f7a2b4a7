"""What every kind of modern group needs of the groups of one partition of ``__consumer_offsets``.

Pure. Never does: deciding. Source: ``GroupMetadataManager``, its fields.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from ...metrics.coordinator_counts import GroupCounts
from ..config import GroupCoordinatorConfig
from ..memory import GroupMemory
from .topics import GroupTopics


class ModernGroups(Protocol):
    """The base of the protocols of each kind. The groups of all kinds (``GroupRegistry``) are one."""

    @property
    def config(self) -> GroupCoordinatorConfig:
        """The limits and times of the coordinator."""

    @property
    def topics(self) -> GroupTopics:
        """The topics that groups read."""

    @property
    def memory(self) -> GroupMemory:
        """Counts the bytes of all members."""

    @property
    def counts(self) -> GroupCounts:
        """Metrics."""

    @property
    def group_configs(self) -> Callable[[str], Mapping[str, str]]:
        """Returns the configs of a group by its id."""
