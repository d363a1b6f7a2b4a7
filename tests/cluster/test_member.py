"""Our broker under a real Kafka controller: registration, clients, Kafka's tools, fencing, restarts, refusals."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from cluster.plain_clients import create_unassigned_topic, produce_numbers
from odradek.protocol.codec.header import encode_request
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.transactions import InitProducerIdRequest
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_clean_shutdown
from support.brokers.asking import Asking
from support.brokers.free_ports import free_ports
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers, format_member
from support.kafka.real_kafka import CLUSTER_ID

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOOLS = "org.apache.kafka.tools"
RECORDS = 500
ID_BLOCK = 1_000
"""The producer ids that the controllers give out at once."""


@pytest.fixture(scope="module")
def controllers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealControllers]:
    """One controller for this module."""
    with RealControllers(tmp_path_factory.mktemp("controllers")) as started:
        yield started


@pytest.fixture(scope="module")
def broker(controllers: RealControllers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """Broker 1, which every test leaves running."""
    with controllers.broker(tmp_path_factory.mktemp("member"), 1) as started:
        yield started
        assert " ERROR " not in started.log()


def create(broker: OurBroker, topic: str, partitions: int = 1) -> None:
    create_unassigned_topic(broker.bootstrap_servers, topic, partitions)


def produce(broker: OurBroker, topic: str, count: int = RECORDS) -> None:
    produce_numbers(broker.bootstrap_servers, topic, count)


def consume(broker: OurBroker, topic: str, group: str, count: int = RECORDS) -> list[int]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    values: list[int] = []
    while len(values) < count:
        message = consumer.poll(60)
        assert message is not None, f"{len(values)} of {count} records"
        assert message.error() is None, message.error()
        values.append(int(message.value() or b""))
    consumer.commit(asynchronous=False)
    consumer.close()
    return sorted(values)


def tool(name: str, *arguments: str) -> str:
    result = run_class(name, *arguments, timeout_s=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_unmodified_client_produces_consumes_and_commits(broker: OurBroker) -> None:
    create(broker, "plain", 3)
    produce(broker, "plain")
    assert consume(broker, "plain", "g1") == list(range(RECORDS))
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g1"})
    committed = consumer.committed([TopicPartition("plain", index) for index in range(3)], timeout=30)
    assert sum(one.offset for one in committed) == RECORDS
    consumer.close()


def test_transactions(broker: OurBroker) -> None:
    create(broker, "transfers")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "t1"})
    producer.init_transactions(60)
    for commits in (True, False, True):
        producer.begin_transaction()
        for number in range(10):
            producer.produce("transfers", str(number))
        if commits:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    assert consume(broker, "transfers", "g2", 20) == sorted(list(range(10)) * 2)


def test_producer_ids_of_several_brokers_and_starts_differ(
    broker: OurBroker, controllers: RealControllers, tmp_path: Path
) -> None:
    """More than a block of 1,000 of each; a block that is not used up is gone with a restart."""
    with controllers.broker(tmp_path, 9) as other:
        found = [producer_ids(one, ID_BLOCK + 50) for one in (broker, other)]
        assert other.stop() == 0
        other.start()
        found.append(producer_ids(other, 50))
        assert other.stop() == 0, "it is fenced, so it gets no partition of the next tests"
    given = [one for ids in found for one in ids]
    assert len(set(given)) == len(given) == 2 * ID_BLOCK + 150
    assert len({one // ID_BLOCK for one in found[1]}) >= 2


def producer_ids(broker: OurBroker, count: int) -> list[int]:
    """Producer ids for idempotent producers."""
    asking, found = Asking(broker.port), []

    def given() -> bool:
        answer = asking.ask(InitProducerIdRequest(None, 60_000), 4)
        if answer.error_code == ErrorCode.NONE:
            found.append(answer.producer_id)
        else:  # the controllers have not sent the next block yet: clients ask again
            assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return len(found) == count

    eventually(f"{count} producer ids", given, every_s=0)
    return found


def test_topic_that_is_missing_is_created_by_the_controller(broker: OurBroker) -> None:
    produce(broker, "automatic", 10)
    assert consume(broker, "automatic", "g3", 10) == list(range(10))


def test_kafkas_tools_administer_the_cluster_through_our_broker(broker: OurBroker) -> None:
    server = ("--bootstrap-server", broker.bootstrap_servers)
    topics = f"{TOOLS}.TopicCommand"
    assert "Created topic orders." in tool(topics, *server, "--create", "--topic", "orders", "--partitions", "2")
    tool(topics, *server, "--alter", "--topic", "orders", "--partitions", "4")
    described = tool(topics, *server, "--describe", "--topic", "orders")
    assert described.count("Leader: 1\tReplicas: 1\tIsr: 1") == 4
    configs = "org.apache.kafka.tools.ConfigCommand"
    entity = ("--entity-type", "topics", "--entity-name", "orders")
    tool(configs, *server, "--alter", *entity, "--add-config", "retention.ms=1234567")
    assert "retention.ms=1234567" in tool(configs, *server, "--describe", *entity)
    assert "LeaderId:" in tool(f"{TOOLS}.MetadataQuorumCommand", *server, "describe", "--status")
    tool(topics, *server, "--delete", "--topic", "orders")
    assert "orders" not in tool(topics, *server, "--list").split()


def test_restart_after_a_clean_stop_and_after_a_kill_keeps_everything(
    controllers: RealControllers, tmp_path: Path
) -> None:
    with controllers.broker(tmp_path, 2) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        topic = NewTopic("kept", 1, replica_assignment=[[2]])
        for future in admin.create_topics([topic]).values():
            future.result(30)
        produce(broker, "kept", 100)
        assert broker.stop() == 0
        assert "the controllers moved the leaders" in broker.log()
        epoch = read_clean_shutdown(Files(), broker.log_dir)
        registered = re.findall(r"registered with the controllers, broker epoch (\d+)", broker.log())
        assert registered == [str(epoch)]
        broker.start()
        produce(broker, "kept", 100)
        broker.kill()
        broker.start()
        assert consume(broker, "kept", "g4", 200) == sorted(list(range(100)) * 2)
        assert " ERROR " not in broker.log()


def test_broker_that_is_stopped_by_a_signal_is_fenced_and_comes_back(
    controllers: RealControllers, tmp_path: Path
) -> None:
    """After a SIGSTOP that is longer than the session, the partition has no leader. Then this broker leads it again."""
    with controllers.broker(tmp_path, 3) as broker, controllers.broker(tmp_path / "other", 4) as other:
        admin = AdminClient({"bootstrap.servers": other.bootstrap_servers})
        for future in admin.create_topics([NewTopic("paused", 1, replica_assignment=[[3]])]).values():
            future.result(30)
        produce(broker, "paused", 10)

        def leader() -> int:
            return int(admin.list_topics("paused", timeout=30).topics["paused"].partitions[0].leader)

        eventually("broker 3 leads", lambda: leader() == 3)
        broker.process.send_signal(signal.SIGSTOP)
        try:
            eventually("nobody leads", lambda: leader() == -1)
        finally:
            broker.process.send_signal(signal.SIGCONT)
        eventually("broker 3 leads", lambda: leader() == 3)
        produce(broker, "paused", 10)
        assert consume(broker, "paused", "g5", 20) == sorted(list(range(10)) * 2)


def refused(broker: OurBroker) -> str:
    """The message of a broker that can't start."""
    with pytest.raises(AssertionError, match="our broker ended with"):
        broker.start()
    return broker.log()


def test_directory_of_another_cluster_ends_the_start(controllers: RealControllers, tmp_path: Path) -> None:
    broker = controllers.broker(tmp_path, 5)
    format_member(broker.log_dir, 5, "AnotherClusterAnother0")
    text = refused(broker)
    assert "belong to another cluster" in text
    assert "AnotherClusterAnother0" in text
    assert "Traceback" not in text


def test_node_id_that_is_taken_is_said(broker: OurBroker, controllers: RealControllers, tmp_path: Path) -> None:
    """It says so every ten seconds, and serves nothing meanwhile: neither as the leader that node 1 is."""
    second = controllers.broker(tmp_path, 1)
    [second.port] = free_ports(1)
    second.launch()
    try:
        taken = "another broker is registered with node.id 1"
        eventually("the second broker says so", lambda: taken in second.log())
        with unanswered(second):
            eventually("it says so again", lambda: second.log().count(taken) >= 2)
        create(broker, "still-served")
    finally:
        second.kill()


@contextmanager
def unanswered(broker: OurBroker) -> Iterator[None]:
    """A client that asks while the block runs, and gets no answer, as from a Kafka that is not registered."""
    with socket.create_connection(("127.0.0.1", broker.port)) as client:
        client.sendall(encode_request(ApiVersionsRequest("test", "1"), 3, 1, "test"))
        yield
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
    assert not (broker.directory / "ready.json").exists()


def test_directory_of_a_broker_with_its_own_controller_is_refused(controllers: RealControllers, tmp_path: Path) -> None:
    with OurBroker(tmp_path, {"node.id": "6"}) as alone:
        create(alone, "alone")
        alone.stop()
        (tmp_path / "odradek.log").unlink()
        format_id = (alone.log_dir / "meta.properties").read_text()
        broker = controllers.broker(tmp_path / "new", 6)
        broker.log_dir = alone.log_dir
        assert "broker was its own controller" in refused(broker)
        assert (alone.log_dir / "meta.properties").read_text() == format_id
        alone.start()
        assert "alone" in AdminClient({"bootstrap.servers": alone.bootstrap_servers}).list_topics(timeout=30).topics


def test_controllers_that_can_not_be_reached_are_named_and_a_signal_ends_the_wait(tmp_path: Path) -> None:
    unreachable = RealControllers(tmp_path / "controllers")  # never started
    broker = unreachable.broker(tmp_path / "b", 1)
    [broker.port] = free_ports(1)
    broker.launch()
    complaint = f"can't follow the metadata of the controllers: {unreachable.addresses}"
    try:
        eventually("the broker names the controllers", lambda: complaint in broker.log())
        with unanswered(broker):
            eventually("it names them again", lambda: broker.log().count(complaint) >= 2)
        assert broker.process.poll() is None
    finally:
        broker.kill()
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "odradek", "serve", *overrides_of(broker)], stdout=out, stderr=subprocess.STDOUT
        )
        eventually("the start", lambda: "joining cluster" in (tmp_path / "out").read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


def overrides_of(broker: OurBroker) -> list[str]:
    return [part for key, value in broker.keys().items() for part in ("--override", f"{key}={value}")]


def test_storage_format_prepares_a_directory_for_a_cluster(controllers: RealControllers, tmp_path: Path) -> None:
    broker = controllers.broker(tmp_path / "b", 7)
    (broker.log_dir / "meta.properties").unlink()
    assert "odradek storage format" in refused(broker)
    properties = tmp_path / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in broker.keys().items()))
    formatted = subprocess.run(
        [sys.executable, "-m", "odradek", "storage", "format", "-t", CLUSTER_ID, "-c", str(properties)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert formatted.returncode == 0, formatted.stderr
    broker.start()
    assert broker.stop() == 0


def test_directory_that_is_new_is_formatted_with_the_cluster_id_that_serve_is_given(
    controllers: RealControllers, tmp_path: Path
) -> None:
    """``serve --cluster-id`` formats a new directory and does not change a formatted one, as in Apache's image."""
    broker = controllers.broker(tmp_path / "b", 8)
    (broker.log_dir / "meta.properties").unlink()
    broker.program = (*broker.program, "--cluster-id", CLUSTER_ID)
    broker.start()
    assert broker.stop() == 0
    written = (broker.log_dir / "meta.properties").read_text()
    assert f"cluster.id={CLUSTER_ID}" in written
    broker.program = (*OurBroker.program, "--cluster-id", "AnotherClusterAnother0")
    broker.start()
    assert broker.stop() == 0
    assert (broker.log_dir / "meta.properties").read_text() == written
