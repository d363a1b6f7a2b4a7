"""Log directories through our command and admin client, kafka-python, and Apache Kafka's own tools."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.client.admin import Admin
from odradek.client.errors import AdminError
from odradek.client.types import TopicPartition
from odradek.protocol.errors import ErrorCode
from support.brokers.asking import PATIENCE_S, Asking
from support.brokers.our_broker import OurBroker
from support.kafka.java import run_class

TOOLS = "org.apache.kafka.tools"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """A broker with two directories and a topic of four partitions, a record in each."""
    root = tmp_path_factory.mktemp("log-dirs")
    with OurBroker(root, {"log.dirs": f"{root / 'a'},{root / 'b'}"}) as started:
        asking = Asking(started.port)
        assert asking.create("t", 4) == 0
        for index in range(4):
            assert asking.produce("t", index, b"x" * index) == 0
        yield started


def described(broker: OurBroker, *arguments: str) -> Any:
    """The document that ``odradek log-dirs`` prints."""
    command = [sys.executable, "-m", "odradek", "log-dirs", "--bootstrap-server", broker.bootstrap_servers]
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, timeout=60)
    first, second, document = result.stdout.splitlines()
    assert first == "Querying brokers for log directories information"
    assert second == "Received log directory information from brokers 1"
    return json.loads(document)


def comparable(document: Any) -> Any:
    for one in document["brokers"]:
        for log_dir in one["logDirs"]:
            log_dir["partitions"].sort(key=lambda partition: partition["partition"])
        one["logDirs"].sort(key=lambda log_dir: log_dir["logDir"])
    return document


def test_the_command(broker: OurBroker) -> None:
    [one] = described(broker, "--describe", "--topic-list", "t,other", "--broker-list", "1")["brokers"]
    assert one["broker"] == 1
    assert [Path(log_dir["logDir"]).name for log_dir in one["logDirs"]] == ["a", "b"]
    partitions = [partition for log_dir in one["logDirs"] for partition in log_dir["partitions"]]
    assert sorted(partition["partition"] for partition in partitions) == ["t-0", "t-1", "t-2", "t-3"]
    assert all(partition["size"] > 0 and not partition["isFuture"] for partition in partitions)
    assert not described(broker, "--describe", "--topic-list", "other")["brokers"][0]["logDirs"][0]["partitions"]


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--describe", "--broker-list", "x"], 2)])
def test_wrong_usage(broker: OurBroker, arguments: list[str], code: int) -> None:
    assert subprocess.run([sys.executable, "-m", "odradek", "log-dirs", *arguments], check=False).returncode == code


def test_an_unknown_broker(broker: OurBroker) -> None:
    command = [sys.executable, "-m", "odradek", "log-dirs", "--bootstrap-server", broker.bootstrap_servers]
    result = subprocess.run(
        [*command, "--describe", "--broker-list", "1,7"], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 1
    assert "do not exist from --broker-list: 7" in result.stderr


def test_our_admin_client_moves_a_replica(broker: OurBroker) -> None:
    async def move() -> None:
        async with Admin(broker.bootstrap_servers) as admin:
            [a, b] = (await admin.describe_log_dirs([1]))[1]
            partition = next(iter(a.replicas))
            assert (a.error, a.is_cordoned, a.total_bytes > a.usable_bytes > 0) == (ErrorCode.NONE, False, True)
            await admin.alter_replica_log_dirs(1, {partition: b.path})
            deadline = time.monotonic() + PATIENCE_S
            while partition in (await admin.describe_log_dirs([1]))[1][0].replicas:
                assert time.monotonic() < deadline
            assert not (await admin.describe_log_dirs([1]))[1][1].replicas[partition].is_future
            with pytest.raises(AdminError) as refused:
                await admin.alter_replica_log_dirs(1, {partition: "/nowhere", TopicPartition("nope", 0): b.path})
            assert {key: error.error_code for key, error in refused.value.errors.items()} == {
                partition: ErrorCode.LOG_DIR_NOT_FOUND,
                TopicPartition("nope", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            }

    asyncio.run(move())


def test_kafka_python(broker: OurBroker) -> None:
    from kafka.admin import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    text = str(admin.describe_log_dirs())
    admin.close()
    assert str(broker.directory / "a") in text
    assert str(broker.directory / "b") in text


@pytest.mark.java
@pytest.mark.ci
def test_kafkas_tool_prints_what_our_command_prints(broker: OurBroker) -> None:
    server = ("--bootstrap-server", broker.bootstrap_servers)
    theirs = run_class(f"{TOOLS}.LogDirsCommand", *server, "--describe", "--topic-list", "t")
    assert theirs.returncode == 0, theirs.stderr
    document = next(line for line in theirs.stdout.splitlines() if line.startswith("{"))
    ours = described(broker, "--describe", "--topic-list", "t")
    assert comparable(json.loads(document)) == comparable(ours)
