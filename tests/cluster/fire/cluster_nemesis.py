"""Seeded faults of a cluster: brokers die, hang, stop, lose disks or fill them; clocks jump; lines between nodes break.

Each fault waits until every process has made progress since the last one. Faults depend only on the seed, their times
on the machine. The seed also determines the length of a fault. At most one broker is down at a time, except
in ``kill-two``, where partitions wait for the brokers to return.
"""

import signal
import time
from random import Random

from cluster.fire.cluster import IN_SYNC_WITHIN_S, SESSION_MS, FireCluster
from cluster.fire.network import CLIENT
from cluster.fire.replicas import Replicas
from cluster.tcp_proxy import BOTH, Direction
from support.eventually import eventually
from support.fire.crew import FAULTS_OF_WORKERS, PATIENCE_S, FireCrew
from support.kafka.real_controllers import FIRST_NODE_ID

FAULTS_OF_BROKERS = (
    "kill",
    "kill-two",
    "stop",
    "pause",
    "pause-past-session",
    "lose-directory",
)
LEFT_BYTES = {"full-disk": 0, "low-disk": 16 << 20}
"""The bytes that are left on a disk. A broker of ours refuses clients below 32 MiB here, long before a write fails."""
FAULTS_OF_OURS = (*LEFT_BYTES, "clock-jump")
"""Faults only for brokers of ours: Apache Kafka's ends when its disk is full."""
FAULTS_OF_LINES = (
    "cut-pair",
    "cut-one-way",
    "hang-pair",
    "swallow-pair",
    "swallow-one-way",
    "slow-pair",
    "cut-from-controller",
    "swallow-from-controller",
    "isolate",
    "cut-from-clients",
)
REFUSES = "Producers get KAFKA_STORAGE_ERROR"
"""The log line of a broker whose disk is full."""
HANDED_OVER_WITHIN_S = 30.0
"""The time for a full broker to hand over what others can lead; longer than a request to a dead controller takes."""
JUMPS_S = (-600.0, 600.0)
"""Jumps in both directions, by far more than the timeout of a transaction."""
FAULTS = (*FAULTS_OF_BROKERS, *FAULTS_OF_OURS, *FAULTS_OF_LINES, "kill-controller", *FAULTS_OF_WORKERS)
FIRST = {
    "ours": ("kill", "isolate", "lose-directory", "full-disk", "low-disk", "clock-jump"),
    "mixed": ("kill", "isolate", "lose-directory", "swallow-from-controller", "pause-past-session"),
}
"""The faults of the short runs, in an order by the seed. The script of ``test_same_script`` has a stop and a cut."""


class ClusterNemesis:
    """The faults of a cluster and of the crew."""

    def __init__(self, cluster: FireCluster, crew: FireCrew, chance: Random, faults: tuple[str, ...] = FAULTS) -> None:
        self.replicas = Replicas()
        """The batches in the logs of killed brokers."""
        self._cluster = cluster
        self._crew = crew
        self._chance = chance
        self._faults = faults
        self._bag: list[str] = []

    def strike(self) -> None:
        """Injects the next fault. Each kind is used before any is repeated."""
        if not self._bag:
            self._bag = self._chance.sample(self._faults, len(self._faults))
        fault = self._bag.pop()
        first, second, _ = self._chance.sample(sorted(self._cluster.brokers), 3)
        seconds = self._chance.uniform(0.3, 2.0) + self._chance.choice((0.0, SESSION_MS / 1000))
        if fault in FAULTS_OF_WORKERS:
            self._crew.strike(fault)
        else:
            self._crew.note(f"{fault} {first} {second} {seconds:.1f}")
            if fault in FAULTS_OF_BROKERS:
                self._strike_broker(fault, first, second, seconds)
            elif fault in FAULTS_OF_OURS:
                self._strike_ours(fault, seconds)
            elif fault in FAULTS_OF_LINES:
                self._strike_lines(fault, first, second)
                time.sleep(seconds)
                self._cluster.network.heal()
            elif fault == "kill-controller":
                self._cluster.controller.kill()
                time.sleep(seconds)
                self._cluster.controller.start()
            else:
                raise ValueError(fault)
        self._crew.wait_for_all()

    def _strike_broker(self, fault: str, first: int, second: int, seconds: float) -> None:
        broker = self._cluster.brokers[first]
        match fault:
            case "kill":
                self._kill(first)
                time.sleep(seconds)
                broker.start()
            case "kill-two":
                self._kill(first)
                time.sleep(seconds / 4)
                self._kill(second)
                time.sleep(seconds)
                broker.start()
                self._cluster.brokers[second].start()
            case "stop":
                broker.stop()
                time.sleep(seconds)
                broker.start()
            case "pause" | "pause-past-session":
                self._cluster.signal(first, signal.SIGSTOP)
                time.sleep(seconds if fault == "pause" else SESSION_MS / 1000 + seconds)
                self._cluster.signal(first, signal.SIGCONT)
            case "lose-directory":
                self._cluster.until_in_sync(PATIENCE_S)
                self._kill(first)
                self._cluster.lose_directory(first)
                broker.start()
                self._cluster.until_in_sync(PATIENCE_S)

    def _strike_ours(self, fault: str, seconds: float) -> None:
        node_id = self._chance.choice(sorted(self._cluster.ours))
        broker = self._cluster.ours[node_id]
        match fault:
            case "full-disk" | "low-disk":
                noted = broker.log().count(REFUSES)
                broker.fill_disk(LEFT_BYTES[fault])
                eventually(f"{node_id} refuses producers", lambda: broker.log().count(REFUSES) > noted)
                self._cluster.until_handed_over(node_id, HANDED_OVER_WITHIN_S)
                time.sleep(seconds)
                broker.free_disk()
            case "clock-jump":
                broker.clock.jump(self._chance.choice(JUMPS_S))
                time.sleep(seconds)
                broker.clock.jump(0)
                self._crew.clocks_are_right_again()

    def _kill(self, node_id: int) -> None:
        broker = self._cluster.brokers[node_id]
        broker.kill()
        self.replicas.note(node_id, broker.log_dir)

    def _strike_lines(self, fault: str, first: int, second: int) -> None:
        line = self._cluster.network.line
        pair = line(first, second), line(second, first)
        match fault:
            case "cut-pair":
                for one in pair:
                    one.cut(refuse=True)
            case "cut-one-way":
                line(first, second).cut(refuse=True)
            case "hang-pair":
                for one in pair:
                    one.hang()
            case "swallow-pair":
                for one in pair:
                    one.swallow()
            case "swallow-one-way":  # requests of the first and their answers are lost; the other direction works
                line(first, second).swallow(frozenset({Direction.TO_SERVER}))
                line(second, first).swallow(frozenset({Direction.TO_CLIENT}))
            case "slow-pair":
                for one in pair:
                    one.delay(0.3)
            case "cut-from-controller":
                line(first, FIRST_NODE_ID).cut(refuse=True)
            case "swallow-from-controller":
                line(first, FIRST_NODE_ID).swallow(self._chance.choice((BOTH, frozenset({Direction.TO_CLIENT}))))
            case "cut-from-clients":
                line(CLIENT, first).cut(refuse=True)
            case "isolate":  # clients still reach it: a leader that does not learn of later changes
                for source, target, one in self._cluster.network.lines():
                    if first in (source, target) and CLIENT not in (source, target):
                        one.swallow()


def until_healed(cluster: FireCluster) -> None:
    """Waits for invariant 9. Raises AssertionError if it takes longer than Kafka's own times allow."""
    cluster.network.heal()
    cluster.until_in_sync(IN_SYNC_WITHIN_S)
