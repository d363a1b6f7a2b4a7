"""Puts the parts of a broker together: which part gets which others. To be read from top to bottom.

Owns: the order in which the parts are made. Never does: I/O, starting anything. Invariant: a part is complete when it
is made. Where two parts call each other, the first one gets a function that finds the second one when it is called.
Source: the fields of ``BrokerServer``, ``KafkaApis`` and ``ReplicaManager``.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.storage.directory.log_directories import LogDirectories

from ..api.parts import AllParts
from ..config.server_config import ServerConfig
from ..dispatch.dispatch import Dispatcher
from ..dispatch.read_only import ReadOnlyMode
from ..fetch.session import FetchSessionCache
from ..lanes.lanes import BrokerLanes
from ..lanes.parts import LaneParts
from ..network.connecting import connections_for
from ..network.connections import Connections
from ..network.descriptor_limit import DescriptorShares
from ..network.unread import Unread
from ..replicas.group_commit import GroupCommit
from ..replicas.hosted_replicas import HostedReplicas
from ..replicas.moves import ReplicaMoves
from ..replicas.partitions import Partitions
from ..replicas.record_work import RecordWork
from ..timers.clock_watch import ClockWatch
from ..timers.loop_timers import LoopTimers
from ..timers.patient_timers import PatientTimers, suspended_ms
from ..timers.slices import Slices, slices_of
from ..timers.stall_watch import StallWatch
from ..timers.timers import Loop
from ..transactions.stalled_clients import StalledClients
from .access import access_of
from .broker import Broker
from .client_limits import ClientLimits
from .client_telemetry import ClientTelemetry
from .coordinators import Coordinators
from .dynamic_configs import DynamicConfigs
from .metadata_publisher import BrokerMetadataPublisher, log_config, move_throttle
from .role import ControlledBy, Role
from .running_broker import OpenedBroker
from .sharing import sharing_of
from .surroundings import Surroundings

with lazy_imports:
    from ..security.authorization import guard as authorization_guard
    from . import metrics as server_metrics

if TYPE_CHECKING:
    from ..metadata.publisher.published import PublishedMetadata
    from ..metrics.topic_meters import TopicMeters
    from ..security.authorization.guard import Guard
    from ..security.tls.listeners import TlsListeners
    from .metrics import BrokerMetrics

SESSION_EVICTION_MS = 120_000
"""``FetchSession.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS``."""


class Base(NamedTuple):
    """What most parts are made of. ``clock_ms``: wall clock, milliseconds since the epoch. ``control``: what the role
    of the broker has opened. ``metrics``: None without ``odradek.metrics.listener``."""

    config: ServerConfig
    log_dirs: LogDirectories
    control: ControlledBy
    clock_ms: Callable[[], int]
    timer_loop: Loop
    timers: LoopTimers
    slices: Slices
    metrics: "BrokerMetrics | None"

    @property
    def metadata(self) -> "PublishedMetadata":
        """The metadata, which the role publishes."""
        return self.control.metadata

    @property
    def topic_meters(self) -> "TopicMeters | None":
        """Counts what clients write and read; None without metrics."""
        return None if self.metrics is None else self.metrics.topics


class Logs(NamedTuple):
    """The partitions of a broker, and what writes and moves their logs."""

    partitions: Partitions
    group_commit: GroupCommit
    hosting: HostedReplicas
    moves: ReplicaMoves


def wire(
    *,
    config: ServerConfig,
    surroundings: Surroundings,
    log_dirs: LogDirectories,
    role: Role,
    control: ControlledBy,
    shares: DescriptorShares,
    tls: "TlsListeners | None",
    read_only: ReadOnlyMode | None,
    undo: ExitStack,
) -> OpenedBroker:
    """Makes the parts of a broker on the running event loop.

    ``control``: what ``role`` has opened. ``tls``: of the listeners that have it; None without one. ``read_only``: how
    to serve directories that may not be changed. ``undo`` gets the callbacks that end the parts as a crash does.
    """
    base, stalls = base_of(config, surroundings, log_dirs, control), StallWatch()
    timers, metrics = base.timers, base.metrics
    client_telemetry = ClientTelemetry(config, base.metadata, base.clock_ms)

    def connection_closed(connection_id: int) -> None:
        broker.sharing.connection_closed(connection_id)  # made below
        client_telemetry.connection_closed(connection_id)

    waiting = None if metrics is None else metrics.waiting
    connections = connections_for(config, shares.connections, timers.now_ms, waiting, connection_closed)
    turned = partial(_note_turn, stalls, ClockWatch())
    patient = PatientTimers(base.timer_loop, lambda: Unread(connections).is_drained, turned, suspended_ms)
    configs = DynamicConfigs(config, base.metadata.image, base.metadata.node_id, connections.quotas)
    for end in (stalls.stop, patient.close, timers.close, base.slices.close, base.metadata.turns.close):
        undo.callback(end)
    # The publisher is made below.
    logs = logs_of(base, configs, role, lambda topic_id, at: publisher.host_later(topic_id, at))  # noqa: PLW0108
    coordinators = coordinators_of(base, configs, logs.partitions, patient)
    undo.callback(coordinators.abort)
    broker = broker_of(base, configs, logs, coordinators, connections, patient, client_telemetry)
    dispatcher = dispatcher_of(base, broker, role, surroundings, read_only)
    limits = ClientLimits(broker, dispatcher)
    publisher = BrokerMetadataPublisher(
        broker, logs.hosting, control.reports, limits, tls, base.clock_ms, surroundings.settings.host_again_s
    )
    return OpenedBroker(
        broker=broker,
        role=role,
        control=control,
        log_dirs=log_dirs,
        hosting=logs.hosting,
        group_commit=logs.group_commit,
        shares=shares,
        timers=timers,
        patient_timers=patient,
        stalls=stalls,
        dispatcher=dispatcher,
        limits=limits,
        publisher=publisher,
        metrics=metrics,
        clock_ms=base.clock_ms,
    )


def _note_turn(stalls: StallWatch, clocks: ClockWatch, now_ms: int, total_suspended_ms: int) -> None:
    """Tells both watches of a wake-up of the event loop."""
    stalls.note_turn(now_ms, total_suspended_ms)
    clocks.note_turn(total_suspended_ms)


def base_of(config: ServerConfig, surroundings: Surroundings, log_dirs: LogDirectories, control: ControlledBy) -> Base:
    """The time, the work in slices, and what counts both."""
    loop = asyncio.get_running_loop()
    timer_loop = surroundings.timer_loop(loop)
    metrics = metrics_of(config, control.metadata)
    timers, slices = LoopTimers(timer_loop), slices_of(loop)
    return Base(config, log_dirs, control, surroundings.clock_ms, timer_loop, timers, slices, metrics)


def logs_of(base: Base, configs: DynamicConfigs, role: Role, host_again: Callable[[bytes, int], None]) -> Logs:
    """The partitions and their logs. ``host_again`` hosts a partition again later, given its topic id and index."""
    metadata, partitions = base.metadata, Partitions()
    group_commit = GroupCommit(base.log_dirs.online, base.timers, base.clock_ms)
    replicated = role.replicated(group_commit, base.slices)
    hosting = HostedReplicas(
        base.log_dirs,
        partitions,
        lambda topic: log_config(configs.current, metadata.image, topic),
        base.clock_ms,
        group_commit,
        metadata.node_id,
        replication=replicated.following,
        leaders=replicated.leaders,
        placed=base.control.placed,
        dropped=lambda topic, index: moves.replica_dropped(topic, index),  # noqa: PLW0108 - made below
        host_again=host_again,
    )
    moves = ReplicaMoves(
        base.log_dirs,
        hosting,
        partitions,
        metadata,
        role.announce,
        role.assign,
        group_commit,
        base.clock_ms,
        lambda: move_throttle(metadata.image, metadata.node_id),
        base.config["num.replica.alter.log.dirs.threads"],
    )
    return Logs(partitions, group_commit, hosting, moves)


def coordinators_of(
    base: Base, configs: DynamicConfigs, partitions: Partitions, patient: PatientTimers
) -> Coordinators:
    """The coordinators of groups, transactions and the state of share groups."""
    control = base.control
    return Coordinators(
        configs.current,
        base.metadata,
        lambda: control.producer_ids.next_id(base.clock_ms()),
        partitions,
        patient,
        base.slices,
        base.clock_ms,
        patient.lost_ms,
        control.topic_creator,
        control.inter_broker,
        base.topic_meters,
    )


def broker_of(
    base: Base,
    configs: DynamicConfigs,
    logs: Logs,
    coordinators: Coordinators,
    connections: Connections,
    patient: PatientTimers,
    client_telemetry: ClientTelemetry,
) -> Broker:
    """The parts that handlers get."""
    config, control, record_work = base.config, base.control, RecordWork()
    return Broker(
        configs=configs,
        metadata=base.metadata,
        controller=control.controller,
        auto_topic_creation=control.topic_creator,
        producer_ids=control.producer_ids,
        partitions=logs.partitions,
        coordinators=coordinators,
        stalled_clients=StalledClients(
            patient,
            base.timers.now_ms,
            connections,
            coordinators.transactions.counts,
            is_enabled=config.get_boolean("odradek.transaction.nudge.enable"),
            watches_always=control.inter_broker is not None,
        ),
        timers=base.timers,
        connections=connections,
        log_dirs=base.log_dirs,
        replica_moves=logs.moves,
        slices=base.slices,
        access=access_of(config, base.log_dirs),
        forwarded_versions=control.forwarded_versions,
        topic_meters=base.topic_meters,
        fetch_sessions=FetchSessionCache(
            config.get_int("max.incremental.fetch.session.cache.slots"), SESSION_EVICTION_MS, Random()
        ),
        record_work=record_work,
        sharing=sharing_of(
            config=configs,
            metadata=base.metadata,
            partitions=logs.partitions,
            coordinators=coordinators,
            timers=base.timers,
            record_work=record_work,
            topics=control.topic_creator,
            inter_broker=control.inter_broker,
            clock_ms=base.clock_ms,
        ),
        client_telemetry=client_telemetry,
        security_protocols={listener.name: listener.protocol for listener in config.listeners},
        fetch_max_bytes=config.get_int("fetch.max.bytes"),
        fetch_check_crcs=config.get_boolean("odradek.fetch.check.crcs"),
    )


def dispatcher_of(
    base: Base, broker: Broker, role: Role, surroundings: Surroundings, read_only: ReadOnlyMode | None
) -> Dispatcher:
    """What passes requests to lanes and handlers."""
    config, metrics = base.config, base.metrics
    guard = guard_of(config, broker, base.control)
    for_handlers: AllParts = broker
    lane_parts = LaneParts(
        broker=broker,
        metadata=base.metadata,
        partitions=broker.partitions,
        groups=broker.group_coordinator,
        fetch_sessions=broker.fetch_sessions,
        timers=base.timers,
        fetch_max_bytes=broker.fetch_max_bytes,
        fetch_check_crcs=broker.fetch_check_crcs,
        clock_ms=base.clock_ms,
        authorizer=broker.authorizer,
        access_of=None if guard is None else guard.access_of,
        topic_meters=base.topic_meters,
    )
    lanes = BrokerLanes(lane_parts) if config.get_boolean("odradek.request.lanes.enable") else None
    metering = None if metrics is None else metrics.metering
    dispatcher = Dispatcher(for_handlers, base.timers.time_s, broker.config, base.clock_ms, metering, lanes)
    if surroundings.intercept is not None:
        dispatcher.intercept(surroundings.intercept, surroundings.is_intercepting)
    role.route(broker, dispatcher)
    if guard is not None:
        dispatcher.guard(guard)
    if read_only is not None:
        dispatcher.override_handlers(read_only.handlers())
    return dispatcher


def metrics_of(config: ServerConfig, metadata: "PublishedMetadata") -> "BrokerMetrics | None":
    """The metrics; None without ``odradek.metrics.listener``."""
    if not config.get_string("odradek.metrics.listener"):
        return None
    return server_metrics.BrokerMetrics(config, metadata)


def guard_of(config: ServerConfig, broker: Broker, control: ControlledBy) -> "Guard | None":
    """What asks the authorizer before each handler; None if the broker has no authorizer."""
    if broker.authorizer is None:
        return None
    creates_topics = config.get_boolean("auto.create.topics.enable")
    return authorization_guard.Guard(broker.authorizer, broker.metadata, creates_topics, control.ask_themselves)
