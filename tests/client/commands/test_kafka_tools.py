"""The commands print what Kafka's own tools print for the same broker."""

import json
from importlib import import_module

import pytest

from odradek.__main__ import COMMANDS
from odradek.client.admin import Admin, NewTopic
from odradek.client.commands.output import topic_id_text
from odradek.client.consumer import Consumer
from odradek.client.producer import Producer
from odradek.client.types import OffsetAndMetadata, TopicPartition
from support.kafka.java import run_class

pytestmark = pytest.mark.java

TOOLS = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "org.apache.kafka.tools.ConfigCommand",
    "groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "consume": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}


def kafkas(command: str, bootstrap: str, *arguments: str) -> str:
    """The standard output of Kafka's tool."""
    result = run_class(TOOLS[command], "--bootstrap-server", bootstrap, *arguments)
    return str(result.stdout)


def ours(capfd: pytest.CaptureFixture[str], command: str, bootstrap: str, *arguments: str) -> str:
    """The standard output of our command."""
    module, _, function = COMMANDS[command][0].partition(":")
    capfd.readouterr()
    assert getattr(import_module(module), function)(["--bootstrap-server", bootstrap, *arguments]) == 0
    return capfd.readouterr().out


def rows(text: str) -> list[list[str]]:
    """The words of each line, sorted: our tables and Kafka's may list partitions in another order."""
    return sorted(line.split() for line in text.splitlines() if line.strip())


@pytest.fixture
async def group(bootstrap: str, name: str) -> str:
    """Creates a topic with records, and a group with committed offsets. Both are called ``name``."""
    async with Admin(bootstrap) as admin:
        # Without retention: the records are old, and a broker deletes old ones 30 seconds after its start.
        await admin.create_topics([NewTopic(name, 2, 1, configs={"retention.ms": "-1"})])
    async with Producer(bootstrap) as producer:
        for n in range(6):
            await producer.send_and_wait(
                name, b"v%d" % n, b"k", partition=n % 2, headers=[("h", b"%d" % n)], timestamp_ms=1_700_000_000_000
            )
    partitions = {TopicPartition(name, 0): OffsetAndMetadata(1), TopicPartition(name, 1): OffsetAndMetadata(3)}
    async with Consumer(bootstrap_servers=bootstrap, group_id=name) as consumer:
        consumer.assign(list(partitions))
        await consumer.commit(partitions)
    return name


def test_the_same_output(bootstrap: str, group: str, capfd: pytest.CaptureFixture[str]) -> None:
    def same(command: str, *arguments: str) -> None:
        kafka = kafkas(command, bootstrap, *arguments)
        assert kafka.strip(), "Kafka's tool printed something"
        assert rows(ours(capfd, command, bootstrap, *arguments)) == rows(kafka)

    same("topics", "--describe", "--topic", group)
    same("configs", "--describe", "--entity-type", "topics", "--entity-name", group)
    same("get-offsets", "--topic", group)
    same("get-offsets", "--topic", group, "--time", "1700000000000")
    same("get-offsets", "--topic", group, "--time", "-3")
    same("groups", "--describe", "--group", group)
    same("groups", "--describe", "--group", group, "--state")
    same("groups", "--reset-offsets", "--group", group, "--topic", group, "--to-latest")
    printed = [f"print.{what}=true" for what in ("timestamp", "partition", "offset", "headers", "key", "value")]
    properties = [part for property_ in printed for part in ("--formatter-property", property_)]
    same("consume", "--topic", group, "--from-beginning", "--max-messages", "6", *properties)


def test_the_same_topics_by_id_and_by_their_in_sync_replicas(
    bootstrap: str, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    short = f"{name}-short"
    create = ["topics", bootstrap, "--create", "--partitions", "2", "--topic"]
    [created] = json.loads(ours(capfd, *create, name, "--json"))
    ours(capfd, *create, short, "--config", "min.insync.replicas=2")
    wanted = ["--topic", f"{name},{short}"]
    by_id = ["--topic-id", created["topicId"]]
    for arguments, lines in (
        ([*wanted, "--under-min-isr-partitions"], 2),
        ([*wanted, "--at-min-isr-partitions"], 2),
        ([*by_id, "--topic", short], 3),
        (["--topic-id", topic_id_text(bytes(16)), "--topic", short], 3),
        (["--topic-id", topic_id_text(bytes(range(16))), "--if-exists"], 0),
    ):
        kafka = kafkas("topics", bootstrap, "--describe", *arguments)
        assert rows(ours(capfd, "topics", bootstrap, "--describe", *arguments)) == rows(kafka), arguments
        assert len(rows(kafka)) == lines, arguments
