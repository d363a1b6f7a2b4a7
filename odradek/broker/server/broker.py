"""The parts of a running broker, as handlers get them.

Owns: the references to the parts, the current configuration. Never does: I/O, deciding.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import TYPE_CHECKING

from odradek.storage.directory.log_directories import LogDirectories

from ..config.connection_limits import UNLIMITED, limits_of_broker, limits_of_listener
from ..config.server_config import ServerConfig
from ..dispatch.request import RequestContext
from ..fetch.session import FetchSessionCache
from ..groups.coordinator import GroupCoordinator
from ..metadata.controller.controller import Controller
from ..metadata.image.image import ClientQuotaEntity, MetadataDelta, MetadataImage, ResourceType
from ..metadata.publisher.controller_link import ProducerIdSource, TopicCreator
from ..metadata.publisher.published import PublishedMetadata
from ..metadata.publisher.service import MetadataService
from ..network.connections import Connections
from ..replicas.moves import ReplicaMoves
from ..replicas.partitions import Partitions
from ..replicas.record_work import ChargedRecordWork, RecordWork
from ..timers.loop_timers import LoopTimers
from ..timers.slices import Slices
from ..transactions.coordinator import TransactionCoordinator
from .coordinators import Coordinators

if TYPE_CHECKING:
    from ..metadata.image.token_hmacs import TokenHmacs
    from ..metrics.topic_meters import TopicMeters
    from ..quotas.creation_rates import CreationRates
    from ..security.authentication.scram_decoys import ScramDecoys
    from ..security.authorization.standard_authorizer import StandardAuthorizer
    from .quota_enforcement import QuotaEnforcement

logger = logging.getLogger(__name__)

SESSION_EVICTION_MS = 120_000
"""``FetchSession.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS``."""


class Broker:
    """The running broker."""

    def __init__(
        self,
        config: ServerConfig,
        metadata: PublishedMetadata,
        controller: Controller,
        auto_topic_creation: TopicCreator,
        producer_ids: ProducerIdSource,
        partitions: Partitions,
        coordinators: Coordinators,
        timers: LoopTimers,
        connections: Connections,
        random: Random,
        log_dirs: LogDirectories,
        replica_moves: ReplicaMoves,
        slices: Slices,
    ) -> None:
        self.static_config = config
        """The configuration from the file, without dynamic configs."""
        self.config = config
        self.metadata = metadata
        self.controller = controller
        self.forwarded_versions: Callable[[], Mapping[int, tuple[int, int]]] = no_versions
        """API key -> lowest and highest version, of the APIs that this broker forwards to the controllers."""
        self.auto_topic_creation = auto_topic_creation
        self.producer_ids = producer_ids
        self.partitions = partitions
        self.coordinators = coordinators
        self.group_coordinator: GroupCoordinator = coordinators.groups
        self.transaction_coordinator: TransactionCoordinator = coordinators.transactions
        self.timers = timers
        self.connections = connections
        self.log_dirs = log_dirs
        self.replica_moves = replica_moves
        self.slices = slices
        self.record_work = RecordWork()
        self.authorizer: StandardAuthorizer | None = None
        """Decides what clients may do; None if they may do everything."""
        self.listeners_changed: Callable[[MetadataImage], None] = nothing_changes
        """Called after a change of dynamic configs: reads the key stores of TLS listeners again."""
        self.token_hmacs: TokenHmacs | None = None
        """The HMACs of the delegation tokens; None if tokens are disabled."""
        self.scram_decoys: ScramDecoys | None = None
        """Made-up SCRAM credentials for unknown users; None if no listener uses SASL."""
        self.security_protocols: Mapping[str, str] = {one.name: one.protocol for one in config.listeners}
        """The names of listeners with their security protocols."""
        self.quotas: QuotaEnforcement | None = None
        """The quotas of clients; None before there are any."""
        self.limit_clients: LimitClients = no_limits
        """Applies quotas. Called with all quotas of the metadata, and with the entities that have changed."""
        self.topic_meters: TopicMeters | None = None
        """Counts what clients write and read; None without metrics."""
        self.fetch_max_bytes: int = config.get_int("fetch.max.bytes")
        self.fetch_check_crcs: bool = config.get_boolean("odradek.fetch.check.crcs")
        self.fetch_sessions = FetchSessionCache(
            config.get_int("max.incremental.fetch.session.cache.slots"), SESSION_EVICTION_MS, random
        )

    def record_work_for(self, context: RequestContext) -> RecordWork:
        """Runs work on threads for a request, and charges the time to its client if that has quotas."""
        if context.charge is None:
            return self.record_work
        return ChargedRecordWork(self.record_work, context.charge.on_thread)

    @property
    def own_metadata(self) -> MetadataService:
        """The metadata of a broker that is its own controller, for handlers that change it."""
        assert isinstance(self.metadata, MetadataService), "such a request is forwarded"
        return self.metadata

    @property
    def is_cluster_member(self) -> bool:
        """Whether other nodes control the cluster."""
        return not isinstance(self.metadata, MetadataService)

    def configs_changed(self, image: MetadataImage, delta: MetadataDelta) -> bool:
        """Applies dynamic broker configs. Returns whether any changed."""
        names = ("", str(self.metadata.node_id))
        if not any((ResourceType.BROKER, name) in delta.changed_configs for name in names):
            return False
        self.update_dynamic_configs(image)
        return True

    def update_dynamic_configs(self, image: MetadataImage) -> None:
        """Computes the configuration from the file and the metadata (``DynamicBrokerConfig``).

        Logs the keys that were set or changed without effect here, as a start does for those of the file.
        """
        before = self.config.originals
        self.config = config = config_under(image, self.static_config, self.metadata.node_id)
        changed = {key for key, text in config.originals.items() if before.get(key) != text}
        if unused := sorted(changed & set(config.keys_without_effect())):
            logger.info("these dynamic configs of Apache Kafka have no effect in this broker: %s", ", ".join(unused))
        entries = (config["max.connections.per.ip.overrides"] or "").split(",")
        overrides = dict(entry.rsplit(":", 1) for entry in entries if entry)
        listeners = [*config.listeners, *config.controller_listeners]
        limits = {one.name: limits_of_listener(config, one.name) for one in listeners}
        of_broker = limits_of_broker(config)
        limits_rates = any(one.max_rate < UNLIMITED for one in (of_broker, *limits.values()))
        measures_rates = limits_rates or bool(config.get_string("odradek.metrics.listener"))
        self.connections.quotas.limit(
            of_broker,
            limits,
            protected=self._protected_listener,
            new_rates=self._new_rates if measures_rates else None,
            max_connections_per_ip=config.get_int("max.connections.per.ip"),
            max_connections_per_ip_overrides={host.strip(): int(limit) for host, limit in overrides.items()},
        )

    @property
    def _protected_listener(self) -> str | None:
        """The inter-broker listener, if the broker has other listeners."""
        return self.config.inter_broker_listener_name if len(self.config.listeners) > 1 else None

    def _new_rates(self) -> "CreationRates":
        from ..quotas.client_quota import QuotaWindows
        from ..quotas.creation_rates import CreationRates  # few brokers limit rates

        samples, size_s = (self.config.get_int(f"quota.window.{what}") for what in ("num", "size.seconds"))
        names = [one.name for one in (*self.config.listeners, *self.config.controller_listeners)]
        return CreationRates(QuotaWindows(samples, size_s * 1_000), names, self._protected_listener)


def nothing_changes(image: MetadataImage) -> None:
    """The ``listeners_changed`` of a broker without TLS listeners."""


LimitClients = Callable[[Mapping[ClientQuotaEntity, Mapping[str, float]], Collection[ClientQuotaEntity]], None]


def no_limits(quotas: Mapping[ClientQuotaEntity, Mapping[str, float]], changed: Collection[ClientQuotaEntity]) -> None:
    """The ``limit_clients`` before connections are accepted: no client has to be limited yet."""


def no_versions() -> Mapping[int, tuple[int, int]]:
    """The ``forwarded_versions`` of a broker that forwards nothing."""
    return {}


def config_under(image: MetadataImage, static: ServerConfig, node_id: int) -> ServerConfig:
    """A broker's configuration: its file, overridden by the dynamic configs of all brokers and its own."""
    cluster, own = (image.config_of(ResourceType.BROKER, name) for name in ("", str(node_id)))
    return static.with_dynamic(cluster, own) if cluster or own else static
