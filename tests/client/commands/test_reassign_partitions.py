"""``odradek reassign-partitions`` prints the same as Kafka's own tool, for the same arguments and server."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random

import pytest

from odradek.__main__ import COMMANDS
from odradek.client.admin import Admin, NewTopic
from odradek.client.commands.reassign.generate import NO_RACK, place, racks_of
from odradek.client.commands.running import CommandError
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
        # Kafka's tool prints errors to standard output: the message, then a stack trace. Ours go to standard error.
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
def test_the_same_assignment_is_generated(
    bootstrap: str, topic: str, broker: int, tmp_path: Path, tools: KafkaTools, capfd: pytest.CaptureFixture[str]
) -> None:
    """With one broker there is only one assignment. Errors have the same messages."""
    file = tmp_path / "topics.json"

    def both(brokers: str, *topics: str, **more: object) -> tuple[str, ToolOutput]:
        file.write_text(json.dumps({"topics": [{"topic": one} for one in topics], "version": 1, **more}))
        arguments = ["--bootstrap-server", bootstrap, "--generate", "--topics-to-move-json-file", str(file)]
        arguments += ["--broker-list", brokers]
        theirs = ToolOutput(**tools.order({"tool": TOOL, "arguments": arguments}))
        output = ours(capfd, *arguments)
        assert output.code == theirs.code, (output, theirs)
        return theirs.out, output

    theirs, output = both(str(broker), topic)
    assert output.out == theirs
    assert json.loads(theirs.splitlines()[4])["partitions"][1]["replicas"] == [broker]
    for arguments in (
        (f"{broker},{broker}", topic),
        (str(broker), topic, topic),
        (str(broker + 1), topic),
        (str(broker), f"{topic}-no"),
        ("one", topic),
    ):
        theirs, output = both(*arguments)
        assert output.err.removeprefix("odradek reassign-partitions: ").strip() in theirs, (theirs, output)
    theirs, output = both(str(broker), topic, version=2)
    assert "Not supported version" in theirs
    assert "Not supported version" in output.err


def test_generated_replicas_are_spread_over_brokers_and_racks() -> None:
    """Every broker leads and follows equally often. No two replicas are in one rack if that is possible."""
    racks = {"a": [1, 2], "b": [3, 4], "c": [5, 6]}
    of = {broker: rack for rack, brokers in racks.items() for broker in brokers}
    for seed in range(50):
        placed = place(racks, 12, 3, Random(seed))
        assert all(len({of[broker] for broker in replicas}) == 3 for replicas in placed)
        assert set(Counter(replicas[0] for replicas in placed).values()) == {2}
        assert set(Counter(broker for replicas in placed for broker in replicas).values()) == {6}
        without = place({NO_RACK: [1, 2, 3]}, 9, 2, Random(seed))
        assert set(Counter(replicas[0] for replicas in without).values()) == {3}
        assert set(Counter(broker for replicas in without for broker in replicas).values()) == {6}
        uneven = place({"a": [1, 2, 3], "b": [4]}, 8, 4, Random(seed))
        assert all(sorted(replicas) == [1, 2, 3, 4] for replicas in uneven)


def test_brokers_without_racks_beside_others_are_refused() -> None:
    assert racks_of({1: "a", 2: None}, rack_aware=False) == {NO_RACK: [1, 2]}
    with pytest.raises(CommandError, match="Not all brokers have rack information"):
        racks_of({1: "a", 2: None}, rack_aware=True)


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
        (("--generate", "--broker-list", "1"), "topics-to-move-json-file"),
        (("--generate", "--throttle", "1"), "can't be used with generate"),
        (("--execute", "--bootstrap-controller", "h:1"), "can't be used with execute"),
        (("--list", "--bootstrap-controller", "h:1", "--bootstrap-server", "h:1"), "both"),
        (("--list", "--additional"), "can't be used with list"),
        (("--verify", "--throttle", "5"), "can't be used with verify"),
    ],
)
def test_wrong_usage(capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], named: str) -> None:
    output = ours(capfd, *arguments)
    assert output.code == 2
    assert named in output.err
