"""Three brokers of ours and three of Apache Kafka under the same script of faults: their controllers, which are Kafka's
in both clusters, write the same sequence of leaders, ISRs and ELRs into the metadata log.

The leader of a partition proposes its ISR, and heartbeats, fetches and shutdowns of brokers determine leaders. The
sequence therefore shows that our brokers do all of this at the same points as Kafka's. At the end the replicas of each
cluster have the same bytes.
"""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import ElectionType, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from cluster.fire.cluster import KAFKA, OURS, FireCluster
from cluster.fire.replicas import until_equal
from cluster.reassignment import reassign
from odradek.broker.metadata.image.image import NO_LEADER, PartitionImage
from support.eventually import eventually
from support.kafka.java import java_or_skip

pytestmark = [pytest.mark.java, pytest.mark.nightly, pytest.mark.timeout(600)]

TOPIC = "script"
TIMES = {"broker.session.timeout.ms": "9000", "replica.lag.time.max.ms": "10000"}
"""A long session timeout: on a busy machine a process may not run for seconds, and a fenced broker would be in the
sequence.
"""
ALL = {1, 2, 3}
EQUAL_WITHIN_S = 60.0
"""How long the replicas may take after the script until they have the same bytes."""


class State(NamedTuple):
    """The part of a partition's state that must be equal in both clusters.

    Sets are sorted, because their order differs between runs.
    """

    leader: int
    isr: list[int]
    elr: list[int]
    last_known_elr: list[int]
    recovery: str
    replicas: list[int]
    adding: list[int]
    removing: list[int]


def state_of(partition: PartitionImage) -> State:
    return State(
        partition.leader,
        sorted(partition.isr),
        sorted(partition.eligible_leader_replicas),
        sorted(partition.last_known_elr),
        partition.leader_recovery_state.name,
        list(partition.replicas),
        sorted(partition.adding_replicas),
        sorted(partition.removing_replicas),
    )


class Script:
    """The faults, one after another. Each waits until the controller has written its consequences."""

    def __init__(self, cluster: FireCluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self._history = cluster.history()
        self._values = iter(range(1_000_000))
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})

    def run(self) -> list[State]:
        """The states of the partition, each once, in order."""
        new = NewTopic(TOPIC, 1, replica_assignment=[[1, 2, 3]], config={"min.insync.replicas": "2"})
        self._admin.create_topics([new])[TOPIC].result(60)
        self._until(1, ALL)
        self.produce("all")
        self.kill_the_leader_and_restart_it()
        self.cut_a_follower_from_the_leader()
        self.elect_the_preferred_leader()
        self.stop_two_one_after_the_other()
        self.pause_all_one_after_the_other()
        self.reassign()
        self._cluster.until_in_sync(60)
        states = [state_of(one) for one in self._history.of(TOPIC)]
        return [one for place, one in enumerate(states) if place == 0 or one != states[place - 1]]

    def produce(self, acks: str) -> None:
        """Produces ten records."""
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failed.append(error)

        producer = Producer({"bootstrap.servers": self._cluster.bootstrap_servers, "acks": acks, "log_level": 2})
        for _ in range(10):
            producer.produce(TOPIC, str(next(self._values)), on_delivery=delivered)
        assert producer.flush(60) == 0
        assert not failed

    def kill_the_leader_and_restart_it(self) -> None:
        self._cluster.brokers[1].kill()
        self._until(2, {2, 3})
        self.produce("all")
        self._cluster.brokers[1].start()
        self._until(2, ALL)

    def cut_a_follower_from_the_leader(self) -> None:
        """It stays registered: the leader removes it once it lags."""
        self._cluster.network.line(1, 2).swallow()
        self.produce("1")
        self._until(2, {2, 3})
        self._cluster.network.heal()
        self._until(2, ALL)

    def elect_the_preferred_leader(self) -> None:
        self._admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(TOPIC, 0)]).result(60)
        self._until(1, ALL)

    def stop_two_one_after_the_other(self) -> None:
        """A clean stop moves the leadership, and leaves a replica in the ELR when it registers again."""
        self._cluster.brokers[1].stop()
        self._until(2, {2, 3})
        self._cluster.brokers[3].stop()
        self._until(2, {2}, {3})
        self._cluster.brokers[3].start()
        self._until(2, {2, 3})
        self._cluster.brokers[1].start()
        self._until(2, ALL)

    def pause_all_one_after_the_other(self) -> None:
        """The last one leaves an ELR, and the first member of it that returns leads (KIP-966)."""
        self._pause(1)
        self._until(2, {2, 3})
        self._pause(3)
        self._until(2, {2}, {3})
        self._pause(2)
        self._until(NO_LEADER, set(), {2, 3})
        self._continue(1)
        self._until_unfenced(1)
        self._continue(3)
        self._until(3, {1, 3})
        self._continue(2)
        self._until(3, ALL)

    def reassign(self) -> None:
        """Removes a follower from the replicas, and adds it again in another order."""
        servers = self._cluster.bootstrap_servers
        reassign(servers, TOPIC, [3, 2], self._directory)
        self._until(3, {2, 3})
        self.produce("all")
        reassign(servers, TOPIC, [1, 2, 3], self._directory)
        self._until(3, ALL)

    def _pause(self, node_id: int) -> None:
        self._cluster.signal(node_id, signal.SIGSTOP)

    def _continue(self, node_id: int) -> None:
        self._cluster.signal(node_id, signal.SIGCONT)

    def _until_unfenced(self, node_id: int) -> None:
        eventually(f"broker {node_id} is unfenced", lambda: not self._history.read().brokers[node_id].fenced)

    def _until(self, leader: int, isr: set[int], elr: frozenset[int] | set[int] = frozenset()) -> None:
        def now() -> State:
            partition = self._history.read().partition(TOPIC, 0)
            return state_of(partition) if partition is not None else State(NO_LEADER, [], [], [], "", [], [], [])

        wanted = leader, sorted(isr), sorted(elr)
        eventually(lambda: f"leader, ISR and ELR {wanted}: {now()}", lambda: now()[:3] == wanted)


def sequence(directory: Path, kind: str) -> list[State]:
    directory.mkdir()
    with FireCluster(directory, (kind,) * 3, TIMES) as cluster:
        states = Script(cluster, directory).run()
        until_equal({node_id: broker.log_dir for node_id, broker in cluster.brokers.items()}, EQUAL_WITHIN_S)
        return states


def test_the_same_faults_give_the_same_leaders_isrs_and_elrs(tmp_path: Path) -> None:
    """Both clusters run at once, because they mostly wait for sessions to end."""
    java_or_skip()
    with ThreadPoolExecutor() as clusters:
        ours = clusters.submit(sequence, tmp_path / "ours", OURS)
        theirs = clusters.submit(sequence, tmp_path / "kafka", KAFKA)
    assert len(ours.result()) > 15
    assert ours.result() == theirs.result()
