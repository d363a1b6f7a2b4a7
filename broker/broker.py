"""What the handlers are given: the parts of a running broker.

Owns: holding the parts together, and the configuration as it is now. Never does: I/O, deciding.
"""

from random import Random

from ..storage.log_directories import LogDirectories
from .config.server_config import ServerConfig
from .connections import Connections
from .coordinator.group_coordinator import GroupCoordinator
from .coordinator.transaction_coordinator import TransactionCoordinator
from .coordinators import Coordinators
from .fetch_session import FetchSessionCache
from .loop_timers import LoopTimers
from .metadata.image import MetadataDelta, MetadataImage, ResourceType
from .metadata.service import MetadataService
from .partitions import Partitions
from .replica_moves import ReplicaMoves
from .slices import Slices

SESSION_EVICTION_MS = 120_000
"""``FetchSession.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS``."""


class Broker:
    """The running broker."""

    def __init__(
        self,
        config: ServerConfig,
        metadata: MetadataService,
        partitions: Partitions,
        coordinators: Coordinators,
        timers: LoopTimers,
        connections: Connections,
        random: Random,
        log_dirs: LogDirectories,
        replica_moves: ReplicaMoves,
        slices: Slices,
    ) -> None:
        self._static_config = config
        self.config = config
        self.metadata = metadata
        self.partitions = partitions
        self.coordinators = coordinators
        self.group_coordinator: GroupCoordinator = coordinators.groups
        self.transaction_coordinator: TransactionCoordinator = coordinators.transactions
        self.timers = timers
        self.connections = connections
        self.log_dirs = log_dirs
        self.replica_moves = replica_moves
        self.slices = slices
        self.fetch_max_bytes: int = config.get_int("fetch.max.bytes")
        self.fetch_check_crcs: bool = config.get_boolean("odradek.fetch.check.crcs")
        self.fetch_sessions = FetchSessionCache(
            config.get_int("max.incremental.fetch.session.cache.slots"), SESSION_EVICTION_MS, random
        )

    def configs_changed(self, image: MetadataImage, delta: MetadataDelta) -> bool:
        """Takes over dynamic broker configs; whether any changed."""
        names = ("", str(self.metadata.node_id))
        if not any((ResourceType.BROKER, name) in delta.changed_configs for name in names):
            return False
        self.take_dynamic_configs(image)
        return True

    def take_dynamic_configs(self, image: MetadataImage) -> None:
        """The configuration as the file and the metadata say together (``DynamicBrokerConfig``)."""
        cluster, own = (image.config_of(ResourceType.BROKER, name) for name in ("", str(self.metadata.node_id)))
        self.config = self._static_config.with_dynamic(cluster, own) if cluster or own else self._static_config
