"""A Spring Boot application prints the same at our broker and at a real Kafka, and leaves the same behind.

tests/java/SpringShop.java: KafkaAdmin's topics, listeners in groups of the new protocol, transactions that read,
process and write, a dead letter topic and retry topics.
"""

import asyncio
from functools import cache
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.java import compiled, fetched, jar_arguments, java_or_skip
from support.kafka.real_kafka import RealKafka
from systems.gallery.contents import contents
from systems.process import SystemProcess

SPRING_BOOT = "4.1.2"
"""With Spring Kafka 4.1.2 and its client, 4.2.2."""
SETTINGS = {
    "producer.transaction-id-prefix": "shop-",
    "consumer.properties.group.protocol": "consumer",
    "consumer.auto-offset-reset": "earliest",
    "consumer.isolation-level": "read_committed",
}

pytestmark = [pytest.mark.nightly, pytest.mark.java]


@cache
def boot_libs() -> Path:
    """The directory with the jars of Spring Boot's starter for Kafka, fetched once. Raises JavaMissingError."""
    starter = ("org.springframework.boot", "spring-boot-starter-kafka", SPRING_BOOT)
    return fetched(f"spring-boot-kafka-{SPRING_BOOT}", [starter])


def shop(bootstrap_servers: str, directory: Path) -> list[str]:
    """Runs the application. Returns the lines it prints, sorted, because its listeners run side by side."""
    settings = {"bootstrap-servers": bootstrap_servers, **SETTINGS}
    arguments = [f"--spring.kafka.{key}={value}" for key, value in settings.items()]
    command = [*jar_arguments(boot_libs(), "256m"), compiled("SpringShop", boot_libs()), *arguments]
    with SystemProcess(command, directory, "shop") as process:
        assert process.wait() == 0, process.log()[-5000:]
        return sorted(line for line in process.log().splitlines() if line.startswith("> "))


def test_an_application_of_spring_boot(tmp_path: Path) -> None:
    java_or_skip()
    printed, left = {}, {}
    for name, kind in {"ours": OurBroker, "kafka": RealKafka}.items():
        there = tmp_path / name
        there.mkdir()
        with kind(there) as broker:
            printed[name] = shop(broker.bootstrap_servers, there)
            left[name] = asyncio.run(contents(broker.bootstrap_servers))
    assert "> closed" in printed["kafka"]
    assert printed["ours"] == printed["kafka"]
    assert left["ours"] == left["kafka"]
