"""The commands of our pages that start a broker, run as they stand there but for their ports and directories."""

import json
import shutil
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.brokers.free_ports import free_port
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.pages import INDENTED, Block, blocks, only_block
from support.pipeline.wheel import ROOT
from support.reader import PAGE_ADDRESS, Reader, written
from support.shell import Shell

PATIENCE_S = 60
DEAD = "/mnt/dead/data"
ANY_PORT = "127.0.0.1:0"

pytestmark = pytest.mark.ci


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    return Reader(tmp_path)


def send(address: str, topic: str = "orders") -> None:
    """Writes a record, which must be acknowledged."""
    producer = Producer({"bootstrap.servers": address})
    producer.produce(topic, "one")
    assert producer.flush(PATIENCE_S) == 0


def first_of(page: str, heading: str, language: str = INDENTED) -> Block:
    return next(block for block in blocks(page, heading) if block.language == language)


@pytest.mark.parametrize(
    "block",
    [first_of("README.md", "Quickstart"), first_of("docs/getting-started.md", "Getting started with each client")],
    ids=lambda block: block.page,
)
def test_it_serves_and_keeps_its_data_in_the_directory(reader: Reader, block: Block) -> None:
    (command,) = block.commands()
    for _ in range(2):
        with reader.serving(written(command, (PAGE_ADDRESS, ANY_PORT))) as address:
            send(address)
    assert (reader.directory / "data" / "orders-0").is_dir()


def test_it_serves_the_configuration_of_the_repository(reader: Reader) -> None:
    (command,) = only_block("README.md", "Configuration", INDENTED).commands()
    with reader.serving(command) as address:
        send(address)
    assert (reader.directory / "data" / "orders-0").is_dir()


def test_another_language_finds_the_address_in_the_file(reader: Reader) -> None:
    heading = "From kfake, and other fakes in another language"
    (command,) = only_block("docs/moving-tests.md", heading, "sh").commands()
    (described,) = json.loads(only_block("docs/moving-tests.md", heading, "json").text)
    with reader.serving(written(command, ("/tmp/odradek", "data"), ("/tmp/ready.json", "ready.json"))) as address:
        assert described in json.loads((reader.directory / "ready.json").read_text())
        send(address)


def test_it_serves_metrics(reader: Reader) -> None:
    serve, curl = only_block("docs/metrics.md", "Metrics", INDENTED).commands()
    port = ("9404", str(free_port()))
    listener = " --override listeners=PLAINTEXT://127.0.0.1:0"
    with reader.serving(written(serve, port) + listener):
        assert "kafka_server_brokertopicmetrics_" in reader.run(written(curl, port))


def test_it_serves_the_console(reader: Reader) -> None:
    serve, beside = only_block("docs/console.md", "Console", INDENTED).commands()
    port = free_port()
    keys = f" --override listeners=PLAINTEXT://127.0.0.1:0 --override odradek.console.listener=127.0.0.1:{port}"
    with reader.serving(serve + keys) as address:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE_S) as page:
            assert b"<title>Odradek" in page.read()
        log = reader.directory / "console.log"
        command = written(beside, ("kafka:9092", address))
        with Shell(reader.directory).start(f"exec {command} --listener 127.0.0.1:0 >{log} 2>&1") as process:
            eventually("it prints its address", lambda: log.exists() and "#token=" in log.read_text())
            process.terminate()
            assert process.wait() == 0, log.read_text()


def test_it_shows_the_metrics_of_clients(reader: Reader) -> None:
    commands, query = blocks("docs/metrics.md", "Metrics of clients")
    serve, alter, curl = commands.commands()
    metrics = ("9404", str(free_port()))
    assert "kafka_client_producer_record_send_total" in query.text
    listener = " --override listeners=PLAINTEXT://127.0.0.1:0"
    with reader.serving(written(serve, metrics) + listener) as address:
        reader.run(f"{written(alter, ('15000', '100'))} --bootstrap-server {address}")
        client = Producer({"bootstrap.servers": address, "client.id": "reader-of-the-page"})
        client.produce("orders", "one")

        def is_shown() -> bool:
            client.poll(0.1)
            return 'client_id="reader-of-the-page"' in reader.run(written(curl, metrics))

        eventually("the client is shown", is_shown)


def test_a_broker_for_tests_has_an_admin_port(reader: Reader) -> None:
    (command,) = blocks("docs/testing-over-http.md", "A broker for tests in any language")[0].commands()
    with reader.serving(written(command, ("9092", "0"), ("9644", "0"))) as address:
        send(address)
        admin = json.loads((reader.directory / "ready.json").read_text())["admin"]
        with urllib.request.urlopen(f"{admin}/topics/orders/records") as answer:
            assert json.load(answer)[0]["value"] == "one"


def test_it_takes_the_configuration_of_kafka(reader: Reader) -> None:
    """The file that docs/moving-from-and-to-kafka.md shows for Kafka."""
    page = "docs/moving-from-and-to-kafka.md"
    properties = only_block(page, "From Odradek to Kafka", "properties").text
    own = (("/var/lib/odradek", "data"), ("PLAINTEXT://:9092", "PLAINTEXT://127.0.0.1:0"))
    (reader.directory / "server.properties").write_text(f"{written(properties, *own)}num.io.threads=8\n")
    (command,) = only_block(page, "From Kafka to Odradek", INDENTED).commands()
    with reader.serving(command):
        log = (reader.directory / "serving.log").read_text()
    assert "num.io.threads" in log, "a key without effect is named"


def dead_broker(directory: Path) -> Path:
    """The log directory of the page's example: the metadata is lost, and a partition of ``events``."""
    with OurBroker(directory, {"node.id": "2", "offsets.topic.num.partitions": "50"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for made in admin.create_topics([NewTopic("events", 3), NewTopic("orders", 1)]).values():
            made.result(PATIENCE_S)
        for topic in ("events", "orders"):
            send(broker.bootstrap_servers, topic)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "billing"})
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(0.1)
        consumer.close()
        assert broker.stop() == 0
    shutil.rmtree(broker.log_dir / "__cluster_metadata-0")
    shutil.rmtree(broker.log_dir / "events-1")
    return broker.log_dir


def test_the_disks_of_a_dead_broker_are_looked_at_read_and_served(tmp_path: Path) -> None:
    page = "docs/recovering-a-dead-broker.md"
    reader = Reader(tmp_path)
    dead = (DEAD, str(dead_broker(tmp_path)))
    [(look, said)] = only_block(page, "1. Look, without changing anything", "console").dialogue()
    found = reader.run(written(look, dead))
    assert len(said) == 6
    for line in said[
        2:5
    ]:  # before that are all partitions of a cluster's internal topic, after that a note on a cleaner
        assert line in found
    (read,) = only_block(page, "2. Read, without changing a byte", "console").commands()
    assert read in only_block("docs/commands.md", "odradek storage adopt", "console").commands()
    here = " --override listeners=PLAINTEXT://127.0.0.1:0"
    with reader.serving(written(read, dead) + here) as address:
        reader.server = address
        assert "one" in reader.run("odradek consume --topic orders --from-beginning --max-messages 1")
    adopt, serve = only_block(page, "3. Serve them for good", "console").commands()
    reader.run(written(adopt, dead))
    with reader.serving(written(serve, dead) + here) as address:
        send(address)
        reader.server = address
        configs = reader.run("odradek configs --describe --topic events")
        assert "retention.ms=604800000" in configs
