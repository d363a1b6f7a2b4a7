"""The metrics of one broker that is its own controller, beside the MBeans of a real Kafka in the same state."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.mbeans import METRICS, MBeans, Metric, Metrics, metrics_of
from support.kafka.real_kafka import RealKafka

pytestmark = pytest.mark.java

CONTROLLER = "kafka_controller_kafkacontroller_"
COMPARED = (CONTROLLER, "kafka_server_kafkaserver_brokerstate", "kafka_log_logmanager_")
"""Names and values of ours that begin with these are those of Kafka."""
NAMED = ("kafka_network_socketserver_", "kafka_server_kafkarequesthandlerpool_", "kafka_server_socket_server_metrics_")
"""Of these only the names and labels are: their values depend on time, and on Kafka's number of threads."""
KEYS = {
    "offsets.topic.num.partitions": "2",
    "log.flush.offset.checkpoint.interval.ms": "50",
    "log.initial.task.delay.ms": "1",
    "num.network.threads": "1",
}
OFFLINE: frozenset[Metric] = frozenset(
    (f"{CONTROLLER}{name}", frozenset()) for name in ("offlinepartitionscount", "preferredreplicaimbalancecount")
)
PARTITIONS = 4
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OurBroker, RealKafka, MBeans]]:
    """Both brokers, each with two log directories."""
    ours, theirs = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("kafka")
    with (
        MBeans() as beans,
        OurBroker(ours, {**KEYS, **METRICS, "log.dirs": f"{ours / 'logs'},{ours / 'b'}"}) as broker,
        RealKafka(theirs, {**KEYS, "log.dirs": f"{theirs / 'logs'},{theirs / 'b'}"}) as kafka,
    ):
        yield broker, kafka, beans


def fill(bootstrap_servers: str) -> None:
    """Creates a topic and a committed offset, and so the offsets topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for created in admin.create_topics([NewTopic("orders", PARTITIONS, 1)]).values():
        created.result(TIMEOUT_S)
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "g"})
    consumer.commit(offsets=[TopicPartition("orders", 0, 0)], asynchronous=False)
    consumer.close()


def write(bootstrap_servers: str) -> None:
    """Sends a record to each partition of the topic, whether it can be written or not: the broker meets its disks."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "message.timeout.ms": 5_000})
    for index in range(PARTITIONS):
        producer.produce("orders", b"one", partition=index)
    producer.flush(TIMEOUT_S)


def comparable(metrics: Metrics, root: Path) -> Metrics:
    """The metrics that must be equal, with the directories below ``root`` by their names alone."""
    return {
        (name, frozenset((key, text.removeprefix(f"{root}/")) for key, text in labels)): value
        for (name, labels), value in metrics.items()
        if name.startswith(COMPARED)
    }


def both(pair: tuple[OurBroker, RealKafka, MBeans]) -> tuple[Metrics, Metrics]:
    """The comparable metrics of ours, and those of the same names of Kafka."""
    ours, kafka, beans = pair
    assert kafka.running_pid is not None
    own = comparable(metrics_of(ours), ours.directory)
    assert all(any(name.startswith(one) for name, _ in own) for one in COMPARED)
    names = {name for name, _ in own}
    theirs = comparable(beans.metrics(kafka.running_pid), kafka.directory)
    return own, {key: value for key, value in theirs.items() if key[0] in names}


def differences(pair: tuple[OurBroker, RealKafka, MBeans], but: frozenset[Metric] = frozenset()) -> list[object]:
    """The metrics whose labels or values differ, without those of ``but``."""
    own, theirs = both(pair)
    return [
        (key, own.get(key), theirs.get(key))
        for key in own.keys() | theirs
        if own.get(key) != theirs.get(key) and key not in but
    ]


def leaderless(bootstrap_servers: str) -> int:
    """The number of partitions without a leader."""
    topics = AdminClient({"bootstrap.servers": bootstrap_servers}).list_topics(timeout=TIMEOUT_S).topics
    return sum(one.leader == -1 for topic in topics.values() for one in topic.partitions.values())


def test_names_and_labels_are_those_of_kafka(pair: tuple[OurBroker, RealKafka, MBeans]) -> None:
    ours, kafka, beans = pair
    assert kafka.running_pid is not None
    found = [
        {
            (name, frozenset(key for key, _ in labels) - {"ip"})
            for name, labels in metrics
            if name.startswith((*COMPARED, *NAMED)) and not name.endswith("metrics_connections")
        }
        for metrics in (metrics_of(ours), beans.metrics(kafka.running_pid))
    ]
    assert found[0] - found[1] == set()
    assert all(any(name.startswith(one) for name, _ in found[0]) for one in (*COMPARED, *NAMED))


def test_values_are_those_of_kafka(pair: tuple[OurBroker, RealKafka, MBeans]) -> None:
    ours, kafka, _ = pair
    for broker in (ours, kafka):
        fill(broker.bootstrap_servers)
    eventually(lambda: f"equal metrics: {differences(pair)}", lambda: not differences(pair))


def test_a_failed_directory_is_shown_as_by_kafka(pair: tuple[OurBroker, RealKafka, MBeans]) -> None:
    ours, kafka, _ = pair
    for broker in (ours, kafka):
        failing = broker.directory / "b"
        failing.rename(failing.with_name("away"))  # as with a removed disk
        write(broker.bootstrap_servers)
    eventually(lambda: f"equal metrics: {differences(pair, OFFLINE)}", lambda: not differences(pair, OFFLINE))
    # Which partitions a directory has is the choice of each broker.
    for address, metrics in zip((ours.bootstrap_servers, kafka.bootstrap_servers), both(pair), strict=True):
        lost = leaderless(address)
        assert lost >= 1
        assert {metrics[one] for one in OFFLINE} == {lost}
