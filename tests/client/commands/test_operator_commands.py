"""The commands for operators print the same as Kafka's own tools, for the same arguments and server."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from odradek.__main__ import COMMANDS
from odradek.client.admin import Admin, NewTopic
from odradek.client.producer import Producer
from odradek.protocol.apis.metadata_versions import FEATURE_LEVELS, LEVELS
from support.eventually import eventually
from support.kafka.added_controller import AddedController
from support.kafka.both_tools import BothTools, lines
from support.kafka.java import TABLE_VERSION
from support.kafka.real_kafka import RealKafka
from support.kafka.tools import KafkaTools


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools(TABLE_VERSION) as tools:
        yield tools


@pytest.fixture
def both(tools: KafkaTools, capfd: pytest.CaptureFixture[str]) -> BothTools:
    return BothTools(tools, capfd)


@pytest.fixture
async def topic(bootstrap: str, name: str) -> str:
    """A topic of two partitions with three records each."""
    async with Admin(bootstrap) as admin:
        await admin.create_topics([NewTopic(name, 2, 1)])
    async with Producer(bootstrap) as producer:
        for n in range(6):
            await producer.send_and_wait(name, b"v%d" % n, partition=n % 2)
    return name


def without_padding(text: str) -> list[list[str]]:
    """The words of each line: columns of ages are as wide as the longest one, such as 9 or 120 ms."""
    return [line.split() for line in lines(text)]


@pytest.mark.java
def test_delete_records(bootstrap: str, topic: str, tmp_path: Path, both: BothTools) -> None:
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


def said(text: str) -> list[str]:
    """The lines without the one in which Kafka's tool reports the exit, which the tests intercept, as an error."""
    return [line for line in text.splitlines() if not line.startswith("Error while executing")]


@pytest.mark.java
def test_client_metrics(bootstrap: str, name: str, both: BothTools) -> None:
    server, one = ("--bootstrap-server", bootstrap), ("--name", name)

    def same(*arguments: str) -> str:
        return both.same("client-metrics", *server, *arguments, of=said)

    same("--alter", *one, "--metrics", "org.a,org.b", "--interval", "1000", "--match", "client_id=x")
    assert name in same("--list").splitlines()
    assert f"Client metrics configs for {name} are:" in same("--describe")
    assert "  metrics=org.a,org.b\n" in same("--describe", *one)
    same("--alter", *one, "--interval", "", "--match", "client_id=y", "--match", "client_software_name=z")
    described = same("--describe", *one)
    assert "  interval.ms=300000\n  match=client_id=y,client_software_name=z\n" in described
    for wrong in (("--interval", "5"), ("--match", "color=red")):
        refused = both.ours("client-metrics", *server, "--alter", *one, *wrong)
        assert refused.code == both.theirs("client-metrics", *server, "--alter", *one, *wrong).code == 1
        assert wrong[1] in refused.err
    assert same("--delete", *one) == same("--delete", *one)
    assert "doesn't exist" in same("--describe", *one)
    made = both.ours("client-metrics", *server, "--alter", "--generate-name", "--metrics", "org.c").out
    generated = made.split()[-1].rstrip(".")
    assert len(generated) == 22
    same("--delete", "--name", generated)
    for incomplete in (["--delete"], ["--alter", "--metrics", "org.d"], ["--list", "--describe"]):
        assert both.ours("client-metrics", *server, *incomplete).code == 2


@pytest.mark.java
def test_levels_of_broker_loggers(bootstrap: str, both: BothTools) -> None:
    broker = both.ours("cluster", "list-endpoints", "--bootstrap-server", bootstrap).out.splitlines()[1].split()[0]
    entity = ("--bootstrap-server", bootstrap, "--entity-type", "broker-loggers", "--entity-name", broker)
    logger = re.findall(r"^  (\S+\.\S+)=", both.ours("configs", *entity, "--describe").out, re.MULTILINE)[0]

    def shown(text: str) -> list[str]:
        """The lines without other loggers: a newly started broker still creates some."""
        return [line for line in text.splitlines() if line.startswith(("Dynamic", "  root=", f"  {logger}="))]

    assert re.search(
        "^  root=[A-Z]+ sensitive=false", both.same("configs", *entity, "--describe", of=shown), re.MULTILINE
    )
    for command, level in ((both.theirs, "WARN"), (both.ours, "TRACE")):
        assert command("configs", *entity, "--alter", "--add-config", f"{logger}={level}").code == 0
        assert f"  {logger}={level} sensitive=false" in both.same("configs", *entity, "--describe", of=shown)
    assert "Completed" in both.same("configs", *entity, "--alter", "--delete-config", logger)
    for wrong in (
        ("--add-config", "no.such.Logger=WARN"),
        ("--add-config", f"{logger}=LOUD"),
        ("--delete-config", "root"),
    ):
        refused = both.ours("configs", *entity, "--alter", *wrong)
        theirs = both.theirs("configs", *entity, "--alter", *wrong)
        assert refused.code == theirs.code == 1, (refused, theirs)


@pytest.mark.java
def test_leader_election(bootstrap: str, topic: str, tmp_path: Path, both: BothTools) -> None:
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
def test_broker_api_versions(bootstrap: str, both: BothTools) -> None:
    assert "\tProduce(0): 0 to 13 [usable: 13]," in both.same("broker-api-versions", "--bootstrap-server", bootstrap)


@pytest.mark.java
def test_cluster(bootstrap: str, both: BothTools) -> None:
    server = ("--bootstrap-server", bootstrap)
    assert both.same("cluster", "cluster-id", *server).startswith("Cluster ID: ")
    assert " unfenced " in both.same("cluster", "list-endpoints", *server)
    both.same("cluster", "list-endpoints", *server, "--include-fenced-brokers")
    both.same("cluster", "unregister", *server, "--id", "77")
    both.same("cluster", "unregister-controller", *server, "--id", "77")
    both.same("cluster", "unregister-controller", *server, "--id", "-3")
    assert "\tProduce(0): 0 to 13 [usable: 13]," in both.same("cluster", "api-versions", *server)


@pytest.mark.java
def test_features(bootstrap: str, both: BothTools) -> None:
    server = ("--bootstrap-server", bootstrap)
    assert "4.4-IV2" in both.same("features", *server, "describe")
    for arguments in (
        ("upgrade", "--feature", "metadata.version=33", "--dry-run"),
        ("upgrade", "--metadata", "4.4-IV2"),
        ("upgrade", "--feature", "unknown.version=1"),
        ("upgrade", "--feature", "group.version=one"),
        ("upgrade",),
        ("downgrade", "--feature", "transaction.version=1", "--dry-run"),
        ("downgrade", "--feature", "metadata.version=3", "--unsafe"),
        ("disable", "--feature", "group.version", "--dry-run"),
        ("upgrade", "--release-version", "4.3", "--metadata", "4.3"),
        ("downgrade", "--release-version", "none"),
    ):
        both.same("features", *server, *arguments)


@pytest.mark.java
def test_features_of_releases(both: BothTools) -> None:
    """No broker is needed. The mapping of every release equals Kafka's."""
    for release in LEVELS:
        assert f"({release})" in both.same("features", "version-mapping", "--release-version", release)
    assert "4.4-IV2" in both.same("features", "version-mapping")
    both.same("features", "version-mapping", "--release-version", "3.9.1")
    both.same("features", "version-mapping", "--release-version", "1.0")
    for name, levels in FEATURE_LEVELS.items():
        for level in range(len(levels) + 1):
            both.same("features", "feature-dependencies", "--feature", f"{name}={level}")
    both.same("features", "feature-dependencies", "--feature", "metadata.version=30", "--feature", "kraft.version=1")
    both.same("features", "feature-dependencies", "--feature", "metadata.version=99")
    both.same("features", "feature-dependencies", "--feature", "unknown.version=1")


@pytest.mark.java
def test_metadata_quorum(bootstrap: str, both: BothTools) -> None:
    server = ("--bootstrap-server", bootstrap)
    assert "CurrentVoters:" in both.same("metadata-quorum", *server, "describe", "--status")
    assert "\tLeader" in both.same("metadata-quorum", *server, "describe", "--replication")


@pytest.mark.java
def test_an_option_of_kafka_topics_that_does_nothing(bootstrap: str, both: BothTools) -> None:
    arguments = ("--bootstrap-server", bootstrap, "--list", "--exclude-internal", "--delete-config", "retention.ms")
    ours = both.ours("topics", *arguments)
    assert ours.code == 0
    assert "no effect since Kafka 4.0: use odradek configs --alter" in ours.err
    assert both.theirs("topics", *arguments).err.startswith("delete-config option is no longer supported")


@pytest.mark.java
def test_the_controllers_themselves(tmp_path: Path, both: BothTools) -> None:
    with RealKafka(tmp_path) as kafka:
        controller = ("--bootstrap-controller", f"127.0.0.1:{kafka.controller_port}")
        assert both.same("cluster", "cluster-id", *controller).startswith("Cluster ID: ")
        assert "controller" in both.same("cluster", "list-endpoints", *controller)
        versions = both.same("cluster", "api-versions", *controller)
        assert "\tProduce(0): UNSUPPORTED,\n\tFetch(1): " in versions
        assert "\tVote(52): " in versions
        assert "4.4-IV2" in both.same("features", *controller, "describe")
        both.same("features", *controller, "disable", "--feature", "share.version")
        both.same("features", *controller, "upgrade", "--release-version", "4.3-IV0", "--dry-run")
        both.same("features", *controller, "downgrade", "--release-version", "4.2-IV1", "--dry-run")
        assert "LeaderId:" in both.same("metadata-quorum", *controller, "describe", "--status")
        assert "\tLeader" in both.same("metadata-quorum", *controller, "describe", "--replication")
        both.same("metadata-quorum", *controller, "describe", "--replication", "--human-readable", of=without_padding)
        defaults = ("configs", *controller, "--entity-type", "brokers", "--entity-default")
        assert "Completed" in both.same(*defaults, "--alter", "--add-config", "log.retention.ms=100000")
        assert "log.retention.ms=100000" in both.same(*defaults, "--describe")
        assert both.ours(*defaults, "--alter", "--delete-config", "log.retention.ms").code == 0
        assert "log.retention.ms" not in both.same(*defaults, "--describe")
        for arguments in (
            ("--describe", "--topic", "t", "--bootstrap-server", kafka.bootstrap_servers),
            ("--describe", "--entity-type", "topics"),
            ("--alter", "--user", "u", "--add-config", "producer_byte_rate=1000"),
            ("--describe", "--entity-type", "ips"),
        ):
            assert both.theirs("configs", *controller, *arguments).code == 1
            refused = both.ours("configs", *controller, *arguments)
            assert refused.code == 2
            assert "bootstrap-server" in refused.err


@pytest.mark.java
@pytest.mark.ci
def test_a_controller_becomes_a_voter_and_is_removed(tmp_path: Path, both: BothTools) -> None:
    configs = {"controller.quorum.auto.join.enable": "false"}
    with RealKafka(tmp_path / "first", configs, version=TABLE_VERSION) as kafka:
        first = f"127.0.0.1:{kafka.controller_port}"
        with AddedController(tmp_path / "second", 2, first, TABLE_VERSION) as second:
            quorum, server = "metadata-quorum", ("--bootstrap-server", kafka.bootstrap_servers)
            add = (*server, "--command-config", str(second.configuration), "add-controller")
            output = both.same(quorum, *add, "--dry-run")
            directory_id = re.findall(r"directory id (\S+)", output)[0]
            remove = ("--controller-id", "2", "--controller-directory-id", directory_id)

            def voters() -> str:
                status = both.ours(quorum, *server, "describe", "--status").out
                return status.partition("CurrentVoters:")[2].partition("CurrentObservers:")[0]

            # The leader accepts a voter only if it has caught up.
            eventually("the controller is added", lambda: both.ours(quorum, *add).code == 0)
            assert directory_id in voters()
            both.same(quorum, *add)  # it is already a voter
            both.same(quorum, *server, "remove-controller", *remove, "--dry-run")
            both.same(quorum, *server, "remove-controller", *remove, "--dry-run", "--unregister")
            assert both.ours(quorum, "-C", first, "remove-controller", *remove).out == (
                f"Removed KRaft controller 2 with directory id {directory_id}\n"
            )
            assert directory_id not in voters()
            both.same(quorum, *server, "remove-controller", *remove)
            both.same(quorum, *server, "remove-controller", "--controller-id", "2", "--controller-directory-id", "AA")
            both.same(quorum, *server, "remove-controller", "--controller-id", "-2", *remove[2:])
            both.same(quorum, *server, "remove-controller", *remove, "--unregister")
            no_voter = both.ours(quorum, *server, "remove-controller", *remove, "--unregister")
            assert "Failed to remove KRaft voter 2: " in no_voter.err
            assert "run `odradek cluster unregister-controller --id 2`" in no_voter.err
            # The controller runs and would register itself again.
            second.stop()
            assert both.ours("cluster", "unregister-controller", "-C", first, "--id", "2").out == (
                "Controller 2 is no longer registered.\n"
            )
            both.same("cluster", "unregister-controller", *server, "--id", "2")
            second.start()

            def is_back() -> bool:
                return both.ours(quorum, *add).code == 0

            eventually("the controller is added again", is_back)
            assert both.ours(quorum, "-C", first, "remove-controller", *remove, "--unregister").out == (
                f"Removed KRaft controller 2 with directory id {directory_id}\nUnregistered KRaft controller 2\n"
            )


@pytest.mark.java
def test_files_that_do_not_name_a_controller(bootstrap: str, tmp_path: Path, both: BothTools) -> None:
    """Each file lacks one more property, which both tools report."""
    file = tmp_path / "controller.properties"
    logs = tmp_path / "logs"
    logs.mkdir()
    for line, named in (
        ("process.roles=controller", "node.id not found"),
        ("node.id=-1", "was negative"),
        ("node.id=4", "Neither metadata.log.dir"),
        (f"log.dirs={logs}", "Unable to read meta.properties"),
    ):
        with file.open("a") as out:
            out.write(f"{line}\n")
        arguments = ("--bootstrap-server", bootstrap, "--command-config", str(file), "add-controller", "--dry-run")
        both.same("metadata-quorum", *arguments)
        assert named in both.ours("metadata-quorum", *arguments).err
    (logs / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id=4\ndirectory.id={'A' * 21}E\n")
    for line, named in (
        ("listeners=CONTROLLER://:9093", "controller.listener.names was not found"),
        ("controller.listener.names=OTHER", "Cannot find information"),
    ):
        with file.open("a") as out:
            out.write(f"{line}\n")
        both.same("metadata-quorum", *arguments)
        assert named in both.ours("metadata-quorum", *arguments).err
    with file.open("a") as out:
        out.write("controller.listener.names=CONTROLLER,IPV6\nadvertised.listeners=IPV6://[::1]:9094\n")
    assert "CONTROLLER://localhost:9093, IPV6://[::1]:9094" in both.same("metadata-quorum", *arguments)


@pytest.mark.parametrize(
    ("command", "arguments", "named"),
    [
        ("leader-election", ("--election-type", "preferred"), "One and only one"),
        ("leader-election", ("--election-type", "unclean", "--topic", "t"), "partition"),
        ("leader-election", ("--election-type", "unclean", "--partition", "1"), "One and only one"),
        ("delete-records", (), "--offset-json-file"),
        ("cluster", ("unregister",), "--id"),
        ("cluster", ("unregister-controller",), "--id"),
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
