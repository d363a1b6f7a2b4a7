"""A clean broker for each test: reset, its clock, its disk, and the configs of marks and ini options."""

import resource
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import KafkaError

from odradek.broker.config.errors import ConfigError
from odradek.client.types import TopicPartition
from odradek.testing import InProcessBroker, KafkaCluster
from odradek.testing.fixtures.marked_topic import MarkedTopic, marked_topic
from odradek.testing.fixtures.marks import configs_of_lines
from support.eventually import eventually

pytest_plugins = ["pytester"]
RESETS = 100
CPU_MS_A_RESET = 60
"""The limit of processor time, several times what a reset takes."""


def test_a_reset_forgets_everything(kafka: InProcessBroker) -> None:
    topic = kafka.create_topic("orders", 3, configs={"cleanup.policy": "compact"})
    kafka.produce("orders", "one", key="k", partition=0)
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="readers", client_id="reader") as consumer:
        consumer.assign([KafkaPartition("orders", 0)])
        consumer.seek(KafkaPartition("orders", 0), 1)
        consumer.commit()
    assert kafka.committed("readers") == {TopicPartition("orders", 0): 1}
    address = kafka.bootstrap_servers
    kafka.reset()
    assert kafka.bootstrap_servers == address
    assert kafka.topics() == []
    assert kafka.committed("readers") == {}
    assert kafka.create_topic("orders").topic_id != topic.topic_id
    assert kafka.produce("orders", "one")[0].offset == 0


def test_a_reset_changes_the_configs(kafka: InProcessBroker) -> None:
    kafka.reset({"num.partitions": 4})
    kafka.produce("orders", "one")
    assert len(kafka.topic("orders").partitions) == 4
    kafka.reset({})
    kafka.produce("orders", "one")
    assert len(kafka.topic("orders").partitions) == 1


def test_a_reset_to_invalid_configs_changes_nothing(kafka: InProcessBroker) -> None:
    """A test that expects the error, or the next test of a shared broker, finds the broker as it was."""
    kafka.reset({"num.partitions": 2})
    kafka.produce("orders", "one")
    with pytest.raises(ConfigError, match=r"Unknown key num\.partition: did you mean num\.partitions\? \(configs\)"):
        kafka.reset({"num.partition": 4})
    with pytest.raises(TypeError, match=r"configs must be a dict of Kafka's keys, not 'num\.partitions=4'"):
        kafka.reset("num.partitions=4")  # type: ignore[arg-type]
    assert len(kafka.records("orders")) == 1
    kafka.reset()
    kafka.produce("orders", "one")
    assert len(kafka.topic("orders").partitions) == 2


@pytest.mark.parametrize("end", ["stop", "kill", "pause"])
def test_a_broker_that_a_test_has_left_in_any_state(kafka: InProcessBroker, end: str) -> None:
    kafka.create_topic("orders")
    getattr(kafka, end)()
    kafka.reset()
    assert kafka.topics() == []


def test_a_reset_leaves_no_data_behind(tmp_path: Path) -> None:
    """It is removed in the background."""
    with InProcessBroker(tmp_path) as broker:
        for _ in range(3):
            broker.produce("orders", "one")
            broker.reset()
        eventually("only the log directory is left", lambda: list(tmp_path.iterdir()) == [broker.log_dir])


def test_a_reset_costs_little(kafka: InProcessBroker) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(RESETS):
        kafka.reset()
    after = resource.getrusage(resource.RUSAGE_SELF)
    used_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert used_s / RESETS * 1000 < CPU_MS_A_RESET


def test_a_member_of_a_cluster_is_not_reset_alone() -> None:
    with KafkaCluster(brokers=1) as cluster, pytest.raises(TypeError, match="make another cluster"):
        cluster.brokers[0].reset()


@pytest.mark.kafka(topics=["orders:3", "latest:1:compact"], configs={"message.max.bytes": 2_000})
def test_a_mark_gives_topics_and_configs(kafka: InProcessBroker) -> None:
    assert kafka.topics() == ["latest", "orders"]
    assert len(kafka.topic("orders").partitions) == 3
    with (
        KafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer,
        pytest.raises(KafkaError, match=r"too large|TooLarge"),
    ):
        producer.send("orders", bytes(3_000)).get(timeout=60)


def test_what_a_mark_names() -> None:
    assert marked_topic("orders") == MarkedTopic("orders", 1, {})
    assert marked_topic("orders:3") == MarkedTopic("orders", 3, {})
    assert marked_topic("orders:3:compact,delete") == MarkedTopic("orders", 3, {"cleanup.policy": "compact,delete"})
    for wrong in (":3", "orders:three"):
        with pytest.raises(ValueError, match="does not name a topic"):
            marked_topic(wrong)
    with pytest.raises(pytest.UsageError, match="is not key=value"):
        configs_of_lines(["num.partitions"])


def test_configs_of_all_tests_come_from_the_ini_file(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nkafka_configs =\n    num.partitions=5\n    auto.create.topics.enable=true\n")
    pytester.makepyfile(
        """
        import pytest

        def test_ini(kafka, kafka_broker):
            for broker in (kafka, kafka_broker):
                broker.produce("orders", "one")
                assert len(broker.topic("orders").partitions) == 5

        @pytest.mark.kafka(configs={"num.partitions": 2})
        def test_mark(kafka):
            kafka.produce("orders", "one")
            assert len(kafka.topic("orders").partitions) == 2

        @pytest.mark.kafka(topic="orders")
        def test_misspelled(kafka):
            pass
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*the mark kafka accepts topics=* and configs=*, not topic*"])


def test_a_fixture_of_the_user_has_the_configs_of_all_tests(pytester: pytest.Pytester) -> None:
    """It replaces those of the ini file, for the brokers of each scope. A module has one broker, another module another
    one."""
    pytester.makeini("[pytest]\nkafka_configs = num.partitions=5\n")
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def kafka_configs():
            return {"num.partitions": 3}
        """
    )
    tests = """
        import pytest

        def test_configs(kafka, kafka_broker, kafka_module_broker):
            for broker in (kafka, kafka_broker, kafka_module_broker):
                assert broker.topics() == ([] if broker is not kafka_broker else SEEN)
                broker.produce("orders", "one")
                assert len(broker.topic("orders").partitions) == 3

        def test_the_module_has_one_broker(kafka_module_broker):
            assert len(kafka_module_broker.records("orders")) == 1
        """
    pytester.makepyfile(
        test_one=f"SEEN = []\n{textwrap.dedent(tests)}", test_two=f"SEEN = ['orders']\n{textwrap.dedent(tests)}"
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=4)


def offsets_and_committed(kafka: InProcessBroker) -> tuple[int, Mapping[TopicPartition, int]]:
    return len(kafka.records("orders")), kafka.committed("readers")


@pytest.mark.kafka(configs={"offsets.retention.minutes": 60 * 24, "log.initial.task.delay.ms": 10_000})
def test_time_passes_when_a_test_says_so(kafka: InProcessBroker) -> None:
    """After a week, retention removes records, and the offsets of an empty group expire."""
    kafka.create_topic("orders", configs={"retention.ms": 7 * 24 * 3_600_000, "file.delete.delay.ms": 0})
    kafka.produce("orders", "old")
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id="readers") as consumer:
        consumer.assign([KafkaPartition("orders", 0)])
        consumer.seek(KafkaPartition("orders", 0), 1)
        consumer.commit()
    assert offsets_and_committed(kafka) == (1, {TopicPartition("orders", 0): 1})
    kafka.advance(days=2)
    kafka.wait_until(lambda: kafka.committed("readers") == {})
    assert len(kafka.records("orders")) == 1
    kafka.advance(days=6)
    kafka.wait_until(lambda: kafka.records("orders") == [])


def test_a_dead_member_leaves_its_group_when_its_session_is_over(kafka: InProcessBroker) -> None:
    kafka.create_topic("orders")
    kafka.produce("orders", "first")
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=kafka.bootstrap_servers,
        group_id="readers",
        session_timeout_ms=1_000_000,
        heartbeat_interval_ms=300_000,
        auto_offset_reset="earliest",
    )
    # One poll until the first record: an assignment that arrives between two polls is lost (kafka-python 3.0.12).
    assert consumer.poll(120_000)
    kafka.wait_group_stable("readers", members=1)
    kafka.faults.disconnect(["Heartbeat", "LeaveGroup"], times=None)
    kafka.advance(seconds=1_001)
    kafka.wait_until(lambda: kafka.describe_group("readers").members == [])
    consumer.close(autocommit=False)


def test_time_does_not_go_back(kafka: InProcessBroker) -> None:
    with pytest.raises(ValueError, match="a clock can't go back"):
        kafka.advance(hours=-1)


@pytest.mark.kafka(topics="orders")
def test_a_full_disk(kafka: InProcessBroker) -> None:
    kafka.produce("orders", "before")
    kafka.disk_is_full = True
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, retries=0) as producer:
        with pytest.raises(KafkaError):
            producer.send("orders", b"while").get(timeout=60)
        assert [record.value for record in kafka.records("orders")] == [b"before"]
    kafka.disk_is_full = False
    kafka.advance(minutes=1)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, retries=1_000) as producer:
        producer.send("orders", b"after").get(timeout=60)
    assert [record.value for record in kafka.records("orders")] == [b"before", b"after"]
