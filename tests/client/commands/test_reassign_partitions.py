"""``odradek reassign-partitions`` prints what Kafka's own tool prints, for the same arguments and the same server."""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from odradek.__main__ import COMMANDS
from odradek.client.admin import Admin, NewTopic
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers
from support.kafka.tools import KafkaTools, ToolOutput

TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as tools:
        yield tools


@pytest.fixture
async def topic(bootstrap: str, name: str) -> str:
    """A topic of two partitions."""
    async with Admin(bootstrap) as admin:
        await admin.create_topics([NewTopic(name, 2, 1)])
    return name


@pytest.fixture
async def broker(bootstrap: str) -> int:
    """The id of the only broker."""
    async with Admin(bootstrap) as admin:
        return (await admin.describe_cluster()).brokers[0].node_id


def ours(capfd: pytest.CaptureFixture[str], *arguments: str) -> ToolOutput:
    """Our exit code and output."""
    module, _, function = COMMANDS["reassign-partitions"][0].partition(":")
    capfd.readouterr()
    code = getattr(import_module(module), function)(list(arguments))
    return ToolOutput(code, *capfd.readouterr())


@pytest.mark.java
def test_the_same_output(
    bootstrap: str, topic: str, broker: int, tmp_path: Path, tools: KafkaTools, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    server = ("--bootstrap-server", bootstrap)
    with_file = (*server, "--reassignment-json-file", str(file))

    def same(*arguments: str) -> str:
        theirs = ToolOutput(**tools.order({"tool": TOOL, "arguments": list(arguments)}))
        output = ours(capfd, *arguments)
        # Kafka's tool prints errors to standard output: the sentence, then a trace. Ours go to standard error.
        sentence = output.err.removeprefix("odradek reassign-partitions: ").strip()
        assert theirs.code == output.code, (theirs, output)
        assert theirs.out.startswith(output.out), (theirs.out, output.out)
        assert theirs.out == output.out or sentence in theirs.out
        return theirs.out

    def plan(replicas: list[int], **more: object) -> None:
        partitions = [{"topic": topic, "partition": number, "replicas": replicas, **more} for number in (0, 1)]
        file.write_text(json.dumps({"version": 1, "partitions": partitions}))

    assert same(*server, "--list") == "No partition reassignments found.\n"
    plan([broker])
    assert "Save this to use as" in same(*with_file, "--execute")
    assert "throttle limit was set to 1000 B/s" in same(*with_file, "--execute", "--throttle", "1000")
    same(*with_file, "--execute", "--replica-alter-log-dirs-throttle", "1000")
    assert "is completed.\n" in same(*with_file, "--verify", "--preserve-throttles")
    assert "Clearing topic-level throttles on topic " in same(*with_file, "--verify")
    assert "None of the specified" in same(*with_file, "--cancel")
    plan([broker + 1])
    assert "Unknown broker id" in same(*with_file, "--execute")
    assert "rather than" in same(*with_file, "--verify", "--preserve-throttles")
    plan([broker, broker])
    assert "multiple entries" in same(*with_file, "--execute")
    plan([])
    assert "cannot be empty" in same(*with_file, "--execute")
    plan([broker], log_dirs=["/nowhere"])
    assert "is not being moved" in same(*with_file, "--verify", "--preserve-throttles")
    same(*with_file, "--cancel", "--preserve-throttles")
    file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 7, "replicas": [broker]}]}))
    assert "Unable to find partition" in same(*with_file, "--execute")
    file.write_text(json.dumps({"partitions": [{"topic": f"{topic}-no", "partition": 0, "replicas": [broker]}]}))
    assert "not found" in same(*with_file, "--execute")
    same(*with_file, "--verify", "--preserve-throttles")


@pytest.mark.java
@pytest.mark.ci
def test_partitions_move_between_brokers_and_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with (
        RealControllers(tmp_path / "controllers") as controllers,
        controllers.kafka_broker(tmp_path / "b1", 1) as kafka,
        controllers.kafka_broker(tmp_path / "b2", 2),
    ):
        server = ("--bootstrap-server", kafka.bootstrap_servers)
        asyncio.run(create_topic(kafka.bootstrap_servers))
        file = tmp_path / "plan.json"
        with_file = (*server, "--reassignment-json-file", str(file))
        for replicas in ([2], [1, 2], [1]):
            file.write_text(json.dumps({"partitions": [{"topic": "t", "partition": 0, "replicas": replicas}]}))
            started = ours(capfd, *with_file, "--execute", "--throttle", "1000000")
            assert (started.code, started.err) == (0, "")
            eventually("the move ends", lambda: "t-0 is completed." in ours(capfd, *with_file, "--verify").out)
            eventually("both brokers know", partial(has_replicas, kafka.bootstrap_servers, replicas))
        assert ours(capfd, *server, "--list").out == "No partition reassignments found.\n"


async def create_topic(bootstrap: str) -> None:
    """The topic ``t`` of one partition with one replica."""
    async with Admin(bootstrap) as admin:
        await admin.create_topics([NewTopic("t", 1, 1)])


def has_replicas(bootstrap: str, wanted: list[int]) -> bool:
    """Whether ``t-0`` has these replicas, in this order."""

    async def replicas() -> list[int]:
        async with Admin(bootstrap) as admin:
            return list((await admin.describe_topics(["t"]))["t"].partitions[0].replicas)

    return asyncio.run(replicas()) == wanted


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "exactly one action"),
        (("--list", "--verify"), "exactly one action"),
        (("--verify",), "reassignment-json-file"),
        (("--list", "--additional"), "can't be used with list"),
        (("--verify", "--throttle", "5"), "can't be used with verify"),
    ],
)
def test_wrong_usage(capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], named: str) -> None:
    output = ours(capfd, *arguments)
    assert output.code == 2
    assert named in output.err
