"""``odradek transactions`` prints the rows of Kafka's own tool, finds a hanging transaction and aborts it (KIP-664)."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

from odradek.client.admin import Admin
from odradek.client.cluster.connection import BrokerConnection
from odradek.client.commands.groups.command import groups
from odradek.client.commands.transactions.command import transactions
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka
from support.kafka.tools import TRANSACTIONS, KafkaTools

from ..client_groups import create_topic

SETTINGS = {
    # Since Kafka 3.6 a broker refuses requests that make a transaction hang. This is the behaviour of older ones.
    "transaction.partition.verification.enable": "false",
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "1",
}
BEFORE_VERIFICATION = 11
NOT_THERE_YET = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
HOURS_AGO_MS = 3 * 60 * 60 * 1000
PRODUCER_ID = 987_654
PRODUCER_EPOCH = 3
CHANGING = {"TransactionDurationMs", "Duration(min)"}


@pytest.fixture(scope="module", params=["odradek", pytest.param("kafka", marks=[pytest.mark.java, pytest.mark.ci])])
def bootstrap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``host:port`` of a broker that lets transactions hang."""
    directory = tmp_path_factory.mktemp(request.param)
    broker = OurBroker(directory, SETTINGS) if request.param == "odradek" else RealKafka(directory, SETTINGS)
    with broker:
        yield broker.bootstrap_servers


class Shell:
    """Runs our command as a user does."""

    def __init__(self, bootstrap: str, capture: pytest.CaptureFixture[str]) -> None:
        self.bootstrap = bootstrap
        self._capture = capture

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Runs the command; returns exit code, standard output and standard error."""
        self._capture.readouterr()
        code = transactions(["--bootstrap-server", self.bootstrap, *arguments])
        return code, *self._capture.readouterr()

    async def out(self, *arguments: str) -> str:
        """Standard output of a command that must succeed."""
        code, out, err = await asyncio.to_thread(self.run, *arguments)
        assert code == 0, err
        return out

    async def json(self, *arguments: str) -> Any:
        """Its output, parsed as JSON."""
        return json.loads(await self.out(*arguments, "--json"))

    async def error(self, *arguments: str, code: int = 1) -> str:
        """Standard error of a command that must fail."""
        ended, _, err = await asyncio.to_thread(self.run, *arguments)
        assert ended == code
        return err

    async def lag_seconds(self, group: str, isolation_level: str) -> list[float | None]:
        """The lags in seconds of a group's partitions, rounded to hours."""
        self._capture.readouterr()
        flags = ["--describe", "--group", group, "--lag-seconds", "--isolation-level", isolation_level, "--json"]
        code = await asyncio.to_thread(groups, ["--bootstrap-server", self.bootstrap, *flags])
        assert code == 0
        partitions = json.loads(self._capture.readouterr().out)[0]["partitions"]
        return [None if p["lagSeconds"] is None else p["lagSeconds"] // 3600 for p in partitions]


@pytest.fixture
def shell(bootstrap: str, capfd: pytest.CaptureFixture[str]) -> Shell:
    return Shell(bootstrap, capfd)


@pytest.fixture
async def topic(bootstrap: str, name: str) -> str:
    """A topic of two partitions."""
    await create_topic(bootstrap, name, 2)
    return name


async def hang(bootstrap: str, topic: str, *, producer_id: int, records: int = 1) -> int:
    """Writes a transactional batch, three hours old, of a producer that no coordinator knows; returns its offset."""
    written_ms = clock_ms() - HOURS_AGO_MS
    batch = encode_batch(
        [Record(n, written_ms, None, b"hanging", []) for n in range(records)],
        producer_id=producer_id,
        producer_epoch=PRODUCER_EPOCH,
        base_sequence=0,
        is_transactional=True,
    )
    data = [ProduceRequest.TopicProduceData(topic, partition_data=[ProduceRequest.PartitionProduceData(0, batch)])]
    host, _, port = bootstrap.rpartition(":")
    connection = await BrokerConnection.open(host, int(port))
    try:
        request = ProduceRequest("nobody", -1, 10_000, data)
        while True:
            response = await connection.call(request, ProduceResponse, max_version=BEFORE_VERIFICATION)
            answer = response.responses[0].partition_responses[0]
            if answer.error_code not in NOT_THERE_YET:  # Kafka answers CreateTopics before the broker has the partition
                break
    finally:
        connection.close()
    assert not answer.error_code
    return answer.base_offset


def table(text: str) -> list[list[str]]:
    """The sorted cells of a table without the columns that change with time."""
    header, *lines = [[cell.strip() for cell in line.split("\t")[:-1]] for line in text.splitlines()]
    kept = [i for i, name in enumerate(header) if name not in CHANGING]
    return [[header[i] for i in kept], *sorted([line[i] for i in kept] for line in lines)]


async def test_a_hanging_transaction_is_found_and_aborted(shell: Shell, bootstrap: str, topic: str) -> None:
    offset = await hang(bootstrap, topic, producer_id=PRODUCER_ID)
    group = f"g-{topic}"
    async with Admin(bootstrap) as admin:
        await admin.alter_group_offsets(group, {TopicPartition(topic, 0): OffsetAndMetadata(offset)})
    assert await shell.lag_seconds(group, "read_uncommitted") == [3]
    assert await shell.lag_seconds(group, "read_committed") == [0], "such a reader stands at the last stable offset"

    hanging = ("find-hanging", "--topic", topic)
    found = await shell.json(*hanging)
    assert [(one["partition"], one["producerId"], one["currentTransactionStartOffset"]) for one in found] == [
        (0, PRODUCER_ID, offset)
    ]
    assert found[0]["durationMs"] >= HOURS_AGO_MS
    assert await shell.json("find-hanging", "--topic", topic, "--max-transaction-timeout", str(4 * 60)) == []
    assert await shell.json("find-hanging", "--topic", topic, "--partition", "1") == []
    assert "it has no open transaction" in await shell.error(
        "abort", "--topic", topic, "--partition", "1", "--start-offset", "0"
    )
    refused = await shell.error("abort", "--topic", topic, "--partition", "0", "--start-offset", "77")
    assert f"starting at offset 77 on partition {topic}-0: open ones start at {offset}" in refused
    assert await shell.out("abort", "--topic", topic, "--partition", "0", "--start-offset", str(offset)) == ""
    assert await shell.json(*hanging) == []
    assert await shell.lag_seconds(group, "read_committed") == [0], "the aborted record is nothing to read"
    async with Admin(bootstrap) as admin:
        ends = await admin.list_offsets({TopicPartition(topic, 0): -1}, isolation_level="read_committed")
    assert ends[TopicPartition(topic, 0)].offset == offset + 2, "the record and the marker"


async def test_abort_by_producer(shell: Shell, bootstrap: str, topic: str) -> None:
    """As for brokers before Kafka 3.0, which need all three numbers."""
    await hang(bootstrap, topic, producer_id=PRODUCER_ID + 1)
    at = ("abort", "--topic", topic, "--partition", "0")
    assert "--start-offset (for brokers on 3.0 or above)" in await shell.error(*at, code=2)
    producer = ("--producer-id", str(PRODUCER_ID + 1), "--producer-epoch")
    assert "--coordinator-epoch" in await shell.error(*at, *producer, str(PRODUCER_EPOCH), code=2)
    fenced = await shell.error(*at, *producer, str(PRODUCER_EPOCH - 1), "--coordinator-epoch", "0")
    assert "describe-producers' shows what is open now" in fenced
    aborted = await shell.json(*at, *producer, str(PRODUCER_EPOCH), "--coordinator-epoch", "-1")
    assert aborted == {"topic": topic, "partition": 0, "producerId": PRODUCER_ID + 1}
    producers = await shell.json("describe-producers", "--topic", topic, "--partition", "0")
    assert [one["currentTransactionStartOffset"] for one in producers] == [None]


@pytest.fixture
async def open_transaction(bootstrap: str, topic: str) -> str:
    """Opens a transaction on partition 1; returns its transactional id, which is the topic's name."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})

    def begin() -> None:
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(topic, b"v", partition=1)
        producer.flush(60)

    await asyncio.to_thread(begin)
    return topic


async def test_an_open_transaction_is_listed_described_and_ended(shell: Shell, open_transaction: str) -> None:
    name = open_transaction
    listed = await shell.json("list", "--state", "ongoing", "--transactional-id-pattern", f"{name[:-1]}.")
    assert [(one["transactionalId"], one["state"]) for one in listed] == [(name, "Ongoing")]
    assert await shell.json("list", "--state", "Empty,PrepareAbort", "--transactional-id-pattern", name) == []
    by_id = await shell.json("list", "--producer-id", str(listed[0]["producerId"]))
    assert by_id == listed
    assert await shell.json("list", "--duration-filter", str(HOURS_AGO_MS)) == []
    assert "must be one of Empty, Ongoing" in await shell.error("list", "--state", "Open", code=2)
    described = await shell.json("describe", "--transactional-id", name)
    assert (described["state"], described["partitions"]) == ("Ongoing", [{"topic": name, "partition": 1}])
    assert 0 <= described["durationMs"] < HOURS_AGO_MS
    assert await shell.json("find-hanging", "--topic", name, "--max-transaction-timeout", "-1") == [], "it is known"
    await shell.out("forceTerminateTransaction", "--transactionalId", name)
    ended = await shell.json("describe", "--transactional-id", name)
    assert ended["state"] in ("CompleteAbort", "Empty")
    assert ended["producerEpoch"] > described["producerEpoch"]


async def test_what_does_not_exist_is_said_at_once(shell: Shell, bootstrap: str, topic: str) -> None:
    assert "its coordinator does not know it" in await shell.error("describe", "--transactional-id", f"{topic}-none")
    nowhere = ("describe-producers", "--topic", topic, "--partition", "2")
    assert await shell.error(*nowhere) == f"odradek transactions: topic '{topic}' has 2 partitions: 0 to 1\n"
    assert "does not exist" in await shell.error("find-hanging", "--topic", f"{topic}-none")
    assert "broker 99 is not alive" in await shell.error("find-hanging", "--broker-id", "99")
    assert "--broker-id to limit the scope" in await shell.error("find-hanging", code=2)
    assert "requires --topic" in await shell.error("find-hanging", "--broker-id", "1", "--partition", "1", code=2)
    assert "list" in await shell.out("--help")
    pattern = ("list", "--transactional-id-pattern", "(")
    assert "INVALID_REGULAR_EXPRESSION" in await shell.error(*pattern)


@pytest.mark.ci
@pytest.mark.java
async def test_the_same_rows_as_kafkas_tool(
    shell: Shell, bootstrap: str, open_transaction: str, capfd: pytest.CaptureFixture[str]
) -> None:
    name = open_transaction
    offset = await hang(bootstrap, name, producer_id=PRODUCER_ID + 2, records=2)
    cases = [
        ["list"],
        ["list", "--duration-filter", "0", "--transactional-id-pattern", name],
        ["list", "--transactional-id-pattern", "no-such-.*"],
        ["describe", "--transactional-id", name],
        ["describe-producers", "--topic", name, "--partition", "0"],
        ["describe-producers", "--topic", name, "--partition", "1", "--broker-id", "1"],
        ["find-hanging", "--topic", name],
        ["find-hanging", "--broker-id", "1"],
        ["find-hanging", "--topic", name, "--partition", "1"],
    ]
    with KafkaTools() as tools:

        def kafkas(*arguments: str) -> tuple[int, str]:
            answer = tools.run(TRANSACTIONS, bootstrap, *arguments)
            return answer.code, answer.out

        for case in cases:
            code, out = await asyncio.to_thread(kafkas, *case)
            assert code == 0
            assert table(await shell.out(*case)) == table(out), case
        assert len(table(await shell.out("find-hanging", "--topic", name))) == 2
        abort = ["abort", "--topic", name, "--partition", "0", "--start-offset", str(offset)]
        assert (await asyncio.to_thread(kafkas, *abort))[0] == 0
        assert await shell.json("find-hanging", "--topic", name) == []
        assert (await asyncio.to_thread(kafkas, *abort))[0] == 1, "nothing is open there any more"
        assert "it has no open transaction" in await shell.error(*abort)
        terminate = ["forceTerminateTransaction", "--transactionalId", name]
        assert (await asyncio.to_thread(kafkas, *terminate))[0] == 0
