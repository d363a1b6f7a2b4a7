"""Several brokers and their controller in this process: a cluster for tests, without Java and without containers.

    with KafkaCluster(brokers=3) as cluster:
        cluster.brokers[0].kill()

Owns: the nodes, their network, their directories. Never does: influencing what the nodes decide. Invariant: when
:meth:`KafkaCluster.start` returns, every broker knows all others. All methods may be called from any thread.
"""

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from odradek.broker.metadata.image.image import MetadataImage, PartitionImage
from odradek.client.cluster.metadata import TopicMetadata

from ..broker.config_values import FEW_PARTITIONS, ConfigValue, config_text
from ..controller.embedded import NODE_ID as CONTROLLER_ID
from ..controller.embedded import EmbeddedController
from ..inspection import Inspection
from .cluster_broker import ClusterBroker
from .cluster_state import TIMEOUT_S, ClusterState
from .links import Links, NodeId

Node = ClusterBroker | EmbeddedController
"""A broker or the controller: the nodes that :meth:`KafkaCluster.partition` can cut off."""
REPLICAS = 3
"""The replication factor of topics, or the number of brokers if there are fewer. Kafka's default of internal topics."""


def cluster_defaults(brokers: int) -> dict[str, str]:
    """The configs in which a test cluster differs from Kafka's defaults, by Kafka's keys."""
    replicas, min_isr = str(min(REPLICAS, brokers)), str(min(REPLICAS - 1, brokers))
    return {
        # Shorter, because a test waits until the cluster notices a killed broker (Kafka: 9 s, 2 s, 30 s, 1 s).
        "broker.session.timeout.ms": "2000",
        "broker.heartbeat.interval.ms": "200",
        "replica.lag.time.max.ms": "3000",
        "replica.fetch.backoff.ms": "100",
        # A cluster is used to test replication (Kafka: 1).
        "default.replication.factor": replicas,
        # Kafka's replication factors, limited to the number of brokers.
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min_isr,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": min_isr,
        **FEW_PARTITIONS,
    }


class KafkaCluster(Inspection):
    """Brokers with the node ids 0, 1, 2 ..., under one controller."""

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        brokers: int = 3,
        configs: Mapping[str, ConfigValue] | None = None,
        racks: Sequence[str] | None = None,
    ) -> None:
        """``configs``: Kafka's keys, for all brokers and the controller. ``racks``: ``broker.rack`` of each broker.

        The data is kept in ``directory``; without one, in a temporary one that is removed with the cluster.
        """
        assert brokers > 0, "a cluster needs at least one broker"
        assert racks is None or len(racks) == brokers, "give one rack for each broker, or no racks"
        keys = cluster_defaults(brokers) | {key: config_text(key, value) for key, value in (configs or {}).items()}
        self._remove: Callable[[], object] = lambda: None
        if directory is None:
            directory = tempfile.mkdtemp(prefix="odradek-cluster-")
            self._remove = weakref.finalize(self, _remove_tree, directory, os.getpid())
        self._state = ClusterState(self._images)
        self._links = Links(self._node_at)
        self.controller = EmbeddedController(Path(directory) / "controller", keys, changed=self._state.changed)
        """The only controller. It can be cut off by :meth:`partition`, stopped and started again."""
        self.brokers = tuple(
            ClusterBroker(
                Path(directory) / f"broker-{node_id}",
                node_id,
                keys if racks is None else {**keys, "broker.rack": racks[node_id]},
                self._links,
                self._state,
            )
            for node_id in range(brokers)
        )
        """The brokers; the index of each is its ``node.id``."""

    # --- life

    def start(self) -> None:
        """Starts the controller and all brokers that do not run; returns when each serves and knows the others.

        Raises what keeps a broker from starting, see :meth:`InProcessBroker.start`.
        """
        if not self.controller.is_running:
            self.controller.start()
        stopped = [broker for broker in self.brokers if not broker.is_running]
        for broker in stopped:
            broker.join(self.controller.cluster_id, self.controller.voters)
        with ThreadPoolExecutor(len(self.brokers)) as threads:
            for started in [threads.submit(broker.start) for broker in stopped]:
                started.result()
        for broker in stopped:
            self._state.wait_until_unfenced(broker.node_id)

    def stop(self) -> None:
        """Ends all nodes at once, as a crash of the machine does. Does nothing if none runs. The data stays.

        For controlled shutdowns, in which each broker hands over its leaderships, stop the brokers one by one.
        """
        with contextlib.ExitStack() as ends:
            ends.callback(self.controller.stop)
            for broker in self.brokers:
                ends.callback(broker.kill)

    def __enter__(self) -> "KafkaCluster":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            self._remove()

    # --- what clients and tests ask

    @property
    def bootstrap_servers(self) -> str:
        """``host:port,...`` of all brokers, for the setting ``bootstrap.servers`` of clients."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers)

    def leader_of(self, topic: str, partition: int = 0) -> ClusterBroker | None:
        """The broker that leads a partition, None if none does. Raises KeyError for a partition that does not exist."""
        return self._leader(self._state.partition(topic, partition))

    def in_sync_replicas_of(self, topic: str, partition: int = 0) -> list[ClusterBroker]:
        """The brokers in the ISR of a partition. Raises KeyError for a partition that does not exist."""
        return [self.brokers[node_id] for node_id in sorted(self._state.partition(topic, partition).isr)]

    def _leader(self, partition: PartitionImage) -> ClusterBroker | None:
        return self.brokers[partition.leader] if partition.has_leader else None

    def create_topic(
        self, name: str, partitions: int = 1, *, configs: Mapping[str, ConfigValue] | None = None
    ) -> TopicMetadata:
        """Creates a topic; returns when each broker that can reach the controller knows it. Raises AdminError."""
        created = super().create_topic(name, partitions, configs=configs)
        self._state.wait_until(f"{name} is known", lambda image: name in image.topics_by_name, TIMEOUT_S)
        return created

    # --- waiting

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
        """Waits until a condition on the cluster's metadata is true: :meth:`leader_of`, :meth:`in_sync_replicas_of`.

        The condition is evaluated only after changes of the metadata, so it must not depend on anything else. Raises
        TimeoutError.
        """
        self._state.wait_until("the condition is true", lambda _: condition(), timeout_s)

    def wait_until_in_sync(self, topic: str, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until a topic exists, and all replicas of its partitions are in sync. Raises TimeoutError."""
        self._state.wait_until_in_sync(topic, None, None, timeout_s)

    def wait_for_leader(
        self,
        topic: str,
        partition: int = 0,
        *,
        other_than: ClusterBroker | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> ClusterBroker:
        """Waits until a partition has a leader, and returns it. Raises TimeoutError.

        ``other_than``: waits until the leader is not this broker, for example one that the test has killed.
        """

        def is_led(image: MetadataImage) -> bool:
            found = image.partition(topic, partition)
            return found is not None and found.has_leader and self._leader(found) is not other_than

        image = self._state.wait_until(f"{topic}-{partition} has another leader", is_led, timeout_s)
        found = image.partition(topic, partition)
        assert found is not None
        return self.brokers[found.leader]

    def wait_until_fenced(self, broker: ClusterBroker, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until the controller has fenced a broker, which then leads nothing. Raises TimeoutError."""
        self._state.wait_until_fenced(broker.node_id, timeout_s)

    def wait_until_unfenced(self, broker: ClusterBroker, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until a broker is registered and not fenced. Raises TimeoutError."""
        self._state.wait_until_unfenced(broker.node_id, timeout_s)

    # --- network

    def partition(self, one: Node | Iterable[Node], other: Node | Iterable[Node]) -> None:
        """Cuts the network between two nodes, or between each node of one group and each of another.

        Connections between them break, and new ones are refused. Clients still reach every broker.
        """
        self._links.cut(_ids(one), _ids(other))
        for broker in self.brokers:
            broker.drop_cut_connections()
        self._state.look_again()

    def heal(self) -> None:
        """Connects all nodes again."""
        self._links.heal()
        self._state.look_again()

    def _node_at(self, port: int) -> NodeId | None:
        if port == self.controller.port:
            return CONTROLLER_ID
        return next((broker.node_id for broker in self.brokers if port in broker.ports()), None)

    def _images(self) -> Iterator[MetadataImage]:
        """The metadata of the controller, then of all brokers that run and are not cut off from the controller."""
        yield self.controller.image
        for broker in self.brokers:
            image = broker.image
            if image is not None and not self._links.are_cut(broker.node_id, CONTROLLER_ID):
                yield image


def _ids(nodes: Node | Iterable[Node]) -> set[NodeId]:
    if isinstance(nodes, ClusterBroker | EmbeddedController):
        nodes = [nodes]
    return {node.node_id for node in nodes}


def _remove_tree(directory: str, owner: int) -> None:
    """Removes a temporary directory, only in the process that made it: a forked child inherits the finalizer."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
