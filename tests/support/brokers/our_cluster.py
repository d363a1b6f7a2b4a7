"""Brokers of ours, each in a process of its own, under a controller in this process: a cluster without Java.

with OurCluster(tmp_path, brokers=2) as cluster:
    cluster[1].kill()
    cluster.until_fenced(1)
"""

import contextlib
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

from odradek.broker.metadata.image import MetadataImage, PartitionImage
from odradek.testing.controller.embedded import EmbeddedController
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import MEMBER, format_member
from support.kafka.real_kafka import CLUSTER_ID

SESSION = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "400"}


class OurCluster:
    """The controller and its brokers, whose node ids count from 1."""

    def __init__(self, directory: Path, brokers: int, configs: Mapping[str, str] | None = None) -> None:
        """``configs``: of each broker."""
        self.controller = EmbeddedController(directory / "controller", SESSION, cluster_id=CLUSTER_ID)
        self.brokers: dict[int, OurBroker] = {}
        self._directory = directory
        self._count = brokers
        self._configs = configs or {}

    def __getitem__(self, node_id: int) -> OurBroker:
        return self.brokers[node_id]

    def __enter__(self) -> "OurCluster":
        with contextlib.ExitStack() as stack:
            stack.callback(self.controller.stop)
            self.controller.start()
            for node_id in range(1, self._count + 1):
                stack.enter_context(self.add(node_id))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, node_id: int) -> OurBroker:
        """A broker on a new directory; it is not started."""
        directory = self._directory / f"b{node_id}"
        keys = {"node.id": str(node_id), "controller.quorum.voters": self.controller.voters}
        broker = self.brokers[node_id] = OurBroker(directory, {**MEMBER, **keys, **self._configs})
        format_member(broker.log_dir, node_id)
        return broker

    @property
    def bootstrap_servers(self) -> str:
        """The addresses that clients connect to: all brokers that ever served."""
        return ",".join(one.bootstrap_servers for one in self.brokers.values() if one.port)

    @property
    def image(self) -> MetadataImage:
        """The controller's metadata now."""
        return self.controller.image

    def partition(self, topic: str, index: int = 0) -> PartitionImage:
        """One partition as the controller has it now."""
        found = self.image.partition(topic, index)
        assert found is not None, f"there is no {topic}-{index}"
        return found

    def until_fenced(self, node_id: int) -> None:
        """Until the controller has fenced a broker."""
        eventually(f"broker {node_id} is fenced", lambda: self.image.brokers[node_id].fenced)

    def until_unfenced(self, node_id: int) -> None:
        """Until the controller has unfenced a broker."""
        eventually(f"broker {node_id} is unfenced", lambda: not self.image.brokers[node_id].fenced)

    @contextlib.contextmanager
    def paused(self, node_id: int) -> Iterator[None]:
        """Stops a broker's process (SIGSTOP), and continues it afterwards."""
        process = self.brokers[node_id].process
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)
