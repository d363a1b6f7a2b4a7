"""The fixtures as a user's tests meet them."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from odradek.broker.config.errors import ConfigError
from odradek.storage.errors import DirectoryLockedError
from odradek.testing.in_process import InProcessBroker

Factory = Callable[..., InProcessBroker]


def produce(broker: InProcessBroker, topic: str, values: list[bytes]) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    for value in values:
        producer.send(topic, value=value)
    producer.flush(60)
    producer.close()


def consume(broker: InProcessBroker, topic: str, count: int) -> list[bytes]:
    """The first ``count`` records of partition 0."""
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    values: list[bytes] = []
    while len(values) < count:
        for records in consumer.poll(timeout_ms=30_000, max_records=count - len(values)).values():
            values += [record.value for record in records]
    consumer.close()
    return values


def topics_of(broker: InProcessBroker) -> set[str]:
    listed = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=60)
    return {name for name in listed.topics if not name.startswith("__")}


def test_the_session_broker_serves(kafka_broker: InProcessBroker) -> None:
    produce(kafka_broker, "session-broker", [b"one", b"two"])
    assert consume(kafka_broker, "session-broker", 2) == [b"one", b"two"]
    assert kafka_broker.bootstrap_servers == f"{kafka_broker.host}:{kafka_broker.port}"
    assert kafka_broker.is_running


def test_the_session_broker_is_one(kafka_broker: InProcessBroker, request: pytest.FixtureRequest) -> None:
    assert request.getfixturevalue("kafka_broker") is kafka_broker


def test_it_is_usable_from_any_thread(kafka_broker: InProcessBroker) -> None:
    values = [b"from thread %d" % number for number in range(4)]
    threads = [threading.Thread(target=produce, args=(kafka_broker, "threads", [value])) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(consume(kafka_broker, "threads", 4)) == values


async def test_it_is_usable_beside_another_event_loop(kafka_broker: InProcessBroker) -> None:
    from aiokafka import AIOKafkaProducer

    async with AIOKafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers) as producer:
        sent = await producer.send_and_wait("beside-a-loop", b"value")
    assert sent.offset == 0


def test_the_factory_makes_brokers_of_their_own(kafka_broker_factory: Factory) -> None:
    first, second = kafka_broker_factory(), kafka_broker_factory({"num.partitions": "3"})
    assert first.port != second.port
    produce(first, "here", [b"x"])
    produce(second, "there", [b"x"])
    assert topics_of(first) == {"here"}
    assert topics_of(second) == {"there"}
    described = AdminClient({"bootstrap.servers": second.bootstrap_servers}).list_topics("there", timeout=60)
    assert len(described.topics["there"].partitions) == 3


def test_a_restart_keeps_port_and_data(kafka_broker_factory: Factory) -> None:
    broker = kafka_broker_factory()
    port = broker.port
    produce(broker, "kept", [b"one"])
    broker.restart()
    produce(broker, "kept", [b"two"])
    assert broker.port == port
    assert consume(broker, "kept", 2) == [b"one", b"two"]


def test_a_kill_leaves_no_marker_and_keeps_what_was_acknowledged(kafka_broker_factory: Factory) -> None:
    broker = kafka_broker_factory()
    produce(broker, "kept", [b"one", b"two"])
    broker.kill()
    assert not broker.is_running
    assert not (broker.log_dir / ".kafka_cleanshutdown").exists()
    broker.start()
    assert consume(broker, "kept", 2) == [b"one", b"two"]
    broker.stop()
    assert (broker.log_dir / ".kafka_cleanshutdown").exists()


def test_stopping_twice_is_harmless(kafka_broker_factory: Factory) -> None:
    broker = kafka_broker_factory()
    broker.stop()
    broker.stop()
    assert not broker.is_running


def test_many_brokers_in_one_process_end_their_threads(kafka_broker_factory: Factory) -> None:
    before = threading.active_count()
    brokers = [kafka_broker_factory() for _ in range(5)]
    assert len({broker.port for broker in brokers}) == 5
    for broker in brokers:
        broker.stop()
    assert threading.active_count() == before


def test_a_bad_key_is_told_to_the_test(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        InProcessBroker(tmp_path, {"num.partition": "3"}).start()


def test_a_directory_in_use_is_told_to_the_test(kafka_broker: InProcessBroker) -> None:
    before = threading.active_count()
    second = InProcessBroker(kafka_broker.log_dir.parent)
    with pytest.raises(DirectoryLockedError):
        second.start()
    assert not second.is_running
    assert threading.active_count() == before


def test_the_environment_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ODRADEK_NUM_PARTITIONS", "not a number")
    with InProcessBroker(tmp_path) as broker:
        assert broker.is_running


def test_the_plugin_imports_nothing_of_the_broker() -> None:
    program = "import sys, odradek.testing.plugin; print([m for m in sys.modules if m.startswith('odradek')])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "['odradek', 'odradek.testing', 'odradek.testing.plugin']"


def test_the_example_of_the_docs_passes(tmp_path: Path) -> None:
    """A user's tests in a directory of their own: no conftest, no import of ours, only the names of the fixtures."""
    docs = (Path(__file__).parent.parent.parent / "docs" / "testing.md").read_text()
    example = re.search(r"^```python\n(.*?)^```", docs, re.MULTILINE | re.DOTALL)
    assert example
    (tmp_path / "test_example.py").write_text(example[1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 passed" in run.stdout
