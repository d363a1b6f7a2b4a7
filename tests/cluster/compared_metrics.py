"""The metrics of three brokers of one cluster, two of ours and a real Kafka, compared by name, labels and value."""

import os
import signal
from collections.abc import Callable

from confluent_kafka.admin import AdminClient

from cluster.metadata_history import MetadataHistory
from cluster.three_brokers import KAFKA, NODE_IDS, ThreeBrokers
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.mbeans import MBeans, Metrics, metrics_of

TOPICS = "kafka_server_brokertopicmetrics_"
ROOMS = (
    "kafka_server_replicamanager_",
    "kafka_server_replicafetchermanager_",
    "kafka_server_fetcherlagmetrics_",
    "kafka_server_fetcherstats_",
    TOPICS,
    "kafka_cluster_partition_",
    "kafka_log_log_",
)
MANAGER, PARTITION, LOG = "kafka_server_replicamanager_", "kafka_cluster_partition_", "kafka_log_log_"
TOPIC_METRICS = ("messagesin", "bytesin", "totalproducerequests")
TOTALS = (
    "partitioncount",
    "leadercount",
    "underreplicatedpartitions",
    "underminisrpartitioncount",
    "offlinereplicacount",
    "reassigningpartitions",
)
LOOK_S = 0.2
"""The time between two polls, each of which queries all brokers."""
HANG_TRIES = 4
HANGS = 3
"""A broker of ours that follows both other brokers."""


class Compared:
    """A topic with one partition led by each broker, and replicas on all: partition 0 by broker 1, and so on."""

    def __init__(self, cluster: ThreeBrokers, beans: MBeans, topic: str) -> None:
        self._cluster = cluster
        self._beans = beans
        self._topic = topic
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})

    def metrics(self, *node_ids: int) -> dict[int, Metrics]:
        """The metrics of these brokers, or of all."""
        found = {}
        for node_id in node_ids or NODE_IDS:
            broker = self._cluster.brokers[node_id]
            if isinstance(broker, OurBroker):
                found[node_id] = metrics_of(broker)
            else:
                assert broker.running_pid is not None
                found[node_id] = self._beans.metrics(broker.running_pid)
        return found

    def _value(self, metrics: Metrics, name: str, **labels: object) -> float:
        """The value of the metric with these labels and any others; -1 without it."""
        wanted = {(key, str(value)) for key, value in labels.items()}
        [value] = [value for (one, of), value in metrics.items() if one == name and wanted <= of] or [-1]
        return value

    def _totals(self, metrics: Metrics) -> dict[str, float]:
        return {name: self._value(metrics, MANAGER + name) for name in TOTALS}

    def _expected(self, node_id: int) -> dict[str, float]:
        topics = self._admin.list_topics(timeout=30).topics
        partitions = [one for topic in topics.values() for one in topic.partitions.values() if node_id in one.replicas]
        led = [one for one in partitions if one.leader == node_id]
        under = sum(len(one.isrs) < len(one.replicas) for one in led)
        counts = {"partitioncount": len(partitions), "leadercount": len(led), "underreplicatedpartitions": under}
        return {**dict.fromkeys(TOTALS, 0), **counts}

    def until_quiet(self) -> None:
        """Waits until all replicas are in sync without lag, and each broker's counts match the metadata."""
        for index in range(len(NODE_IDS)):
            self._cluster.until_in_sync(self._topic, set(NODE_IDS), index)

        def differences() -> list[object]:
            found: list[object] = []
            for node_id, metrics in self.metrics().items():
                totals, expected = self._totals(metrics), self._expected(node_id)
                found += [(node_id, totals, expected)] if totals != expected else []
                found += [(node_id, key) for key, value in metrics.items() if self._is_lag(key[0]) and value]
            ends = {self._log_of(node_id, 0)["logendoffset"] for node_id in NODE_IDS}
            return [*found, ends] if len(ends) > 1 else found

        eventually(lambda: f"all metrics are quiet: {differences()}", lambda: not differences(), every_s=LOOK_S)

    def _is_lag(self, name: str) -> bool:
        return name.startswith(ROOMS) and name.endswith("lag")

    def check_names(self) -> None:
        """Asserts that every metric of ours with the name of one of Kafka's has the same labels."""
        found = self.metrics()
        theirs = {(name, frozenset(key for key, _ in labels)) for name, labels in found[KAFKA]}
        # Kafka creates the meter of a topic at its first event. Before that only the one of all topics exists.
        theirs |= {(name, labels | {"topic"}) for name, labels in theirs if name.startswith(TOPICS)}
        ours = {
            (name, frozenset(key for key, _ in labels))
            for node_id in NODE_IDS
            if node_id != KAFKA
            for name, labels in found[node_id]
            if name.startswith(ROOMS)
        }
        assert ours - theirs == set()
        assert all(any(name.startswith(room) for name, _ in ours) for room in ROOMS)

    def check_records(self, before: dict[int, Metrics]) -> None:
        """Asserts that leaders and followers counted the same after equal writes to each partition."""
        now = self.metrics()
        for index in range(len(NODE_IDS)):
            logs = [self._log_of(node_id, index, now[node_id]) for node_id in NODE_IDS]
            assert logs[0] == logs[1] == logs[2]
        led = []
        for index, node_id in enumerate(NODE_IDS):
            gauges = ("replicascount", "insyncreplicascount", "underreplicated", "underminisr", "atminisr")
            labels = {"topic": self._topic, "partition": index}
            counts = {name: self._value(now[node_id], PARTITION + name, **labels) for name in gauges}
            for name in (f"{TOPICS}{one}_total" for one in TOPIC_METRICS):
                counts[name] = self._grown(before, now, node_id, name, topic=self._topic)
            led.append(counts)
        assert led[0] == led[1] == led[2]
        for leader in NODE_IDS:
            client = {"clientId": f"ReplicaFetcherThread-0-{leader}"}
            name = "kafka_server_fetcherstats_bytes_total"
            followers = set(NODE_IDS) - {leader}
            assert len({self._grown(before, now, one, name, **client) for one in followers}) == 1
            for follower in followers:
                assert self._grown(before, now, follower, "kafka_server_fetcherstats_requests_total", **client) > 0
                lag = {**client, "topic": self._topic, "partition": leader - 1}
                assert self._value(now[follower], "kafka_server_fetcherlagmetrics_consumerlag", **lag) == 0

    def check_refusals(self, before: dict[int, Metrics]) -> None:
        """Asserts that each leader has counted two refused batches, one of them as a failure, and no failed read."""
        now = self.metrics()
        for name, count in (("totalproducerequests", 2), ("failedproducerequests", 1), ("failedfetchrequests", 0)):
            for node_id in NODE_IDS:
                grown = max(0, self._grown(before, now, node_id, f"{TOPICS}{name}_total", topic=self._topic))
                assert (node_id, name, grown) == (node_id, name, count)

    def check_coordinators(self, before: dict[int, Metrics], topic: str) -> None:
        """Asserts that each leader of an internal topic has counted what its coordinators have written since."""
        now = self.metrics()
        led = {
            index: one.leader
            for index, one in self._admin.list_topics(topic, timeout=30).topics[topic].partitions.items()
        }
        grown = dict.fromkeys(NODE_IDS, 0.0)
        for index, node_id in led.items():
            of = {"topic": topic, "partition": index}
            grown[node_id] += self._grown(before, now, node_id, f"{LOG}logendoffset", **of)
        counted = {one: self._grown(before, now, one, f"{TOPICS}messagesin_total", topic=topic) for one in NODE_IDS}
        assert counted == grown
        assert all(grown.values()), grown

    def _log_of(self, node_id: int, index: int, metrics: Metrics | None = None) -> dict[str, float]:
        found = self.metrics(node_id)[node_id] if metrics is None else metrics
        labels = {"topic": self._topic, "partition": index}
        names = ("size", "logstartoffset", "logendoffset", "numlogsegments")
        return {name: self._value(found, LOG + name, **labels) for name in names}

    def _grown(
        self, before: dict[int, Metrics], now: dict[int, Metrics], node_id: int, name: str, **of: object
    ) -> float:
        return self._value(now[node_id], name, **of) - max(0, self._value(before[node_id], name, **of))

    def check_follower_that_hangs(self, write: Callable[[int], None]) -> None:
        """Asserts that both leaders count that a paused follower leaves the ISR and returns. ``write``: writes to a
        partition.

        A leader, also Kafka's, does not count a return that it learns from the metadata before the controllers answer.
        On a busy machine that happens; then the follower is paused once more.
        """
        leaders = [one for one in NODE_IDS if one != HANGS]
        before = self.metrics()
        for _ in range(HANG_TRIES):
            self._hang(before, leaders, write)
            if self._have_counted("isrexpands_total", before, leaders):
                return
        raise AssertionError(f"no leader, or one only, has counted one of {HANG_TRIES} returns")

    def _hang(self, before: dict[int, Metrics], leaders: list[int], write: Callable[[int], None]) -> None:
        hangs = self._cluster.brokers[HANGS]
        assert hangs.running_pid is not None
        os.kill(hangs.running_pid, signal.SIGSTOP)
        try:
            for leader in leaders:
                write(leader - 1)
            for leader in leaders:
                self._cluster.until_in_sync(self._topic, set(leaders), leader - 1)
            # A leader counts at the controllers' answer, which may come after the metadata. On a busy machine they may
            # fence the broker before a leader looks for followers that lag.
            eventually(
                "all have counted it",
                lambda: self._have_counted("isrshrinks_total", before, leaders) or self._is_fenced(HANGS),
                every_s=LOOK_S,
            )
            shrunk = self.metrics(*leaders)
        finally:
            os.kill(hangs.running_pid, signal.SIGCONT)
        for leader in leaders:
            of = {"topic": self._topic, "partition": leader - 1}
            counts = [
                self._value(shrunk[leader], PARTITION + one, **of) for one in ("insyncreplicascount", "underreplicated")
            ]
            assert counts == [2, 1]
            assert self._value(shrunk[leader], MANAGER + "underreplicatedpartitions") >= 1
        self.until_quiet()

    def _have_counted(self, name: str, before: dict[int, Metrics], leaders: list[int]) -> bool:
        now = self.metrics(*leaders)
        return all(self._grown(before, now, one, MANAGER + name) >= 1 for one in leaders)

    def _is_fenced(self, node_id: int) -> bool:
        history = MetadataHistory(self._cluster.controllers.nodes[0].log_dir)
        return history.read().brokers[node_id].fenced
