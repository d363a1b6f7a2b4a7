"""Spring Kafka's share groups, unmodified: listeners and containers in each way to acknowledge.

Spring Kafka 4.1.2 with its own client, 4.2.2. Four groups read one topic (tests/java/SpringShare.java): a listener
whose return acknowledges, with three consumers; one that accepts, releases, rejects and renews by itself; one whose
exceptions release the record; and a container without an annotation. Each record comes exactly as often as its listener
asks for.
"""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.kafka.java import compiled, fetched, jar_arguments, java_or_skip
from support.kafka.share_lags import share_lags
from systems.process import SystemProcess

SPRING_KAFKA = "4.1.2"
RECORDS = 300
PARTITIONS = 3
GROUPS = ("implicit", "manual", "failing", "container")
PATIENCE_S = 120.0

pytestmark = [pytest.mark.ci, pytest.mark.java]

Line = tuple[str, int, int, str]
"""What the program prints for a record: group, value, delivery count, and what the listener does with it."""


@cache
def spring_libs() -> Path:
    """The directory with the jars of Spring Kafka and its client, fetched once. Raises JavaMissingError."""
    artifacts = [
        ("org.springframework.kafka", "spring-kafka", SPRING_KAFKA),
        ("org.slf4j", "slf4j-simple", "1.7.36"),
    ]
    return fetched(f"spring-kafka-{SPRING_KAFKA}", artifacts)


def expected() -> Counter[Line]:
    """The lines of all groups."""
    lines: list[Line] = []
    for value in range(RECORDS):
        lines += [("implicit", value, 1, "accept"), ("container", value, 1, "accept")]
        lines.append(("manual", value, 1, ("release", "reject", "renew", "accept")[value % 4]))
        if value % 4 == 0:
            lines.append(("manual", value, 2, "accept"))
        lines.append(("failing", value, 1, "accept" if value % 5 else "fail"))
        if value % 5 == 0:
            lines.append(("failing", value, 2, "accept"))
    return Counter(lines)


def printed(program: SystemProcess) -> Counter[Line]:
    lines = (line.split() for line in program.log().split("\n")[:-1])
    return Counter((line[0], int(line[1]), int(line[2]), line[3]) for line in lines if len(line) == 4)


def read_from_the_start(servers: str) -> None:
    """Lets the groups begin at the first record."""
    setting = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resources = [ConfigResource(ResourceType.GROUP, group, incremental_configs=[setting]) for group in GROUPS]
    admin = AdminClient({"bootstrap.servers": servers})  # its requests end with it
    for future in admin.incremental_alter_configs(resources).values():
        future.result(PATIENCE_S)


def produce(servers: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "batch.num.messages": 10})
    for value in range(RECORDS):
        producer.produce("work", str(value), partition=value % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def spring(servers: str, directory: Path) -> SystemProcess:
    log = f"-Dorg.slf4j.simpleLogger.logFile={directory / 'spring.stderr'}"
    command = [*jar_arguments(spring_libs(), "256m"), log, compiled("SpringShare", spring_libs()), servers]
    return SystemProcess(command, directory, "spring")


def test_each_way_to_acknowledge(tmp_path: Path) -> None:
    java_or_skip()
    keys = {"group.share.heartbeat.interval.ms": "1000", "group.share.min.heartbeat.interval.ms": "1000"}
    with OurBroker(tmp_path, keys) as broker:
        servers = broker.bootstrap_servers
        CLIENTS["confluent-kafka"].create_topic(servers, "work", PARTITIONS)
        read_from_the_start(servers)
        with spring(servers, tmp_path) as program:
            program.wait_for("all members are there", lambda: "members 3\n" in program.log())
            produce(servers)
            wanted = expected()
            program.wait_for("all records", lambda: printed(program).total() >= wanted.total())
            program.stop()
            assert printed(program) == wanted
        assert share_lags(servers) == {(group, "work", index): "0" for group in GROUPS for index in range(PARTITIONS)}
        assert " ERROR " not in broker.log()
