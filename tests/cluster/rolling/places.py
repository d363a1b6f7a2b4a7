"""Three brokers under Apache Kafka's controllers, each of which is Apache Kafka's or ours, and is replaced by the other
kind over the same directory, port and node.id.

    with RealControllers(tmp_path / "controllers") as controllers, Places(tmp_path, controllers) as places:
        places.start("kafka")
        places.replace(1, "ours")
"""

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Literal

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from cluster.reassignment import reassign_all
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers, RealMember

Kind = Literal["kafka", "ours"]
REPLICAS = 3
CONFIGS = {
    "offsets.topic.replication.factor": str(REPLICAS),
    "transaction.state.log.replication.factor": str(REPLICAS),
    "transaction.state.log.min.isr": "2",
    "auto.create.topics.enable": "false",
    "log.segment.bytes": "1048576",
    "group.min.session.timeout.ms": "1000",
}
QUORUM = {
    "broker.session.timeout.ms": "3000",
    "default.replication.factor": str(REPLICAS),
    "min.insync.replicas": "2",
}
"""The controllers' configuration. With a session timeout of 3 s a living broker on a busy machine is not fenced, and a
restarted broker waits at most 3 s."""
FULL_ISR_PATIENCE_S = 180.0
ADMIN_TIMEOUT_S = 60


class Place:
    """One node.id with its directory and port."""

    def __init__(self, controllers: RealControllers, directory: Path, node_id: int, configs: Mapping[str, str]) -> None:
        self.node_id = node_id
        self.ours = controllers.broker(directory, node_id, configs)
        self.kafka = controllers.kafka_broker(directory, node_id, configs)
        self.ours.port = self.kafka.port
        self.kind: Kind = "kafka"

    @property
    def broker(self) -> OurBroker | RealMember:
        """The broker of the current kind."""
        return self.ours if self.kind == "ours" else self.kafka

    def start(self, kind: Kind) -> None:
        """Starts a broker of this kind, and returns when it serves."""
        self.kind = kind
        self.broker.start()

    def stop(self) -> None:
        """Stops the broker, as an operator does. Raises AssertionError if it does not end cleanly."""
        code = self.broker.stop()
        assert code in (0, 143), f"broker {self.node_id} ended with {code}: {self.log()[-2000:]}"

    def log(self) -> str:
        """The output of both kinds so far."""
        return f"{self.kafka.output}\n{self.our_log()}"

    def our_log(self) -> str:
        """The output of ours so far."""
        return self.ours.log() if self.ours.log_file.exists() else ""


class Places:
    """The places of brokers, with node ids from 1 on."""

    def __init__(
        self, directory: Path, controllers: RealControllers, configs: Mapping[str, str] | None = None, count: int = 3
    ) -> None:
        self._places = {
            node_id: Place(controllers, directory / f"b{node_id}", node_id, {**CONFIGS, **(configs or {})})
            for node_id in range(1, count + 1)
        }

    def __enter__(self) -> "Places":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for place in self._places.values():
            place.kafka.kill()
            place.ours.__exit__(None, None, None)

    def __getitem__(self, node_id: int) -> Place:
        return self._places[node_id]

    @property
    def node_ids(self) -> list[int]:
        """All node ids."""
        return list(self._places)

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers, which do not change."""
        return ",".join(place.kafka.bootstrap_servers for place in self._places.values())

    def start(self, kind: Kind, node_ids: Sequence[int] = ()) -> None:
        """Starts these brokers, or all, at the same time as brokers of one kind."""
        places = [self._places[node_id] for node_id in node_ids or self.node_ids]
        with ThreadPoolExecutor(len(places)) as pool:
            for _ in pool.map(lambda place: place.start(kind), places):
                pass

    def move_all(self, node_ids: Sequence[int], directory: Path) -> None:
        """Moves all partitions to these brokers, each of which is the first replica of some. ``directory``: for the
        plan.
        """
        topics = self.admin.list_topics(timeout=ADMIN_TIMEOUT_S).topics
        wanted = {
            (name, index): [node_ids[(index + place) % len(node_ids)] for place in range(len(node_ids))]
            for name, topic in topics.items()
            for index in topic.partitions
        }
        reassign_all(self.bootstrap_servers, wanted, directory)

    def replace(self, node_id: int, kind: Kind) -> None:
        """Stops a broker, starts one of this kind on its directory, and returns when every ISR is full and every
        preferred replica leads."""
        place = self._places[node_id]
        place.stop()
        place.start(kind)
        self.until_full_isr()
        self.elect_preferred()

    @cached_property
    def admin(self) -> AdminClient:
        """An admin client of the cluster."""
        return AdminClient({"bootstrap.servers": self.bootstrap_servers})

    def under_replicated(self) -> list[str]:
        """The partitions without a leader or with a replica out of sync, as ``topic-partition: leader, ISR``."""
        topics = self.admin.list_topics(timeout=ADMIN_TIMEOUT_S).topics
        return [
            f"{name}-{index}: leader {partition.leader}, ISR {partition.isrs}"
            for name, topic in topics.items()
            for index, partition in topic.partitions.items()
            if partition.leader < 0 or len(partition.isrs) < len(partition.replicas)
        ]

    def until_full_isr(self) -> None:
        """Waits until every replica of every partition is in sync."""
        eventually(
            lambda: f"all replicas are in sync: {self.under_replicated()}",
            lambda: not self.under_replicated(),
            patience_s=FULL_ISR_PATIENCE_S,
            every_s=0.2,
        )

    def elect_preferred(self) -> None:
        """Elects the first replica of every partition as leader, so that the new broker leads and coordinates."""
        topics = self.admin.list_topics(timeout=ADMIN_TIMEOUT_S).topics
        partitions = [TopicPartition(name, index) for name, topic in topics.items() for index in topic.partitions]
        with contextlib.suppress(KafkaException):
            # A partition whose first replica is already the leader returns ELECTION_NOT_NEEDED.
            self.admin.elect_leaders(ElectionType.PREFERRED, partitions).result(ADMIN_TIMEOUT_S)
