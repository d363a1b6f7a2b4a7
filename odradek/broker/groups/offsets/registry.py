"""The groups of one partition of ``__consumer_offsets``, and the offsets that were committed for them.

Owns: the store of both. Never does: deciding. Pure. Source: ``OffsetMetadataManager``, which has a
``GroupMetadataManager``.
"""

from collections.abc import Callable, Mapping

from ...metrics.coordinator_counts import GroupCounts
from ..config import GroupCoordinatorConfig
from ..consumer.registry import GroupRegistry
from ..consumer.topics import GroupTopics
from ..memory import GroupMemory
from .store import OffsetStore


class OffsetRegistry(GroupRegistry):
    """Groups and committed offsets."""

    __slots__ = ("offsets",)

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        new_uuid: Callable[[], str],
        memory: GroupMemory,
        topics: GroupTopics,
        group_configs: Callable[[str], Mapping[str, str]],
        counts: GroupCounts,
    ) -> None:
        """The arguments are those of :class:`..consumer.registry.GroupRegistry`."""
        super().__init__(config, new_uuid, memory, topics, group_configs, counts)
        self.offsets = OffsetStore()
