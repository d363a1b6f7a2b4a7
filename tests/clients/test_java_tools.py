"""Apache Kafka's own command-line tools with our broker, and its DumpLogSegments on files of our broker."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.kafka.java import run_class

pytestmark = pytest.mark.java

TOOLS = "org.apache.kafka.tools"
GROUP_COMMAND = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
RECORDS = 20_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One broker for this module."""
    with OurBroker(tmp_path_factory.mktemp("java"), {"group.initial.rebalance.delay.ms": "0"}) as started:
        yield started
        assert " ERROR " not in started.log()


def run(name: str, *arguments: str | Path) -> str:
    """Runs a tool, which must exit with 0; returns its output."""
    result = run_class(name, *arguments, timeout_s=180)
    assert result.returncode == 0, f"{name} ended with {result.returncode}:\n{result.stdout}\n{result.stderr}"
    assert "Exception" not in result.stdout + result.stderr, result.stdout + result.stderr
    return result.stdout


def perform(broker: OurBroker, topic: str, codec: str = "none", records: int = RECORDS) -> str:
    properties = [f"bootstrap.servers={broker.bootstrap_servers}", f"compression.type={codec}"]
    sizes = ("--num-records", str(records), "--record-size", "100", "--throughput", "-1")
    return run(f"{TOOLS}.ProducerPerformance", "--topic", topic, *sizes, "--command-property", *properties)


def test_topic_command(broker: OurBroker) -> None:
    server = ("--bootstrap-server", broker.bootstrap_servers)
    command = f"{TOOLS}.TopicCommand"
    created = run(
        command, *server, "--create", "--topic", "orders", "--partitions", "3", "--config", "segment.ms=60000"
    )
    assert "Created topic orders." in created
    assert "orders" in run(command, *server, "--list").split()
    run(command, *server, "--alter", "--topic", "orders", "--partitions", "5")
    described = run(command, *server, "--describe", "--topic", "orders")
    assert re.search(r"Topic: orders\tTopicId: [\w-]{22}\tPartitionCount: 5\tReplicationFactor: 1", described)
    assert "segment.ms=60000" in described
    assert described.count("Leader: 1\tReplicas: 1\tIsr: 1") == 5
    run(command, *server, "--delete", "--topic", "orders")
    assert "orders" not in run(command, *server, "--list").split()


def test_producer_and_consumer_performance_and_offsets(broker: OurBroker) -> None:
    assert f"{RECORDS} records sent" in perform(broker, "performance", "zstd").splitlines()[-1]
    server = ("--bootstrap-server", broker.bootstrap_servers)
    arguments = ("--topic", "performance", "--num-records", str(RECORDS), "--timeout", "60000", "--hide-header")
    measured = run(f"{TOOLS}.ConsumerPerformance", *server, *arguments)
    assert int(measured.splitlines()[-1].split(",")[4]) == RECORDS
    offsets = run(f"{TOOLS}.GetOffsetShell", *server, "--topic", "performance")
    assert offsets.split() == [f"performance:0:{RECORDS}"]
    earliest = run(f"{TOOLS}.GetOffsetShell", *server, "--topic", "performance", "--time", "earliest")
    assert earliest.split() == ["performance:0:0"]


def test_consumer_group_command(broker: OurBroker, tmp_path: Path) -> None:
    server = ("--bootstrap-server", broker.bootstrap_servers)
    perform(broker, "grouped", records=1_000)
    consumed = ("--topic", "grouped", "--num-records", "400", "--group", "java-group", "--timeout", "60000")
    settings = tmp_path / "consumer.properties"
    settings.write_text("max.poll.records=100\n")
    run(f"{TOOLS}.ConsumerPerformance", *server, *consumed, "--command-config", settings)
    assert "java-group" in run(GROUP_COMMAND, *server, "--list").split()
    described = run(GROUP_COMMAND, *server, "--describe", "--group", "java-group")
    line = next(line for line in described.splitlines() if line.startswith("java-group")).split()
    assert line[1:3] == ["grouped", "0"]
    current, end, lag = (int(word) for word in line[3:6])
    assert current >= 400
    assert end == 1_000
    assert lag == end - current
    state = run(GROUP_COMMAND, *server, "--describe", "--group", "java-group", "--state")
    assert "Empty" in state
    reset = ("--reset-offsets", "--group", "java-group", "--topic", "grouped", "--to-offset", "17", "--execute")
    run(GROUP_COMMAND, *server, *reset)
    described = run(GROUP_COMMAND, *server, "--describe", "--group", "java-group")
    assert next(line for line in described.splitlines() if line.startswith("java-group")).split()[3] == "17"
    run(GROUP_COMMAND, *server, "--delete", "--group", "java-group")
    assert "java-group" not in run(GROUP_COMMAND, *server, "--list").split()


@pytest.mark.ci
def test_verifiable_producer_and_consumer(broker: OurBroker) -> None:
    server = ("--bootstrap-server", broker.bootstrap_servers)
    produced = run(
        f"{TOOLS}.VerifiableProducer", *server, "--topic", "verifiable", "--max-messages", "5000", "--acks", "-1"
    )
    events = [json.loads(line) for line in produced.splitlines() if line.startswith("{")]
    sent = [int(event["value"]) for event in events if event["name"] == "producer_send_success"]
    assert sorted(sent) == list(range(5_000))
    group = ("--group-id", "verifier", "--reset-policy", "earliest", "--max-messages", "5000", "--verbose")
    consumed = run(f"{TOOLS}.VerifiableConsumer", *server, "--topic", "verifiable", *group)
    events = [json.loads(line) for line in consumed.splitlines() if line.startswith("{")]
    values = [int(event["value"]) for event in events if event["name"] == "record_data"]
    assert values == sorted(sent)
    committed = [event for event in events if event["name"] == "offsets_committed"]
    assert committed
    assert all(event["success"] for event in committed)
    assert committed[-1]["offsets"] == [{"topic": "verifiable", "partition": 0, "offset": 5_000}]


def test_dump_log_segments_on_what_we_wrote(tmp_path: Path) -> None:
    """The files have every codec, several segments and a group's records, after a clean stop and after a kill."""
    configs = {"log.segment.bytes": "1048576", "log.index.interval.bytes": "4096"}
    with OurBroker(tmp_path, {**configs, "group.initial.rebalance.delay.ms": "0"}) as broker:
        for first, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
            for client in CLIENTS.values():
                client.produce(
                    broker.bootstrap_servers, "dumped", codec, range(first * 1_000, first * 1_000 + 1_000), {}
                )
        perform(broker, "dumped", records=30_000)
        consume = ("--topic", "dumped", "--num-records", "100", "--group", "dumped-group", "--timeout", "60000")
        run(f"{TOOLS}.ConsumerPerformance", "--bootstrap-server", broker.bootstrap_servers, *consume)
        broker.kill()
        check_dumps(broker.log_dir, killed=True)
        broker.start()
        assert broker.stop() == 0
        check_dumps(broker.log_dir, killed=False)


def check_dumps(log_dir: Path, killed: bool) -> None:
    segments = sorted((log_dir / "dumped-0").glob("*.log"))
    assert len(segments) > 2, "several segments"
    dumped = run(
        f"{TOOLS}.DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", ",".join(map(str, segments))
    )
    offsets = [int(offset) for offset in re.findall(r"^\| offset: (\d+)", dumped, re.MULTILINE)]
    assert offsets == list(range(45_000))
    assert "isvalid: false" not in dumped
    assert {"none", "gzip", "snappy", "lz4", "zstd"} == set(re.findall(r"compresscodec: (\w+)", dumped.lower()))
    if not killed:  # an index is complete once its segment is closed
        indexes = [*(log_dir / "dumped-0").glob("*.index"), *(log_dir / "dumped-0").glob("*.timeindex")]
        checked = run(
            f"{TOOLS}.DumpLogSegments", "--index-sanity-check", "--files", ",".join(map(str, sorted(indexes)))
        )
        assert checked.count("passed sanity check") == len(indexes)
    logs = [path for path in sorted(log_dir.glob("__consumer_offsets-*/*.log")) if path.stat().st_size]
    decoded = run(f"{TOOLS}.DumpLogSegments", "--offsets-decoder", "--files", ",".join(map(str, logs)))
    assert '"group":"dumped-group"' in decoded
    assert '"topic":"dumped"' in decoded
    assert '"protocolType":"consumer"' in decoded
    metadata = sorted((log_dir / "__cluster_metadata-0").glob("*.log"))
    records = run(f"{TOOLS}.DumpLogSegments", "--cluster-metadata-decoder", "--files", ",".join(map(str, metadata)))
    assert '"name":"dumped"' in records


@pytest.mark.ci
def test_reassign_partitions_command_moves_between_log_directories(tmp_path: Path) -> None:
    """kafka-reassign-partitions.sh: --generate, --execute with a plan that names log directories, --list, --verify."""
    directories = [tmp_path / "a", tmp_path / "b"]
    command = f"{TOOLS}.reassign.ReassignPartitionsCommand"
    with OurBroker(tmp_path, {"log.dirs": ",".join(map(str, directories))}) as broker:
        server = ("--bootstrap-server", broker.bootstrap_servers)
        topic = ("--create", "--topic", "moved", "--partitions", "4")
        run(f"{TOOLS}.TopicCommand", *server, *topic)
        perform(broker, "moved", records=1_000)
        topics = tmp_path / "topics.json"
        topics.write_text(json.dumps({"version": 1, "topics": [{"topic": "moved"}]}))
        generated = run(command, *server, "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1")
        assert '"topic":"moved","partition":0,"replicas":[1],"log_dirs":["any"]' in generated
        plan = tmp_path / "plan.json"
        partitions = [
            {"topic": "moved", "partition": index, "replicas": [1], "log_dirs": [str(directories[1])]}
            for index in range(4)
        ]
        plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
        executed = run(command, *server, "--execute", "--reassignment-json-file", plan, "--throttle", "100000000")
        assert "Successfully started partition reassignments for moved-0,moved-1,moved-2,moved-3" in executed
        assert executed.count(f"Successfully started moving log directory to {directories[1]} for replica moved-") == 4
        verified = ""
        for _ in range(20):
            verified = run(command, *server, "--verify", "--reassignment-json-file", plan, "--preserve-throttles")
            if "still in progress" not in verified:
                break
        for index in range(4):
            assert f"Reassignment of partition moved-{index} is completed." in verified
            assert f"Reassignment of replica moved-{index}-1 completed successfully." in verified
            assert (directories[1] / f"moved-{index}").is_dir()
        assert "Clearing" in run(command, *server, "--verify", "--reassignment-json-file", plan)
        assert "No partition reassignments found." in run(command, *server, "--list")
        offsets = run(f"{TOOLS}.GetOffsetShell", *server, "--topic", "moved")
        assert sum(int(line.split(":")[2]) for line in offsets.split()) == 1_000
        assert " ERROR " not in broker.log()
