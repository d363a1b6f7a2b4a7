"""The fixtures in the tests of a user."""

import gc
import importlib.metadata
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path

import confluent_kafka.admin
import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

import odradek
import odradek.testing
from odradek.broker.config.errors import ConfigError
from odradek.storage.errors import DirectoryLockedError
from odradek.testing.broker.config_values import ConfigValue
from odradek.testing.broker.in_process import InProcessBroker

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


@pytest.mark.parametrize("turn", range(2))
def test_each_test_has_a_clean_broker(kafka: InProcessBroker, turn: int) -> None:
    """Both runs use the same topic: the second would see leftover records of the first."""
    assert topics_of(kafka) == set()
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        assert producer.send("orders", b"turn %d" % turn).get(timeout=60).offset == 0


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
    before = set(threading.enumerate())
    brokers = [kafka_broker_factory() for _ in range(5)]
    assert len({broker.port for broker in brokers}) == 5
    for broker in brokers:
        broker.stop()
    assert set(threading.enumerate()) <= before


def test_a_bad_key_is_told_to_the_test(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        InProcessBroker(tmp_path, {"num.partition": "3"}).start()


def test_a_directory_in_use_is_told_to_the_test(kafka_broker: InProcessBroker) -> None:
    before = set(threading.enumerate())
    second = InProcessBroker(kafka_broker.log_dir.parent)
    with pytest.raises(DirectoryLockedError):
        second.start()
    assert not second.is_running
    assert set(threading.enumerate()) <= before


def test_without_a_directory_it_has_a_temporary_one() -> None:
    with InProcessBroker() as broker:
        produce(broker, "kept", [b"one"])
        directory = broker.log_dir.parent
        broker.kill()
        assert directory.exists()
        broker.start()
        assert consume(broker, "kept", 1) == [b"one"]
    assert not directory.exists()


def test_a_temporary_directory_goes_with_its_broker() -> None:
    """Also without a ``with`` block, and not before."""
    broker = InProcessBroker()
    directory = broker.log_dir.parent
    broker.start()
    broker.stop()
    assert directory.exists()
    del broker
    gc.collect()
    assert not directory.exists()


def test_a_forked_child_removes_nothing() -> None:
    with InProcessBroker() as broker:
        child = os.fork()
        if child == 0:
            try:
                broker._remove()  # what the child would do when it exits
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert broker.log_dir.exists()


@pytest.mark.parametrize("kind", [str, Path])
def test_a_directory_is_a_str_or_a_path(tmp_path: Path, kind: Callable[[Path], str | Path]) -> None:
    with InProcessBroker(kind(tmp_path)) as broker:
        assert broker.log_dir == tmp_path / "logs"
    assert (tmp_path / "logs" / "meta.properties").exists()


def test_values_are_as_python_has_them() -> None:
    configs: dict[str, ConfigValue] = {
        "num.partitions": 3,
        "auto.create.topics.enable": False,
        "log.cleaner.min.cleanable.ratio": 0.25,
        "compression.type": "gzip",
    }
    with InProcessBroker(configs=configs) as broker:
        resource = confluent_kafka.admin.ConfigResource("broker", "1")  # type: ignore[attr-defined]
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        found = admin.describe_configs([resource])[resource].result(60)
    assert {key: found[key].value for key in configs} == {
        "num.partitions": "3",
        "auto.create.topics.enable": "false",
        "log.cleaner.min.cleanable.ratio": "0.25",
        "compression.type": "gzip",
    }


def test_configs_in_place_of_the_directory_are_refused() -> None:
    with pytest.raises(TypeError, match=r"write configs=\{\.\.\.\}"):
        InProcessBroker({"num.partitions": 3})  # type: ignore[arg-type]


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^log\.dir: .* not NoneType$"):
        InProcessBroker(configs={"log.dir": None})  # type: ignore[dict-item]


def test_the_package_has_its_version() -> None:
    assert odradek.__version__ == importlib.metadata.version("odradek")


def test_the_broker_is_exported_where_users_look() -> None:
    assert odradek.testing.InProcessBroker is InProcessBroker
    with pytest.raises(AttributeError, match="no attribute 'InProcessBrokers'"):
        odradek.testing.InProcessBrokers  # noqa: B018


def test_the_environment_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ODRADEK_NUM_PARTITIONS", "not a number")
    with InProcessBroker(tmp_path) as broker:
        assert broker.is_running


def test_the_plugin_imports_nothing_of_the_broker() -> None:
    program = (
        "import sys, odradek.testing.plugin\n"
        "executed = [name for name, module in sys.modules.items() if type(module).__name__ != '_LazyModule']\n"
        "print([name for name in executed if name.startswith('odradek')])"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    fixtures = ["odradek.testing.fixtures", "odradek.testing.fixtures.options"]
    common = ["odradek.protocol", "odradek.protocol.common", "odradek.protocol.common.lazy_imports"]
    assert out.strip() == str(["odradek", "odradek.testing", *common, *fixtures, "odradek.testing.plugin"])


def test_the_asserts_of_the_package_are_not_rewritten() -> None:
    """pytest rewrites those of every package with a plugin, unless the plugin prevents it."""
    from odradek.broker.api import fetch

    assert fetch.__spec__ is not None
    assert isinstance(fetch.__spec__.loader, SourceFileLoader)
