"""A cluster under fire: one Java controller and brokers of ours, of Apache Kafka, or both, on a network with faults.

with FireCluster(tmp_path, (OURS, OURS, KAFKA)) as cluster:
    cluster.network.line(1, 2).swallow()
"""

import contextlib
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from cluster.fire.network import FireNetwork
from cluster.fire.our_broker import FireBroker
from cluster.metadata_history import MetadataHistory
from odradek.broker.metadata.image.image import PartitionImage
from support.brokers.free_ports import free_ports
from support.eventually import eventually
from support.kafka.real_controllers import (
    FIRST_NODE_ID,
    MEMBER,
    RealController,
    RealControllers,
    RealMember,
    format_member,
)

OURS, KAFKA = "ours", "kafka"
LAG_MS = 4_000
IN_SYNC_WITHIN_S = LAG_MS / 1000 + 15
"""Invariant 9: within this time after the faults every partition has a leader and a full ISR."""
SESSION_MS = 5_000
TIMES = {
    "broker.session.timeout.ms": str(SESSION_MS),
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": str(LAG_MS),
    "replica.fetch.backoff.ms": "200",
    "replica.socket.timeout.ms": "3000",
}
REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "auto.create.topics.enable": "false",
    "group.min.session.timeout.ms": "1000",
}
LOW_MARK = {"odradek.log.dirs.min.free.bytes": str(32 << 20)}
"""For brokers of ours. The default depends on the size of the file system, which a fault changes."""
Broker = FireBroker | RealMember


class FireCluster:
    """The controller (node 3000), the brokers (nodes 1 to n), and the network between them and their clients."""

    def __init__(self, directory: Path, kinds: Sequence[str], configs: Mapping[str, str] | None = None) -> None:
        """``kinds``: ours or Kafka, for each broker. ``configs``: for every broker."""
        self.network = FireNetwork(self.running)
        self.brokers: dict[int, Broker] = {}
        self.controllers: RealControllers | None = None
        self._directory = directory
        self._kinds = dict(enumerate(kinds, start=1))
        self._configs = {**TIMES, **REPLICATED, **(configs or {})}

    @property
    def controller(self) -> RealController:
        """The controller."""
        assert self.controllers is not None
        return self.controllers.nodes[0]

    def running(self) -> dict[int, int]:
        """Node id -> process id of all running nodes."""
        controllers = {} if self.controllers is None else {FIRST_NODE_ID: self.controller}
        pids = {node_id: node.running_pid for node_id, node in {**self.brokers, **controllers}.items()}
        return {node_id: pid for node_id, pid in pids.items() if pid is not None}

    @property
    def bootstrap_servers(self) -> str:
        """The addresses that clients connect to: the brokers' proxies."""
        return ",".join(f"127.0.0.1:{self.network.clients_port(node_id)}" for node_id in self.brokers)

    def __enter__(self) -> "FireCluster":
        with contextlib.ExitStack() as undo:
            undo.enter_context(self.network)
            undo.callback(self._end)
            session = {key: value for key, value in self._configs.items() if key.startswith("broker.")}
            self.controllers = RealControllers(
                self._directory / "controllers",
                configs={**session, **REPLICATED},
                door=lambda port: self.network.door(FIRST_NODE_ID, port),
            )
            for node_id, kind in self._kinds.items():
                self._add(node_id, kind)
            self.network.draw_lines(tuple(self.brokers))
            self.controller.start()
            with ThreadPoolExecutor() as starters:  # three JVMs start at the same time
                for started in [starters.submit(broker.start) for broker in self.brokers.values()]:
                    started.result()
            undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self.network.__exit__(kind, error, trace)

    def _end(self) -> None:
        for broker in self.brokers.values():
            if broker.running_pid is not None:
                broker.kill()
            if isinstance(broker, FireBroker):
                broker.close()
        if self.controllers is not None and self.controller.running_pid is not None:
            self.controller.kill()

    def _add(self, node_id: int, kind: str) -> None:
        assert self.controllers is not None
        port, peers_port = free_ports(2)
        doors = self.network.clients_door(node_id, port), self.network.door(node_id, peers_port)
        configs = {
            **self._configs,
            "listeners": f"PLAINTEXT://127.0.0.1:{port},PEERS://127.0.0.1:{peers_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{doors[0]},PEERS://127.0.0.1:{doors[1]}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PEERS:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PEERS",
        }
        place = self._directory / f"{kind}-{node_id}"
        broker: Broker
        if kind == OURS:
            identity = {"node.id": str(node_id), "controller.quorum.voters": self.controllers.voters, **LOW_MARK}
            broker = FireBroker(place, {**MEMBER, **identity, **configs})
            format_member(broker.log_dir, node_id)
        else:
            broker = self.controllers.kafka_broker(place, node_id, configs)
        broker.port = port
        self.brokers[node_id] = broker

    def signal(self, node_id: int, number: signal.Signals) -> None:
        """Sends a signal to a broker, or to the controller."""
        os.kill(self.running()[node_id], number)

    def lose_directory(self, node_id: int) -> None:
        """Gives a stopped broker an empty directory with the same node id, as after the loss of a disk."""
        broker = self.brokers[node_id]
        assert broker.running_pid is None
        shutil.rmtree(broker.log_dir)
        if self._kinds[node_id] == OURS:
            format_member(broker.log_dir, node_id)

    @property
    def ours(self) -> dict[int, FireBroker]:
        """The brokers of ours, by node id."""
        return {node_id: broker for node_id, broker in self.brokers.items() if isinstance(broker, FireBroker)}

    def history(self) -> MetadataHistory:
        """The metadata log from its beginning."""
        return MetadataHistory(self.controller.log_dir)

    def states(self, history: MetadataHistory) -> dict[tuple[str, int], PartitionImage]:
        """All partitions now."""
        topics = history.read().topics_by_name.values()
        return {(topic.name, index): one for topic in topics for index, one in topic.partitions.items()}

    def until_handed_over(self, node_id: int, patience_s: float) -> None:
        """Waits until a broker leads no partition that another broker in its ISR could lead."""
        history = self.history()

        def kept() -> list[tuple[str, int]]:
            states = self.states(history)
            return [key for key, one in states.items() if one.leader == node_id and len(one.isr) > 1]

        eventually(lambda: f"{node_id} hands over {kept()}", lambda: not kept(), patience_s=patience_s)

    def until_in_sync(self, patience_s: float) -> None:
        """Waits until every partition has a leader, and all replicas are in its ISR."""
        history = self.history()

        def lagging() -> dict[tuple[str, int], PartitionImage]:
            states = self.states(history)
            return {key: one for key, one in states.items() if not one.has_leader or set(one.isr) != set(one.replicas)}

        eventually(lambda: f"all are led and in sync: {lagging()}", lambda: not lagging(), patience_s=patience_s)
