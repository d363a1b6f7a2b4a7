"""The coordinators of a broker, for groups, transactions and the state of share groups, over the partitions of their
topics.

Owns: the assignment of partitions to coordinators, their elections, and the order of their loading. Never does:
deciding. Invariants: at a start, groups are loaded before transactions, which may write markers for them; the share
coordinator is made when its topic has records, or at the first request for it. Source: ``BrokerMetadataPublisher``.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.steps import Steps
from odradek.protocol.names.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_STATE_TOPIC

from ..config.server_config import ServerConfig
from ..coordinator.coordinator import Coordinator
from ..coordinator.partition_log import ACKS_ALL, ACKS_LEADER, PartitionLog
from ..coordinator.partitioning import partition_count
from ..groups.coordinator import GroupCoordinator
from ..groups.coordinator_settings import group_settings
from ..groups.modern.topics import GroupTopics
from ..metadata.image.features import TRANSACTION_VERSION
from ..metadata.image.image import MetadataDelta, MetadataImage, PartitionImage, ResourceType, TopicImage
from ..metadata.publisher.controller_link import TopicCreator
from ..metadata.publisher.published import PublishedMetadata
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from ..timers.slices import Slices
from ..timers.timers import Timers
from ..transactions.config import TransactionCoordinatorConfig
from ..transactions.coordinator import TransactionCoordinator
from ..transactions.marker_writer import MarkerWriter
from .random_ids import random_uuid_text
from .share_state import ShareStateParts

with lazy_imports:
    from ..groups import progress_watch, slow_rebalances
    from ..groups.streams import internal_topics
    from ..transactions import open_transaction_watch, peers

if TYPE_CHECKING:
    from ..groups.progress_watch import ProgressWatch
    from ..groups.slow_rebalances import RebalanceWatch
    from ..groups.streams.internal_topics import InternalTopics
    from ..metrics.topic_meters import TopicMeters
    from ..network.node_client import NodeSecurity
    from ..share_state.coordinator import ShareCoordinator
    from ..share_state.partition_ends import PartitionEnds
    from ..share_state.state_persister import StatePersister
    from ..transactions.open_transaction_watch import OpenTransactionWatch
    from ..transactions.peers import TransactionPeers

LOOK_EVERY_MS = 5_000
"""The interval of checks for slow rebalances."""


class Coordinators:
    """The group coordinator, the transaction coordinator and the share coordinator of a broker."""

    def __init__(
        self,
        config: ServerConfig,
        metadata: PublishedMetadata,
        next_producer_id: Callable[[], int],
        partitions: Partitions,
        timers: Timers,
        slices: Slices,
        clock_ms: Callable[[], int],
        lost_ms: Callable[[], int],
        topic_creator: TopicCreator,
        inter_broker: "NodeSecurity | None" = None,
        topic_meters: "TopicMeters | None" = None,
    ) -> None:
        """``next_producer_id`` returns a new id. ``clock_ms``: wall clock, milliseconds since the epoch. ``lost_ms``:
        the total time of stalls of the broker, in ms. ``inter_broker``: the security settings of connections to other
        brokers; None without other brokers. ``topic_meters`` count what coordinators append; None without metrics.
        """
        self._metadata = metadata
        self._partitions = partitions
        self._timers = timers
        self._slices = slices
        self._clock_ms = clock_ms
        self._watches: tuple[RebalanceWatch, ProgressWatch, OpenTransactionWatch] | None = None
        self._make_internal_topics = cache(partial(_internal_topics, topic_creator, clock_ms))
        self._topic_meters = topic_meters
        self.peers = _peers(config, metadata, inter_broker)
        opened = partial(self._open_log, SHARE_STATE_TOPIC)
        self._share_state = ShareStateParts(config, metadata, timers, clock_ms, opened, topic_creator, inter_broker)
        self.groups = GroupCoordinator(
            group_settings(config, metadata.image),
            timers,
            clock_ms,
            random_uuid_text,
            partial(self._open_log, OFFSETS_TOPIC),
            GroupTopics(lambda: metadata.image),
            lambda group_id: metadata.image.config_of(ResourceType.GROUP, group_id),
        )
        self.transactions = TransactionCoordinator(
            transaction_settings(config, metadata.image),
            MarkerWriter(
                partitions,
                self.groups,
                partial(PartitionLog, required_acks=ACKS_ALL, topics=topic_meters),
                timers,
                clock_ms,
                config.get_int("request.timeout.ms"),
                self.peers,
            ),
            timers,
            clock_ms,
            next_producer_id,
            lambda: metadata.image.features.get(TRANSACTION_VERSION, 0),
            lost_ms,
            partial(self._open_log, TRANSACTION_STATE_TOPIC),
        )
        self._by_topic: dict[str, Coordinator[Any, Any]] = {
            OFFSETS_TOPIC: self.groups,
            TRANSACTION_STATE_TOPIC: self.transactions,
        }

    @property
    def share(self) -> "ShareCoordinator":
        """The share coordinator."""
        coordinator = self._by_topic[SHARE_STATE_TOPIC] = self._share_state.coordinator
        return coordinator

    @property
    def persister(self) -> "StatePersister":
        """Stores and reads the state of share partitions."""
        return self._share_state.persister(self.share)

    @property
    def partition_ends(self) -> "PartitionEnds":
        """The ends of partitions, here or at other leaders."""
        return self._share_state.partition_ends(self._partitions)

    @property
    def internal_topics(self) -> "InternalTopics":
        """Creates the internal topics of streams groups. Made at the first use."""
        return self._make_internal_topics()

    def _make_share_if_stored(self) -> None:
        """Makes the share coordinator once a partition of its topic has files."""
        if SHARE_STATE_TOPIC not in self._by_topic:
            stored = self._partitions.of_topic(SHARE_STATE_TOPIC).values()
            if any(partition.open_log is not None for partition in stored):
                _ = self.share

    def _open_log(self, topic: str, index: int) -> PartitionLog | None:
        partition = self._partitions.find(topic, index)
        return None if partition is None or partition.refusal is not None else self._log(partition)

    def _log(self, partition: Partition) -> PartitionLog:
        return PartitionLog(
            partition, ACKS_ALL if partition.topic == TRANSACTION_STATE_TOPIC else ACKS_LEADER, self._topic_meters
        )

    def load(self) -> None:
        """Loads every partition of the coordinators' topics that has files; the others are empty."""
        self._make_share_if_stored()
        for topic, coordinator in self._by_topic.items():
            for index, partition in self._partitions.of_topic(topic).items():
                if partition.refusal is None and partition.open_log is not None:
                    coordinator.elect(index, self._log(partition))
        self._timers.schedule(LOOK_EVERY_MS, self._watch)

    def _watch(self) -> None:
        if self._watches is None:
            self._watches = (
                slow_rebalances.RebalanceWatch(),
                progress_watch.ProgressWatch(self._end_offset),
                open_transaction_watch.OpenTransactionWatch(),
            )
        self._slices.start_background(self._look(*self._watches), "the check for what takes long")

    def _end_offset(self, topic: str, index: int) -> int | None:
        """The high watermark of a partition that this broker has opened; else None."""
        partition = self._partitions.find(topic, index)
        log = None if partition is None else partition.open_log
        return None if log is None else log.high_watermark

    def _look(
        self, rebalances: "RebalanceWatch", progress: "ProgressWatch", transactions: "OpenTransactionWatch"
    ) -> Steps[None]:
        """Looks at all groups and open transactions, and schedules the next look, also after an exception."""
        try:
            yield from rebalances.log_changes(self.groups.cores(), self._clock_ms())
            yield from progress.log_changes(self.groups.cores(), self._clock_ms())
            yield from transactions.log_changes(self.transactions.cores(), self._clock_ms())
        finally:
            self._timers.schedule(LOOK_EVERY_MS, self._watch)

    def leaders_changed(self, image: MetadataImage, delta: MetadataDelta) -> Steps[None]:
        """Elects and resigns according to a change of the metadata, after the replicas were switched.

        Source: ``BrokerMetadataPublisher.updateCoordinator``.
        """
        self._make_share_if_stored()
        for topic in delta.deleted_topics.values():
            if topic.name in self._by_topic:
                for index in topic.partitions:
                    self._by_topic[topic.name].resign(index)
        for topic in delta.created_topics.values():
            if topic.name in self._by_topic:
                self._by_topic[topic.name].repartition(len(topic.partitions))
        for name, coordinator in list(self._by_topic.items()):
            present = image.topics_by_name.get(name)
            if present is None:
                continue
            for topic_id, index in delta.changed_partitions:
                if topic_id == present.topic_id:
                    yield
                    self._leader_changed(coordinator, name, index, present.partitions[index])

    def _leader_changed(
        self, coordinator: Coordinator[Any, Any], topic: str, index: int, image: PartitionImage
    ) -> None:
        """Elects or resigns for one partition. One without files gets its shard when a request needs it."""
        partition = self._partitions.find(topic, index)
        if image.leader != self._metadata.node_id:
            coordinator.resign(index, image.leader_epoch if self._metadata.node_id in image.replicas else None)
        elif partition is None or partition.refusal is not None:
            coordinator.resign(index)
        elif partition.open_log is not None:
            coordinator.elect(index, self._log(partition), in_turns=True)

    def resign(self, partitions: Iterable[Partition]) -> None:
        """Stops coordinating partitions that are refused from now on."""
        for partition in partitions:
            if partition.topic in self._by_topic:
                self._by_topic[partition.topic].resign(partition.index)

    def reconfigure(self, config: ServerConfig, image: MetadataImage) -> None:
        """Applies configs that may change while the broker runs."""
        self.groups.reconfigure(group_settings(config, image))

    def topics_changed(self, image: MetadataImage, delta: MetadataDelta) -> Steps[None]:
        """Notifies consumer groups of created, changed and deleted topics, so that they compute new assignments."""
        changed = {topic_id for topic_id, _ in delta.changed_partitions}
        names = {image.topics_by_id[topic_id].name for topic_id in changed if topic_id in image.topics_by_id}
        names.update(topic.name for topic in delta.deleted_topics.values())
        if names:
            yield from self.groups.topics_changed(names, bool(delta.created_topics))

    def topics_deleted(self, topics: Iterable[TopicImage]) -> Steps[None]:
        """Removes the offsets of deleted topics, and the states of their share partitions."""
        deleted = {topic.topic_id: topic.name for topic in topics}
        if deleted:
            yield from self.groups.topics_deleted(set(deleted.values()))
            yield from self.groups.share_topics_deleted(deleted.keys())
            if SHARE_STATE_TOPIC in self._by_topic:
                yield from self.share.topics_deleted(deleted.keys())

    def stop(self) -> None:
        """Stops the coordinators."""
        for coordinator in reversed(self._by_topic.values()):
            coordinator.stop()
        self.abort()

    def abort(self) -> None:
        """Ends the connections to other brokers."""
        if self.peers is not None:
            self.peers.close()
        self._share_state.close()


def _internal_topics(creator: TopicCreator, clock_ms: Callable[[], int]) -> "InternalTopics":
    return internal_topics.InternalTopics(creator, clock_ms)


def _peers(
    config: ServerConfig, metadata: PublishedMetadata, security: "NodeSecurity | None"
) -> "TransactionPeers | None":
    """The other brokers; None if this broker is its own controller, which has no others."""
    if security is None:
        return None
    return peers.TransactionPeers(
        metadata.node_id,
        config.inter_broker_listener_name,
        config.get_int("request.timeout.ms"),
        lambda: metadata.image,
        security,
    )


def transaction_settings(config: ServerConfig, image: MetadataImage) -> TransactionCoordinatorConfig:
    """The configuration of the transaction coordinator. ``image`` has the partition count of an existing topic."""
    settings: dict[str, Any] = {
        "transaction_max_timeout_ms": config.get_int("transaction.max.timeout.ms"),
        "transactional_id_expiration_ms": config.get_int("transactional.id.expiration.ms"),
        "transaction_abort_timed_out_transaction_cleanup_interval_ms": config.get_int(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        ),
        "transaction_remove_expired_transaction_cleanup_interval_ms": config.get_int(
            "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
        "request_timeout_ms": config.get_int("request.timeout.ms"),
        "transaction_state_log_num_partitions": partition_count(
            image, TRANSACTION_STATE_TOPIC, config.get_int("transaction.state.log.num.partitions")
        ),
    }
    return TransactionCoordinatorConfig(**settings)
