"""Elections of the real controller from the ISR, the eligible leader replicas (KIP-966) and, uncleanly, others."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from cluster.plain_clients import create_topic
from odradek.protocol.messages.metadata import DescribeTopicPartitionsRequest
from support.brokers.asking import Asking
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers

pytestmark = [pytest.mark.java, pytest.mark.ci]

NODES = (1, 2, 3)
NO_LEADER = -1
LEVELS = {"eligible.leader.replicas.version": 1}
SESSION = {"broker.session.timeout.ms": "4000"}
"""Longer than a busy machine delays a broker."""
QUICK = {**SESSION, "replica.lag.time.max.ms": "60000", "replica.fetch.backoff.ms": "100"}
RECOVERING, RECOVERED = 1, 0
Brokers = Mapping[int, OurBroker]


class State(NamedTuple):
    """The state of a partition in a broker's answer."""

    leader: int
    isr: set[int]
    elr: set[int]
    last_known: set[int]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Three brokers of ours under a real controller. A follower leaves the ISR only when it is fenced."""
    tmp_path = tmp_path_factory.mktemp("cluster")
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(tmp_path / "controllers", configs=SESSION, features=LEVELS))
        yield {node: stack.enter_context(controllers.broker(tmp_path / f"b{node}", node, QUICK)) for node in NODES}


@pytest.fixture
def brokers(cluster: Brokers) -> Iterator[Brokers]:
    """The brokers, all of which run before and after each test."""
    yield cluster
    for broker in cluster.values():
        if broker.running_pid is None:
            broker.start()
        else:
            broker.process.send_signal(signal.SIGCONT)


def addresses(brokers: Brokers) -> str:
    return ",".join(broker.bootstrap_servers for broker in brokers.values())


def create(brokers: Brokers, topic: str, replicas: list[int], **config: str) -> None:
    create_topic(addresses(brokers), topic, [replicas], **config)


def produce(brokers: Brokers, topic: str, first: int, count: int, acks: str = "all") -> None:
    """Writes numbers, and waits until all are acknowledged."""
    failures: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": addresses(brokers), "acks": acks})
    for number in range(first, first + count):
        producer.produce(
            topic, str(number), partition=0, on_delivery=lambda error, _: failures.extend([error] if error else [])
        )
    assert producer.flush(60) == 0
    assert failures == []


def refusal(brokers: Brokers, topic: str) -> int | None:
    """The error of a produce with acks=all and without retries."""
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": addresses(brokers), "acks": "all", "retries": 0})
    producer.produce(topic, b"refused", partition=0, on_delivery=lambda error, _: errors.append(error))
    producer.flush(60)
    [error] = errors
    return None if error is None else error.code()


def numbers(brokers: Brokers, topic: str, count: int) -> list[int]:
    """The first values of a partition."""
    consumer = Consumer({"bootstrap.servers": addresses(brokers), "group.id": "unused"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[int] = []

    def have_come() -> bool:
        found.extend(int(one.value() or b"-1") for one in consumer.consume(count, 1.0) if one.error() is None)
        return len(found) >= count

    eventually(lambda: f"{count} records, not {len(found)}", have_come)
    consumer.close()
    return found


def described(broker: OurBroker, topic: str) -> State:
    request = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(topic)])
    found = Asking(broker.port).ask(request, 0).topics[0].partitions[0]
    return State(
        found.leader_id,
        set(found.isr_nodes),
        set(found.eligible_leader_replicas or ()),
        set(found.last_known_elr or ()),
    )


def until(broker: OurBroker, topic: str, leader: int, isr: set[int], elr: set[int]) -> State:
    """Waits until a broker returns this state of the partition."""
    eventually(
        lambda: f"leader {leader}, ISR {isr}, ELR {elr}: {described(broker, topic)}",
        lambda: described(broker, topic)[:3] == (leader, isr, elr),
    )
    return described(broker, topic)


def log_bytes(broker: OurBroker, topic: str) -> bytes:
    return (broker.log_dir / f"{topic}-0" / f"{0:020}.log").read_bytes()


def until_equal(brokers: Brokers, topic: str, nodes: tuple[int, ...]) -> None:
    eventually("equal logs", lambda: len({log_bytes(brokers[node], topic) for node in nodes}) == 1)


def recovery_states(broker: OurBroker, topic: str) -> list[int]:
    """The leader recovery states that the records of the metadata log have set for a topic, in order."""
    topic_id, states = "", []
    for file in sorted((broker.log_dir / "__cluster_metadata-0").glob("*.log")):
        command = [sys.executable, "-m", "odradek", "dump-log", "--cluster-metadata-decoder", "--files", str(file)]
        dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in dumped.splitlines():
            if "payload: " not in line:
                continue
            record = json.loads(line[line.index("payload: ") + len("payload: ") :])
            kind, data = record["type"], record["data"]
            if kind == "TOPIC_RECORD" and data["name"] == topic:
                topic_id = data["topicId"]
            elif kind == "PARTITION_CHANGE_RECORD" and data["topicId"] == topic_id and "leaderRecoveryState" in data:
                states.append(data["leaderRecoveryState"])
    assert topic_id, f"no record of {topic}"
    return states


def no_tracebacks(brokers: Brokers) -> None:
    for node, broker in brokers.items():
        assert "Traceback" not in broker.log(), f"broker {node}:\n{broker.log()[-3000:]}"


def test_eligible_replica_leads_and_nothing_acknowledged_is_lost(brokers: Brokers) -> None:
    """The brokers were silent but are the same processes, so the controller sees no unclean shutdown."""
    create(brokers, "kept", [1, 2, 3], **{"min.insync.replicas": "2"})
    produce(brokers, "kept", 0, 200)
    brokers[2].process.send_signal(signal.SIGSTOP)
    until(brokers[1], "kept", 1, {1, 3}, set())
    produce(brokers, "kept", 200, 200)
    brokers[3].process.send_signal(signal.SIGSTOP)
    until(brokers[1], "kept", 1, {1}, {3})
    assert refusal(brokers, "kept") == KafkaError.NOT_ENOUGH_REPLICAS
    produce(brokers, "kept", 1_000, 10, acks="1")  # above the high watermark, which does not advance
    assert numbers({1: brokers[1]}, "kept", 400) == list(range(400))
    brokers[1].process.send_signal(signal.SIGSTOP)
    brokers[2].process.send_signal(signal.SIGCONT)
    state = until(brokers[2], "kept", NO_LEADER, set(), {1, 3})
    assert state.last_known == {1}
    brokers[3].process.send_signal(signal.SIGCONT)
    eventually("3 leads", lambda: described(brokers[3], "kept").leader == 3)
    eventually("2 and 3 in sync", lambda: described(brokers[3], "kept").isr >= {2, 3})
    produce({node: brokers[node] for node in (2, 3)}, "kept", 400, 100)
    brokers[1].process.send_signal(signal.SIGCONT)
    until(brokers[2], "kept", 3, {1, 2, 3}, set())
    assert numbers(brokers, "kept", 500) == list(range(500))
    until_equal(brokers, "kept", NODES)
    no_tracebacks(brokers)


def test_broker_after_a_kill_is_not_eligible_and_the_last_known_leader_recovers(brokers: Brokers) -> None:
    """A registration without the previous broker epoch is an unclean shutdown. Then the last leader is elected."""
    create(brokers, "killed", [1, 2, 3], **{"min.insync.replicas": "2"})
    produce(brokers, "killed", 0, 200)
    brokers[2].kill()
    until(brokers[1], "killed", 1, {1, 3}, set())
    brokers[3].kill()
    until(brokers[1], "killed", 1, {1}, {3})
    brokers[1].kill()
    brokers[3].start()
    state = until(brokers[3], "killed", NO_LEADER, set(), {1})
    assert state.last_known == {1}
    brokers[1].start()
    eventually("1 leads", lambda: described(brokers[3], "killed").leader == 1)
    brokers[2].start()
    until(brokers[3], "killed", 1, {1, 2, 3}, set())
    assert recovery_states(brokers[3], "killed") == [RECOVERING, RECOVERED]
    assert numbers(brokers, "killed", 200) == list(range(200))
    until_equal(brokers, "killed", NODES)
    no_tracebacks(brokers)


def test_broker_that_was_stopped_stays_eligible(brokers: Brokers) -> None:
    """A clean stop stores the broker epoch, and the next start registers with it."""
    create(brokers, "stopped", [1, 2, 3], **{"min.insync.replicas": "2"})
    produce(brokers, "stopped", 0, 100)
    brokers[2].kill()
    until(brokers[1], "stopped", 1, {1, 3}, set())
    assert brokers[3].stop() == 0
    until(brokers[1], "stopped", 1, {1}, {3})
    brokers[1].kill()
    brokers[3].start()
    eventually("3 leads", lambda: described(brokers[3], "stopped").leader == 3)
    assert recovery_states(brokers[3], "stopped") == []
    assert numbers({3: brokers[3]}, "stopped", 100) == list(range(100))
    no_tracebacks(brokers)


@pytest.mark.parametrize(
    "by_tool",
    [
        pytest.param(True, id="kafka-leader-election"),
        pytest.param(False, id="unclean.leader.election.enable", marks=pytest.mark.nightly),
    ],
)
def test_unclean_leader_makes_the_others_truncate(brokers: Brokers, by_tool: bool) -> None:
    """The old leader loses the records that the new one does not have. Consumers continue."""
    config = {} if by_tool else {"unclean.leader.election.enable": "true"}
    topic = "unclean-by-tool" if by_tool else "unclean-by-config"
    create(brokers, topic, [1, 2], **config)
    produce(brokers, topic, 0, 100)
    brokers[2].process.send_signal(signal.SIGSTOP)
    until(brokers[1], topic, 1, {1}, set())
    produce(brokers, topic, 100, 100)
    brokers[1].kill()
    eventually("no leader", lambda: described(brokers[3], topic).leader == NO_LEADER)
    brokers[2].process.send_signal(signal.SIGCONT)
    if by_tool:
        eventually("2 is unfenced", lambda: elected(brokers[3], topic))
    eventually("2 leads", lambda: described(brokers[3], topic).leader == 2)
    alive = {node: brokers[node] for node in (2, 3)}
    produce(alive, topic, 500, 50)
    brokers[1].start()
    until(brokers[3], topic, 2, {1, 2}, set())
    assert recovery_states(brokers[3], topic) == [RECOVERING, RECOVERED]
    assert numbers(brokers, topic, 150) == [*range(100), *range(500, 550)]
    until_equal(brokers, topic, (1, 2))
    assert f"{topic}-0: truncating to offset 100" in brokers[1].log()
    no_tracebacks(brokers)


def elected(broker: OurBroker, topic: str) -> bool:
    """Whether Kafka's tool has elected an unclean leader."""
    command = "org.apache.kafka.tools.LeaderElectionCommand"
    arguments = ("--election-type", "unclean", "--topic", topic, "--partition", "0")
    done = run_class(command, "--bootstrap-server", broker.bootstrap_servers, *arguments, timeout_s=120)
    return done.returncode == 0
