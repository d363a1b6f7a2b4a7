"""The coordinators of a broker: of groups and of transactions, over the partitions of their topics.

Owns: which coordinator a partition belongs to, and the order in which they load. Never does: deciding. Invariant:
groups are loaded before transactions, whose markers may be for them. Source: ``BrokerMetadataPublisher``.
"""

import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .config.server_config import ServerConfig
from .coordinator.coordinator import Coordinator
from .coordinator.group_coordinator import GroupCoordinator
from .coordinator.interfaces import Timers
from .coordinator.marker_writer import MarkerWriter
from .coordinator.transaction_coordinator import TransactionCoordinator
from .coordinator_log import PartitionLog
from .groups.config import GroupCoordinatorConfig
from .internal_topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from .metadata.features import TRANSACTION_VERSION
from .metadata.image import MetadataImage, TopicImage
from .metadata.service import MetadataService
from .partition import Partition
from .partitions import Partitions
from .transactions.config import TransactionCoordinatorConfig


class Coordinators:
    """Both coordinators."""

    def __init__(
        self,
        config: ServerConfig,
        metadata: MetadataService,
        partitions: Partitions,
        timers: Timers,
        clock_ms: Callable[[], int],
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch."""
        image = metadata.image
        self._partitions = partitions
        self.groups = GroupCoordinator(
            GroupCoordinatorConfig(**group_settings(config, image)),
            timers,
            clock_ms,
            lambda: str(uuid.uuid4()),
            partial(self._open_log, OFFSETS_TOPIC),
        )
        self.transactions = TransactionCoordinator(
            TransactionCoordinatorConfig(**transaction_settings(config, image)),
            MarkerWriter(partitions, self.groups, PartitionLog, timers, clock_ms),
            timers,
            clock_ms,
            lambda: metadata.next_producer_id(clock_ms()),
            lambda: metadata.image.features.get(TRANSACTION_VERSION, 0),
            partial(self._open_log, TRANSACTION_STATE_TOPIC),
        )
        self._by_topic: dict[str, Coordinator[Any, Any]] = {
            OFFSETS_TOPIC: self.groups,
            TRANSACTION_STATE_TOPIC: self.transactions,
        }

    def _open_log(self, topic: str, index: int) -> PartitionLog | None:
        partition = self._partitions.find(topic, index)
        return None if partition is None else PartitionLog(partition)

    def load(self) -> None:
        """Loads every partition of the coordinators' topics that has files; the others are empty."""
        for topic, coordinator in self._by_topic.items():
            for index, partition in self._partitions.of_topic(topic).items():
                if partition.open_log is not None:
                    coordinator.elect(index, PartitionLog(partition))

    def resign(self, partitions: Iterable[Partition]) -> None:
        """Coordinates nothing any more of partitions that are refused from now on."""
        for partition in partitions:
            if partition.topic in self._by_topic:
                self._by_topic[partition.topic].resign(partition.index)

    def topics_deleted(self, topics: Iterable[TopicImage]) -> None:
        """Topics are no more: their offsets are forgotten, and nobody coordinates what has no log."""
        deleted = {topic.name: topic for topic in topics}
        for name, coordinator in self._by_topic.items():
            if name in deleted:
                for index in deleted[name].partitions:
                    coordinator.resign(index)
        if deleted:
            self.groups.topics_deleted(set(deleted))

    def shutdown(self) -> None:
        """Serves nobody any more."""
        for coordinator in reversed(self._by_topic.values()):
            coordinator.shutdown()


def group_settings(config: ServerConfig, image: MetadataImage) -> dict[str, Any]:
    """The group coordinator's settings by its own names."""
    return {
        "group_min_session_timeout_ms": config.get_int("group.min.session.timeout.ms"),
        "group_max_session_timeout_ms": config.get_int("group.max.session.timeout.ms"),
        "group_initial_rebalance_delay_ms": config.get_int("group.initial.rebalance.delay.ms"),
        "group_max_size": config.get_int("group.max.size"),
        "offset_metadata_max_bytes": config.get_int("offset.metadata.max.bytes"),
        "offsets_retention_ms": config.get_int("offsets.retention.minutes") * 60_000,
        "offsets_retention_check_interval_ms": config.get_int("offsets.retention.check.interval.ms"),
        "offsets_topic_num_partitions": _partition_count(
            image, OFFSETS_TOPIC, config.get_int("offsets.topic.num.partitions")
        ),
    }


def transaction_settings(config: ServerConfig, image: MetadataImage) -> dict[str, Any]:
    """The transaction coordinator's settings by its own names."""
    return {
        "transaction_max_timeout_ms": config.get_int("transaction.max.timeout.ms"),
        "transactional_id_expiration_ms": config.get_int("transactional.id.expiration.ms"),
        "transaction_abort_timed_out_transaction_cleanup_interval_ms": config.get_int(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        ),
        "transaction_remove_expired_transaction_cleanup_interval_ms": config.get_int(
            "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
        "transaction_state_log_num_partitions": _partition_count(
            image, TRANSACTION_STATE_TOPIC, config.get_int("transaction.state.log.num.partitions")
        ),
    }


def _partition_count(image: MetadataImage, topic: str, configured: int) -> int:
    """What belongs to a partition stays there, whatever the key says by now (``GroupCoordinator.startup``)."""
    existing = image.topics_by_name.get(topic)
    return len(existing.partitions) if existing else configured
