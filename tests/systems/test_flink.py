"""Flink's Kafka connector, unmodified, in a Flink in one JVM: a topic is copied exactly once although the job fails.

Flink 2.0.1 with connector 4.0.1: KafkaSource commits its offsets with each checkpoint, KafkaSink writes what lies
between two checkpoints in a transaction and commits it with the second one. After a failure the job goes on from its
last checkpoint: the sink commits the transactions of that checkpoint anew (it resumes them with their producer id and
epoch) and aborts the later ones.
"""

from functools import cache
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.kafka.java import compiled, fetched, jar_arguments, java_or_skip
from systems.committed import committed
from systems.process import SystemProcess

FLINK, CONNECTOR = "2.0.1", "4.0.1-2.0"
PARTITIONS = 3
HALF = 300
FAILS_AT = HALF + HALF // 2
PATIENCE_S = 120.0

pytestmark = [pytest.mark.nightly, pytest.mark.java]


@cache
def flink_libs() -> Path:
    """The directory with the jars of Flink and its Kafka connector, fetched once. Raises JavaMissingError."""
    group = "org.apache.flink"
    artifacts = [(group, name, FLINK) for name in ("flink-streaming-java", "flink-clients", "flink-connector-base")]
    artifacts += [(group, "flink-connector-kafka", CONNECTOR), ("org.slf4j", "slf4j-simple", "1.7.36")]
    return fetched(f"flink-{FLINK}-{CONNECTOR}", artifacts)


def flink(servers: str, naming: str, directory: Path) -> SystemProcess:
    java, *rest = jar_arguments(flink_libs(), "512m")
    opened = ("--add-opens", "java.base/java.lang=ALL-UNNAMED", "--add-opens", "java.base/java.util=ALL-UNNAMED")
    end = 2 * HALF // PARTITIONS
    arguments = [servers, naming, str(PARTITIONS), str(end), str(FAILS_AT)]
    return SystemProcess([java, *opened, *rest, compiled("FlinkCopy", flink_libs()), *arguments], directory, "flink")


def produce(servers: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in numbers:
        producer.produce("numbers", str(number), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def source_offsets(servers: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": servers})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("flink")])["flink"].result(PATIENCE_S)
    return {one.partition: one.offset for one in asked.topic_partitions or []}


@pytest.mark.parametrize("naming", ["INCREMENTING", "POOLING"])
def test_a_job_that_fails_copies_exactly_once(tmp_path: Path, naming: str) -> None:
    """The second half comes after a checkpoint has committed the first one, and the job fails in the middle of it.

    With POOLING the sink uses transactional ids again, and finds those to abort with ListTransactions and
    DescribeTransactions; with INCREMENTING each transaction has an id of its own.
    """
    java_or_skip()
    with OurBroker(tmp_path) as broker:
        servers = broker.bootstrap_servers
        CLIENTS["confluent-kafka"].create_topic(servers, "numbers", PARTITIONS)
        CLIENTS["confluent-kafka"].create_topic(servers, "copies", 2)
        produce(servers, range(HALF))
        with flink(servers, naming, tmp_path) as job:
            job.wait_for(
                "a checkpoint has the first half",
                lambda: source_offsets(servers) == dict.fromkeys(range(PARTITIONS), HALF // PARTITIONS),
            )
            assert sorted(map(int, committed(servers, "copies", HALF))) == list(range(HALF))
            produce(servers, range(HALF, 2 * HALF))
            assert job.wait() == 0, job.log()[-5000:]
            assert job.log().count(f"fails at {FAILS_AT}") == 1
        assert sorted(map(int, committed(servers, "copies", 2 * HALF))) == list(range(2 * HALF))
        assert " ERROR " not in broker.log()
