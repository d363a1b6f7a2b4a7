"""The share coordinator of a broker, the persister that asks it, and who knows the ends of partitions.

Most brokers have no share groups, so each is made when it is needed.

Owns: the making of the three. Never does: deciding. Source: ``BrokerServer``, createShareCoordinator and
createShareStatePersister.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..config.server_config import ServerConfig
from ..coordinator.coordinator import LogOpener
from ..metadata.image.features import SHARE_VERSION
from ..metadata.publisher.controller_link import TopicCreator
from ..metadata.publisher.published import PublishedMetadata
from ..replicas.partitions import Partitions
from ..timers.timers import Timers

with lazy_imports:
    from ..share_state import config, partition_ends, remote, state_persister
    from ..share_state import coordinator as share_state_coordinator

if TYPE_CHECKING:
    from ..network.node_client import NodeSecurity
    from ..share_state.coordinator import ShareCoordinator
    from ..share_state.partition_ends import PartitionEnds
    from ..share_state.remote import ShareStatePeers
    from ..share_state.state_persister import StatePersister


class ShareStateParts:
    """The three parts."""

    def __init__(
        self,
        config: ServerConfig,
        metadata: PublishedMetadata,
        timers: Timers,
        clock_ms: Callable[[], int],
        open_log: LogOpener,
        topic_creator: TopicCreator,
        inter_broker: "NodeSecurity | None",
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch. ``open_log`` returns the log of a partition of
        ``__share_group_state``. ``topic_creator`` creates that topic. ``inter_broker``: the security settings of
        connections to other brokers; None without other brokers.
        """
        self._config = config
        self._metadata = metadata
        self._timers = timers
        self._clock_ms = clock_ms
        self._open_log = open_log
        self._topic_creator = topic_creator
        self._inter_broker = inter_broker
        self._coordinator: ShareCoordinator | None = None
        self._persister: StatePersister | None = None
        self._partition_ends: PartitionEnds | None = None

    @property
    def coordinator(self) -> "ShareCoordinator":
        """The share coordinator."""
        if self._coordinator is None:
            metadata = self._metadata
            self._coordinator = share_state_coordinator.ShareCoordinator(
                config.share_settings(self._config, metadata.image),
                self._timers,
                self._clock_ms,
                self._open_log,
                self._partition_count,
                lambda: metadata.image.features.get(SHARE_VERSION, 0) > 0,
            )
        return self._coordinator

    def persister(self, coordinator: "ShareCoordinator") -> "StatePersister":
        """Stores and reads the state of share partitions. ``coordinator``: this broker's."""
        if self._persister is None:
            metadata = self._metadata
            self._persister = state_persister.StatePersister(
                metadata.node_id,
                coordinator,
                self._peers(),
                lambda: metadata.image,
                self._topic_creator.ensure,
                self._timers,
                self._clock_ms,
                self._config.get_int("request.timeout.ms"),
            )
        return self._persister

    def partition_ends(self, partitions: Partitions) -> "PartitionEnds":
        """The ends of partitions, for the lag of share groups. ``partitions``: this broker's."""
        if self._partition_ends is None:
            metadata = self._metadata
            self._partition_ends = partition_ends.PartitionEnds(
                metadata.node_id,
                partitions,
                lambda: metadata.image,
                self._config.inter_broker_listener_name,
                self._config.get_int("request.timeout.ms"),
                self._inter_broker,
            )
        return self._partition_ends

    def _partition_count(self, topic_id: bytes) -> int:
        topic = self._metadata.image.topics_by_id.get(topic_id)
        return 0 if topic is None else len(topic.partitions)

    def _peers(self) -> "ShareStatePeers | None":
        if self._inter_broker is None:
            return None
        return remote.ShareStatePeers(
            self._metadata.node_id,
            self._config.inter_broker_listener_name,
            self._config.get_int("request.timeout.ms"),
            lambda: self._metadata.image,
            self._inter_broker,
        )

    def close(self) -> None:
        """Ends retries, and the connections to other brokers."""
        if self._persister is not None:
            self._persister.close()
        if self._partition_ends is not None:
            self._partition_ends.close()
