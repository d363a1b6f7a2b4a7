"""Three brokers under a controller of Apache Kafka, each with two log directories: ours, or two and a real Kafka.

with ThreeBrokers(tmp_path, mixed=True) as cluster:
    cluster.bootstrap_servers
"""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.mbeans import METRICS
from support.kafka.real_controllers import RealControllers, RealMember

NODE_IDS = (1, 2, 3)
KAFKA = 2
"""The node id of the real Kafka, if there is one."""
SETTINGS = {
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.backoff.ms": "100",
    "broker.session.timeout.ms": "6000",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "log.dir.failure.timeout.ms": "30000",
    **METRICS,
}
SESSION = {"broker.session.timeout.ms": "6000"}
"""The session timeout of the controllers: a JVM on a busy machine may pause for longer than the 2 s of other tests."""
TIMEOUT_S = 120


class ThreeBrokers:
    """The controller and the brokers 1, 2 and 3."""

    def __init__(self, directory: Path, *, mixed: bool, configs: Mapping[str, str] = MappingProxyType({})) -> None:
        """``mixed``: broker 2 is a real Kafka. ``configs``: further ones of all nodes."""
        self.controllers = RealControllers(directory / "controllers", configs={**SESSION, **configs})
        self.brokers: dict[int, OurBroker | RealMember] = {}
        for node_id in NODE_IDS:
            place = directory / f"b{node_id}"
            keys = {**SETTINGS, **configs, "log.dirs": f"{place / 'logs'},{place / 'logs2'}"}
            make = self.controllers.kafka_broker if mixed and node_id == KAFKA else self.controllers.broker
            self.brokers[node_id] = make(place, node_id, keys)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "ThreeBrokers":
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.controllers)
            for broker in self.brokers.values():
                stack.enter_context(broker)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values())

    def log_dirs(self, node_id: int) -> list[Path]:
        """The log directories of a broker."""
        first = self.brokers[node_id].log_dir
        return [first, first.with_name("logs2")]

    def holder(self, node_id: int, topic: str, index: int = 0) -> Path:
        """The log directory of a broker that has a partition."""
        [found] = [path for path in self.log_dirs(node_id) if (path / f"{topic}-{index}").is_dir()]
        return found

    def segments(self, node_id: int, topic: str, index: int = 0) -> bytes:
        """The bytes of a replica, all segments."""
        place = self.holder(node_id, topic, index) / f"{topic}-{index}"
        return b"".join(path.read_bytes() for path in sorted(place.glob("*.log")))

    def create(self, topic: str, replicas: Sequence[Sequence[int]], **config: str) -> None:
        """Creates a topic with these replicas of each partition."""
        keys = {key.replace("_", "."): value for key, value in config.items()}
        wanted = NewTopic(topic, len(replicas), replica_assignment=[list(one) for one in replicas], config=keys)
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        admin.create_topics([wanted])[topic].result(TIMEOUT_S)

    def delete(self, topic: str) -> None:
        """Deletes a topic. A reassignment of it ends."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        admin.delete_topics([topic])[topic].result(TIMEOUT_S)

    def state(self, topic: str, index: int = 0) -> tuple[int, list[int], set[int]]:
        """The leader, the replicas and the ISR of a partition."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        partition = admin.list_topics(topic, timeout=30).topics[topic].partitions[index]
        return partition.leader, partition.replicas, set(partition.isrs)

    def until_in_sync(self, topic: str, isr: set[int], index: int = 0) -> None:
        """Waits until a partition's ISR has these brokers."""
        eventually(lambda: f"ISR {isr} of {self.state(topic, index)}", lambda: self.state(topic, index)[2] == isr)
