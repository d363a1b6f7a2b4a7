"""``pytest --kafka-image`` runs a user's tests against a container of the image, with a real engine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .container import Image

pytestmark = pytest.mark.ci

USERS_TESTS = """
import pytest
from confluent_kafka import Producer

@pytest.mark.kafka(topics="orders:3")
def test_a_mark_and_the_configs(kafka):
    assert len(kafka.topic("orders").partitions) == 3
    assert len(kafka.create_topic("one").partitions) == 1
    kafka.produce("by-itself", "one")
    assert len(kafka.topic("by-itself").partitions) == 2

@pytest.mark.parametrize("turn", range(2))
def test_a_clean_broker(kafka, turn, confluent_kafka_clients):
    assert kafka.topics() == []
    confluent_kafka_clients.producer().produce("orders", f"turn {turn}".encode())
    (message,) = confluent_kafka_clients.consumer("orders").consume(1, 60)
    assert message.value() == f"turn {turn}".encode()

def test_a_transaction(kafka):
    kafka.create_topic("orders")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "one"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("orders", b"one")
    producer.commit_transaction()
    assert [record.value for record in kafka.records("orders", isolation_level="read_committed")] == [b"one"]

def test_a_fault(kafka):
    kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER")
"""


def containers(image: Image) -> list[str]:
    """All containers of the option, also stopped ones."""
    listed = image.engine.run("ps", "--all", "--filter", "name=odradek-pytest-", "--format", "{{.Names}}")
    return listed.splitlines()


@pytest.fixture
def users(image: Image, tmp_path: Path) -> Iterator[Path]:
    """The directory of a user's tests; no container of the option is left after the test."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nkafka_configs =\n    num.partitions=2\n")
    (tmp_path / "test_users.py").write_text(USERS_TESTS)
    yield tmp_path
    assert containers(image) == []


def run_users_tests(image: Image, directory: Path, *options: str) -> str:
    """Runs pytest over a user's tests; returns its output."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=directory,
        env={**os.environ, **image.engine.variables, "CI": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_users_tests_pass_in_a_container(image: Image, users: Path, workers: str) -> None:
    said = run_users_tests(image, users, "-n", workers, f"--kafka-image={image.tag}")
    assert "4 passed, 1 skipped" in said, said


def test_a_container_that_ends_shows_the_brokers_reason(image: Image, users: Path) -> None:
    (users / "pytest.ini").write_text("[pytest]\nkafka_configs =\n    num.partition=2\n")
    said = run_users_tests(image, users, f"--kafka-image={image.tag}")
    assert f"--kafka-image: the container of {image.tag} ended with exit code" in said, said
    assert "num.partitions" in said, said


def test_an_image_that_does_not_exist(image: Image, users: Path) -> None:
    said = run_users_tests(image, users, "--kafka-image=odradek-that-does-not-exist:1")
    assert "--kafka-image: docker run failed for the image odradek-that-does-not-exist:1: Unable to find image" in said
