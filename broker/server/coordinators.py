"""The coordinators of a broker: of groups and of transactions, over the partitions of their topics.

Owns: which coordinator a partition belongs to, and the order in which they load. Never does: deciding. Invariant:
groups are loaded before transactions, whose markers may be for them. Source: ``BrokerMetadataPublisher``.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...protocol.internal_topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from ...protocol.records.compression import CompressionType
from ...protocol.steps import Steps
from ..config.errors import ConfigError
from ..config.server_config import ServerConfig
from ..coordinator.coordinator import Coordinator
from ..coordinator.partition_log import PartitionLog
from ..groups.config import GroupCoordinatorConfig
from ..groups.consumer.topics import GroupTopics
from ..groups.coordinator import GroupCoordinator
from ..metadata.features import TRANSACTION_VERSION
from ..metadata.image import MetadataDelta, MetadataImage, ResourceType, TopicImage
from ..metadata.service import MetadataService
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from ..timers.timers import Timers
from ..transactions.config import TransactionCoordinatorConfig
from ..transactions.coordinator import TransactionCoordinator
from ..transactions.marker_writer import MarkerWriter
from .random_ids import random_uuid_text

if TYPE_CHECKING:
    from ..groups.rebalance_watch import RebalanceWatch

LOOK_EVERY_MS = 5_000
"""How often groups are looked at for rebalances that take long."""


class Coordinators:
    """Both coordinators."""

    def __init__(
        self,
        config: ServerConfig,
        metadata: MetadataService,
        next_producer_id: Callable[[], int],
        partitions: Partitions,
        timers: Timers,
        clock_ms: Callable[[], int],
        lost_ms: Callable[[], int],
    ) -> None:
        """``next_producer_id`` gives an id that was never given out. ``clock_ms``: wall clock, milliseconds since the
        epoch. ``lost_ms``: how long the broker has been stalled in all, in ms."""
        image = metadata.image
        self._partitions = partitions
        self._timers = timers
        self._clock_ms = clock_ms
        self._rebalance_watch: RebalanceWatch | None = None
        self.groups = GroupCoordinator(
            GroupCoordinatorConfig(**group_settings(config, image)),
            timers,
            clock_ms,
            random_uuid_text,
            partial(self._open_log, OFFSETS_TOPIC),
            GroupTopics(lambda: metadata.image),
            lambda group_id: metadata.image.config_of(ResourceType.GROUP, group_id),
        )
        self.transactions = TransactionCoordinator(
            TransactionCoordinatorConfig(**transaction_settings(config, image)),
            MarkerWriter(partitions, self.groups, PartitionLog, timers, clock_ms),
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

    def _open_log(self, topic: str, index: int) -> PartitionLog | None:
        partition = self._partitions.find(topic, index)
        return None if partition is None else PartitionLog(partition)

    def load(self) -> None:
        """Loads every partition of the coordinators' topics that has files; the others are empty."""
        for topic, coordinator in self._by_topic.items():
            for index, partition in self._partitions.of_topic(topic).items():
                if partition.open_log is not None:
                    coordinator.elect(index, PartitionLog(partition))
        self._timers.schedule(LOOK_EVERY_MS, self._watch_rebalances)

    def _watch_rebalances(self) -> None:
        if self._rebalance_watch is None:
            from ..groups.rebalance_watch import RebalanceWatch  # here: it costs no start

            self._rebalance_watch = RebalanceWatch()
        self._rebalance_watch.look(self.groups.cores(), self._clock_ms())
        self._timers.schedule(LOOK_EVERY_MS, self._watch_rebalances)

    def resign(self, partitions: Iterable[Partition]) -> None:
        """Coordinates nothing any more of partitions that are refused from now on."""
        for partition in partitions:
            if partition.topic in self._by_topic:
                self._by_topic[partition.topic].resign(partition.index)

    def reconfigure(self, config: ServerConfig, image: MetadataImage) -> None:
        """Takes over configs that may change while the broker runs."""
        self.groups.reconfigure(GroupCoordinatorConfig(**group_settings(config, image)))

    def topics_changed(self, image: MetadataImage, delta: MetadataDelta) -> Steps[None]:
        """Tells consumer groups of topics that came, changed or went: they assign anew."""
        changed = {topic_id for topic_id, _ in delta.changed_partitions}
        names = {image.topics_by_id[topic_id].name for topic_id in changed if topic_id in image.topics_by_id}
        names.update(topic.name for topic in delta.deleted_topics.values())
        if names:
            yield from self.groups.topics_changed(names, bool(delta.created_topics))

    def topics_deleted(self, topics: Iterable[TopicImage]) -> Steps[None]:
        """Topics are no more: their offsets are forgotten, and nobody coordinates what has no log."""
        deleted = {topic.name: topic for topic in topics}
        for name, coordinator in self._by_topic.items():
            if name in deleted:
                for index in deleted[name].partitions:
                    coordinator.resign(index)
        if deleted:
            yield from self.groups.topics_deleted(set(deleted))

    def shutdown(self) -> None:
        """Serves nobody any more."""
        for coordinator in reversed(self._by_topic.values()):
            coordinator.shutdown()


CONSUMER_GROUP_KEYS = (
    "group.consumer.max.size",
    "group.consumer.session.timeout.ms",
    "group.consumer.min.session.timeout.ms",
    "group.consumer.max.session.timeout.ms",
    "group.consumer.heartbeat.interval.ms",
    "group.consumer.min.heartbeat.interval.ms",
    "group.consumer.max.heartbeat.interval.ms",
    "group.consumer.assignment.interval.ms",
    "group.consumer.min.assignment.interval.ms",
    "group.consumer.max.assignment.interval.ms",
    "group.consumer.regex.refresh.interval.ms",
)
ASSIGNORS = {
    "uniform": "uniform",
    "range": "range",
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
"""What group.consumer.assignors may name -> the assignor's name for clients."""


def assignor_names(configured: Iterable[str]) -> tuple[str, ...]:
    """The assignors that are configured, the default first. Raises ConfigError for one that there is not."""
    unknown = [name for name in configured if name not in ASSIGNORS]
    if unknown:
        raise ConfigError(f"group.consumer.assignors: {unknown[0]} is no assignor here; uniform and range are")
    return tuple(ASSIGNORS[name] for name in configured)


def group_settings(config: ServerConfig, image: MetadataImage) -> dict[str, Any]:
    """The group coordinator's settings by its own names."""
    return {
        "group_min_session_timeout_ms": config.get_int("group.min.session.timeout.ms"),
        "group_max_session_timeout_ms": config.get_int("group.max.session.timeout.ms"),
        "group_initial_rebalance_delay_ms": config.get_int("group.initial.rebalance.delay.ms"),
        "group_max_size": config.get_int("group.max.size"),
        "group_members_max_bytes": config.get_int("odradek.group.members.max.bytes"),
        "groups_members_max_bytes": config.get_int("odradek.groups.members.max.bytes"),
        "serves_consumer_protocol": "consumer" in config.get_list("group.coordinator.rebalance.protocols"),
        "group_consumer_assignors": assignor_names(config.get_list("group.consumer.assignors")),
        "group_consumer_migration_policy": config.get_string("group.consumer.migration.policy").lower(),
        **{key.replace(".", "_"): config.get_int(key) for key in CONSUMER_GROUP_KEYS},
        "offset_metadata_max_bytes": config.get_int("offset.metadata.max.bytes"),
        "offsets_retention_ms": config.get_int("offsets.retention.minutes") * 60_000,
        "offsets_retention_check_interval_ms": config.get_int("offsets.retention.check.interval.ms"),
        "offsets_topic_compression_codec": _compression_codec(config.get_int("offsets.topic.compression.codec")),
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


def _compression_codec(number: int) -> int:
    """The number, if it is a compression type's. Raises ConfigError otherwise."""
    if number not in tuple(CompressionType):
        raise ConfigError(f"offsets.topic.compression.codec: {number} is no compression type; 0 to 4 are")
    return number


def _partition_count(image: MetadataImage, topic: str, configured: int) -> int:
    """What belongs to a partition stays there, whatever the key says by now (``GroupCoordinator.startup``)."""
    existing = image.topics_by_name.get(topic)
    return len(existing.partitions) if existing else configured
