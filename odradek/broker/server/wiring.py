"""Puts the parts of a broker together: which part gets which others. To be read from top to bottom.

Owns: the order in which the parts are made. Never does: I/O, starting anything. Invariant: a part is complete when it
is made. Where two parts call each other, the first one gets a function that finds the second one when it is called.
Source: the fields of ``BrokerServer``, ``KafkaApis`` and ``ReplicaManager``.
"""

import asyncio
from contextlib import ExitStack
from random import Random
from typing import TYPE_CHECKING

from odradek.storage.directory.log_directories import LogDirectories

from ..api.parts import AllParts
from ..config.server_config import ServerConfig
from ..dispatch.dispatch import Dispatcher
from ..dispatch.read_only import ReadOnlyMode
from ..fetch.session import FetchSessionCache
from ..lanes.lanes import BrokerLanes
from ..lanes.parts import LaneParts
from ..network.connecting import connections_for
from ..network.descriptor_limit import DescriptorShares
from ..network.unread import Unread
from ..replicas.group_commit import GroupCommit
from ..replicas.hosted_replicas import HostedReplicas
from ..replicas.moves import ReplicaMoves
from ..replicas.partitions import Partitions
from ..replicas.record_work import RecordWork
from ..timers.loop_timers import LoopTimers
from ..timers.patient_timers import PatientTimers, suspended_ms
from ..timers.slices import slices_of
from ..timers.stall_watch import StallWatch
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

if TYPE_CHECKING:
    from ..metadata.publisher.published import PublishedMetadata
    from ..security.authorization.guard import Guard
    from ..security.tls.listeners import TlsListeners
    from .metrics import BrokerMetrics

SESSION_EVICTION_MS = 120_000
"""``FetchSession.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS``."""


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
    loop, metadata, clock_ms = asyncio.get_running_loop(), control.metadata, surroundings.clock_ms

    # Time, and work in slices.
    timer_loop = surroundings.timer_loop(loop)
    timers, stalls, slices = LoopTimers(timer_loop), StallWatch(), slices_of(loop)

    # Connections.
    metrics = metrics_of(config, metadata)
    waiting = None if metrics is None else metrics.waiting
    topic_meters = None if metrics is None else metrics.topics
    client_telemetry = ClientTelemetry(config, metadata, clock_ms)

    def connection_closed(connection_id: int) -> None:
        sharing.connection_closed(connection_id)  # made below
        client_telemetry.connection_closed(connection_id)

    connections = connections_for(config, shares.connections, timers.now_ms, waiting, connection_closed)
    patient = PatientTimers(timer_loop, lambda: Unread(connections).is_drained, stalls.note_turn, suspended_ms)
    configs = DynamicConfigs(config, metadata.image, metadata.node_id, connections.quotas)
    for end in (stalls.stop, patient.close, timers.close, slices.close, metadata.turns.close):
        undo.callback(end)

    # Partitions and their logs.
    partitions = Partitions()
    group_commit = GroupCommit(log_dirs.online, timers, clock_ms)
    replicated = role.replicated(group_commit, slices)
    hosting = HostedReplicas(
        log_dirs,
        partitions,
        lambda topic: log_config(configs.current, metadata.image, topic),
        clock_ms,
        group_commit,
        metadata.node_id,
        replication=replicated.following,
        leaders=replicated.leaders,
        placed=control.placed,
        dropped=lambda topic, index: moves.replica_dropped(topic, index),  # noqa: PLW0108 - made below
        host_again=lambda topic_id, index: publisher.host_later(topic_id, index),  # noqa: PLW0108 - made below
    )
    moves = ReplicaMoves(
        log_dirs,
        hosting,
        partitions,
        metadata,
        role.announce,
        role.assign,
        group_commit,
        clock_ms,
        lambda: move_throttle(metadata.image, metadata.node_id),
        config["num.replica.alter.log.dirs.threads"],
    )

    # Groups and transactions.
    coordinators = Coordinators(
        configs.current,
        metadata,
        lambda: control.producer_ids.next_id(clock_ms()),
        partitions,
        patient,
        slices,
        clock_ms,
        patient.lost_ms,
        control.topic_creator,
        control.inter_broker,
        topic_meters,
    )
    undo.callback(coordinators.abort)

    # Requests.
    record_work = RecordWork()
    sharing = sharing_of(
        config=configs,
        metadata=metadata,
        partitions=partitions,
        coordinators=coordinators,
        timers=timers,
        record_work=record_work,
        topics=control.topic_creator,
        inter_broker=control.inter_broker,
        clock_ms=clock_ms,
    )
    broker = Broker(
        configs=configs,
        metadata=metadata,
        controller=control.controller,
        auto_topic_creation=control.topic_creator,
        producer_ids=control.producer_ids,
        partitions=partitions,
        coordinators=coordinators,
        stalled_clients=StalledClients(
            patient,
            timers.now_ms,
            connections,
            coordinators.transactions.counts,
            is_enabled=config.get_boolean("odradek.transaction.nudge.enable"),
            watches_always=control.inter_broker is not None,
        ),
        timers=timers,
        connections=connections,
        log_dirs=log_dirs,
        replica_moves=moves,
        slices=slices,
        access=access_of(config, log_dirs),
        forwarded_versions=control.forwarded_versions,
        topic_meters=topic_meters,
        fetch_sessions=FetchSessionCache(
            config.get_int("max.incremental.fetch.session.cache.slots"), SESSION_EVICTION_MS, Random()
        ),
        record_work=record_work,
        sharing=sharing,
        client_telemetry=client_telemetry,
        security_protocols={listener.name: listener.protocol for listener in config.listeners},
        fetch_max_bytes=config.get_int("fetch.max.bytes"),
        fetch_check_crcs=config.get_boolean("odradek.fetch.check.crcs"),
    )
    metering = None if metrics is None else metrics.metering
    for_handlers: AllParts = broker
    guard = guard_of(config, broker, control)
    lane_parts = LaneParts(
        broker=broker,
        metadata=metadata,
        partitions=partitions,
        groups=coordinators.groups,
        fetch_sessions=broker.fetch_sessions,
        timers=timers,
        fetch_max_bytes=broker.fetch_max_bytes,
        fetch_check_crcs=broker.fetch_check_crcs,
        clock_ms=clock_ms,
        authorizer=broker.authorizer,
        access_of=None if guard is None else guard.access_of,
        topic_meters=topic_meters,
    )
    lanes = BrokerLanes(lane_parts) if config.get_boolean("odradek.request.lanes.enable") else None
    dispatcher = Dispatcher(for_handlers, timers.time_s, configs.current, clock_ms, metering, lanes)
    if surroundings.intercept is not None:
        dispatcher.intercept(surroundings.intercept, surroundings.is_intercepting)
    role.route(broker, dispatcher)
    if guard is not None:
        dispatcher.guard(guard)
    if read_only is not None:
        dispatcher.override_handlers(read_only.handlers())
    limits = ClientLimits(broker, dispatcher)

    # Changes of the metadata.
    publisher = BrokerMetadataPublisher(
        broker, hosting, control.reports, limits, tls, clock_ms, surroundings.settings.host_again_s
    )
    return OpenedBroker(
        broker=broker,
        role=role,
        control=control,
        log_dirs=log_dirs,
        hosting=hosting,
        group_commit=group_commit,
        shares=shares,
        timers=timers,
        patient_timers=patient,
        stalls=stalls,
        dispatcher=dispatcher,
        limits=limits,
        publisher=publisher,
        metrics=metrics,
        clock_ms=clock_ms,
    )


def metrics_of(config: ServerConfig, metadata: "PublishedMetadata") -> "BrokerMetrics | None":
    """The metrics; None without ``odradek.metrics.listener``."""
    if not config.get_string("odradek.metrics.listener"):
        return None
    from .metrics import BrokerMetrics

    return BrokerMetrics(config, metadata)


def guard_of(config: ServerConfig, broker: Broker, control: ControlledBy) -> "Guard | None":
    """What asks the authorizer before each handler; None if the broker has no authorizer."""
    if broker.authorizer is None:
        return None
    from ..security.authorization.guard import Guard

    creates_topics = config.get_boolean("auto.create.topics.enable")
    return Guard(broker.authorizer, broker.metadata, creates_topics, control.ask_themselves)
