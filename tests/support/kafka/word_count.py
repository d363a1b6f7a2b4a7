"""The word count of tests/java/WordCount.java: its instances, the lines that it reads, the counts that it writes."""

import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from support.eventually import eventually
from support.kafka.java import streams_arguments, streams_class

PATIENCE_S = 300.0
PARTITIONS = 3
LINES = 400
TOPICS = ("lines", "counts")
GROUP = "word-count"
STREAMS_KEYS: Mapping[str, str] = {
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.heartbeat.interval.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "1000",
    "group.streams.num.standby.replicas": "1",
}
"""Configs of brokers: short times, and a standby task of each task with state."""
WORDS = ("oder", "auch", "wenn", "man", "so", "spricht", "lacht", "holz")


class Instance:
    """One instance of the application, as a process. ``replicas``: of its internal topics."""

    def __init__(self, name: str, servers: str, directory: Path, protocol: str, replicas: int = 1) -> None:
        self._ready = directory / f"{name}.ready"
        self._log_file = directory / f"{name}.log"
        arguments = [servers, str(directory / f"{name}-state"), str(self._ready), protocol, str(replicas)]
        with self._log_file.open("wb") as out:
            self._process = subprocess.Popen(
                [*streams_arguments(), streams_class("WordCount"), *arguments], stdout=out, stderr=subprocess.STDOUT
            )

    def wait_until_running(self) -> None:
        """Waits until all of its tasks run."""

        def is_ready() -> bool:
            assert self._process.poll() is None, self.log()
            return self._ready.exists()

        eventually(lambda: f"it runs\n{self.log()}", is_ready, patience_s=PATIENCE_S)

    def stop(self) -> None:
        """Ends it as an operator does."""
        self._process.terminate()
        assert self._process.wait(PATIENCE_S) == 0, self.log()

    def kill(self) -> None:
        """Kills it."""
        self._process.kill()
        self._process.wait()

    def log(self) -> str:
        """The end of what it has logged."""
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
        """Ends the reader."""
        self._consumer.close()


def write_lines(servers: str, chance: Random, expected: Counter[str]) -> None:
    """Writes lines, and adds their words to ``expected``."""
    producer: Any = Producer({"bootstrap.servers": servers})
    for number in range(LINES):
        words = chance.choices(WORDS, k=5)
        expected.update(words)
        producer.produce("lines", " ".join(words), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
