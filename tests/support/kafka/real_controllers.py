"""Apache Kafka's controllers for tests of brokers in a cluster: one JVM each, on free ports of 127.0.0.1.

    with RealControllers(tmp_path) as controllers:
        broker = controllers.broker(tmp_path / "b1", node_id=1)

A controller takes about 3 s to start, and 130 MB. Sessions are short, so that a killed broker is fenced within 2 s.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType

from odradek.broker.server.random_ids import random_uuid
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties
from support.brokers.free_ports import free_ports
from support.brokers.our_broker import OurBroker
from support.kafka.java import KAFKA_VERSION, TABLE_VERSION
from support.kafka.real_kafka import CLUSTER_ID, RealKafka

FIRST_NODE_ID = 3000
FAST = {
    "controller.quorum.append.linger.ms": "0",
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "400",
}
"""Faster than the defaults: a controller commits in 6 ms, not 31; a killed broker is fenced after 2 s, not 9."""
BOOTSTRAP_SNAPSHOT = "bootstrap.checkpoint"
"""The file with the features of a new cluster in the directory of a controller, until Kafka 4.3."""
FIRST_SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
"""The same file since Kafka 4.4."""
_snapshots: dict[tuple[str, ...], bytes] = {}
"""Release and options of `storage format` -> the bootstrap snapshot that Kafka's tool wrote for them."""
MEMBER = {
    "process.roles": "broker",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    **{key: value for key, value in FAST.items() if key.startswith("broker.")},
}


class RealController(RealKafka):
    """One controller; ``port`` and ``controller_port`` are the same. ``reached_at``: the port for others."""

    def __init__(
        self,
        directory: Path,
        node_id: int,
        voters: str,
        port: int,
        reached_at: int,
        configs: Mapping[str, str],
        features: Mapping[str, int],
        format_options: Sequence[str] = (),
        version: str = KAFKA_VERSION,
    ) -> None:
        super().__init__(
            directory,
            configs,
            version=version,
            dynamic_quorum=False,
            node_id=node_id,
            heap="96m",
            features=features,
        )
        self._features += format_options
        self.port = self.controller_port = port
        self.reached_at = reached_at
        self._voters = voters

    def _format(self, configuration: Path) -> None:
        """Formats the directory with the files that Kafka's tool wrote for another controller, which saves a JVM (0.6
        s).
        """
        written = FIRST_SNAPSHOT if self.version == TABLE_VERSION else BOOTSTRAP_SNAPSHOT
        how = (self.version, *self._features)
        if how not in _snapshots:
            super()._format(configuration)
            _snapshots[how] = (self.log_dir / written).read_bytes()
        else:
            _identify(self.log_dir, self.node_id)
            (self.log_dir / written).parent.mkdir(exist_ok=True)
            (self.log_dir / written).write_bytes(_snapshots[how])

    def properties(self) -> dict[str, str]:
        """The controller's configuration."""
        return {
            "process.roles": "controller",
            "node.id": str(self.node_id),
            "listeners": f"CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"CONTROLLER://127.0.0.1:{self.reached_at}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": self._voters,
            "log.dirs": str(self.log_dir),
            **FAST,
            **self._configs,
        }


class RealMember(RealKafka):
    """An Apache Kafka broker of the cluster."""

    def __init__(
        self, directory: Path, node_id: int, voters: str, configs: Mapping[str, str], version: str = KAFKA_VERSION
    ) -> None:
        super().__init__(
            directory,
            configs,
            version=version,
            dynamic_quorum=False,
            node_id=node_id,
            heap="160m",
        )
        self._voters = voters

    def _format(self, configuration: Path) -> None:
        """Formats the directory as Kafka's tool does, without the bootstrap snapshot, which only controllers read."""
        for directory in self.properties()["log.dirs"].split(","):
            _identify(Path(directory), self.node_id)

    def properties(self) -> dict[str, str]:
        """The broker's configuration."""
        return {
            **MEMBER,
            "node.id": str(self.node_id),
            "listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "controller.quorum.voters": self._voters,
            "log.dirs": str(self.log_dir),
            "log.cleaner.dedupe.buffer.size": "33554432",
            **self._configs,
        }


class RealControllers:
    """A quorum of controllers."""

    def __init__(
        self,
        directory: Path,
        count: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        features: Mapping[str, int] = MappingProxyType({}),
        door: Callable[[int], int] = lambda port: port,
        format_options: Sequence[str] = (),
        version: str = KAFKA_VERSION,
    ) -> None:
        """``features``: their levels, if they differ from the release's defaults. ``door``: maps a controller's port to
        the one to which brokers and other controllers connect, such as that of a proxy.
        ``format_options``: more options of ``kafka-storage.sh format``. ``version``: the release of Kafka."""
        self.directory = directory
        self._version = version
        ports = free_ports(count)
        doors = [door(port) for port in ports]
        self.voters = ",".join(f"{FIRST_NODE_ID + place}@127.0.0.1:{port}" for place, port in enumerate(doors))
        self.nodes = [
            RealController(
                directory / f"c{place}",
                FIRST_NODE_ID + place,
                self.voters,
                port,
                doors[place],
                configs or {},
                features,
                format_options,
                version,
            )
            for place, port in enumerate(ports)
        ]

    @property
    def addresses(self) -> str:
        """``host:port,...``, for ``controller.quorum.bootstrap.servers`` and ``--bootstrap-controller``."""
        return ",".join(f"127.0.0.1:{node.reached_at}" for node in self.nodes)

    def broker(self, directory: Path, node_id: int, configs: Mapping[str, str] | None = None) -> OurBroker:
        """A broker of ours that joins them, on a directory that is formatted for it; it is not started."""
        member = OurBroker(
            directory,
            {**MEMBER, "node.id": str(node_id), "controller.quorum.voters": self.voters, **(configs or {})},
        )
        format_member(member.log_dir, node_id)
        return member

    def kafka_broker(self, directory: Path, node_id: int, configs: Mapping[str, str] | None = None) -> "RealMember":
        """An Apache Kafka broker that joins them; it is not started."""
        return RealMember(directory, node_id, self.voters, configs or {}, self._version)

    def __enter__(self) -> "RealControllers":
        with contextlib.ExitStack() as stack:
            for node in self.nodes:
                node.start()
                stack.callback(node.kill)
            stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes:
            node.kill()


def _identify(log_dir: Path, node_id: int) -> None:
    log_dir.mkdir(parents=True, exist_ok=True)
    write_meta_properties(Files(), log_dir, MetaProperties(CLUSTER_ID, node_id, random_uuid()))


def format_member(log_dir: Path, node_id: int, cluster_id: str = CLUSTER_ID) -> None:
    """Formats a broker's directory as ``storage format`` does."""
    log_dir.mkdir(parents=True, exist_ok=True)
    directory_id = b"broker dir" + node_id.to_bytes(6, "big")
    write_meta_properties(Files(), log_dir, MetaProperties(cluster_id, node_id, directory_id))
