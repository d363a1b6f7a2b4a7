"""Command lines that are wrong, or that few people type: Kafka's own tools and ours do the same.

The tables are in ``compared/``. Each runs against two fresh brokers; see ``compared_lines``.
"""

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, ShareConsumer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from answers.recording import DIRECTORY
from support.brokers.our_broker import OurBroker
from support.groups.streams_application import SETTINGS as STREAMS_SETTINGS
from support.groups.streams_application import StreamsApplication
from support.kafka.java import TABLE_VERSION
from support.kafka.tools import KafkaTools

from .command_lines import Output, Row, Run, rows_of
from .compared_lines import TOOLS, Recorded, Side, compare_recorded, compare_table, differences, results

TABLES = sorted((Path(__file__).parent / "compared").glob("*.txt"))
RECORDED = Path(__file__).parents[2] / "answers" / "commands"
LEAST_ROWS = 400
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.retention.check.interval.ms": "86400000",
}
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
MORE_SETTINGS = {
    "acls": {**AUTHORIZER, "super.users": "User:ANONYMOUS"},
    "streams-groups": STREAMS_SETTINGS,
    "denied": {**AUTHORIZER, "super.users": "User:admin"},
}
"""Table -> configs of its brokers."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of both programs."""
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def tools(directory: Path) -> Iterator[KafkaTools]:
    """Kafka's tools, in the working directory."""
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(directory)
            tools = running.enter_context(KafkaTools(TABLE_VERSION))
        yield tools


def broker_with_ids_in_order(place: Path, configs: dict[str, str]) -> OurBroker:
    """A broker whose first log directory has the lower id. Ids are random, and of directories that are equally full the
    one with the lowest id gets the next partition.
    """
    while True:
        broker = OurBroker(place, configs)
        broker.start()
        texts = [(Path(path) / "meta.properties").read_text() for path in configs["log.dirs"].split(",")]
        ids = [base64.urlsafe_b64decode(text.partition("directory.id=")[2].split()[0] + "==") for text in texts]
        broker.stop()
        if ids == sorted(ids):
            return broker
        for path in configs["log.dirs"].split(","):
            shutil.rmtree(path)


@pytest.fixture
def brokers(request: pytest.FixtureRequest, table: Path, tmp_path: Path) -> Iterator[list[OurBroker]]:
    """Brokers that are alike, each with two log directories: ours, and before it one that Kafka's tools are run for."""
    with ExitStack() as running:
        made = []
        for name in ("kafkas", "ours") if request.node.get_closest_marker("java") else ("ours",):
            place = tmp_path / name
            place.mkdir()
            dirs = f"{place / 'kraft-combined-logs'},{place / 'kraft-second-logs'}"
            configs = {**SETTINGS, **MORE_SETTINGS.get(table.stem, {}), "log.dirs": dirs}
            made.append(running.enter_context(broker_with_ids_in_order(place, configs)))
        yield made


@pytest.fixture
def members(table: Path, brokers: list[OurBroker]) -> Iterator[None]:
    """In each broker a member of the group live-app, which reads the topic live-events, or of such a share group; or
    streams groups.
    """
    consumers: list[Consumer | ShareConsumer] = []
    for broker in brokers if table.stem == "streams-groups" else ():
        streams_groups(broker.bootstrap_servers)
    for broker in brokers if table.stem in ("groups", "share-groups") else ():
        servers: dict[str, str | int | float | bool] = {"bootstrap.servers": broker.bootstrap_servers}
        admin = AdminClient(servers)
        admin.create_topics([NewTopic("live-events", 1, 1)])["live-events"].result()
        if table.stem == "share-groups":
            consumers.append(share_member(servers, "live-app", "live-events"))
            continue
        consumer = Consumer({**servers, "group.id": "live-app"})
        consumers.append(consumer)
        consumer.subscribe(["live-events"])
        while not consumer.assignment():
            consumer.poll(0.05)
    yield
    for member in consumers:
        member.close()


def streams_groups(bootstrap_servers: str) -> None:
    """The topic lines with five records in each of its two partitions; live-app, which reads it, and has a member that
    has committed nothing; five more such groups without members, which have read three records and one.
    """
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap_servers}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic("lines", 2, 1)])["lines"].result()
    producer = Producer(servers)
    for number in range(10):
        producer.produce("lines", str(number), partition=number % 2)
    producer.flush()
    StreamsApplication(bootstrap_servers, "live-app", "lines").start()
    for group in ("app", "app2", "app3", "app4", "app5"):
        application = StreamsApplication(bootstrap_servers, group, "lines")
        application.start()
        application.stop()
        application.commit({0: 3, 1: 1})


def share_member(servers: dict[str, str | int | float | bool], group: str, topic: str) -> ShareConsumer:
    """A member of a share group that has its partition: the client reports no assignment, so a record is awaited."""
    producer = Producer(servers)
    consumer = ShareConsumer({**servers, "group.id": group})
    consumer.subscribe([topic])
    while not consumer.poll(0.05):
        producer.produce(topic, "a record")
        producer.flush()
    return consumer


def places(broker: OurBroker) -> dict[str, str]:
    return {
        "localhost:9092": broker.bootstrap_servers,
        "/tmp/kraft-": f"{broker.directory}/kraft-",
        "<port>": str(broker.port),
    }


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.usefixtures("members")
@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_both_do_the_same(
    table: Path,
    brokers: list[OurBroker],
    tools: KafkaTools,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    our_program: Run,
) -> None:
    monkeypatch.chdir(directory)

    def run_kafkas(words: list[str], given: bytes) -> Output:
        order = {"tool": TOOLS[words[0].removesuffix(".sh")], "arguments": words[1:], "input": given.decode()}
        return Output(**tools.order(order))

    kafkas, ours = brokers
    text = table.read_text()
    wrong, outputs = compare_table(text, Side(run_kafkas, places(kafkas)), Side(our_program, places(ours)))
    now = Recorded(TABLE_VERSION, [row.command for row in rows_of(text)[0]], outputs)
    if os.environ.get(DIRECTORY):
        now.write(recorded(table))
    assert not wrong, "\n\n".join(wrong)
    before = Recorded.read(recorded(table))
    assert [(one.code, results(one.out)) for one in now.outputs] == [
        (one.code, results(one.out)) for one in before.outputs
    ], "Kafka's tools print something else than they did: make record"


def recorded(table: Path) -> Path:
    """The file of the corpus for a table."""
    return RECORDED / f"{table.stem}.jsonl"


@pytest.mark.usefixtures("members")
@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_ours_do_what_kafkas_tools_did(
    table: Path, brokers: list[OurBroker], directory: Path, monkeypatch: pytest.MonkeyPatch, our_program: Run
) -> None:
    monkeypatch.chdir(directory)
    (ours,) = brokers
    before = Recorded.read(recorded(table))
    assert before.commands == [row.command for row in rows_of(table.read_text())[0]], "make record"
    wrong = compare_recorded(table.read_text(), before.outputs, Side(our_program, places(ours)))
    assert not wrong, "\n\n".join(wrong)


def test_the_tables_have_the_rows_that_are_promised() -> None:
    rows = [row for table in TABLES for row in rows_of(table.read_text())[0]]
    assert len(rows) >= LEAST_ROWS
    assert all(any(name in row.command for name in TOOLS) for row in rows)


def test_what_counts_as_a_difference() -> None:
    row = Row(1, "kafka-topics.sh --list", (), (), (), 0)
    printed = Output(0, "a\nb\n", "")
    assert not differences(row, Output(0, "b \na\n", "WARN"), printed)
    assert differences(row, Output(0, "a\n", ""), printed)
    assert differences(row, Output(1, "a\nb\n", ""), printed)
    assert not differences(row._replace(code=2), Output(1, "", "no"), Output(2, "", "Error: no"))
    assert differences(row._replace(code=2), Output(0, "", "no"), Output(2, "", "Error: no"))
    assert differences(row._replace(code=2), Output(1, "", "no"), Output(2, "", ""))
    assert differences(row._replace(code=1), Output(1, "", "no"), Output(1, "", "Traceback (most recent call last):"))
    assert not differences(row._replace(code=1, kafkas_code=0), Output(0, "no", ""), Output(1, "", "no"))
    assert not differences(row._replace(out=("a",)), Output(0, "other", ""), printed)
    assert differences(row._replace(out=("c",)), Output(0, "c", ""), printed)
