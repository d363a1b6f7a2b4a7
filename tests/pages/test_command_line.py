"""The consoles of docs/commands.md: each command succeeds and prints what the page shows, but for numbers and ids."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.testing import BrokerSecurity, SecuredBroker
from support.brokers.our_broker import OurBroker
from support.groups.streams_application import StreamsApplication
from support.pages import Block, blocks, only_block
from support.reader import Instead, Reader, written

PAGE = "docs/commands.md"
PATIENCE_S = 60
RECORDS = (10, 20, 30)
"""Of the partitions of ``orders``."""
COMMITTED = 7
PROFILE = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "log.initial.task.delay.ms": "3600000",  # retention removes nothing
}

pytestmark = pytest.mark.ci


def masked(text: str) -> set[str]:
    """The lines of an output, without what differs from run to run: numbers, ids, widths of columns."""
    text = re.sub(r"(?<![\w/+-])[\w/+-]{22}(?![\w/+-])", "ID", text)
    return {re.sub(r"\s+", " ", re.sub(r"\d+", "N", line)).strip() for line in text.splitlines()}


def as_on_the_page(reader: Reader, block: Block, *instead: Instead) -> None:
    """Runs a console. Whole lines of the page must be among those printed."""
    for command, printed in block.dialogue():
        for text, own in instead:
            command = command.replace(text, own)
        said = reader.run(command).replace(str(reader.directory), "")
        shown = "\n".join(line for line in printed if "..." not in line and "…" not in line)
        missing = masked(shown) - masked(said)
        assert not missing, f"{PAGE}:{block.line} {command}\n{missing}\n{said}"


def console(reader: Reader, heading: str, number: int = 0, *instead: Instead) -> None:
    as_on_the_page(reader, blocks(PAGE, heading)[number], *instead)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    with OurBroker(
        tmp_path, {"log.dirs": str(tmp_path / "data"), "offsets.topic.num.partitions": "1", **PROFILE}
    ) as one:
        yield one


@pytest.fixture
def reader(broker: OurBroker) -> Reader:
    return Reader(broker.directory, broker.bootstrap_servers)


@pytest.fixture
def orders(reader: Reader) -> Iterator[None]:
    """The topics of the page, and its group ``billing`` with two members."""
    console(reader, "odradek topics")
    console(reader, "odradek produce")
    settings = {"bootstrap.servers": str(reader.server)}
    producer = Producer(settings)
    for partition, count in enumerate(RECORDS):
        for number in range(count):
            producer.produce("orders", str(number), partition=partition)
    assert producer.flush(PATIENCE_S) == 0
    group = settings | {"group.id": "billing", "group.protocol": "consumer", "enable.auto.commit": False}
    members = [Consumer(group | {"client.id": f"billing-{number}"}) for number in range(2)]
    for member in members:
        member.subscribe(["orders"])
    while sorted(len(member.assignment()) for member in members) != [1, 2]:
        for member in members:
            member.poll(0.1)
    for member in members:
        positions = [TopicPartition("orders", one.partition, COMMITTED) for one in member.assignment()]
        member.commit(offsets=positions, asynchronous=False)
    yield
    for member in members:
        member.close()


@pytest.mark.usefixtures("orders")
def test_the_commands_for_topics_groups_and_settings(reader: Reader) -> None:
    console(reader, "odradek consume")
    console(reader, "odradek groups", 0)
    for number in range(3):
        console(reader, "odradek configs", number)
    console(reader, "odradek doctor")
    [file, _] = blocks(PAGE, "Topics as a file")
    (reader.directory / "topics.yaml").write_text(file.text)
    console(reader, "Topics as a file", 1)
    for heading in ("odradek client-metrics", "odradek acls", "odradek get-offsets", "odradek log-dirs"):
        console(reader, heading)
    described = only_block(PAGE, "odradek delete-records", "console").dialogue()
    (reader.directory / "offsets.json").write_text("\n".join(described[0][1]))
    for heading in ("odradek delete-records", "odradek leader-election"):
        console(reader, heading)
    plan = "\n".join(only_block(PAGE, "odradek reassign-partitions", "console").dialogue()[0][1])
    own = (("[2, 3]", "[1]"), ('["any", "/data/b"]', '["any"]'))
    (reader.directory / "plan.json").write_text(written(plan, *own))
    for command in only_block(PAGE, "odradek reassign-partitions", "console").commands()[1:]:
        assert "users-0" in reader.run(command)


def test_the_commands_that_move_offsets(reader: Reader) -> None:
    """Of a group without members."""
    console(reader, "odradek topics")
    settings = {"bootstrap.servers": str(reader.server)}
    consumer = Consumer(settings | {"group.id": "billing", "enable.auto.commit": False})
    positions = [TopicPartition("orders", partition, COMMITTED) for partition in range(len(RECORDS))]
    consumer.commit(offsets=positions, asynchronous=False)
    consumer.close()
    producer = Producer(settings)
    for partition, count in enumerate(RECORDS):
        for number in range(count):
            producer.produce("orders", str(number), partition=partition)
    assert producer.flush(PATIENCE_S) == 0
    console(reader, "odradek groups", 1)
    console(reader, "odradek share-groups")
    application = StreamsApplication(str(reader.server), "totals", "orders")
    application.start()
    console(reader, "odradek streams-groups", 0)
    application.stop()
    application.commit(dict.fromkeys(range(len(RECORDS)), COMMITTED))
    console(reader, "odradek streams-groups", 1)
    reader.run("odradek topics --create --topic counts-totals-changelog")
    console(reader, "odradek streams-application-reset")
    producer = Producer(settings | {"transactional.id": "transfers-1"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("orders", "in a transaction", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    transactions = only_block(PAGE, "odradek transactions", "console")
    listed, hanging, abort = transactions.dialogue()
    assert masked("\n".join(listed[1])) <= masked(reader.run(listed[0]))
    assert masked(hanging[1][0]) <= masked(reader.run(hanging[0]))
    reader.run(abort[0])
    assert "in a transaction" not in reader.run(
        "odradek consume --topic orders --partition 0 --from-beginning --until-end --isolation-level read_committed"
    )


def test_the_commands_that_measure_and_verify(reader: Reader) -> None:
    produce, consume, end_to_end = only_block(PAGE, "odradek perf", "console").commands()
    reader.run("odradek topics --create --topic orders")
    assert "3000 records sent" in reader.run(written(produce, ("300000", "3000")))
    assert "3000" in reader.run(written(consume, ("300000", "3000")))
    assert "Avg latency" in reader.run(written(end_to_end, ("10000", "100")))
    (verify,) = only_block(PAGE, "odradek verify", "console").commands()
    reader.run(written(verify, ("--duration 16", "--duration 1")))
    assert "html" in (reader.directory / "verify.html").read_text()


def test_the_commands_that_read_files(reader: Reader, broker: OurBroker, tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("node.id=1\nlog.dirs=data/a,data/b\n")
    directories = (("/data/", "data/"),)
    (formatted,) = only_block(PAGE, "odradek storage format", "console").dialogue()
    assert broker.stop() == 0
    assert masked("\n".join(formatted[1]).replace("/data/", "data/")) <= masked(reader.run(formatted[0]))
    broker.configs["log.dirs"] = f"{tmp_path}/data/a,{tmp_path}/data/b"
    broker.start()
    reader.server = broker.bootstrap_servers
    reader.run("odradek topics --create --topic orders --partitions 4")
    reader.run("odradek produce --topic orders", "one\n")
    reader.run("odradek consume --topic orders --group spurs --from-beginning --max-messages 1")
    assert broker.stop() == 0
    offsets, metadata = blocks(PAGE, "odradek dump-log")
    (decoded,) = offsets.commands()
    places = sorted(tmp_path.glob("data/?/__consumer_offsets-0"))
    own = ("data/__consumer_offsets-43", str(places[0]))
    assert '"group":"spurs"' in reader.run(written(decoded, own))
    (in_bytes,) = metadata.commands()
    said = reader.run(written(in_bytes, ("data/", "data/a/")))
    assert re.search(r"^ +\d+ +0021 +feature_level +33$", said, re.MULTILINE)
    (check,) = only_block(PAGE, "odradek storage check", "console").commands()
    assert re.search(r"\d+ partitions, \d+ files, \d+ bytes", reader.run(written(check, *directories)))
    (explain,) = only_block(PAGE, "odradek storage explain", "console").commands()
    assert "cleanup.policy=delete by default" in reader.run(written(explain, *directories))


def test_the_commands_with_a_login(tmp_path: Path) -> None:
    page_file = only_block(PAGE, "Listeners with TLS or SASL", "console").dialogue()[0][1]
    security = BrokerSecurity(users={"alice": "alice-secret", "bob": "bob-secret"})
    with SecuredBroker(tmp_path / "data", {"delegation.token.secret.key": "a secret"}, security) as broker:
        trusted = broker.client("alice").java["ssl.truststore.location"]
        text = written("\n".join(page_file), ("/etc/kafka/ca.pem", trusted))
        (tmp_path / "alice.properties").write_text(text)
        broker.create_topic("orders")
        reader = Reader(tmp_path, broker.bootstrap_servers)
        list_topics = only_block(PAGE, "Listeners with TLS or SASL", "console").commands()[1]
        assert "orders" in reader.run(written(list_topics, ("kafka:9093", broker.bootstrap_servers)))
        create, describe = only_block(PAGE, "odradek delegation-tokens", "console").commands()
        reader.run(create)
        assert "User:bob" in reader.run(describe)
