"""The operators' commands print what Kafka's own tools print, for the same arguments and the same server."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from odradek.__main__ import COMMANDS
from odradek.client.admin import Admin, NewTopic
from odradek.client.producer import Producer
from support.kafka.real_kafka import RealKafka
from support.kafka.tools import KafkaTools, ToolOutput

TOOLS = {
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
}
TIME_MS = re.compile(r"\b1\d{12}\b|\b\d+(?= ms ago)")
OFFSET_AND_EPOCH = re.compile(r"(?<=HighWatermark:)\s+\d+|(?<=\t)\d+ +(?=\t0 +\t)|(?<=Epoch: )\d+")


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as tools:
        yield tools


class Both:
    """Runs Kafka's tool and our command with the same arguments."""

    def __init__(self, tools: KafkaTools, capfd: pytest.CaptureFixture[str]) -> None:
        self._tools, self._capfd = tools, capfd

    def ours(self, command: str, *arguments: str) -> ToolOutput:
        """Our exit code and output."""
        module, _, function = COMMANDS[command][0].partition(":")
        self._capfd.readouterr()
        code = getattr(import_module(module), function)(list(arguments))
        return ToolOutput(code, *self._capfd.readouterr())

    def same(self, command: str, *arguments: str) -> str:
        """Output of both; fails if the exit codes or the lines differ. Lines may be in another order."""
        theirs = ToolOutput(**self._tools.order({"tool": TOOLS[command], "arguments": list(arguments)}))
        ours = self.ours(command, *arguments)
        assert (ours.code, lines(ours.out)) == (theirs.code, lines(theirs.out)), (ours.err, theirs.err)
        return ours.out


def lines(text: str) -> list[str]:
    """The lines without what changes between two calls: times, and offsets of a log that grows."""
    return sorted(OFFSET_AND_EPOCH.sub("#", TIME_MS.sub("#", line)).rstrip() for line in text.splitlines())


@pytest.fixture
def both(tools: KafkaTools, capfd: pytest.CaptureFixture[str]) -> Both:
    return Both(tools, capfd)


@pytest.fixture
async def topic(bootstrap: str, name: str) -> str:
    """A topic of two partitions with three records each."""
    async with Admin(bootstrap) as admin:
        await admin.create_topics([NewTopic(name, 2, 1)])
    async with Producer(bootstrap) as producer:
        for n in range(6):
            await producer.send_and_wait(name, b"v%d" % n, partition=n % 2)
    return name


@pytest.mark.java
def test_delete_records(bootstrap: str, topic: str, tmp_path: Path, both: Both) -> None:
    file = tmp_path / "offsets.json"
    arguments = ("--bootstrap-server", bootstrap, "--offset-json-file", str(file))
    for offsets, expected in (
        ({0: 1, 1: -1}, f"partition: {topic}-1\tlow_watermark: 3\n"),
        ({0: 9, 1: 3}, f"partition: {topic}-0\terror: org.apache.kafka.common.errors.OffsetOutOfRangeException: "),
    ):
        partitions = [{"topic": topic, "partition": number, "offset": offset} for number, offset in offsets.items()]
        file.write_text(json.dumps({"partitions": partitions, "version": 1}))
        assert expected in both.same("delete-records", *arguments)
    for wrong in ('{"version": 2, "partitions": []}', "{}", "[]", "no JSON", '{"partitions": [{"topic": "t"}]}'):
        file.write_text(wrong)
        assert both.same("delete-records", *arguments) == ""


@pytest.mark.java
def test_leader_election(bootstrap: str, topic: str, tmp_path: Path, both: Both) -> None:
    file = tmp_path / "partitions.json"
    file.write_text(
        json.dumps({"partitions": [{"topic": topic, "partition": 0}, {"topic": "nowhere", "partition": 0}]})
    )
    server = ("--bootstrap-server", bootstrap)
    for election in ("preferred", "unclean"):
        start = (*server, "--election-type", election)
        assert "Valid replica" in both.same("leader-election", *start, "--topic", topic, "--partition", "1")
        assert "UnknownTopicOrPartition" in both.same("leader-election", *start, "--path-to-json-file", str(file))
        assert both.same("leader-election", *start, "--all-topic-partitions") == ""
    twice = [{"topic": topic, "partition": 0}] * 2
    file.write_text(json.dumps({"partitions": twice}))
    assert both.same("leader-election", *start, "--path-to-json-file", str(file)) == ""


@pytest.mark.java
def test_broker_api_versions(bootstrap: str, both: Both) -> None:
    assert "\tProduce(0): 0 to 13 [usable: 13]," in both.same("broker-api-versions", "--bootstrap-server", bootstrap)


@pytest.mark.java
def test_cluster(bootstrap: str, both: Both) -> None:
    server = ("--bootstrap-server", bootstrap)
    assert both.same("cluster", "cluster-id", *server).startswith("Cluster ID: ")
    assert " unfenced " in both.same("cluster", "list-endpoints", *server)
    both.same("cluster", "list-endpoints", *server, "--include-fenced-brokers")
    both.same("cluster", "unregister", *server, "--id", "77")


@pytest.mark.java
def test_features(bootstrap: str, both: Both) -> None:
    server = ("--bootstrap-server", bootstrap)
    assert "4.3-IV0" in both.same("features", *server, "describe")
    for arguments in (
        ("upgrade", "--feature", "metadata.version=30", "--dry-run"),
        ("upgrade", "--metadata", "4.3-IV0"),
        ("upgrade", "--feature", "unknown.version=1"),
        ("upgrade", "--feature", "group.version=one"),
        ("upgrade",),
        ("downgrade", "--feature", "transaction.version=1", "--dry-run"),
        ("downgrade", "--feature", "metadata.version=3", "--unsafe"),
        ("disable", "--feature", "group.version", "--dry-run"),
    ):
        both.same("features", *server, *arguments)


@pytest.mark.java
def test_metadata_quorum(bootstrap: str, both: Both) -> None:
    server = ("--bootstrap-server", bootstrap)
    assert "CurrentVoters:" in both.same("metadata-quorum", *server, "describe", "--status")
    assert "\tLeader" in both.same("metadata-quorum", *server, "describe", "--replication")


@pytest.mark.java
def test_the_controllers_themselves(tmp_path: Path, both: Both) -> None:
    with RealKafka(tmp_path) as kafka:
        controller = ("--bootstrap-controller", f"127.0.0.1:{kafka.controller_port}")
        assert both.same("cluster", "cluster-id", *controller).startswith("Cluster ID: ")
        assert "controller" in both.same("cluster", "list-endpoints", *controller)
        assert "4.3-IV0" in both.same("features", *controller, "describe")
        both.same("features", *controller, "disable", "--feature", "share.version")
        assert "LeaderId:" in both.same("metadata-quorum", *controller, "describe", "--status")
        assert "\tLeader" in both.same("metadata-quorum", *controller, "describe", "--replication")
        both.same("metadata-quorum", *controller, "describe", "--replication", "--human-readable")


@pytest.mark.parametrize(
    ("command", "arguments", "named"),
    [
        ("leader-election", ("--election-type", "preferred"), "One and only one"),
        ("leader-election", ("--election-type", "unclean", "--topic", "t"), "partition"),
        ("leader-election", ("--election-type", "unclean", "--partition", "1"), "One and only one"),
        ("delete-records", (), "--offset-json-file"),
        ("cluster", ("unregister",), "--id"),
        ("cluster", ("list-endpoints", "-C", "h:1", "--include-fenced-brokers"), "only supported with"),
        ("features", ("describe", "-b", "h:1", "-C", "h:1"), "cannot be used together"),
        ("metadata-quorum", ("describe",), "One of --status or --replication"),
        ("metadata-quorum", ("describe", "--status", "--human-readable"), "only supported along with"),
    ],
)
def test_wrong_usage(capfd: pytest.CaptureFixture[str], command: str, arguments: tuple[str, ...], named: str) -> None:
    module, _, function = COMMANDS[command][0].partition(":")
    assert getattr(import_module(module), function)(list(arguments)) == 2
    assert named in capfd.readouterr().err
