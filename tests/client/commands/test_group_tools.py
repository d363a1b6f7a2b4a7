"""``odradek groups`` prints the same rows as Kafka's own tools for one broker, and both read each other's CSV."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest

from odradek.client.admin import Admin, NewTopic
from odradek.client.cluster.connection import BrokerConnection
from odradek.client.commands.groups.command import groups
from odradek.client.producer import Producer
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from support.kafka.tools import ALL_GROUPS, GROUPS, KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.ci]

FIRST_TIME_MS = 1_700_000_000_000
"""2023-11-14T22:13:20 UTC; record n of a partition is n seconds later."""
DATETIME_OF_RECORD_3 = "2023-11-14T22:13:23.000"
DEADLINE_S = 120.0
NOISE = ("Warn: ", "Error: ", "WARN")


def rows(text: str) -> list[list[str]]:
    """The words of each line, sorted: Kafka lists groups and partitions in no order."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith(NOISE))
    return sorted(line.split() for line in lines)


class Both:
    """Runs Kafka's tool and ours with the same arguments and one broker."""

    def __init__(self, tools: KafkaTools, bootstrap: str, capture: pytest.CaptureFixture[str]) -> None:
        self._tools = tools
        self._bootstrap = bootstrap
        self._capture = capture

    def kafkas(self, *arguments: str, tool: str = GROUPS) -> str:
        """The standard output of Kafka's tool."""
        return self._tools.run(tool, self._bootstrap, *arguments).out

    def ours(self, *arguments: str, code: int = 0) -> str:
        """The standard output of our command."""
        self._capture.readouterr()
        ended = groups(["--bootstrap-server", self._bootstrap, *arguments])
        out, err = self._capture.readouterr()
        assert ended == code, err
        return out

    def same(self, *arguments: str, tool: str = GROUPS, least: int = 2) -> list[list[str]]:
        """The rows. Asserts that both outputs are equal, and have at least ``least`` rows."""
        kafkas = rows(self.kafkas(*arguments, tool=tool))
        assert len(kafkas) >= least, f"Kafka's tool printed {kafkas}"
        assert rows(self.ours(*arguments)) == kafkas, arguments
        return kafkas

    def same_list(self, of: str, *arguments: str, tool: str = GROUPS, least: int = 1) -> list[list[str]]:
        """The rows of groups whose ids end like this. Groups of other tests may change at the same time."""
        kafkas = [row for row in rows(self.kafkas("--list", *arguments, tool=tool)) if row[0].endswith(of)]
        assert len(kafkas) >= least, f"Kafka's tool printed {kafkas}"
        assert [row for row in rows(self.ours("--list", *arguments)) if row[0].endswith(of)] == kafkas, arguments
        return kafkas


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as running:
        yield running


@pytest.fixture
def both(tools: KafkaTools, bootstrap: str, capfd: pytest.CaptureFixture[str]) -> Both:
    return Both(tools, bootstrap, capfd)


class World:
    """A topic of three partitions with records, and groups that have committed offsets there."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.bootstrap = bootstrap
        self.topic = name

    async def commit(self, group: str, *offsets: int) -> str:
        """Commits these offsets for partitions 0, 1 … in a group without members; returns its id."""
        wanted = {
            TopicPartition(self.topic, number): OffsetAndMetadata(offset, "", 0)
            for number, offset in enumerate(offsets)
        }
        async with Admin(self.bootstrap) as admin:
            await admin.alter_group_offsets(group, wanted)
        return group


@pytest.fixture
async def world(bootstrap: str, name: str) -> World:
    async with Admin(bootstrap) as admin:
        # The records are old: retention would delete them half a minute after the start.
        kept = {"retention.ms": "-1"}
        await admin.create_topics([NewTopic(name, 3, 1, configs=kept)])
    async with Producer(bootstrap) as producer:
        for partition, count in enumerate((9, 6, 5)):
            for n in range(count):
                await producer.send_and_wait(name, b"v", partition=partition, timestamp_ms=FIRST_TIME_MS + n * 1000)
    async with Admin(bootstrap) as admin:
        await admin.delete_records({TopicPartition(name, 1): 2})
    return World(bootstrap, name)


@pytest.fixture
async def live_group(world: World, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A group with two members that have their partitions. The parameter is its protocol; mixed: one member of each."""
    kind = request.param
    group = f"{kind}-{world.topic}"
    protocols = ["classic", "consumer"] if kind == "mixed" else [kind, kind]
    members = [
        confluent_kafka.Consumer(
            {
                "bootstrap.servers": world.bootstrap,
                "group.id": group,
                "client.id": f"client-{number}",
                "group.instance.id": f"instance-{number}",
                "group.protocol": protocol,
                **({"partition.assignment.strategy": "range"} if protocol == "classic" else {}),
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        for number, protocol in enumerate(protocols)
    ]
    try:
        # One after another: a real Kafka fails, and librdkafka's member with it, when the first member of the new
        # protocol meets a classic group without a generation (ConsumerGroup.fromClassicGroup asks for its protocol).
        for joined in range(1, len(members) + 1):
            members[joined - 1].subscribe([world.topic])
            await _until_stable(world, group, members[:joined])
        positions = [confluent_kafka.TopicPartition(p.topic, p.partition, 3) for p in members[0].assignment()]
        await asyncio.to_thread(members[0].commit, offsets=positions, asynchronous=False)
        yield group
    finally:
        for member in members:
            await asyncio.to_thread(member.close)


async def _until_stable(world: World, group: str, members: list[confluent_kafka.Consumer]) -> None:
    """Polls the members until together they own all partitions."""
    async with Admin(world.bootstrap) as admin:
        deadline = time.monotonic() + DEADLINE_S
        while True:
            for member in members:
                message = await asyncio.to_thread(member.poll, 0.1)
                error = None if message is None else message.error()
                assert error is None or error.code() != confluent_kafka.KafkaError._FATAL, error
            if all(member.assignment() for member in members):
                described = (await admin.describe_groups([group]))[group]
                if described.state == "Stable" and sum(len(m.assignment) for m in described.members) == 3:
                    return
            assert time.monotonic() < deadline, [member.assignment() for member in members]


@pytest.mark.parametrize("live_group", ["classic", "consumer", "mixed"], indirect=True)
async def test_a_live_group(both: Both, world: World, live_group: str) -> None:
    await asyncio.to_thread(_compare_live_group, both, world, live_group)


def _compare_live_group(both: Both, world: World, group: str) -> None:
    offsets = both.same("--describe", "--group", group)
    assert sorted(row[3] for row in offsets if row[0] == group).count("-") in (1, 2), "one member has committed"
    both.same("--describe", "--group", group, "--offsets", "--verbose")
    both.same("--describe", "--group", group, "--members")
    verbose = both.same("--describe", "--group", group, "--members", "--verbose")
    assert any("TARGET-ASSIGNMENT" in row for row in verbose)
    assert any(f"{world.topic}:" in row[-1] for row in verbose) == group.startswith("consumer")
    assert any(row[-1] == "UPGRADED" for row in verbose) == group.startswith("mixed")
    both.same("--describe", "--group", group, "--state")
    both.same("--describe", "--group", group, "--state", "--verbose")
    listed = both.same_list(world.topic, "--state", "stable", "--type")
    kind = "classic" if group.startswith("classic") else "consumer"
    assert [row[1].lower() for row in listed if row[0] == group] == [kind]
    assert group not in {row[0] for row in rows(both.ours("--list", "--state", "empty", "--type"))}
    refused = both.ours("--reset-offsets", "--group", group, "--all-topics", "--to-latest", "--execute", code=1)
    assert rows(refused) == rows("GROUP TOPIC PARTITION NEW-OFFSET")


class HandMadeMembers:
    """Members of one group of the consumer protocol, on one connection: each heartbeat is the test's."""

    def __init__(self, connection: BrokerConnection, group: str, topic: str, topic_id: bytes) -> None:
        self._connection = connection
        self._group, self._topic, self._topic_id = group, topic, topic_id

    async def heartbeat(self, member_id: str, epoch: int, owned: list[int] | None) -> ConsumerGroupHeartbeatResponse:
        """Only a joining member (epoch 0) sends all its fields and receives its whole assignment."""
        partitions = ConsumerGroupHeartbeatRequest.TopicPartitions(self._topic_id, owned or [])
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=300_000 if epoch == 0 else -1,
            subscribed_topic_names=[self._topic] if epoch == 0 else None,
            topic_partitions=None if owned is None else [partitions] if owned else [],
        )
        return await self._connection.call(request, ConsumerGroupHeartbeatResponse)

    async def until(
        self,
        member_id: str,
        epoch: int,
        owned: list[int] | None,
        is_there: Callable[[ConsumerGroupHeartbeatResponse], bool],
    ) -> ConsumerGroupHeartbeatResponse:
        """Heartbeats until the answer is the one: assignments are made beside them, one in a second."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            answer = await self.heartbeat(member_id, epoch, owned)
            if not answer.error_code and is_there(answer):
                return answer
            assert epoch == 0 or not answer.error_code, answer.error_message
            assert time.monotonic() < deadline, f"{member_id} at {epoch} was answered {answer}"
            epoch = epoch and answer.member_epoch


def owns(count: int) -> Callable[[ConsumerGroupHeartbeatResponse], bool]:
    return lambda answer: (
        answer.assignment is not None
        and sum(len(topic.partitions) for topic in answer.assignment.topic_partitions) == count
    )


async def test_a_group_that_a_member_holds_up(both: Both, world: World, capfd: pytest.CaptureFixture[str]) -> None:
    """m1 owns all partitions and sends no more heartbeats when m2 joins, so it has not given up any."""
    group = f"stuck-{world.topic}"
    async with Admin(world.bootstrap) as admin:
        topic_id = (await admin.describe_topics([world.topic]))[world.topic].topic_id
        await admin.list_group_offsets(group)  # Kafka creates __consumer_offsets at the first FindCoordinator
    host, _, port = world.bootstrap.rpartition(":")
    connection = await BrokerConnection.open(host, int(port), client_id="by-hand")
    until = HandMadeMembers(connection, group, world.topic, topic_id).until
    joined = await until("m1", 0, [], lambda answer: answer.member_epoch > 0)
    if not owns(3)(joined):
        joined = await until("m1", joined.member_epoch, None, owns(3))
    await until("m1", joined.member_epoch, [0, 1, 2], lambda answer: True)
    other = await until("m2", 0, [], lambda answer: answer.member_epoch > 0)
    await until("m2", other.member_epoch, None, lambda answer: answer.member_epoch > joined.member_epoch)
    told = await until("m1", joined.member_epoch, None, lambda answer: answer.assignment is not None)
    assert not owns(3)(told), "it is to give some up"

    def compare() -> None:
        assert "Reconciling" in both.same("--describe", "--group", group, "--state", "--verbose")[1]
        both.same("--describe", "--group", group, "--members", "--verbose")
        both.same("--describe", "--group", group)
        capfd.readouterr()
        assert groups(["--bootstrap-server", world.bootstrap, "--describe", "--group", group, "--state"]) == 0
        err = capfd.readouterr().err
        assert f"Warning: Consumer group '{group}' is rebalancing." in err
        assert f"Waits for m1 (by-hand at 127.0.0.1): at epoch {joined.member_epoch}, has not confirmed epoch" in err
        assert f"m2 (by-hand at 127.0.0.1) waits for {world.topic}-" in err

    await asyncio.to_thread(compare)
    connection.close()


async def test_groups_without_members(both: Both, world: World) -> None:
    one = await world.commit(f"one-{world.topic}", 2, 6)
    two = await world.commit(f"two-{world.topic}", 0, 4, 5)

    def compare() -> None:
        both.same_list(world.topic, least=2)
        both.same_list(world.topic, "--state", "--type", least=2)
        both.same_list(world.topic, "--type", "classic,Consumer", least=2)
        for flags, least in ((["--consumer"], 2), (["--group-type", "classic"], 2), (["--share"], 0)):
            both.same_list(world.topic, *flags, tool=ALL_GROUPS, least=least)
        both.same_list(world.topic, "--protocol", "consumer", tool=ALL_GROUPS, least=0)
        everything = [row for row in rows(both.ours("--list", "--all-types")) if row[0].endswith(world.topic)]
        assert everything == [
            row for row in rows(both.kafkas("--list", tool=ALL_GROUPS)) if row[0].endswith(world.topic)
        ]
        both.same("--describe", "--group", one)
        both.same("--describe", "--group", one, "--group", two, "--verbose")
        both.same("--describe", "--group", one, "--members", least=1)
        both.same("--describe", "--group", one, "--state", "--verbose")

    await asyncio.to_thread(compare)


async def test_resetting_offsets_in_all_forms(both: Both, world: World, tmp_path: Path) -> None:
    group = await world.commit(f"reset-{world.topic}", 2, 6)
    other = await world.commit(f"other-{world.topic}", 1, 3, 4)
    forms = [
        ["--to-earliest"],
        ["--to-latest"],
        ["--to-current"],
        ["--to-offset", "3"],
        ["--to-offset", "1"],  # before the log start of partition 1
        ["--to-offset", "-7"],
        ["--to-datetime", DATETIME_OF_RECORD_3],
        ["--to-datetime", DATETIME_OF_RECORD_3 + "+00:00"],
        ["--to-datetime", "2023-11-15T00:13:23.000+02:00"],
        ["--by-duration", "PT1H"],  # no record is that late: the log end
        ["--by-duration", "P9999D"],
    ]

    def compare() -> None:
        for form in forms:
            both.same("--reset-offsets", "--group", group, "--topic", world.topic, *form, "--dry-run", least=4)
        both.same("--reset-offsets", "--group", group, "--topic", f"{world.topic}:0,2", "--to-latest", "--dry-run")
        for shift in ("-1", "2", "-100", "100"):
            both.same("--reset-offsets", "--group", group, "--all-topics", "--shift-by", shift, "--dry-run", least=3)
        both.same("--reset-offsets", "--group", f"new-{group}", "--topic", world.topic, "--to-earliest", "--dry-run")
        for wanted in (["--group", group], ["--group", group, "--group", other]):
            _compare_csv(both, wanted, tmp_path)
        executed = ["--reset-offsets", "--group", group, "--topic", world.topic, "--to-offset", "4", "--execute"]
        both.ours(*executed)
        current = both.same("--reset-offsets", "--group", group, "--all-topics", "--to-current", "--dry-run")
        assert [row[3] for row in current if row[0] == group] == ["4", "4", "4"]
        assert rows(both.ours(*executed)) == rows(both.kafkas(*executed))
        both.ours("--reset-offsets", "--group", group, "--topic", world.topic, "--shift-by", "1", "--dry-run")
        both.ours(
            "--reset-offsets", "--group", group, "--topic", f"{world.topic}:9", "--to-latest", "--dry-run", code=1
        )

    await asyncio.to_thread(compare)


def _compare_csv(both: Both, wanted: list[str], directory: Path) -> None:
    """Asserts that both export the same, and that each imports the other's export."""
    export = ["--reset-offsets", *wanted, "--all-topics", "--shift-by", "1", "--export", "--dry-run"]
    kafkas, ours = both.kafkas(*export), both.ours(*export)
    assert sorted(kafkas.split()) == sorted(ours.split())
    assert ours.count("\n") >= 2
    (directory / "kafkas.csv").write_text(kafkas)
    (directory / "ours.csv").write_text(ours)
    plain = rows(both.ours(*[part for part in export if part != "--export"]))
    assert (
        rows(both.ours("--reset-offsets", *wanted, "--from-file", str(directory / "kafkas.csv"), "--dry-run")) == plain
    )
    kafka_read = both.kafkas("--reset-offsets", *wanted, "--from-file", str(directory / "ours.csv"), "--dry-run")
    assert [row for row in rows(kafka_read) if row[0] in (*wanted, "GROUP")] == plain


async def test_deleting(both: Both, world: World) -> None:
    names = [await world.commit(f"{who}-{world.topic}", 1, 2, 3) for who in ("kafkas", "ours")]

    def compare() -> None:
        for topics in ([f"{world.topic}:0", f"{world.topic}:2"], [world.topic]):
            wanted = [part for topic in topics for part in ("--topic", topic)]
            kafkas = both.kafkas("--delete-offsets", "--group", names[0], *wanted)
            ours = both.ours("--delete-offsets", "--group", names[1], *wanted)
            assert rows(ours) == rows(kafkas.replace(names[0], names[1]))
        missing = both.kafkas("--delete-offsets", "--group", names[0], "--topic", "nobody-made-it")
        ours = both.ours("--delete-offsets", "--group", names[1], "--topic", "nobody-made-it", code=1)
        # Kafka's status begins with the class of a Java exception.
        assert _statuses(missing) == _statuses(ours) == [("nobody-made-it", "-", "Error:", "topic-partition.")]

    await asyncio.to_thread(compare)
    for group in names:
        await world.commit(group, 1)
    await asyncio.to_thread(_compare_deletion, both, names)


def _statuses(text: str) -> list[tuple[str, ...]]:
    return [(*row[:3], row[-1]) for row in rows(text) if row[0] == "nobody-made-it"]


def _compare_deletion(both: Both, names: list[str]) -> None:
    kafkas = both.kafkas("--delete", "--group", names[0])
    assert both.ours("--delete", "--group", names[1]).strip() == kafkas.strip().replace(names[0], names[1])
    assert both.ours("--delete", "--group", names[1], code=1) == ""
    assert "could not be deleted" in both.kafkas("--delete", "--group", names[0])
