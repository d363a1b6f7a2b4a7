"""Command lines of Kafka's quickstart, its operations guide and of users' questions, run as they are typed.

The tables are in ``invocations/``, one for each subject. The program is called by Kafka's name of the tool, as
through the links of the image. Other tests compare each command's output with that of Kafka's own tool. These show that
usual command lines work, in their usual order.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.brokers.our_broker import OurBroker

from .command_lines import Run, rows_of, run_table

TABLES = sorted((Path(__file__).parent / "invocations").glob("*.txt"))
LEAST_ROWS = 120
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.retention.check.interval.ms": "86400000",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One broker with two log directories for all tables."""
    directory = tmp_path_factory.mktemp("invocations")
    dirs = f"{directory / 'kraft-combined-logs'},{directory / 'kraft-second-logs'}"
    with OurBroker(directory, {**SETTINGS, "log.dirs": dirs}) as broker:
        yield broker


@pytest.fixture(scope="module")
def member(broker: OurBroker) -> Iterator[None]:
    """A member of the group live-app, which reads the topic live-events."""
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic("live-events", 1, 1)])["live-events"].result()
    consumer = Consumer({**servers, "group.id": "live-app"})
    consumer.subscribe(["live-events"])
    while not consumer.assignment():
        consumer.poll(0.05)
    yield
    consumer.close()


@pytest.mark.usefixtures("member")
@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_what_people_type(
    table: Path,
    broker: OurBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    our_program: Run,
) -> None:
    monkeypatch.chdir(tmp_path)
    host, port = broker.bootstrap_servers.split(":")
    places = {
        "localhost:9092": broker.bootstrap_servers,
        "localhost --port 9092": f"{host} --port {port}",
        "/tmp/kraft-": f"{broker.directory}/kraft-",
    }

    wrong = run_table(table.read_text(), our_program, places)
    assert not wrong, "\n\n".join(wrong)


def test_the_tables_have_the_rows_that_are_promised() -> None:
    rows = [row for table in TABLES for row in rows_of(table.read_text())[0]]
    commands = [row.command for row in rows]
    assert len(rows) >= LEAST_ROWS
    assert len(set(commands)) == len(commands), "no row comes twice"
