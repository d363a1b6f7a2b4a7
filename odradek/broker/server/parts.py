"""Puts the parts of a broker together.

Owns: which part gets references to which. Never does: I/O, starting anything. Source: the fields of ``BrokerServer``
and ``ReplicaManager``.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from random import Random

from odradek.storage.directory.log_directories import LogDirectories

from ..config.server_config import ServerConfig
from ..network.connecting import connections_for
from ..network.descriptor_limit import DescriptorShares
from ..network.unread import Unread
from ..replicas.group_commit import GroupCommit
from ..replicas.hosted_replicas import HostedReplicas
from ..replicas.moves import ReplicaMoves
from ..replicas.partitions import Partitions
from ..timers.loop_timers import LoopTimers
from ..timers.patient_timers import PatientTimers, suspended_ms
from ..timers.slices import Slices, slices_of
from ..timers.stall_watch import StallWatch
from .broker import Broker, config_under
from .coordinators import Coordinators
from .metadata_publisher import log_config, move_throttle
from .role import Role
from .running_broker import OpenedBroker
from .surroundings import Surroundings


def put_together(
    config: ServerConfig,
    surroundings: Surroundings,
    log_dirs: LogDirectories,
    role: Role,
    shares: DescriptorShares,
    undo: ExitStack,
) -> OpenedBroker:
    """Makes the parts of a broker on the running event loop, and gives each what it needs of the others.

    ``undo`` gets the callbacks that end them as a crash does.
    """
    loop, metadata, clock_ms = asyncio.get_running_loop(), role.metadata, surroundings.clock_ms
    timer_loop = surroundings.timer_loop(loop)
    timers, stalls = LoopTimers(timer_loop), StallWatch()
    connections = connections_for(config, timers.now_ms)
    patient = PatientTimers(timer_loop, lambda: Unread(connections).is_drained, stalls.note_turn, suspended_ms)
    slices = slices_of(loop)
    for end in (stalls.stop, patient.close, timers.close, slices.close, metadata.turns.close):
        undo.callback(end)
    partitions = Partitions()
    group_commit = GroupCommit(log_dirs.online, timers, clock_ms)
    hosting = HostedReplicas(
        log_dirs,
        partitions,
        lambda topic: log_config(broker.config, metadata.image, topic),
        clock_ms,
        group_commit,
        metadata.node_id,
    )
    moves = _replica_moves(config, clock_ms, log_dirs, role, hosting, partitions, group_commit)
    coordinators = _coordinators(config, surroundings, role, partitions, patient, slices)
    undo.callback(coordinators.abort)
    broker = Broker(
        config,
        metadata,
        role.controller,
        role.topic_creator,
        role.producer_ids,
        partitions,
        coordinators,
        timers,
        connections,
        Random(),
        log_dirs,
        moves,
        slices,
    )
    return OpenedBroker(broker, role, log_dirs, hosting, group_commit, shares, timers, patient, stalls)


def _replica_moves(
    config: ServerConfig,
    clock_ms: Callable[[], int],
    log_dirs: LogDirectories,
    role: Role,
    hosting: HostedReplicas,
    partitions: Partitions,
    group_commit: GroupCommit,
) -> ReplicaMoves:
    """The moves of replicas between log directories, which end when a replica is dropped."""
    metadata = role.metadata
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
    hosting.dropped = moves.replica_dropped
    return moves


def _coordinators(
    config: ServerConfig,
    surroundings: Surroundings,
    role: Role,
    partitions: Partitions,
    patient: PatientTimers,
    slices: Slices,
) -> Coordinators:
    """The coordinators of groups and transactions, which have loaded nothing yet."""
    metadata, clock_ms = role.metadata, surroundings.clock_ms
    return Coordinators(
        config_under(metadata.image, config, metadata.node_id),
        metadata,
        lambda: role.producer_ids.next_id(clock_ms()),
        partitions,
        patient,
        slices,
        clock_ms,
        patient.lost_ms,
        role.inter_broker,
    )
