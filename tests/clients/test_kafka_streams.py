"""Unmodified Kafka Streams with exactly_once_v2: a word count by two instances, one of which is killed.

Streams 4.4.0 with the classic protocol: its own assignor, a repartition topic, a changelog from which the survivor
restores the dead instance's counts, and a transaction for every commit. Readers of committed records get each count of
a word once, and in order.
"""

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.eventually import eventually
from support.kafka.java import java_or_skip, streams_arguments, streams_class

PATIENCE_S = 300.0
PARTITIONS = 3
LINES = 400
WORDS = ("oder", "auch", "wenn", "man", "so", "spricht", "lacht", "holz")


class Instance:
    """One instance of the application, as a process."""

    def __init__(self, name: str, servers: str, directory: Path) -> None:
        self._ready = directory / f"{name}.ready"
        self._log_file = directory / f"{name}.log"
        arguments = [servers, str(directory / f"{name}-state"), str(self._ready)]
        with self._log_file.open("wb") as out:
            self._process = subprocess.Popen(
                [*streams_arguments(), streams_class("WordCount"), *arguments], stdout=out, stderr=subprocess.STDOUT
            )

    def wait_until_running(self) -> None:
        def is_ready() -> bool:
            assert self._process.poll() is None, self.log()
            return self._ready.exists()

        eventually(lambda: f"it runs\n{self.log()}", is_ready, patience_s=PATIENCE_S)

    def stop(self) -> None:
        self._process.terminate()
        assert self._process.wait(PATIENCE_S) == 0, self.log()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def log(self) -> str:
        return self._log_file.read_text(errors="replace")[-3000:]


class Counts:
    """Reads the committed records of the topic of the counts."""

    def __init__(self, servers: str) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
        self._consumer: Any = Consumer(settings)
        self._consumer.assign([TopicPartition("counts", index, 0) for index in range(PARTITIONS)])
        self.found: dict[str, list[int]] = {}

    def wait_for(self, expected: Counter[str], instances: list[Instance]) -> None:
        """Reads until each word has its count. Raises AssertionError if a count comes twice or out of order."""
        deadline = time.monotonic() + PATIENCE_S
        while {word: counts[-1] for word, counts in self.found.items()} != expected:
            for message in self._consumer.consume(500, 0.2):
                assert message.error() is None, message.error()
                counts = self.found.setdefault(message.key().decode(), [])
                counts.append(int(message.value()))
                assert counts == sorted(set(counts)), f"{message.key()}: {counts[-5:]}"
            assert time.monotonic() < deadline, f"{self.found}\n{expected}\n{''.join(one.log() for one in instances)}"

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def instances() -> Iterator[list[Instance]]:
    """A list for the instances of a test, whose processes end with the test."""
    made: list[Instance] = []
    yield made
    for instance in made:
        instance.kill()


def write_lines(servers: str, chance: Random, expected: Counter[str]) -> None:
    producer: Any = Producer({"bootstrap.servers": servers})
    for number in range(LINES):
        words = chance.choices(WORDS, k=5)
        expected.update(words)
        producer.produce("lines", " ".join(words), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


@pytest.mark.ci
@pytest.mark.java
def test_words_are_counted_exactly_once(tmp_path: Path, instances: list[Instance]) -> None:
    java_or_skip()
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        servers = broker.bootstrap_servers
        for topic in ("lines", "counts"):
            CLIENTS["confluent-kafka"].create_topic(servers, topic, PARTITIONS)
        chance, expected = Random(4711), Counter[str]()
        counts = Counts(servers)
        write_lines(servers, chance, expected)
        instances += [Instance(name, servers, tmp_path) for name in ("first", "second")]
        for instance in instances:
            instance.wait_until_running()
        counts.wait_for(expected, instances)

        write_lines(servers, chance, expected)
        instances[0].kill()
        write_lines(servers, chance, expected)
        counts.wait_for(expected, instances)

        instances[1].stop()
        counts.close()
        assert " ERROR " not in broker.log()
