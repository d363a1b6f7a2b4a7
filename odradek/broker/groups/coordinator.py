"""The group coordinator of this broker: all partitions of ``__consumer_offsets`` that it leads.

Shell. Never does: deciding, I/O. Source: ``GroupCoordinatorService``.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.protocol.names.topics import OFFSETS_TOPIC
from odradek.protocol.records.compression import CompressionType

from ..coordinator.coordinator import Coordinator, LogOpener
from ..coordinator.shard import CoordinatorShard, ShardState
from ..metrics.counts import GroupCounts
from ..timers.timers import Timers
from .config import GroupCoordinatorConfig
from .core import GroupCore
from .effects import GroupEffects
from .memory import GroupMemory
from .modern.topics import GroupTopics, no_topics
from .records import CoordinatorRecord

with lazy_imports:
    from .consumer import lifecycle as consumer_lifecycle
    from .share import lifecycle as share_lifecycle
    from .share import state_turns
    from .streams import lifecycle as streams_lifecycle

if TYPE_CHECKING:
    from .share.group import ShareGroups
    from .share.state_turns import StateTurns

GroupShard = CoordinatorShard[GroupCore, GroupEffects]


class GroupCoordinator(Coordinator[GroupCore, GroupEffects]):
    """The shards of all partitions, and the topics, memory count and metrics that they share."""

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        timers: Timers,
        clock_ms: Callable[[], int],
        new_uuid: Callable[[], str],
        open_log: LogOpener,
        topics: GroupTopics | None = None,
        group_configs: Callable[[str], Mapping[str, str]] = lambda _: {},
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch; ``new_uuid`` returns the text of a fresh random UUID.

        ``topics``: the topics that groups subscribe to. ``group_configs`` returns the configs of a group by its id.
        """
        self.config = config
        self.topics = topics or no_topics()
        """The topics that groups subscribe to."""
        self.memory = GroupMemory()
        self.counts = GroupCounts()
        self._state_turns: StateTurns | None = None
        super().__init__(
            OFFSETS_TOPIC,
            config.offsets_topic_num_partitions,
            lambda: GroupCore(self.config, new_uuid, self.topics, group_configs, self.memory, self.counts),
            timers,
            clock_ms,
            open_log,
            CompressionType(config.offsets_topic_compression_codec),
            config.offsets_commit_timeout_ms,
        )

    def reconfigure(self, config: GroupCoordinatorConfig) -> None:
        """Replaces the configuration."""
        self.config = config
        for shard in self._shards.values():
            shard.core.groups.config = config

    def topics_changed(self, names: set[str], has_new: bool) -> Steps[None]:
        """Notes, in steps, that topics were created, changed or deleted. ``has_new``: some were created."""
        self.topics.changed(names, has_new)
        cores = [shard.core for shard in self._shards.values() if shard.core.groups.consumer]
        if cores:
            for core in cores:
                yield
                consumer_lifecycle.topics_changed(core.groups, names)
        cores = [shard.core for shard in self._shards.values() if shard.core.groups.share]
        if cores:
            for core in cores:
                yield
                share_lifecycle.topics_changed(core.groups, names)
        cores = [shard.core for shard in self._shards.values() if shard.core.groups.streams]
        if cores:
            for core in cores:
                yield
                streams_lifecycle.topics_changed(core.groups, names)

    def topics_deleted(self, topics: set[str]) -> Steps[None]:
        """Deletes the offsets of deleted topics, in steps (``OffsetMetadataManager.onPartitionsDeleted``)."""
        for shard in list(self._shards.values()):
            yield
            for tombstones in shard.core.offsets.tombstones_of_topics(topics):
                if shard.state is not ShardState.ACTIVE:
                    break
                if tombstones:
                    shard.write(self._clock_ms(), partial(_forget, tombstones), _ignore, _ignore)
                yield

    def share_topics_deleted(self, topic_ids: Collection[bytes]) -> Steps[None]:
        """Removes deleted topics from the share groups that know them, in steps (``maybeCleanupShareGroupState``)."""
        shards = [shard for shard in self._shards.values() if shard.core.groups.share]
        if not shards:
            return
        for shard in shards:
            for records in share_lifecycle.records_without_topics(shard.core.groups, frozenset(topic_ids)):
                if shard.state is not ShardState.ACTIVE:
                    break
                if records:
                    shard.write(self._clock_ms(), partial(_forget, records), _ignore, _ignore)
                yield

    def change_share_groups(self, group_id: str, change: "Callable[[ShareGroups, GroupEffects], None]") -> None:
        """Makes a change of a share group that no client waits for, such as after an answer of the persister."""
        self.write(group_id, self._clock_ms(), lambda core, effects: change(core.groups, effects), _ignore, _ignore)

    @property
    def state_turns(self) -> "StateTurns":
        """The order of the requests about the state of each share group. Made when it is first needed."""
        if self._state_turns is None:
            self._state_turns = state_turns.StateTurns(self._timers, self._serves)
        return self._state_turns

    def _serves(self, group_id: str) -> bool:
        try:
            return self.shard_of(group_id).state is ShardState.ACTIVE
        except KafkaError:
            return False

    @property
    def timers(self) -> Timers:
        """The timers of the broker."""
        return self._timers


def _forget(tombstones: list[CoordinatorRecord], core: GroupCore, effects: GroupEffects) -> None:
    effects.records += tombstones
    effects.atomic = False


def _ignore(_: object) -> None:
    """Drops a response: no client waits for it."""
