"""Starts and stops a broker: the only place that knows the order.

Owns: the order of start and stop. Never does: serving. Invariants: the listeners' ports are known before the broker
registers. When :meth:`BrokerServer.start` returns, every topic has its leader, the offsets topic exists, its groups are
loaded, and connections are accepted. After a stop, this broker leads no partition; checkpoints and the clean-shutdown
marker are written. Source: ``BrokerServer``, ``ControllerServer``, ``LogManager``.
"""

import asyncio
import functools
import logging
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import KafkaError
from odradek.storage.directory.log_directories import LogDirectories

from ..config.authorizer import authorizer_settings
from ..config.node_links import protocols_of
from ..config.security import refuse_unserved_security
from ..config.server_config import ServerConfig
from ..dispatch.read_only import ReadOnlyMode
from ..metadata.controller.controller import nothing_to_check
from ..metadata.image.local_replicas import LocalReplicas
from ..metadata.publisher.snapshot_generator import SnapshotGenerator
from ..network.acceptor import Acceptor
from ..network.connecting import close_idle_connections, connection_factory
from ..network.descriptor_limit import descriptor_shares, log_few_connections
from ..network.listening import BoundListener, bind
from ..replicas.directories.disk_watch import DiskWatch
from ..replicas.directories.failures import DirectoryFailures
from ..replicas.directories.identity import cordoned_paths
from ..replicas.directories.recovery import RecoveryProgress
from ..replicas.hosted_replicas import HOSTING, HostedReplicas
from ..security.open_access import warn_of_open_access
from ..timers.loop_timers import LoopTimers
from ..timers.patient_timers import suspended_ms
from ..timers.work import KindOfWork
from .advertising import endpoints, watch_clients
from .background import Background, remove_expired_tokens, watch_disks
from .broker import Broker
from .dynamic_configs import log_bad_configs
from .listener_security import (
    ListenerSecurity,
    accepts_anyone,
    follow_tls_configs,
    read_sasl_settings,
    tls_listeners,
)
from .role import Role
from .running_broker import OpenedBroker, RunningBroker
from .snapshot_sockets import SnapshotSockets
from .standalone import Standalone
from .surroundings import Surroundings
from .wiring import wire

with lazy_imports:
    from . import cluster_member, console_listener, console_settings

if TYPE_CHECKING:
    from ..security.tls.listeners import TlsListeners
    from .console_listener import ConsoleListener


def check_console(config: ServerConfig) -> None:
    """Raises ConfigError if the console would be open to others."""
    if config.get_string("odradek.console.listener"):
        console_settings.console_config(config)


def open_console(config: ServerConfig, broker: Broker) -> "ConsoleListener | None":
    """Listens for the console; None without its key. Raises BindError."""
    if not config.get_string("odradek.console.listener"):
        return None
    listener = console_listener.ConsoleListener(config, console_settings.console_config(config), broker)
    listener.wait_for_connection()
    return listener


logger = logging.getLogger(__name__)

STOPPED_UNCLEANLY = "stopped, but not cleanly: {}. Nothing acknowledged is lost; the next start recovers that directory"
RECOVERY = KindOfWork("log-recovery", "recovers the logs of an unclean stop, before the start ends")
OPEN_AT_ONCE = 5
OPEN_PAUSE_MS = 5
"""The pause for requests after each OPEN_AT_ONCE partitions that are opened after a start: 2,000 take three seconds."""


class BrokerServer:
    """One broker in this process, on the running event loop."""

    def __init__(
        self,
        config: ServerConfig,
        cluster_id: str | None = None,
        on_end: Callable[[], object] = lambda: None,
        read_only: ReadOnlyMode | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        """``cluster_id``: for a new data directory; None takes a random one. ``on_end`` is called when the broker ends
        by itself (:attr:`failure`). ``read_only``: how to serve directories that may not be changed. ``surroundings``:
        None takes the real ones."""
        self._config = config
        self._cluster_id = cluster_id
        self.failure: str | None = None
        """Why the broker has ended by itself, or has not stopped cleanly; None otherwise."""
        self._on_end = on_end
        self._read_only = read_only
        self._surroundings = surroundings or Surroundings()
        self._clock_ms = self._surroundings.clock_ms
        self._tls: TlsListeners | None = None
        self._bound: list[BoundListener] = []
        self._running: RunningBroker | None = None
        self._waiting_role: Role | None = None
        """The role of a start that is under way."""
        self._recovery = RecoveryProgress(time.monotonic)
        self._undo = ExitStack()
        """Callbacks that end the parts as a crash does: for a start that failed, and for a broker that can't go on."""

    @property
    def running(self) -> RunningBroker:
        """What :meth:`start` returned."""
        assert self._running is not None, "not started"
        return self._running

    @property
    def broker(self) -> Broker:
        """The running broker, as handlers see it."""
        return self.running.broker

    @property
    def listeners(self) -> list[BoundListener]:
        """The listeners that are bound, with their real ports."""
        return self._bound

    @property
    def ports(self) -> set[int]:
        """The TCP ports that this broker listens on, those of its metrics and of its console included."""
        bound = {bound.port for bound in self._bound}
        if self._running is None:
            return bound
        metrics, console = self._running.parts.metrics, self._running.console
        others = (None if metrics is None else metrics.port, None if console is None else console.port)
        return bound | {port for port in others if port is not None}

    async def start(self) -> RunningBroker:
        """Opens, recovers, registers, loads, serves.

        Raises ConfigError, BindError, DirectoryLockedError, KafkaError or OSError with what to do, RecoveryStopped if
        :meth:`stop_start` was called; nothing stays locked then.
        """
        # A bad value stops the start before a directory is touched.
        refuse_unserved_security(self._config, protocols_of(self._config))
        authorizer_settings(self._config)
        read_sasl_settings(self._config)
        check_console(self._config)
        self._tls = tls_listeners(self._config)
        try:
            now_ms = self._clock_ms()
            parts = await self._open(now_ms)
            await self._recover(parts, now_ms)
            self._serve(parts, now_ms)
            await parts.role.activate()
            self._waiting_role = None
            self._running = await self._accept(parts)
        except BaseException:
            self._undo.close()
            raise
        return self._running

    def stop_start(self) -> None:
        """Ends a start that recovers logs or waits to join its cluster, and the controlled shutdown of a stop; harmless
        at any other time."""
        self._recovery.stop()
        if self._waiting_role is not None:
            self._waiting_role.stop_waiting()

    async def _open(self, now_ms: int) -> OpenedBroker:
        """Binds listeners, locks directories, reads or follows the metadata, and finds the logs."""
        config = self._config
        role = self._waiting_role = self._role()
        for listener in config.listeners:
            self._bound.append(bind(listener, config.listeners))
            self._undo.callback(self._bound[-1].close)
        advertised = endpoints(config.advertised_listeners, self._bound)
        shares = descriptor_shares(more=len(config.log_dirs) + 1)  # their locks
        log_few_connections(shares)
        log_dirs = LogDirectories.open(
            map(Path, config.log_dirs),
            self._surroundings.files if self._read_only is None else self._read_only.files_for,
            None if config["metadata.log.dir"] is None else Path(config["metadata.log.dir"]),
            shares.segments,
        )
        self._undo.callback(_abort_all, log_dirs)
        self._undo.callback(role.abort)
        control = await role.open(log_dirs, advertised, now_ms)
        metadata = control.metadata
        parts = wire(
            config=self._config,
            surroundings=self._surroundings,
            log_dirs=log_dirs,
            role=role,
            control=control,
            shares=shares,
            tls=self._tls,
            read_only=self._read_only,
            undo=self._undo,
        )
        settings = self._surroundings.settings
        if self._tls is not None:
            follow_tls_configs(self._tls, parts.broker, parts.patient_timers, settings.key_store_check_ms)
        log_bad_configs(metadata.image, metadata.node_id)
        replicas = LocalReplicas(metadata.image, metadata.node_id)
        log_dirs.find_logs(now_ms, replicas.is_stray, replicas.id_in_directory)
        log_dirs.promote_futures(replicas.assigned_directory, now_ms, keeps_source=control.placed is not None)
        return parts

    def _role(self) -> Role:
        """The role that ``process.roles`` gives this broker."""
        check_listeners = nothing_to_check if self._tls is None else self._tls.check
        if self._config.get_list("process.roles") != ["broker"]:
            return Standalone(self._config, self._cluster_id, self._bound, check_listeners)
        return cluster_member.ClusterMember(
            self._config, self._cluster_id, self._clock_ms, self._ended, check_listeners
        )

    def _ended(self, reason: str) -> None:
        """Ends the broker, because its role can't go on."""
        if self._running is not None:
            self._abort(self._running.broker, reason)

    async def _recover(self, parts: OpenedBroker, now_ms: int) -> None:
        """Recovers logs that were not closed, on threads: the event loop can then stop the broker."""
        if self._recovery.unclean(parts.log_dirs):
            threads = parts.broker.config.get_int("num.recovery.threads.per.data.dir")
            arguments = parts.log_dirs, parts.hosting.logs.config_of, now_ms, threads
            await RECOVERY.awaited_on_thread(self._recovery.recover, *arguments)

    def _serve(self, parts: OpenedBroker, now_ms: int) -> None:
        """Registers, hosts the partitions and loads the coordinators, before the first connection."""
        broker, hosting, log_dirs = parts.broker, parts.hosting, parts.log_dirs
        metadata = broker.metadata
        log_dirs.cordon(cordoned_paths(broker.config, log_dirs.paths))
        parts.role.register(log_dirs, now_ms)
        broker.access.load(metadata.image)
        for topic in metadata.image.topics_by_name.values():
            try:
                run_to_end(hosting.host_topic(topic))
            except KafkaError as error:  # its partitions that can't be opened answer it; the others are served
                HOSTING.failed(f"{topic.name}: {error.message}")
        metadata.prepare(parts.publisher.host_drafts)
        metadata.subscribe(parts.publisher.changed)
        broker.coordinators.load()
        DirectoryFailures(
            log_dirs,
            hosting,
            parts.control.reports,
            self._clock_ms,
            resign=broker.coordinators.resign,
            end_broker=functools.partial(self._abort, broker),
        ).listen()
        broker.replica_moves.resume()

    async def _accept(self, parts: OpenedBroker) -> RunningBroker:
        """Accepts connections and starts the background work."""
        broker, timers = parts.broker, parts.timers
        parts.limits.start(broker.metadata.image)
        if self._read_only is not None:
            broker.own_metadata.refuse_changes(self._read_only.refusal)
        broker.metadata.run_with(functools.partial(broker.slices.start, request="a metadata change"))
        disk_watch = self._watch_disks(parts)
        self._warn_of_open_access(broker)
        watch_clients(broker)
        acceptor = self._listen(parts)
        background = self._start_background(parts)
        if parts.metrics is not None:
            self._undo.callback(parts.metrics.stop)
            await parts.metrics.listen(
                broker,
                parts.hosting,
                parts.limits,
                self._clock_ms,
                background.cleaner_state,
                parts.role.metrics(),
                self._surroundings.settings.key_store_check_ms,
            )
        sockets = await self._open_snapshot_sockets(parts, background)
        snapshots = SnapshotGenerator(broker.metadata, timers, self._clock_ms)
        snapshots.start()
        remove_expired_tokens(broker, timers, self._clock_ms)
        timers.schedule(OPEN_PAUSE_MS, functools.partial(_open_rest, parts.hosting, timers))
        console = open_console(self._config, broker)
        if console is not None:
            self._undo.callback(console.stop)
        return RunningBroker(parts, acceptor, background, snapshots, disk_watch, sockets, console)

    async def _open_snapshot_sockets(self, parts: OpenedBroker, background: Background) -> SnapshotSockets | None:
        """Lets `odradek storage snapshot` ask where the logs end; None if the directories may not be changed."""
        if self._read_only is not None:
            return None
        metadata = parts.broker.metadata
        facts = {
            "nodeId": metadata.node_id,
            "clusterId": metadata.cluster_id,
            "isAlone": parts.control.inter_broker is None,
        }
        sockets = SnapshotSockets(parts.log_dirs, background, facts, self._clock_ms)
        await sockets.open()
        self._undo.callback(sockets.close)
        return sockets

    def _watch_disks(self, parts: OpenedBroker) -> DiskWatch | None:
        """Starts the watch of the disk space; None if the directories may not be changed."""
        if self._read_only is not None:
            return None
        broker = parts.broker
        watch = watch_disks(
            self._config,
            parts.log_dirs.all_online,
            broker.partitions,
            broker.group_coordinator,
            parts.timers,
            self._clock_ms,
            broker.slices,
            parts.role.refuses_in,
            self._surroundings.settings.file_count_ms,
        )
        self._undo.callback(watch.cancel)
        return watch

    def _warn_of_open_access(self, broker: Broker) -> None:
        """Logs what the security settings leave open."""
        config, metadata = self._config, broker.metadata
        open_to_all = (bound for bound in self._bound if accepts_anyone(config, bound.listener))
        warn_of_open_access(
            metadata.image,
            metadata.node_id,
            ((bound.listener.name, socket.getsockname()[0]) for bound in open_to_all for socket in bound.sockets),
            enforces_acls=broker.authorizer is not None,
            knows_tokens=broker.token_hmacs is not None,
            authenticates=config.has_sasl,
        )

    def _listen(self, parts: OpenedBroker) -> Acceptor:
        """Accepts connections, whose requests go to the dispatcher."""
        config, broker, now_ms, patient = self._config, parts.broker, parts.timers.now_ms, parts.patient_timers
        connections = broker.connections
        connect = connection_factory(config, connections, parts.dispatcher.dispatch, broker.slices, now_ms, patient)
        security = ListenerSecurity(config, broker, connect, self._tls)
        listening = security.listening(self._bound)
        acceptor = Acceptor(asyncio.get_running_loop(), listening, connections, parts.shares, now_ms)
        self._undo.callback(acceptor.close)
        acceptor.start()
        return acceptor

    def _start_background(self, parts: OpenedBroker) -> Background:
        """Starts the background work, the closing of idle connections, and the watch for stalls."""
        broker, patient = parts.broker, parts.patient_timers
        background = Background(
            parts.log_dirs.online,
            parts.timers,
            self._clock_ms,
            parts.group_commit,
            broker.slices,
            self._surroundings.settings,
        )
        close_idle_connections(broker.connections, broker.slices, patient)
        parts.stalls.start(parts.dispatcher.last_request, broker.slices.request, suspended_ms())
        background.start(self._config, lambda: broker.config)
        return background

    def _abort(self, broker: Broker, reason: str) -> None:
        """Ends as a crash does, because the broker can't go on. Logs the reason."""
        if self.failure is not None:
            return
        logger.critical("%s", reason)
        self.failure = reason
        broker.connections.abort_all()
        self._undo.close()
        self._on_end()

    async def stop(self) -> None:
        """Closes connections, fences, flushes, writes checkpoints and the clean-shutdown marker.

        A directory whose disk fails gets no marker, and :attr:`failure` names it; the others are closed cleanly.
        Harmless if the broker has ended by itself.
        """
        if self.failure is not None:
            return
        self._waiting_role = self.running.parts.role
        refusals = await self.running.stop(self._clock_ms)
        self._undo.pop_all()  # nothing is left to undo
        if refusals:
            self.failure = STOPPED_UNCLEANLY.format("; ".join(str(error) for error in refusals))

    async def crash(self) -> None:
        """Ends as a crash does: connections break, nothing is flushed, no checkpoint, no marker (for tests)."""
        running = self.running
        running.acceptor.close()  # first: a connection that is accepted later would not be aborted
        running.broker.connections.abort_all()
        if running.disk_watch is not None:
            await running.disk_watch.stop()
        await running.background.stop()
        await running.snapshots.stop()
        self._undo.close()
        # One turn of the loop lets the transports and the listeners close, and ends what the acceptor has cancelled.
        await asyncio.sleep(0)


def _abort_all(log_dirs: LogDirectories) -> None:
    """Releases the log directories as a crash would."""
    for directory in log_dirs.online:
        directory.abort()
    log_dirs.release_metadata()


def _open_rest(hosting: HostedReplicas, timers: LoopTimers) -> None:
    """Opens logs that no request has used yet, a few partitions at a time, so that requests come in between."""
    if hosting.open_some(OPEN_AT_ONCE):
        timers.schedule(OPEN_PAUSE_MS, functools.partial(_open_rest, hosting, timers))
