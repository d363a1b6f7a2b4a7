"""The controller and the brokers of a simulated cluster: the real code, on disks in memory.

Owns: start, kill, pause and clean stop of a node, its disk between two runs. Never does: choosing a fault.
:func:`replace_edges` replaces parts of the broker: the binding of sockets, the files, the watch of the event loop by a
thread, the check for unread sockets. Everything else is unchanged.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any

from cluster.simulator.broker_disk import BrokerDisk
from cluster.simulator.determinism import replace, wall_skew_s
from cluster.simulator.network import End, Network, port_of
from cluster.simulator.processes import Process
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.metadata.publisher.snapshot_generator import SnapshotGenerator
from odradek.broker.network import listening, unread
from odradek.broker.network.connection import Connection
from odradek.broker.replicas.partitions import Partitions
from odradek.broker.server import random_ids
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.server.surroundings import Surroundings
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.broker.timers.stall_watch import StallWatch
from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.directory import directory_lock
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties
from odradek.storage.log import segment_reader
from odradek.testing.controller.active_controller import ActiveController
from odradek.testing.controller.embedded import FEATURES, NODE_ID
from odradek.testing.controller.server import ControllerServer
from support.disks.simulated_disk import SimulatedDisk
from support.disks.simulated_nodes import SimulatedDirectory, SimulatedFile

logger = logging.getLogger(__name__)

CLUSTER_ID = "c2ltdWxhdGVkIGNsdXN0ZQ"
SESSION_MS = 3_000
LAG_MAX_MS = 3_000
ROOT = Path("/simulated")
CONTROLLER_KEYS = {"broker.session.timeout.ms": SESSION_MS, "controller.listener.names": "CONTROLLER"}
BROKER_KEYS: Mapping[str, object] = {
    "process.roles": "broker",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{port_of(NODE_ID)}",
    "broker.session.timeout.ms": SESSION_MS,
    "broker.heartbeat.interval.ms": 700,
    "replica.lag.time.max.ms": LAG_MAX_MS,
    "replica.fetch.backoff.ms": 300,
    "replica.socket.timeout.ms": 4_000,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.num.partitions": 2,
    "transaction.state.log.min.isr": 2,
    "min.insync.replicas": 2,
    "group.initial.rebalance.delay.ms": 0,
    "log.index.size.max.bytes": 4_096,
    "log.cleaner.enable": "false",
    "auto.create.topics.enable": "false",
}


def replace_edges(network: Network) -> None:
    """Replaces the broker's calls to the system by the simulation, permanently in this process."""

    def bind_all(listener: Any, _: Any) -> list[Any]:
        return [network.bind(listener.port)]

    def unread_of(connections: Iterable[Connection]) -> list[Connection]:
        return [one for one in connections if not one.is_closing and (one.holds_frames or has_unread(one.transport))]

    def has_unread(transport: object) -> bool:
        return isinstance(transport, End) and transport.has_unread

    def no_watch(*_: object) -> None:
        """Does nothing: this loop has no watching thread."""

    replace(listening, "_bind_all", bind_all)
    replace(unread, "unread", unread_of)
    replace(StallWatch, "start", no_watch)
    replace(segment_reader, "REGION_BYTES", 1 << 40)  # a region would need a real descriptor


disks: dict[Path, SimulatedDisk] = {}
"""Log directory -> its disk now."""


class Node:
    """One node with all its restarts."""

    directories: tuple[Path, ...] = ()
    """Its log directories, each on its own disk."""

    def __init__(self, network: Network, name: str, chance: random.Random) -> None:
        self.name = name
        self.network = network
        self.chance = chance
        self.process: Process | None = None
        self.incarnation = 0
        self.has_lost_data = False
        """Whether it has lost power, and has not recovered its logs since."""

    def __repr__(self) -> str:
        return self.name

    @property
    def is_up(self) -> bool:
        return self.process is not None

    def begin(self, main: Coroutine[Any, Any, Any], skew_s: float = 0.0) -> "asyncio.Task[Any]":
        """Starts a process."""
        assert self.process is None, f"{self.name} runs already"
        process = self.process = Process(self.name)
        self.incarnation += 1
        process.context.run(wall_skew_s.set, skew_s)
        return self.network.loop.create_task(main, context=process.context)

    def kill(self, *, has_power: bool = True) -> None:
        """Ends it as kill -9 does. Without power, unsynced data is kept or lost at random."""
        process, self.process = self.process, None
        if process is not None:
            process.die()
            self.network.process_died(process)
            self.has_lost_data = self.has_lost_data or not has_power
            self._leave_disk(has_power=has_power)

    def _leave_disk(self, *, has_power: bool) -> None:
        for directory in self.directories:
            disks[directory] = disks[directory].survivors(directory, self.chance, has_power=has_power)
            for path in [one for one in directory_lock._held_here if directory in one.parents]:
                directory_lock._held_here.discard(path)

    def pause(self) -> None:
        assert self.process is not None
        self.process.is_paused = True

    def go_on(self) -> None:
        if self.process is not None and self.process.is_paused:
            self.network.loop.resume(self.process)


class ControllerNode(Node):
    """The one controller."""

    def __init__(self, network: Network, chance: random.Random) -> None:
        super().__init__(network, f"n{NODE_ID}", chance)
        self.active: ActiveController
        self.directories = (ROOT / self.name,)
        disks[self.directories[0]] = SimulatedDisk(self.directories[0])

    @property
    def image(self) -> MetadataImage:
        return self.active.metadata.image

    def start(self) -> "asyncio.Task[None]":
        return self.begin(self._serve())

    async def _serve(self) -> None:
        port = port_of(NODE_ID)
        keys = {
            "node.id": NODE_ID,
            "listeners": f"CONTROLLER://127.0.0.1:{port},PLAINTEXT://127.0.0.1:1",
            "log.dirs": self.directories[0],
            **CONTROLLER_KEYS,
        }
        config = config_of(keys)
        directory = LogDirectory.open(self.directories[0], disks[self.directories[0]])
        metadata = MetadataService.open(
            directory,
            config,
            directory_id=random_ids.random_uuid(),
            now_ms=clock_ms(),
            random_uuid=random_ids.random_uuid,
            cluster_id=CLUSTER_ID,
        )
        self.active = ActiveController(metadata, config, random_ids.random_uuid)
        self.active.start(FEATURES)
        timers = LoopTimers(asyncio.get_running_loop())
        SnapshotGenerator(metadata, timers, clock_ms).start()
        await ControllerServer(self.active).start(self.network.bind(port))  # type: ignore[arg-type]


class ClientNode(Node):
    """One client, which does the same after each restart."""

    def __init__(
        self, network: Network, name: str, chance: random.Random, run: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        super().__init__(network, name, chance)
        self._run = run
        self.task: asyncio.Task[None]

    def start(self) -> None:
        self.task = self.begin(self._run())


class BrokerNode(Node):
    """One broker."""

    def __init__(self, network: Network, node_id: int, chance: random.Random) -> None:
        super().__init__(network, f"n{node_id}", chance)
        self.node_id = node_id
        self.server: BrokerServer | None = None
        self.may_end = False
        """Whether the disk of its metadata has failed: the broker ends by itself."""
        self.directories = ROOT / self.name / "a", ROOT / self.name / "b"
        for directory in self.directories:
            disk = disks[directory] = BrokerDisk(directory)
            write_meta_properties(disk, directory, MetaProperties(CLUSTER_ID, node_id, self._id_of(directory)))

    def _id_of(self, directory: Path) -> bytes:
        return f"broker dir {directory.name}".encode() + self.node_id.to_bytes(4, "big")

    def directory_id(self, number: int) -> bytes:
        """The directory id of the first (0) or the second (1) disk."""
        return self._id_of(self.directories[number])

    @property
    def is_serving(self) -> bool:
        server = self.server
        return self.is_up and server is not None and server._running is not None and server.failure is None

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.server is not None and self.server.failure is not None

    @property
    def disks(self) -> tuple[BrokerDisk, BrokerDisk]:
        """The disk with the metadata, and the other one."""
        first, second = (disks[directory] for directory in self.directories)
        assert isinstance(first, BrokerDisk)
        assert isinstance(second, BrokerDisk)
        return first, second

    def lose_second_disk(self) -> None:
        """Replaces the second disk by an empty one."""
        assert not self.is_up
        disks[self.directories[1]] = BrokerDisk(self.directories[1])
        self.has_lost_data = True

    def file(self, directory: str, name: str) -> bytes | bytearray:
        """The content of a file of a partition on its disk, also if the broker is down; empty if there is none."""
        for disk in self.disks:
            node: object = disk._tree
            for part in (directory, name):
                node = node.names.get(part) if isinstance(node, SimulatedDirectory) else None
            if isinstance(node, SimulatedFile):
                return node.data
        return b""

    @property
    def partitions(self) -> Partitions:
        assert self.server is not None
        return self.server.broker.partitions

    def start(self, skew_s: float = 0.0) -> "asyncio.Task[None]":
        return self.begin(self._serve(), skew_s)

    async def _serve(self) -> None:
        listener = f"PLAINTEXT://127.0.0.1:{port_of(self.node_id)}"
        log_dirs = ",".join(map(str, self.directories))
        keys = {"node.id": self.node_id, "listeners": listener, "log.dirs": log_dirs, **BROKER_KEYS}
        self.server = None
        surroundings = Surroundings(files=disks.__getitem__)
        server = BrokerServer(config_of(keys), on_end=self._ended, surroundings=surroundings)
        self.server = server
        await server.start()

    def _ended(self) -> None:
        assert self.server is not None
        if not self.may_end:
            self.network.loop.errors.append(f"{self.name} has ended by itself: {self.server.failure}")

    def kill(self, *, has_power: bool = True) -> None:
        super().kill(has_power=has_power)
        self.server = None

    async def stop(self) -> None:
        """Stops it as SIGTERM does; called in its own context."""
        assert self.server is not None
        await self.server.stop()

    def stop_cleanly(self) -> "asyncio.Task[None]":
        assert self.process is not None
        return self.network.loop.create_task(self.stop(), context=self.process.context)

    def stopped(self) -> None:
        """The process has exited after a clean stop."""
        self.kill()


def config_of(keys: Mapping[str, object]) -> ServerConfig:
    return ServerConfig.load(None, [f"{key}={value}" for key, value in keys.items()])
