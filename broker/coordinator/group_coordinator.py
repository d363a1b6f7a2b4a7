"""The group coordinator of this broker: all partitions of ``__consumer_offsets`` that it leads.

Never does: deciding, I/O. Source: ``GroupCoordinatorService``.
"""

from collections.abc import Callable

from ..groups.config import GroupCoordinatorConfig
from ..groups.core import GroupCore
from ..groups.effects import Effects
from ..internal_topics import OFFSETS_TOPIC
from .coordinator import Coordinator, LogOpener
from .interfaces import Timers
from .shard import CoordinatorShard

GroupShard = CoordinatorShard[GroupCore, Effects]


class GroupCoordinator(Coordinator[GroupCore, Effects]):
    """Finds the shard of a group."""

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        timers: Timers,
        clock_ms: Callable[[], int],
        new_uuid: Callable[[], str],
        open_log: LogOpener,
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch; ``new_uuid``: the text of a fresh random UUID."""
        self.config = config
        super().__init__(
            OFFSETS_TOPIC,
            config.offsets_topic_num_partitions,
            lambda: GroupCore(self.config, new_uuid),
            timers,
            clock_ms,
            open_log,
        )

    def topics_deleted(self, topics: set[str]) -> None:
        """Forgets the offsets of topics that are no more."""

        def forget(core: GroupCore, effects: Effects) -> None:
            effects.records += core.offsets.tombstones_of_topics(topics)
            effects.atomic = False

        for shard in list(self._shards.values()):
            shard.write(self._clock_ms(), forget, _ignore, _ignore)


def _ignore(_: object) -> None:
    """Nobody waits for an answer."""
