"""``odradek streams-application-reset`` does and prints the same as Kafka's tool, for the same cluster."""

import asyncio
import re
from pathlib import Path

import pytest

from odradek.client.admin import Admin, NewTopic
from odradek.client.consumer import Consumer
from odradek.client.producer import Producer
from odradek.client.types import OffsetAndMetadata, TopicPartition
from support.kafka.tools import KafkaTools

from ..command_shell import Shell

COMMAND = "streams-application-reset"
TIME_MS = 1_700_000_000_000
INTERNAL = ("counts-changelog", "keys-repartition", "1-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000007-topic")


class Application:
    """An application with an input topic of two partitions, internal topics and committed offsets."""

    def __init__(self, shell: Shell, name: str) -> None:
        self.shell, self.name, self.input = shell, name, f"{name}-in"

    async def create(self) -> None:
        async with Admin(self.shell.bootstrap) as admin:
            kept = {"retention.ms": "-1"}
            names = [f"{self.name}-{suffix}" for suffix in (*INTERNAL, "results")]
            await admin.create_topics(
                [NewTopic(self.input, 2, 1, configs=kept), *(NewTopic(one, 1, 1) for one in names)]
            )
        async with Producer(self.shell.bootstrap) as producer:
            for number in range(10):
                await producer.send_and_wait(self.input, b"x", partition=0, timestamp_ms=TIME_MS + number * 1000)
        await self.commit(6)

    async def commit(self, offset: int) -> None:
        partition = TopicPartition(self.input, 0)
        async with Consumer(bootstrap_servers=self.shell.bootstrap, group_id=self.name) as consumer:
            consumer.assign([partition])
            await consumer.commit({partition: OffsetAndMetadata(offset)})

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return self.shell.run(COMMAND, "--application-id", self.name, *arguments)

    def committed(self) -> dict[int, int | None]:
        """The committed offset of each partition of the input topic."""
        [described] = self.shell.json("groups", "--describe", "--group", self.name, "--offsets")
        rows = described["partitions"]
        return {row["partition"]: row["currentOffset"] for row in rows if row["topic"] == self.input}

    def topics(self) -> set[str]:
        """The topics of the application, without its name."""
        names = self.shell.out("topics", "--list").splitlines()
        return {one.removeprefix(f"{self.name}-") for one in names if one.startswith(f"{self.name}-")}


@pytest.fixture
async def application(shell: Shell, name: str) -> Application:
    made = Application(shell, name)
    await made.create()
    return made


def test_input_is_read_again_and_internal_topics_are_deleted(application: Application) -> None:
    code, dry, _ = application.run("--input-topics", application.input, "--dry-run")
    assert (code, application.committed()[0]) == (0, 6)
    assert application.topics() == {*INTERNAL, "results", "in"}
    code, out, err = application.run("--input-topics", application.input)
    assert code == 0, err
    head, *rest = dry.splitlines()
    assert head == "----Dry run displays the actions which will be performed when running Streams Reset Tool----"
    assert out.splitlines() == rest
    assert f"Topic: {application.input} Partition: 0 Offset: 0" in rest
    assert application.committed() == {0: 0, 1: 0}
    application.shell.until(lambda: application.topics() == {"results", "in"})


@pytest.mark.parametrize(
    ("target", "offset"),
    [
        (["--to-latest"], 10),
        (["--to-offset", "4"], 4),
        (["--to-offset", "400"], 10),
        (["--shift-by", "-2"], 4),
        (["--to-datetime", "2023-11-14T22:13:25.000"], 5),
        (["--by-duration", "P1D"], 10),
        (["--from-file"], 3),
    ],
)
def test_each_target(application: Application, target: list[str], offset: int, tmp_path: Path) -> None:
    if target == ["--from-file"]:
        plan = tmp_path / "plan"
        plan.write_text(f"{application.input},0,3\n{application.input},1,0\n")
        target = [*target, str(plan)]
    code, out, err = application.run("--input-topics", application.input, *target)
    assert code == 0, err
    assert f"Topic: {application.input} Partition: 0 Offset: {offset}" in out.splitlines()
    assert application.committed()[0] == offset


async def test_members_stop_a_reset_unless_they_are_removed(application: Application) -> None:
    async with Consumer(bootstrap_servers=application.shell.bootstrap, group_id=application.name) as consumer:
        consumer.subscribe([application.input])
        while not consumer.assignment():
            await consumer.poll(100)
        code, _, err = await asyncio.to_thread(application.run, "--input-topics", application.input)
        assert (code, "is still active and has following members" in err) == (1, True)
        code, out, err = await asyncio.to_thread(application.run, "--input-topics", application.input, "--force")
        assert code == 0, err
        assert out.startswith(f"Force deleting all active members in the group: {application.name}")


def test_what_is_refused(application: Application, tmp_path: Path) -> None:
    code, _, err = application.run("--internal-topics", f"{application.name}-results")
    assert (code, "Ensure that the topics specified are all internal topics" in err) == (1, True)
    assert application.run("--to-latest", "--to-offset", "1")[0] == 2
    plan = tmp_path / "plan"
    plan.write_text(f"{application.input},0,3\n")
    code, _, err = application.run("--input-topics", application.input, "--from-file", str(plan))
    assert (code, f"{application.input}-1 is missing in the file" in err) == (1, True)
    assert application.committed()[0] == 6
    assert application.topics() == {*INTERNAL, "results", "in"}, "nothing was deleted"


def words(text: str) -> list[list[str]]:
    """The sorted words of each line: Kafka's tool lists topics in the order of its hash table."""
    return sorted(sorted(re.split(r"[\s,\[\]]+", line)) for line in text.splitlines())


@pytest.mark.ci
@pytest.mark.java
def test_kafkas_tool_prints_the_same(
    odradek: str, tools: KafkaTools, name: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    application = Application(Shell(odradek, capfdbinary, tmp_path), name)
    asyncio.run(application.create())
    of_input = ["--input-topics", application.input]
    for arguments in (
        [],
        of_input,
        [*of_input, "--to-offset", "0"],
        [*of_input, "--to-offset", "11", "--intermediate-topics", f"{name}-results"],
        [*of_input, "--shift-by", "-100"],
        [*of_input, "--to-datetime", "2023-11-14T22:13:25.000"],
        [*of_input, "--internal-topics", f"{name}-{INTERNAL[0]}"],
        ["--input-topics", "not-there", "--intermediate-topics", "nor-this"],
    ):
        ours = application.run(*arguments, "--dry-run")
        theirs = tools.run(
            "org.apache.kafka.tools.StreamsResetter", odradek, "--application-id", name, *arguments, "--dry-run"
        )
        assert (ours[0], words(ours[1])) == (theirs.code, words(theirs.out)), (arguments, ours, theirs)
