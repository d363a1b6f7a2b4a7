"""Apache Kafka's tools and unmodified clients with three brokers that lead and follow. Our commands do the same.

The brokers are three of ours, or two of ours and a real Kafka. Every tool runs in one JVM.
"""

import itertools
import json
import re
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from cluster.compared_metrics import Compared
from cluster.three_brokers import NODE_IDS, ThreeBrokers
from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.eventually import eventually
from support.kafka.both_tools import PACKAGE, BothTools, Run, words
from support.kafka.java import TABLE_VERSION, java_arguments, run_class
from support.kafka.mbeans import MBeans
from support.kafka.tools import KafkaTools, ToolOutput

pytestmark = [pytest.mark.java, pytest.mark.ci]

EACH_LEADS = "1:2:3,2:3:1,3:1:2"
EVERYWHERE = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
SLOW, FAST = "1000", "100000000"
RECORDS = 600


@pytest.fixture(scope="module", params=["ours", "mixed"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    """Three brokers of ours, or two of ours and a real Kafka."""
    with ThreeBrokers(tmp_path_factory.mktemp(request.param), mixed=request.param == "mixed") as started:
        yield started
        assert not [one for one in started.brokers.values() if isinstance(one, OurBroker) and " ERROR " in one.log()]


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools(TABLE_VERSION) as started:
        yield started


@pytest.fixture
def both(tools: KafkaTools, capfd: pytest.CaptureFixture[str]) -> BothTools:
    return BothTools(tools, capfd)


@pytest.fixture(params=["theirs", "ours"])
def run(request: pytest.FixtureRequest, both: BothTools) -> Run:
    """Kafka's tools, then our commands."""
    found: Run = both.theirs if request.param == "theirs" else both.ours
    return found


@pytest.fixture
def topic(request: pytest.FixtureRequest, cluster: ThreeBrokers) -> Iterator[str]:
    """A new topic name for each test. The topic is deleted after a failure: otherwise its reassignment would continue,
    and Kafka's tool would refuse those of the next tests.
    """
    name = re.sub(r"[\W_]+", "-", request.node.name).strip("-").removeprefix("test-")
    failed_before = request.session.testsfailed
    yield name
    if request.session.testsfailed > failed_before:
        cluster.delete(name)


def done(output: ToolOutput) -> str:
    """The output of a tool, which must exit with 0."""
    assert output.code == 0, output.out + output.err
    return output.out


def fill(cluster: ThreeBrokers, topic: str, count: int, size: int = 10, partition: int = 0, acks: str = "all") -> None:
    """Writes records."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": acks})
    for number in range(count):
        producer.produce(topic, f"{number:0{size}}", partition=partition)
        producer.poll(0)
    assert producer.flush(120) == 0


def test_topics_and_configs(cluster: ThreeBrokers, run: Run, topic: str) -> None:
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    assert f"Created topic {topic}." in done(
        run("topics", *server, "--create", "--topic", topic, "--replica-assignment", EACH_LEADS)
    )
    eventually("the broker that is asked knows it", lambda: topic in done(run("topics", *server, "--list")).split())
    done(run("topics", *server, "--alter", "--topic", topic, "--partitions", "6"))
    entity = ("--entity-type", "topics", "--entity-name", topic)
    done(run("configs", *server, "--alter", *entity, "--add-config", "min.insync.replicas=2,retention.ms=1234567"))
    delete = ("configs", *server, "--alter", *entity, "--delete-config", "retention.ms")
    eventually("the broker that is asked knows the config", partial(is_done, run, delete))
    described = done(run("topics", *server, "--describe", "--topic", topic))
    assert "PartitionCount: 6\tReplicationFactor: 3\tConfigs: min.insync.replicas=2" in described
    assert {int(one) for one in re.findall(r"Leader: (\d)", described)} == set(NODE_IDS)
    for node_id in NODE_IDS:
        broker = ("--entity-type", "brokers", "--entity-name", str(node_id))
        done(run("configs", *server, "--alter", *broker, "--add-config", "log.retention.ms=987654321"))
        eventually("the broker has it", partial(has_retention, run, (*server, "--describe", *broker)))
        again = ("configs", *server, "--alter", *broker, "--delete-config", "log.retention.ms")
        eventually("the broker that is asked knows the config", partial(is_done, run, again))
    done(run("topics", *server, "--delete", "--topic", topic))
    eventually("it is gone", lambda: topic not in done(run("topics", *server, "--list")).split())


def is_done(run: Run, arguments: tuple[str, ...]) -> bool:
    """Whether a command succeeds."""
    return run(*arguments).code == 0


def has_retention(run: Run, arguments: tuple[str, ...]) -> bool:
    """Whether a broker returns the value that was set."""
    return "log.retention.ms=987654321 sensitive=false" in run("configs", *arguments).out


def test_states_read_the_same(cluster: ThreeBrokers, both: BothTools, topic: str) -> None:
    """For every query, our command prints the same as Kafka's tool."""
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    cluster.create(topic, EVERYWHERE)
    for index in range(3):
        fill(cluster, topic, 5, partition=index)
        cluster.until_in_sync(topic, set(NODE_IDS), index)
    assert len(words(both.same("topics", *server, "--describe", "--topic", topic, of=words))) == 4
    assert both.same("topics", *server, "--describe", "--under-replicated-partitions", of=words) == ""
    assert both.same("get-offsets", *server, "--topic", topic) == "".join(f"{topic}:{n}:5\n" for n in range(3))
    both.same("log-dirs", *server, "--describe", "--topic-list", topic, of=replicas_in_dirs)
    status = both.same("metadata-quorum", *server, "describe", "--status")
    assert len(re.findall(r'"id": \d', status.partition("CurrentObservers:")[2])) == 3
    replication = both.same("metadata-quorum", *server, "describe", "--replication", of=nodes_and_roles)
    assert replication.count("Observer") == 3
    both.same("broker-api-versions", *server)
    # Each tool asks a broker of its choice, and a real one supports features that ours do not.
    has_kafka = not all(isinstance(broker, OurBroker) for broker in cluster.brokers.values())
    of_features = finalized_levels if has_kafka else None
    assert "eligible.leader.replicas.version" in both.same("features", *server, "describe", of=of_features)
    assert both.same("cluster", "list-endpoints", *server).count(" unfenced ") == 3
    both.same("cluster", "cluster-id", *server)
    both.same("features", *server, "upgrade", "--feature", "group.version=1", "--dry-run")
    both.same("features", *server, "upgrade", "--feature", "streams.version=1")
    both.same("features", *server, "downgrade", "--feature", "streams.version=0", "--dry-run")
    both.same("features", *server, "describe", of=of_features)
    both.same("features", *server, "feature-dependencies", "--feature", "transaction.version=2")
    both.same("features", *server, "version-mapping", "--release-version", "4.3-IV0")


def finalized_levels(text: str) -> object:
    """The features that the cluster has finalised, with their levels."""
    levels = re.findall(r"Feature: (\S+) .*FinalizedVersionLevel: (\S+)", text)
    assert levels, text
    return sorted((feature, level) for feature, level in levels if level != "0")


def replicas_in_dirs(text: str) -> object:
    """Broker, directory, partition and size of every replica."""
    answer = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    return sorted(
        (broker["broker"], log_dir["logDir"], one["partition"], one["size"])
        for broker in answer["brokers"]
        for log_dir in broker["logDirs"]
        for one in log_dir["partitions"]
    )


def nodes_and_roles(text: str) -> object:
    """The columns that do not change between two calls: node id, directory id, status."""
    return sorted((row[0], row[1], row[-1]) for row in words(text))


def verifiable(kind: str, servers: str, *arguments: str) -> list[dict[str, Any]]:
    """Runs VerifiableProducer or VerifiableConsumer; returns its events."""
    ended = run_class(f"{PACKAGE}.Verifiable{kind}", "--bootstrap-server", servers, *arguments, timeout_s=200)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


def test_clients_and_groups(cluster: ThreeBrokers, both: BothTools, topic: str) -> None:
    """Java's verifiable producer and three Python clients write; a verifiable consumer and a Python client read."""
    servers = cluster.bootstrap_servers
    cluster.create(topic, EVERYWHERE, min_insync_replicas="2")
    events = verifiable("Producer", servers, "--topic", topic, "--max-messages", str(RECORDS), "--acks", "-1")
    assert sum(event["name"] == "producer_send_success" for event in events) == RECORDS
    for client in CLIENTS.values():
        client.produce(servers, topic, "none", range(100), {})
    total = RECORDS + 100 * len(CLIENTS)
    for protocol in ("classic", "consumer"):
        group = f"{topic}-{protocol}"
        arguments = ("--topic", topic, "--group-id", group, "--group-protocol", protocol, "--max-messages", str(total))
        events = verifiable("Consumer", servers, *arguments, "--reset-policy", "earliest")
        assert sum(event["count"] for event in events if event["name"] == "records_consumed") == total
        server = ("--bootstrap-server", servers)
        described = both.same("groups", *server, "--describe", "--group", group, of=words)
        assert sum(int(row[3]) for row in words(described) if row[0] == group) == total
        reset = ("--reset-offsets", "--group", group, "--topic", topic)
        both.same("groups", *server, *reset, "--to-earliest", "--execute", of=words)
        both.same("groups", *server, "--describe", "--group", group, "--state", of=words)
        done(both.theirs("groups", *server, "--delete", "--group", group))
    reader = Consumer({"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"})
    reader.subscribe([topic])
    found: list[object] = []

    def have_come() -> bool:
        found.extend(message for message in reader.consume(total, 1.0) if message.error() is None)
        return len(found) >= total

    eventually("all records", have_come)
    reader.close()
    assert len(found) == total


def test_reassignments(cluster: ThreeBrokers, run: Run, topic: str, tmp_path: Path) -> None:
    """Generates a plan, throttles, refuses a second one, adds one, cancels one in progress, verifies, and removes
    throttles.
    """
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    file, more = tmp_path / "plan.json", tmp_path / "more.json"
    cluster.create(topic, [[1, 2], [2, 3]])
    for index in (0, 1):
        fill(cluster, topic, 3_000, 1_000, index)
    file.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    generate = ("--generate", "--topics-to-move-json-file", str(file), "--broker-list", "1,3")
    generated = done(run("reassign-partitions", *server, *generate)).splitlines()
    assert {frozenset(one["replicas"]) for one in json.loads(generated[4])["partitions"]} == {frozenset({1, 3})}
    [before] = [json.loads(line) for line in generated if line.startswith("{")][:1]
    assert [one["replicas"] for one in before["partitions"]] == [[1, 2], [2, 3]]

    write_plan(file, topic, {0: [3, 2]})
    write_plan(more, topic, {1: [1, 3]})
    with_file = (*server, "--reassignment-json-file", str(file))
    with_more = (*server, "--reassignment-json-file", str(more))
    started = done(run("reassign-partitions", *with_file, "--execute", "--throttle", SLOW))
    assert f"The inter-broker throttle limit was set to {SLOW} B/s" in started
    assert f"Successfully started partition reassignment for {topic}-0" in started
    assert "adding: 3. removing: 1" in done(run("reassign-partitions", *server, "--list"))
    assert "is still in progress" in done(run("reassign-partitions", *with_file, "--verify"))
    refused = run("reassign-partitions", *with_more, "--execute")
    assert (refused.code, "Use --additional" in refused.out + refused.err) == (1, True)
    described = ("--describe", "--entity-type", "topics", "--entity-name", topic)
    throttled = "leader.replication.throttled.replicas=0:1,0:2"
    eventually("the broker knows what is throttled", lambda: throttled in done(run("configs", *server, *described)))
    done(run("reassign-partitions", *with_more, "--execute", "--additional", "--throttle", SLOW))
    listed = done(run("reassign-partitions", *server, "--list"))
    assert (f"{topic}-0" in listed, f"{topic}-1" in listed) == (True, True)
    cancelled = done(run("reassign-partitions", *with_file, "--cancel", "--preserve-throttles"))
    assert f"Successfully cancelled partition reassignment for: {topic}-0" in cancelled
    eventually("the cancellation is known", lambda: sorted(cluster.state(topic)[1]) == [1, 2])
    done(run("reassign-partitions", *with_more, "--execute", "--additional", "--throttle", FAST))
    eventually("the other one ends", lambda: "is completed" in run("reassign-partitions", *with_more, "--verify").out)
    assert "No partition reassignments found." in done(run("reassign-partitions", *server, "--list"))
    eventually("nothing is throttled", lambda: "throttled" not in done(run("configs", *server, *described)))
    eventually("all know the replicas", lambda: sorted(cluster.state(topic, 1)[1]) == [1, 3])
    eventually("equal bytes", lambda: cluster.segments(1, topic, 1) == cluster.segments(3, topic, 1))


def write_plan(file: Path, topic: str, replicas: dict[int, list[int]], **more: list[str]) -> None:
    """The JSON of a reassignment."""
    partitions = [{"topic": topic, "partition": at, "replicas": wanted, **more} for at, wanted in replicas.items()]
    file.write_text(json.dumps({"version": 1, "partitions": partitions}))


def test_moves_between_log_directories(cluster: ThreeBrokers, run: Run, topic: str, tmp_path: Path) -> None:
    """A throttled move is cancelled. Then each replica, leader or follower, moves."""
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    cluster.create(topic, [[3, 1, 2]])
    fill(cluster, topic, 3_000, 1_000)
    cluster.until_in_sync(topic, set(NODE_IDS))
    homes = {node_id: cluster.holder(node_id, topic) for node_id in NODE_IDS}
    targets = {node_id: next(path for path in cluster.log_dirs(node_id) if path != homes[node_id]) for node_id in homes}
    file = tmp_path / "plan.json"
    write_plan(file, topic, {0: [3, 1, 2]}, log_dirs=[str(targets[node_id]) for node_id in (3, 1, 2)])
    with_file = (*server, "--reassignment-json-file", str(file))
    throttle = "--replica-alter-log-dirs-throttle"
    started = done(run("reassign-partitions", *with_file, "--execute", throttle, "1"))
    assert started.count("Successfully started moving log directory to ") == 3
    assert (
        f"Reassignment of replica {topic}-0-1 is still in progress"
        in run("reassign-partitions", *with_file, "--verify").out
    )
    cancelled = done(run("reassign-partitions", *with_file, "--cancel"))
    assert cancelled.count("Successfully started moving log directory to ") == 3
    eventually("nothing moves", lambda: "is not being moved" in run("reassign-partitions", *with_file, "--verify").out)
    assert {node_id: cluster.holder(node_id, topic) for node_id in NODE_IDS} == homes

    done(run("reassign-partitions", *with_file, "--execute", throttle, FAST))
    fill(cluster, topic, 100)

    def are_complete() -> bool:
        verified = run("reassign-partitions", *with_file, "--verify", "--preserve-throttles").out
        return verified.count("completed successfully") == 3

    eventually("all have moved", are_complete)
    assert {node_id: cluster.holder(node_id, topic) for node_id in NODE_IDS} == targets
    done(run("reassign-partitions", *with_file, "--verify"))
    cluster.until_in_sync(topic, set(NODE_IDS))
    eventually("equal bytes", lambda: len({cluster.segments(node_id, topic) for node_id in NODE_IDS}) == 1)


def is_first(cluster: ThreeBrokers, topic: str, node_id: int) -> bool:
    """Whether a broker is the preferred leader of partition 0."""
    return cluster.state(topic)[1][0] == node_id


def leads(cluster: ThreeBrokers, topic: str, node_id: int) -> bool:
    """Whether a broker leads partition 0."""
    return cluster.state(topic)[0] == node_id


def test_preferred_leader_is_elected(cluster: ThreeBrokers, run: Run, topic: str, tmp_path: Path) -> None:
    """The order of the replicas is changed, but not the leader. The election makes the first one the leader."""
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    cluster.create(topic, [[1, 2, 3]])
    fill(cluster, topic, 10)
    file = tmp_path / "plan.json"
    elect = ("--election-type", "preferred", "--topic", topic, "--partition", "0")
    for first, second in ((2, 1), (3, 2), (1, 3)):
        write_plan(file, topic, {0: [first, second, 6 - first - second]})
        done(run("reassign-partitions", *server, "--reassignment-json-file", str(file), "--execute"))
        eventually("the order is known", partial(is_first, cluster, topic, first))
        elected = done(run("leader-election", *server, *elect))
        assert elected == f"Successfully completed leader election (PREFERRED) for partitions {topic}-0\n"
        eventually("it leads", partial(leads, cluster, topic, first))
        fill(cluster, topic, 10)
    assert f"Valid replica already elected for partitions {topic}-0" in done(run("leader-election", *server, *elect))


def test_deleted_records(cluster: ThreeBrokers, run: Run, topic: str, tmp_path: Path) -> None:
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    cluster.create(topic, EVERYWHERE)
    for index in range(3):
        fill(cluster, topic, 20, partition=index)
    offsets = [{"topic": topic, "partition": index, "offset": 5 + index} for index in range(3)]
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"version": 1, "partitions": offsets}))
    deleted = done(run("delete-records", *server, "--offset-json-file", str(file)))
    assert set(re.findall(r"-(\d)\tlow_watermark: (\d)", deleted)) == {("0", "5"), ("1", "6"), ("2", "7")}
    earliest = done(run("get-offsets", *server, "--topic", topic, "--time", "earliest"))
    assert earliest == f"{topic}:0:5\n{topic}:1:6\n{topic}:2:7\n"


def test_replicas_are_verified(cluster: ThreeBrokers, topic: str) -> None:
    """ReplicaVerificationTool fetches every replica from its broker. It does not end by itself."""
    cluster.create(topic, EVERYWHERE)
    for index in range(3):
        fill(cluster, topic, 50, partition=index)
        cluster.until_in_sync(topic, set(NODE_IDS), index)
    command = [*java_arguments(heap="128m"), f"{PACKAGE}.ReplicaVerificationTool"]
    arguments = ["--broker-list", cluster.bootstrap_servers, "--topics-include", topic, "--report-interval-ms", "200"]
    with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tool:
        assert tool.stdout is not None
        seen = []
        try:
            for line in tool.stdout:
                seen.append(line)
                if re.search(r"max lag is 0 for partition .* at offset 50 among 3 partitions", line):
                    break
            else:
                raise AssertionError("".join(seen))
        finally:
            tool.kill()


def refuse(cluster: ThreeBrokers, topic: str) -> None:
    """Writes a batch that is too large to each partition, and one with a timestamp in the future."""
    refused: list[str] = []
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "message.max.bytes": 4_000_000, "linger.ms": 0}
    producer = Producer(settings)
    in_a_day_ms = int(time.time() * 1000) + 24 * 3_600_000
    for index, (size, timestamp) in itertools.product(range(3), ((2_000_000, 0), (10, in_a_day_ms))):
        producer.produce(
            topic,
            bytes(size),
            partition=index,
            timestamp=timestamp,
            on_delivery=lambda error, _: refused.append("" if error is None else error.name()),
        )
        assert producer.flush(60) == 0
    assert refused == ["MSG_SIZE_TOO_LARGE", "INVALID_TIMESTAMP"] * 3


def read_beyond_the_end(cluster: ThreeBrokers, topic: str) -> None:
    """Reads each partition from an offset that does not exist."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "beyond", "auto.offset.reset": "error"}
    )
    for index in range(3):
        consumer.assign([TopicPartition(topic, index, 1_000_000)])
        message = consumer.poll(60)
        assert message is not None
        assert message.error() is not None
    consumer.close()


def commit(cluster: ThreeBrokers, topic: str, prefix: str) -> None:
    """Commits an offset of each of 30 groups, so that each broker coordinates some of them."""
    for number in range(30):
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": f"{topic}-{prefix}-{number}"})
        consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
        consumer.close()


@pytest.mark.nightly
@pytest.mark.parametrize("cluster", ["mixed"], indirect=True)
def test_metrics_are_those_of_kafkas_mbeans(cluster: ThreeBrokers, topic: str) -> None:
    """Brokers of ours and a real Kafka are each leader and follower of the same records."""
    cluster.create(topic, EVERYWHERE)
    with MBeans() as beans:
        both = Compared(cluster, beans, topic)
        both.until_quiet()
        before = both.metrics()
        for number, index in itertools.product(range(10), range(3)):  # a batch for each record
            fill(cluster, topic, 1, size=10 + number, partition=index)
        both.until_quiet()
        both.check_names()
        both.check_records(before)
        before = both.metrics()
        refuse(cluster, topic)
        read_beyond_the_end(cluster, topic)
        both.check_refusals(before)
        commit(cluster, topic, "first")
        both.until_quiet()
        before = both.metrics()
        commit(cluster, topic, "second")
        both.until_quiet()
        both.check_coordinators(before, "__consumer_offsets")
        both.check_follower_that_hangs(lambda index: fill(cluster, topic, 1, partition=index, acks="1"))


@pytest.mark.parametrize("run", [pytest.param("theirs", marks=pytest.mark.nightly), "ours"], indirect=True)
def test_unclean_leader_is_elected(cluster: ThreeBrokers, run: Run, topic: str) -> None:
    """Broker 3 leaves the ISR, then 1 stops, and 3 returns. Only an unclean election gives the partition a leader."""
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    cluster.create(topic, [[1, 3]])
    fill(cluster, topic, 10)
    cluster.brokers[3].kill()
    cluster.until_in_sync(topic, {1})
    fill(cluster, topic, 10)
    cluster.brokers[1].kill()
    eventually("no leader", lambda: cluster.state(topic)[0] == -1)
    cluster.brokers[3].start()
    elect = ("--election-type", "unclean", "--topic", topic, "--partition", "0")
    wanted = f"Successfully completed leader election (UNCLEAN) for partitions {topic}-0\n"
    eventually("it is elected", lambda: run("leader-election", *server, *elect).out == wanted)
    eventually("it leads", lambda: cluster.state(topic)[0] == 3)
    fill(cluster, topic, 10)
    cluster.brokers[1].start()
    cluster.until_in_sync(topic, {1, 3})
    eventually("equal bytes", lambda: cluster.segments(1, topic) == cluster.segments(3, topic))
