"""The parts of a running broker, as its handlers and its server get them.

Owns: the references to the parts. Never does: I/O, deciding. Invariant: it is complete when it is made
(:mod:`.wiring`), and no part of it is replaced. Handlers see the few parts that they need (:mod:`..api.parts`).
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from odradek.protocol.common.holder import holder
from odradek.storage.directory.log_directories import LogDirectories

from ..config.server_config import ServerConfig
from ..dispatch.request import RequestContext
from ..fetch.session import FetchSessionCache
from ..groups.coordinator import GroupCoordinator
from ..metadata.controller.controller import Controller
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
from ..transactions.stalled_clients import StalledClients
from .access import AccessRules
from .client_telemetry import ClientTelemetry
from .coordinators import Coordinators
from .dynamic_configs import DynamicConfigs
from .sharing import ShareGroupsSide

if TYPE_CHECKING:
    from ..groups.streams.internal_topics import InternalTopics
    from ..metadata.image.token_hmacs import TokenHmacs
    from ..metrics.topic_meters import TopicMeters
    from ..security.authorization.standard_authorizer import StandardAuthorizer
    from ..share_partitions.registry import SharePartitions
    from ..share_state.coordinator import ShareCoordinator
    from ..share_state.partition_ends import PartitionEnds
    from ..share_state.persister import Persister
    from ..telemetry.telemetry import Telemetry


@holder(kw_only=True)
class Broker:
    """A broker's parts.

    ``auto_topic_creation``: creates the topics that clients and coordinators need. ``forwarded_versions`` returns API
    key -> lowest and highest version, of the APIs that this broker forwards to the controllers. ``security_protocols``:
    names of listeners with their security protocols. ``topic_meters`` counts what clients write and read; None without
    metrics. ``fetch_max_bytes``, ``fetch_check_crcs``: of the configuration, read once.
    """

    configs: DynamicConfigs
    metadata: PublishedMetadata
    controller: Controller
    auto_topic_creation: TopicCreator
    producer_ids: ProducerIdSource
    partitions: Partitions
    coordinators: Coordinators
    stalled_clients: StalledClients
    timers: LoopTimers
    connections: Connections
    log_dirs: LogDirectories
    replica_moves: ReplicaMoves
    slices: Slices
    access: AccessRules
    forwarded_versions: Callable[[], Mapping[int, tuple[int, int]]]
    topic_meters: "TopicMeters | None"
    fetch_sessions: FetchSessionCache
    record_work: RecordWork
    sharing: ShareGroupsSide
    client_telemetry: ClientTelemetry
    security_protocols: Mapping[str, str]
    fetch_max_bytes: int
    fetch_check_crcs: bool

    @property
    def static_config(self) -> ServerConfig:
        """The configuration from the file, without dynamic configs."""
        return self.configs.static

    @property
    def config(self) -> ServerConfig:
        """The current configuration."""
        return self.configs.current

    @property
    def group_coordinator(self) -> GroupCoordinator:
        """The coordinator of groups."""
        return self.coordinators.groups

    @property
    def transaction_coordinator(self) -> TransactionCoordinator:
        """The coordinator of transactions."""
        return self.coordinators.transactions

    @property
    def share_partitions(self) -> "SharePartitions":
        """The share partitions that this broker leads, and the sessions of their members."""
        return self.sharing.share_partitions

    @property
    def telemetry(self) -> "Telemetry":
        """The clients that push their metrics. Made at the first use."""
        return self.client_telemetry.telemetry

    @property
    def share_coordinator(self) -> "ShareCoordinator":
        """The coordinator of the state of share partitions. Made at the first use."""
        return self.coordinators.share

    @property
    def partition_ends(self) -> "PartitionEnds":
        """The ends of partitions, here or at other leaders. Made at the first use."""
        return self.coordinators.partition_ends

    @property
    def persister(self) -> "Persister":
        """Stores and reads the state of share partitions. Made at the first use."""
        return self.coordinators.persister

    @property
    def internal_topics(self) -> "InternalTopics":
        """Creates the internal topics of streams groups. Made at the first use."""
        return self.coordinators.internal_topics

    @property
    def authorizer(self) -> "StandardAuthorizer | None":
        """Decides what clients may do; None if they may do everything."""
        return self.access.authorizer

    @property
    def token_hmacs(self) -> "TokenHmacs | None":
        """The HMACs of the delegation tokens; None if tokens are disabled."""
        return self.access.token_hmacs

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
