"""Starts and stops a broker: the only place that knows the order.

Owns: the order of start and stop. Never: serves. Invariants: the listeners' ports are known before the broker
registers. When :meth:`BrokerServer.start` returns, every topic has its leader, the offsets topic exists, its groups are
loaded, and connections are accepted. A stop leaves no leader, and writes checkpoints and the clean-shutdown marker.
Source: ``BrokerServer``, ``ControllerServer``, ``LogManager``.
"""

import asyncio
import functools
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from ...protocol.internal_topics import OFFSETS_TOPIC
from ...protocol.steps import run_to_end
from ...storage.directory.log_directories import LogDirectories
from ...storage.directory.log_directory import LogDirectory
from ...storage.errors import StorageError
from ...storage.files.disk_reserve import ReservedFiles
from ...storage.log.log_config import MAX_INT64, LogConfig
from ..config.definition import dynamic_only_keys
from ..config.security import refuse_unserved_security
from ..config.server_config import ServerConfig
from ..config.stored import served_value
from ..config.topic_config import log_config_for
from ..controller.auto_topic_creation import AutoTopicCreation
from ..controller.broker_lifecycle import BrokerLifecycle
from ..controller.directories import cordoned_records
from ..controller.producer_ids import ProducerIds
from ..dispatch.dispatch import Dispatcher
from ..dispatch.read_only import ReadOnlyMode
from ..log_dirs.disk_space import CAP_KEY, MIN_FREE_KEY, segment_bytes_under
from ..log_dirs.disk_watch import DiskWatch
from ..log_dirs.failures import DirectoryFailures
from ..log_dirs.identity import cordoned_paths, identify
from ..log_dirs.recovery import RecoveryProgress
from ..log_dirs.retention_warnings import RetentionWarnings
from ..metadata.image import Endpoint, MetadataImage, ResourceType
from ..metadata.local_replicas import LocalReplicas
from ..metadata.service import MetadataService
from ..metadata.snapshot_generator import SnapshotGenerator
from ..metadata.stored_configs import log_bad_configs
from ..network.acceptor import Acceptor
from ..network.advertising import endpoints
from ..network.connection import Connection, Connections
from ..network.descriptor_limit import descriptor_shares
from ..network.listening import BoundListener, bind
from ..network.unread import Unread
from ..replicas.group_commit import GroupCommit
from ..replicas.hosting import Hosting
from ..replicas.moves import THROTTLE_KEY, ReplicaMoves
from ..replicas.partitions import Partitions
from ..timers.loop_timers import LoopTimers
from ..timers.patient_timers import PatientTimers, suspended_ms
from ..timers.slices import Slices, monotonic_ms
from ..timers.stall_watch import StallWatch
from .background import Background
from .broker import Broker, config_under
from .coordinators import Coordinators
from .metadata_publisher import MetadataReactions
from .open_access import warn_of_open_access
from .random_ids import random_uuid

logger = logging.getLogger(__name__)

STOPPED_UNCLEANLY = "stopped, but not cleanly: {}. Nothing acknowledged is lost; the next start recovers that directory"
IDLE_CHECK_MS = 5_000
OPEN_AT_ONCE = 5
OPEN_PAUSE_MS = 5
"""After a clean start so many partitions are opened, then requests have so long: 2,000 in three seconds."""


def clock_ms() -> int:
    """Wall-clock milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class BrokerServer:
    """One broker in this process, on the running event loop."""

    def __init__(
        self,
        config: ServerConfig,
        cluster_id: str | None = None,
        on_end: Callable[[], object] = lambda: None,
        read_only: ReadOnlyMode | None = None,
    ) -> None:
        """``cluster_id``: of a new data directory; None takes a random one. ``on_end`` is called when the broker ends
        by itself (:attr:`failure`). ``read_only``: how to serve directories that nobody may change."""
        self._config = config
        self._cluster_id = cluster_id
        self.failure: str | None = None
        """Why the broker has ended by itself: its log directories have failed."""
        self._on_end = on_end
        self._read_only = read_only
        self._log_dirs: LogDirectories | None = None
        self._directories: list[LogDirectory] = []
        """Those that are online."""
        self._bound: list[BoundListener] = []
        self._advertised: list[Endpoint] = []
        self._acceptor: Acceptor | None = None
        self._timers: LoopTimers | None = None
        self._patient_timers: PatientTimers | None = None
        self._broker: Broker | None = None
        self._lifecycle: BrokerLifecycle | None = None
        self._hosting: Hosting | None = None
        self._moves: ReplicaMoves | None = None
        self._group_commit: GroupCommit | None = None
        self._background: Background | None = None
        self._snapshots: SnapshotGenerator | None = None
        self._disk_watch: DiskWatch | None = None
        self._image: MetadataImage | None = None
        self._recovery = RecoveryProgress(time.monotonic)
        self._stalls = StallWatch()

    @property
    def broker(self) -> Broker:
        """The running broker."""
        assert self._broker is not None, "not started"
        return self._broker

    @property
    def listeners(self) -> list[BoundListener]:
        """What is bound, with the real ports."""
        return self._bound

    @property
    def ports(self) -> set[int]:
        """The TCP ports that this broker listens on, that of its metrics included."""
        metrics = None if self._background is None else self._background.metrics_port
        return {bound.port for bound in self._bound} | ({metrics} if metrics else set())

    @property
    def data_directories(self) -> list[Path]:
        """Where the data is."""
        return [] if self._log_dirs is None else list(self._log_dirs.paths)

    def advertised(self) -> list[Endpoint]:
        """What clients are told of each listener."""
        return self._advertised

    async def start(self) -> None:
        """Opens, recovers, registers, loads, serves.

        Raises ConfigError, BindError, DirectoryLockedError, KafkaError or OSError with what to do, RecoveryStopped if
        :meth:`stop_recovery` was called; nothing stays locked then.
        """
        refuse_unserved_security(self._config)
        try:
            now_ms = clock_ms()
            self._open(now_ms)
            await self._recover(now_ms)
            self._serve(now_ms)
            await self._accept()
        except BaseException:
            self._give_up()
            raise

    def stop_recovery(self) -> None:
        """Ends a start that recovers logs; harmless at any other time."""
        self._recovery.stop()

    def _open(self, now_ms: int) -> None:
        loop = asyncio.get_running_loop()
        config = self._config
        self._bound = [bind(listener) for listener in config.listeners]
        self._advertised = endpoints(config.advertised_listeners, self._bound)
        self._log_dirs = LogDirectories.open(
            map(Path, config.log_dirs),
            ReservedFiles if self._read_only is None else self._read_only.files_for,
            None if config["metadata.log.dir"] is None else Path(config["metadata.log.dir"]),
            descriptor_shares().segments,
        )
        self._directories = self._log_dirs.online
        metadata = self._open_metadata(now_ms)
        metadata.controller = metadata.controller._replace(shortage_in=self._log_dirs.shortage_in)
        image = self._image = metadata.image
        self._lifecycle = BrokerLifecycle(metadata)
        producer_ids = ProducerIds(metadata)
        self._timers = LoopTimers(loop)
        connections = self._connections(self._timers)
        patient = self._patient_timers = PatientTimers(
            loop, lambda: Unread(connections).is_drained, self._stalls.beat, suspended_ms
        )
        partitions = Partitions()
        self._group_commit = GroupCommit(self._directories, self._timers, clock_ms)
        hosting = self._hosting = Hosting(
            self._log_dirs, partitions, self._log_config, clock_ms, self._group_commit, metadata.node_id
        )
        self._moves = ReplicaMoves(
            self._log_dirs,
            hosting,
            partitions,
            metadata,
            self._group_commit,
            clock_ms,
            self._move_throttle,
            config["num.replica.alter.log.dirs.threads"],
        )
        self._broker = Broker(
            config,
            metadata,
            AutoTopicCreation(metadata),
            producer_ids,
            partitions,
            Coordinators(
                config_under(image, config, metadata.node_id),
                metadata,
                lambda: producer_ids.next_id(clock_ms()),
                partitions,
                patient,
                clock_ms,
                patient.lost_ms,
            ),
            self._timers,
            connections,
            Random(),
            self._log_dirs,
            self._moves,
            Slices(loop.call_soon, monotonic_ms),
        )
        self._broker.take_dynamic_configs(image)
        log_bad_configs(image, metadata.node_id)
        replicas = LocalReplicas(image, metadata.node_id)
        self._log_dirs.find_logs(now_ms, replicas.is_stray, replicas.id_in_directory)
        self._log_dirs.promote_futures(replicas.assigned_directory, now_ms)

    async def _recover(self, now_ms: int) -> None:
        """Recovers what wasn't closed, on threads: the event loop hears meanwhile that the broker is to stop."""
        assert self._log_dirs is not None
        assert self._hosting is not None
        if self._recovery.unclean(self._log_dirs):
            threads = self.broker.config.get_int("num.recovery.threads.per.data.dir")
            arguments = self._log_dirs, self._hosting.config_of, now_ms, threads
            await asyncio.get_running_loop().run_in_executor(None, self._recovery.recover, *arguments)

    def _serve(self, now_ms: int) -> None:
        """Registers, leads, loads: what is needed before the first connection."""
        assert self._log_dirs is not None
        assert self._hosting is not None
        assert self._moves is not None
        assert self._lifecycle is not None
        hosting, metadata = self._hosting, self.broker.metadata
        self._log_dirs.cordoned = cordoned_paths(self.broker.config, self._log_dirs.paths)
        self._lifecycle.start(
            self.advertised(),
            now_ms,
            directory_ids=[directory.directory_id for directory in self._directories],
            clean_epoch=self._log_dirs.previous_broker_epoch,
            cordoned=self._log_dirs.cordoned_ids,
            lies_in=self._log_dirs.replicas(LocalReplicas(metadata.image, metadata.node_id).topic_id),
        )
        self.broker.auto_topic_creation.ensure(OFFSETS_TOPIC, now_ms)
        for topic in metadata.image.topics_by_name.values():
            run_to_end(hosting.host_topic(topic))
        reactions = MetadataReactions(self.broker, hosting, self._cordon, clock_ms)
        metadata.prepare(reactions.host_drafts)
        metadata.subscribe(reactions.changed)
        self.broker.coordinators.load()
        DirectoryFailures(
            self._log_dirs,
            hosting,
            metadata,
            clock_ms,
            resign=self.broker.coordinators.resign,
            end_broker=self._end,
        ).listen()
        self._moves.resume()

    def _open_metadata(self, now_ms: int) -> MetadataService:
        """Formats what is new, opens the metadata log (in ``metadata.log.dir``, or in the first directory)."""
        assert self._log_dirs is not None
        ids = identify(self._log_dirs, random_uuid)
        service = MetadataService.open(
            self._log_dirs.metadata,
            self._config,
            directory_id=ids[0],
            now_ms=now_ms,
            random_uuid=random_uuid,
            cluster_id=self._cluster_id,
        )
        for directory, directory_id in zip(self._log_dirs.all_online, ids, strict=True):
            if directory.meta is None:
                directory.format(service.cluster_id, service.node_id, directory_id)
        return service

    def _connections(self, timers: LoopTimers) -> Connections:
        config = self._config
        return Connections(
            max_request_bytes=config.get_int("socket.request.max.bytes"),
            max_idle_ms=config.get_int("connections.max.idle.ms"),
            now_ms=timers.now_ms,
        )

    def _log_config(self, topic: str) -> LogConfig:
        assert self._image is not None
        config = self._config if self._broker is None else self._broker.config
        configured = log_config_for(config, self._image.config_of(ResourceType.TOPIC, topic))
        segment_bytes = segment_bytes_under(config.get_int(CAP_KEY), configured.segment_bytes)
        return (
            configured
            if segment_bytes == configured.segment_bytes
            else replace(configured, segment_bytes=segment_bytes)
        )

    def _move_throttle(self) -> int:
        """Bytes a second that moves between directories may copy: this broker's dynamic config, or that of all."""
        image = self.broker.metadata.image
        for name in (str(self.broker.metadata.node_id), ""):
            text = image.config_of(ResourceType.BROKER, name).get(THROTTLE_KEY)
            value = None if text is None else served_value(dynamic_only_keys()[THROTTLE_KEY], text)
            if isinstance(value, int):
                return value
        return MAX_INT64

    def _end(self, reason: str) -> None:
        """Nothing can go on: ends as a crash does, and says why."""
        if self.failure is not None:
            return
        logger.critical("%s", reason)
        self.failure = reason
        self.broker.connections.abort_all()
        self._give_up()
        self._on_end()

    def _cordon(self) -> None:
        """Takes over ``cordoned.log.dirs`` as it is now, and says so in the metadata."""
        assert self._log_dirs is not None
        broker = self.broker
        self._log_dirs.cordoned = cordoned_paths(broker.config, self._log_dirs.paths)
        metadata, ids = broker.metadata, self._log_dirs.cordoned_ids
        metadata.record(
            lambda: cordoned_records(metadata.image, metadata.controller, ids),
            clock_ms(),
            lambda error: logger.error("cordoned.log.dirs could not be written to the metadata: %s", error),
        )

    def _open_rest(self) -> None:
        """Opens what nobody has used yet, a few partitions at a time, so that requests come in between."""
        assert self._hosting is not None
        assert self._timers is not None
        if self._hosting.open_some(OPEN_AT_ONCE):
            self._timers.schedule(OPEN_PAUSE_MS, self._open_rest)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        broker = self.broker
        dispatcher = Dispatcher(broker, broker.timers.time_s, broker.config)
        if self._read_only is not None:
            broker.metadata.refusal = self._read_only.refusal
            dispatcher.serve_otherwise(self._read_only.handlers())
        broker.metadata.run = broker.slices.start
        assert self._timers is not None
        assert self._group_commit is not None
        if self._read_only is None:
            self._watch_disks(self._timers)
        addresses = ((bound.listener.name, one.getsockname()[0]) for bound in self._bound for one in bound.sockets)
        warn_of_open_access(broker.metadata.image, broker.metadata.node_id, addresses)
        connect = self._connection_factory(broker, dispatcher)
        listeners = [
            (one, functools.partial(connect, bound.listener.name)) for bound in self._bound for one in bound.sockets
        ]
        self._acceptor = Acceptor(loop, listeners, broker.connections, descriptor_shares())
        self._acceptor.start()
        self._background = Background(self._directories, self._timers, clock_ms, self._group_commit, broker.slices)
        assert self._patient_timers is not None
        self._patient_timers.every(IDLE_CHECK_MS, broker.connections.close_idle)
        self._stalls.start(dispatcher.last_request, broker.slices.request, suspended_ms())
        self._background.start(self._config, lambda: broker.config)
        await self._background.show_metrics(self._config)
        self._snapshots = SnapshotGenerator(broker.metadata, self._timers, clock_ms)
        self._snapshots.start()
        self._timers.schedule(OPEN_PAUSE_MS, self._open_rest)

    def _connection_factory(self, broker: Broker, dispatcher: Dispatcher) -> Callable[[str], Connection]:
        """Makes the connections of a listener, given its name; they count bytes if queued.max.request.bytes is set."""
        queued_max_bytes = self._config.get_int("queued.max.request.bytes")
        if queued_max_bytes <= 0:
            return functools.partial(Connection, broker.connections, dispatcher.dispatch, broker.slices)
        from ..network.queued_requests import MeteredConnection, QueuedRequests  # few brokers set the key

        assert self._timers is not None
        assert self._patient_timers is not None
        queue = QueuedRequests(queued_max_bytes, dispatcher.dispatch, broker.slices, self._timers.now_ms)
        self._patient_timers.every(IDLE_CHECK_MS, queue.close_slow)
        return functools.partial(MeteredConnection, broker.connections, queue)

    def _watch_disks(self, timers: LoopTimers) -> None:
        """Looks after room on the disks from now on, and after groups that are about to lose records."""
        config = self._config
        interval_ms = config.get_int("log.retention.check.interval.ms")
        partitions, groups = self.broker.partitions, self.broker.group_coordinator
        warnings = RetentionWarnings(partitions, groups, timers, clock_ms, interval_ms, self.broker.slices)
        self._disk_watch = DiskWatch(
            self._directories if self._log_dirs is None else self._log_dirs.all_online,
            timers,
            clock_ms,
            min_free_bytes=config.get_int(MIN_FREE_KEY),
            cap_bytes=config.get_int(CAP_KEY),
            going_under_cap=warnings.going_under_cap,
        )
        self._disk_watch.start()
        warnings.start()

    async def stop(self) -> None:
        """Closes connections, fences, flushes, writes checkpoints and the clean-shutdown marker.

        A directory whose disk refuses that has no marker, and :attr:`failure` names it; the others are closed cleanly.
        Harmless where the broker has ended by itself.
        """
        if self.failure is not None:
            return
        if self._acceptor is not None:
            self._acceptor.close()
        broker = self.broker
        broker.coordinators.shutdown()
        broker.connections.close_all()
        # One turn of the loop lets the transports close.
        await asyncio.sleep(0)
        if self._timers is not None:
            self._timers.close()
        if self._patient_timers is not None:
            self._patient_timers.close()
        self._stalls.stop()
        if self._background is not None:
            await self._background.finish()
        if self._moves is not None:
            await self._moves.finish()
        # A change of the metadata that is under way ends as in a crash: the next start completes what its log says.
        broker.metadata.turns.close()
        broker.slices.close()
        if self._group_commit is not None:
            await self._group_commit.finish()
        if self._snapshots is not None:
            await self._snapshots.finish()
        if self._disk_watch is not None:
            self._disk_watch.finish()
        assert self._lifecycle is not None
        self._lifecycle.stop(clock_ms())
        refusals = []
        for directory in self._directories:
            try:
                directory.close(self._lifecycle.broker_epoch)
            except StorageError as error:
                refusals.append(error)
        self._directories = []
        if self._log_dirs is not None:
            self._log_dirs.release_metadata()
        if refusals:
            self.failure = STOPPED_UNCLEANLY.format("; ".join(str(error) for error in refusals))

    async def crash(self) -> None:
        """Ends as a crash does: connections break, nothing is flushed, no checkpoint, no marker (for tests)."""
        self.broker.connections.abort_all()
        if self._background is not None:
            await self._background.finish()
        if self._snapshots is not None:
            await self._snapshots.finish()
        self._give_up()
        # One turn of the loop lets the transports and the listeners close.
        await asyncio.sleep(0)

    def _give_up(self) -> None:
        """Undoes a start that failed, or a start."""
        if self._broker is not None:
            self._broker.metadata.turns.close()
            self._broker.slices.close()
        if self._timers is not None:
            self._timers.close()
        if self._patient_timers is not None:
            self._patient_timers.close()
        self._stalls.stop()
        if self._acceptor is not None:
            self._acceptor.close()
        for bound in self._bound:
            bound.close()
        for directory in self._directories:
            directory.abort()
        self._directories = []
        if self._log_dirs is not None:
            self._log_dirs.release_metadata()
