"""The fixtures with clients of three libraries, and the same tests against a broker at another address."""

import pytest

from odradek.testing import InProcessBroker
from odradek.testing.fixtures.ready_clients import AiokafkaClients, ConfluentKafkaClients, KafkaPythonClients

pytest_plugins = ["pytester"]


@pytest.mark.kafka(topics="orders")
def test_kafka_python(kafka: InProcessBroker, kafka_python_clients: KafkaPythonClients) -> None:
    kafka_python_clients.producer().send("orders", b"one").get(timeout=60)
    consumer = kafka_python_clients.consumer("orders", group="readers")
    assert next(consumer).value == b"one"
    assert "orders" in kafka_python_clients.admin().list_topics()
    kafka.wait_group_stable("readers", members=1)


@pytest.mark.kafka(topics="orders")
def test_confluent_kafka(kafka: InProcessBroker, confluent_kafka_clients: ConfluentKafkaClients) -> None:
    confluent_kafka_clients.producer({"linger.ms": 0}).produce("orders", b"one")
    (message,) = confluent_kafka_clients.consumer("orders", group="readers").consume(1, 60)
    assert message.value() == b"one"
    assert "orders" in confluent_kafka_clients.admin().list_topics(timeout=60).topics
    kafka.wait_group_stable("readers", members=1)


@pytest.mark.kafka(topics="orders")
async def test_aiokafka(aiokafka_clients: AiokafkaClients) -> None:
    async with aiokafka_clients.producer() as producer, aiokafka_clients.consumer("orders") as consumer:
        await producer.send_and_wait("orders", b"one")
        assert (await consumer.getone()).value == b"one"


USERS_TESTS = """
import pytest

@pytest.mark.parametrize("turn", range(2))
def test_a_clean_broker(kafka, turn):
    assert kafka.topics() == []
    assert kafka.produce("orders", "one")[0].offset == 0
    assert [record.value for record in kafka.records("orders")] == [b"one"]

@pytest.mark.kafka(topics=["prices:3:compact"])
def test_a_mark(kafka):
    assert len(kafka.topic("prices").partitions) == 3

def test_a_fault(kafka):
    kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER")

def test_a_kill(kafka):
    kafka.kill()

@pytest.mark.kafka(configs={"num.partitions": 3})
def test_configs(kafka):
    pass

def test_a_typing_error(kafka):
    with pytest.raises(AttributeError, match="topicz"):
        kafka.topicz()
"""


def test_the_same_tests_against_an_address(pytester: pytest.Pytester, kafka_broker: InProcessBroker) -> None:
    """Tests that need a broker in their process are skipped by name. The others run on a broker that was reset."""
    kafka_broker.produce("left-over", "one")
    pytester.makepyfile(USERS_TESTS)
    result = pytester.runpytest_subprocess("-rs", f"--kafka-bootstrap-servers={kafka_broker.bootstrap_servers}")
    result.assert_outcomes(passed=4, skipped=3)
    result.stdout.fnmatch_lines_random(
        [
            "*kafka.faults needs a broker in this process, without --kafka-bootstrap-servers and --kafka-image",
            "*kafka.kill needs a broker in this process*",
            "*the configs num.partitions need a broker that runs in this process",
        ]
    )


def test_the_same_tests_in_this_process(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(USERS_TESTS)
    pytester.runpytest_subprocess().assert_outcomes(passed=7)
