"""The parts that a start has opened, the running broker, and its stop.

Owns: the order of a stop. Never does: starting anything. Invariant: after a stop, partitions have no leader, and every
directory without disk errors has checkpoints and a clean-shutdown marker. Source: ``BrokerServer.shutdown``.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.protocol.common.holder import holder
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.errors import StorageError

from ..dispatch.dispatch import Dispatcher
from ..metadata.image.image import Endpoint
from ..metadata.publisher.snapshot_generator import SnapshotGenerator
from ..network.acceptor import Acceptor
from ..network.descriptor_limit import DescriptorShares
from ..replicas.directories.disk_watch import DiskWatch
from ..replicas.group_commit import GroupCommit
from ..replicas.hosted_replicas import HostedReplicas
from ..timers.loop_timers import LoopTimers
from ..timers.patient_timers import PatientTimers
from ..timers.stall_watch import StallWatch
from .background import Background
from .broker import Broker
from .client_limits import ClientLimits
from .metadata_publisher import BrokerMetadataPublisher
from .role import ControlledBy, Role
from .snapshot_sockets import SnapshotSockets

if TYPE_CHECKING:
    from .console_listener import ConsoleListener
    from .metrics import BrokerMetrics


@holder(kw_only=True)
class OpenedBroker:
    """The parts of a broker that does not serve yet. ``metrics``: None without ``odradek.metrics.listener``.
    ``clock_ms``: wall clock, milliseconds since the epoch."""

    broker: Broker
    role: Role
    control: ControlledBy
    log_dirs: LogDirectories
    hosting: HostedReplicas
    group_commit: GroupCommit
    shares: DescriptorShares
    timers: LoopTimers
    patient_timers: PatientTimers
    stalls: StallWatch
    dispatcher: Dispatcher
    limits: ClientLimits
    publisher: BrokerMetadataPublisher
    metrics: "BrokerMetrics | None"
    clock_ms: Callable[[], int]


@holder()
class RunningBroker:
    """A broker that serves. ``disk_watch`` and ``snapshot_sockets``: None if the directories are served read-only.
    ``console``: None without ``odradek.console.listener``."""

    parts: OpenedBroker
    acceptor: Acceptor
    background: Background
    snapshots: SnapshotGenerator
    disk_watch: DiskWatch | None
    snapshot_sockets: SnapshotSockets | None
    console: "ConsoleListener | None"

    @property
    def broker(self) -> Broker:
        """The broker as handlers see it."""
        return self.parts.broker

    @property
    def advertised(self) -> list[Endpoint]:
        """The address of each listener for clients."""
        metadata = self.broker.metadata
        return list(metadata.image.brokers[metadata.node_id].endpoints.values())

    @property
    def data_directories(self) -> list[Path]:
        """The data directories."""
        return list(self.parts.log_dirs.paths)

    async def stop(self, clock_ms: Callable[[], int]) -> list[StorageError]:
        """Closes connections, fences, flushes, writes checkpoints and the markers of a clean stop.

        ``clock_ms``: milliseconds since the epoch. Returns the errors of directories; the others are closed cleanly.
        """
        parts, broker = self.parts, self.parts.broker
        await parts.role.leave()
        self.acceptor.close()
        if self.console is not None:
            self.console.stop()
        if self.snapshot_sockets is not None:
            self.snapshot_sockets.close()
        broker.coordinators.stop()
        broker.connections.close_all()
        # One turn of the loop lets the transports close.
        await asyncio.sleep(0)
        parts.timers.close()
        parts.patient_timers.close()
        parts.stalls.stop()
        if self.disk_watch is not None:
            await self.disk_watch.stop()
        await self.background.stop()
        if parts.metrics is not None:
            parts.metrics.stop()
        await broker.replica_moves.stop()
        # A metadata change in progress ends as in a crash: the next start applies the records in the log.
        broker.metadata.turns.close()
        broker.slices.close()
        await parts.group_commit.stop()
        await self.snapshots.stop()
        if self.disk_watch is not None:
            self.disk_watch.fill_reserves()
        await parts.role.close(clock_ms())
        refusals = []
        for directory in parts.log_dirs.online:
            try:
                directory.close(parts.role.broker_epoch)
            except StorageError as error:
                refusals.append(error)
        parts.log_dirs.release_metadata()
        if self.console is not None:
            await self.console.ended()
        return refusals
