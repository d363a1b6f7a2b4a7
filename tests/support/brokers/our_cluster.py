"""Brokers of ours, each in a process of its own, under a controller in this process: a cluster without Java.

For tests that need processes: SIGKILL, SIGSTOP, memory, the log of each broker. ``KafkaCluster`` is the same cluster
in one process. Both use the same controller and the same functions that wait.

with OurCluster(tmp_path, brokers=2) as cluster:
    cluster[1].kill()
    cluster.until_fenced(1)
"""

import contextlib
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.metadata.image.image import MetadataImage, PartitionImage
from odradek.testing.clusters.cluster_state import ClusterState
from odradek.testing.controller.embedded import EmbeddedController
from support.brokers.our_broker import OurBroker
from support.eventually import PATIENCE_S
from support.kafka.real_controllers import MEMBER, format_member
from support.kafka.real_kafka import CLUSTER_ID

CLIENT_TIMEOUT_S = 60
SESSION = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "400"}


class OurCluster:
    """The controller and its brokers, whose node ids count from 1."""

    def __init__(
        self,
        directory: Path,
        brokers: int,
        configs: Mapping[str, str] | None = None,
        controller_configs: Mapping[str, str] | None = None,
        *,
        log_dirs: int = 1,
    ) -> None:
        """``configs``: for every broker. ``log_dirs``: the number for each; see ``OurBroker.log_dirs``."""
        self._state = ClusterState(lambda: [self.controller.image])
        self.controller = EmbeddedController(
            directory / "controller",
            {**SESSION, **(controller_configs or {})},
            cluster_id=CLUSTER_ID,
            changed=self._state.changed,
        )
        self.brokers: dict[int, OurBroker] = {}
        self._directory = directory
        self._count = brokers
        self._configs = configs or {}
        self._log_dirs = log_dirs

    def __getitem__(self, node_id: int) -> OurBroker:
        return self.brokers[node_id]

    def __enter__(self) -> "OurCluster":
        with contextlib.ExitStack() as undo:
            undo.callback(self._end)
            self.controller.start()
            for node_id in range(1, self._count + 1):
                self.add(node_id).start()
            undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        for broker in self.brokers.values():
            broker.__exit__(None, None, None)
        self.controller.stop()

    def add(self, node_id: int) -> OurBroker:
        """Adds a broker on a new directory, and does not start it."""
        directory = self._directory / f"b{node_id}"
        keys = {"node.id": str(node_id), "controller.quorum.voters": self.controller.voters}
        if self._log_dirs > 1:
            more = (directory / f"logs{number}" for number in range(2, self._log_dirs + 1))
            keys["log.dirs"] = ",".join(map(str, [directory / "logs", *more]))
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
        return self._state.partition(topic, index)

    def create(self, topic: str, replicas: Sequence[Sequence[int]]) -> None:
        """Creates a topic with these replicas of each partition. The first replica is the leader."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        wanted = NewTopic(topic, len(replicas), replica_assignment=[list(one) for one in replicas])
        admin.create_topics([wanted])[topic].result(CLIENT_TIMEOUT_S)

    def produce(self, topic: str, values: Iterable[str], partition: int = 0) -> None:
        """Writes with acks=all, and waits until every value is acknowledged."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "acks": "all"})
        for value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(CLIENT_TIMEOUT_S) == 0

    def read(self, topic: str, count: int, partition: int = 0) -> set[str]:
        """The first values of a partition, read without a group."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": "unused"})
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        found = [one for one in consumer.consume(count, CLIENT_TIMEOUT_S) if one.error() is None]
        consumer.close()
        return {bytes(one.value() or b"").decode() for one in found}

    def until_in_sync(self, topic: str, isr: set[int], index: int = 0) -> None:
        """Waits until a partition's ISR has these brokers."""
        self._state.wait_until_in_sync(topic, frozenset(isr), index, PATIENCE_S)

    def until_fenced(self, node_id: int) -> None:
        """Waits until the controller has fenced a broker."""
        self._state.wait_until_fenced(node_id, PATIENCE_S)

    def until_unfenced(self, node_id: int) -> None:
        """Waits until the controller has unfenced a broker."""
        self._state.wait_until_unfenced(node_id, PATIENCE_S)

    @contextlib.contextmanager
    def paused(self, node_id: int) -> Iterator[None]:
        """Stops a broker's process (SIGSTOP), and continues it afterwards."""
        process = self.brokers[node_id].process
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)
