"""The metrics of a running broker: what counts while it serves, what is read from its parts, the HTTP endpoint.

Owns: the counters, the endpoint, which part each metric is read from. Never does: naming or formatting a metric
(:mod:`..metrics`). A broker without ``odradek.metrics.listener`` does not import this.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Never

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.log.log import Log

from ..config.server_config import ServerConfig
from ..coordinator.coordinator import Coordinator
from ..coordinator.interfaces import EffectsOf
from ..coordinator.shard import Core, ShardState
from ..dispatch.metering import Metering
from ..http.hosts import host_and_port
from ..metadata.publisher.published import PublishedMetadata
from ..metrics.cleaner_state import CleanerState
from ..metrics.client_metrics import ClientMetricsShown
from ..metrics.connection_metrics import Connected, ConnectionMetrics, ListenerConnections
from ..metrics.coordinator_metrics import CoordinatorActivity, CoordinatorMetrics, CoordinatorSources, TransactionSeen
from ..metrics.endpoint import MetricsEndpoint
from ..metrics.lag_metrics import CommittedTopic, LagMetrics, LagSources
from ..metrics.log_metrics import DirectoryMetrics, LogMetrics
from ..metrics.pieces import JoinedSources, MetricsSource
from ..metrics.process_metrics import LoopDelay, LoopLoad, ProcessMetrics, WarningMetrics, WorkMetrics
from ..metrics.quota_metrics import QuotaMetrics, QuotasInForce
from ..metrics.replica_metrics import ReplicaMetrics, ReplicaSources
from ..metrics.replica_state import IsrChanges
from ..metrics.request_meters import RequestMeters
from ..metrics.request_metrics import RequestMetrics
from ..metrics.share_metrics import ShareMetrics
from ..metrics.topic_meters import TopicMeters
from ..network.listening import BindError, wildcard_hosts
from ..network.waiting import Waiting
from ..replicas.hosted_replicas import HostedReplicas
from ..replicas.partitions import Partitions
from .broker import Broker
from .client_limits import ClientLimits

with lazy_imports:
    from ..security.tls import http_tls

if TYPE_CHECKING:
    from ..security.tls.http_tls import HttpTls

LISTENER_KEY = "odradek.metrics.listener"


class BrokerMetrics:
    """The metrics of one broker."""

    def __init__(self, config: ServerConfig, metadata: PublishedMetadata) -> None:
        """Counts nothing before its parts are in the broker: ``topics``, ``waiting`` and ``metering``."""
        self._config = config
        self._metadata = metadata
        self._requests = RequestMeters()
        self.topics = TopicMeters(lambda topic: topic in metadata.image.topics_by_name)
        """Counts what clients write and read."""
        self.waiting = Waiting()
        """Counts the waits on connections."""
        self.metering = Metering(self._requests, self.waiting)
        """Counts requests, and measures their times."""
        self.port: int | None = None
        """The TCP port of the endpoint, once it listens."""
        self.tls: HttpTls | None = None
        """The TLS of the endpoint; None without ``odradek.metrics.ssl.enable``."""
        self._endpoint: MetricsEndpoint | None = None
        self._of_loop = LoopDelay(), LoopLoad()
        self._warnings = WarningMetrics()

    async def listen(
        self,
        broker: Broker,
        hosting: HostedReplicas,
        limits: ClientLimits,
        clock_ms: Callable[[], int],
        cleaner: Callable[[], CleanerState | None],
        of_role: Sequence[MetricsSource],
        key_store_check_ms: int,
    ) -> None:
        """Serves the metrics at ``odradek.metrics.listener``. Raises BindError.

        ``clock_ms``: wall clock, milliseconds since the epoch. ``cleaner`` returns the state of the log cleaner; None
        before it has started. ``of_role``: the metrics of the broker's role.
        ``key_store_check_ms``: the interval of checks whether the files of the endpoint's TLS have changed.
        """
        for measure in self._of_loop:
            measure.start(asyncio.get_running_loop())
        self._warnings.start()
        if self._config.get_boolean("odradek.metrics.ssl.enable"):
            self.tls = http_tls.HttpTls(self._config.originals, "metrics", "odradek.metrics.ssl.enable: ")
        over_tls = None if self.tls is None else self.tls.streams.over_tls
        credentials = self._config.get_string("odradek.metrics.credentials")
        directories = broker.log_dirs.online
        sources: list[MetricsSource] = [
            ProcessMetrics(),
            WorkMetrics(),
            self._warnings,
            *self._of_loop,
            RequestMetrics(self._requests, self.topics, lambda: self._metadata.image.topics_by_name),
            connection_metrics(broker),
            coordinator_metrics(broker, clock_ms),
            ShareMetrics(broker.sharing.sources),
            ClientMetricsShown(broker.client_telemetry.sources, clock_ms),
            quota_metrics(broker, limits),
            *of_role,
            replica_metrics(broker.partitions, hosting),
            LogMetrics(directories, cleaner, clock_ms),
            DirectoryMetrics(broker.log_dirs),
        ]
        self._endpoint = MetricsEndpoint(
            JoinedSources(*sources), lambda: unready_reason(directories), credentials, over_tls
        )
        address = self._config[LISTENER_KEY]
        try:
            host, port = host_and_port(address)
            hosts = wildcard_hosts(host) if port else ()  # two sockets would get two ports of the system's choice
            self.port = await self._endpoint.start(host, port, hosts)
        except OSError as error:
            raise BindError(f"{LISTENER_KEY}={address} can't be bound: {error.strerror}") from error
        if self.tls is not None:
            broker.timers.every(key_store_check_ms, self.tls.look_at_files)

    def stop(self) -> None:
        """Closes the endpoint."""
        if self._endpoint is not None:
            self._endpoint.stop()
        for measure in self._of_loop:
            measure.stop()
        self._warnings.stop()


def unready_reason(directories: Sequence[LogDirectory]) -> str | None:
    """Why producers can't write now; None if they can."""
    for directory in directories:
        if directory.failure is None and directory.gate.refusal is None:
            return None
    reasons = [str(directory.failure or directory.gate.refusal) for directory in directories]
    return "; ".join(reasons) or "no log directory is online"


def replica_metrics(partitions: Partitions, hosting: HostedReplicas) -> ReplicaMetrics:
    """The metrics of a broker's replicas."""
    leaders, replication = hosting.leaders, hosting.replication
    return ReplicaMetrics(
        ReplicaSources(
            _nothing if leaders is None else leaders.led,
            IsrChanges() if leaders is None else leaders.isr_changes,
            partitions.counts,
            _nothing if replication is None else replication.followed,
            _nothing if replication is None else replication.fetchers,
        )
    )


def _nothing() -> Iterator[Never]:
    """An empty iterator: there are no other brokers."""
    return iter(())


def connection_metrics(broker: Broker) -> ConnectionMetrics:
    """The metrics of a broker's connections."""
    quotas = broker.connections.quotas
    names = [listener.name for listener in broker.config.listeners]

    def listeners() -> dict[str, ListenerConnections]:
        return {name: ListenerConnections(quotas.open_of(name), quotas.created[name]) for name in names}

    def connected() -> Iterator[Connected]:
        return ((connection.listener_name, connection.software) for connection in broker.connections)

    return ConnectionMetrics(listeners, connected)


def quota_metrics(broker: Broker, limits: ClientLimits) -> QuotaMetrics:
    """The metrics of a broker's quotas."""

    def in_force() -> QuotasInForce | None:
        quotas = limits.enforcement
        return None if quotas is None else QuotasInForce(quotas.clients, quotas.addresses)

    return QuotaMetrics(in_force, lambda: broker.connections.quotas.rates, broker.timers.now_ms)


def coordinator_metrics(broker: Broker, clock_ms: Callable[[], int]) -> JoinedSources:
    """The metrics of a broker's coordinators. ``clock_ms``: wall clock, milliseconds since the epoch."""

    def classic_states() -> Iterator[str]:
        for core in _loaded(broker.group_coordinator):
            yield from (group.state for group in list(core.groups.classic.values()))

    def consumer_states() -> Iterator[str]:
        for core in _loaded(broker.group_coordinator):
            yield from (group.state for group in list(core.groups.consumer.values()))

    def share_states() -> Iterator[str]:
        for core in _loaded(broker.group_coordinator):
            yield from (group.state for group in list(core.groups.share.values()))

    def streams_states() -> Iterator[str]:
        for core in _loaded(broker.group_coordinator):
            yield from (group.state for group in list(core.groups.streams.values()))

    def transactions() -> Iterator[TransactionSeen]:
        for core in _loaded(broker.transaction_coordinator):
            for transaction in list(core.transactions.values()):
                yield TransactionSeen(transaction.state.label, transaction.start_timestamp_ms)

    def committed() -> Iterator[CommittedTopic]:
        for core in _loaded(broker.group_coordinator):
            for group_id in list(core.offsets.groups()):
                for topic, partitions in list(core.offsets.topics_of(group_id).items()):
                    yield CommittedTopic(group_id, topic, partitions.offsets())

    def log_of(topic: str, index: int) -> Log | None:
        partition = broker.partitions.find(topic, index)
        if partition is None:
            return None
        return partition.open_log if partition.copy is None else partition.copy

    return JoinedSources(
        CoordinatorMetrics(
            CoordinatorSources(classic_states, consumer_states, share_states, streams_states, transactions), clock_ms
        ),
        CoordinatorActivity(broker.group_coordinator.counts, broker.transaction_coordinator.counts),
        LagMetrics(LagSources(committed, log_of, clock_ms)),
    )


def _loaded(coordinator: Coordinator[Core, EffectsOf]) -> Iterator[Core]:
    """The cores of the partitions that are served now; none at shutdown."""
    try:
        shards = coordinator.shards()
    except KafkaError:
        return
    for shard in shards:
        if shard.state is ShardState.ACTIVE:
            yield shard.core
