"""`odradek storage adopt` on the directory of a broker of ours without its metadata: read-only, and permanently."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import PolicyViolationError

from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_meta_properties, read_partition_metadata
from odradek.storage.subcommands import storage
from support.brokers.our_broker import OurBroker
from support.door.rescue import Adopted, adopt, fingerprint, lose_metadata
from support.door.rescued_reading import (
    committed_of_aiokafka,
    committed_of_kafka_python,
    read_with_aiokafka,
    read_with_kafka_python,
)

GROUP = "readers"
TOPIC = "orders"
COMMITTED = {(TOPIC, 0): 17, (TOPIC, 1): 5}
VALUES = {0: [b"0-%d" % number for number in range(40)], 1: [b"1-%d" % number for number in range(20)]}
POLICY_VIOLATION = 44
TIMEOUT_S = 30.0


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log directory of a broker that was killed, without its metadata."""
    home = tmp_path_factory.mktemp("dead")
    with OurBroker(home) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 2, 1, config={"retention.ms": "86400000"})])[TOPIC].result(TIMEOUT_S)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
        for partition, values in VALUES.items():
            for value in values:
                producer.produce(TOPIC, value, partition=partition)
        assert producer.flush(TIMEOUT_S) == 0
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=GROUP, enable_auto_commit=False)
        consumer.assign([TopicPartition(*partition) for partition in COMMITTED])
        for committed, offset in COMMITTED.items():
            consumer.seek(TopicPartition(*committed), offset)
        consumer.commit()
        consumer.close()
        broker.kill()
    lose_metadata(broker.log_dir)
    return broker.log_dir


@pytest.fixture
def directory(dead: Path, tmp_path: Path) -> Path:
    """A copy of the directory."""
    return Path(shutil.copytree(dead, tmp_path / "logs"))


def values_of(records: dict[tuple[str, int], list[Any]]) -> dict[int, list[bytes]]:
    return {partition: [record[3] for record in found] for (_, partition), found in records.items()}


def test_read_only_serves_what_is_there_and_changes_nothing(directory: Path, tmp_path: Path) -> None:
    (directory / f"{TOPIC}-0" / "00000000000000000000.log").open("ab").write(b"torn")
    before = fingerprint(directory)
    with Adopted(tmp_path, "--read-only", directory) as adopted:
        servers = adopted.bootstrap_servers
        assert values_of(read_with_kafka_python(servers, [TOPIC])) == VALUES
        assert values_of(read_with_aiokafka(servers, [TOPIC])) == VALUES
        assert committed_of_kafka_python(servers, GROUP, COMMITTED) == COMMITTED
        assert committed_of_aiokafka(servers, GROUP, COMMITTED) == COMMITTED
        joined = KafkaConsumer(TOPIC, bootstrap_servers=servers, group_id=GROUP, enable_auto_commit=False)
        assert next(joined).value in (VALUES[0][17], VALUES[1][5]), "a member begins at the committed offset"
        joined.close()
        assert fingerprint(directory) == before, "while it runs"
    assert fingerprint(directory) == before, "after it has stopped"
    assert "retention.ms=-1" in adopted.output


def test_read_only_refuses_whoever_wants_to_change_something(directory: Path, tmp_path: Path) -> None:
    with Adopted(tmp_path, "--read-only", directory) as adopted:
        servers = adopted.bootstrap_servers
        producer = KafkaProducer(bootstrap_servers=servers)
        with pytest.raises(PolicyViolationError):
            producer.send(TOPIC, b"more", partition=0).get(TIMEOUT_S)
        producer.close()
        refused = []
        sender = Producer({"bootstrap.servers": servers, "on_delivery": lambda error, _: refused.append(error.code())})
        sender.produce(TOPIC, b"more", partition=0)
        sender.flush(TIMEOUT_S)
        assert refused == [POLICY_VIOLATION]
        consumer: Any = Consumer({"bootstrap.servers": servers, "group.id": GROUP})
        consumer.subscribe([TOPIC])
        message = consumer.poll(TIMEOUT_S)
        with pytest.raises(KafkaException) as commit:
            consumer.commit(message, asynchronous=False)
        assert commit.value.args[0].code() == POLICY_VIOLATION
        consumer.close()
        admin = AdminClient({"bootstrap.servers": servers})
        for future in (
            admin.create_topics([NewTopic("new", 1)])["new"],
            admin.delete_topics([TOPIC])[TOPIC],
            admin.delete_consumer_groups([GROUP])[GROUP],
        ):
            with pytest.raises(KafkaException) as change:
                future.result(TIMEOUT_S)
            assert change.value.args[0].code() == POLICY_VIOLATION
        assert committed_of_kafka_python(servers, GROUP, COMMITTED) == COMMITTED


@pytest.mark.ci
def test_adopted_for_good_the_directory_is_like_any_other(directory: Path, tmp_path: Path) -> None:
    written = adopt(directory, "--no-serve", "--config", f"{TOPIC}:max.message.bytes=2000000")
    assert written.returncode == 0, written.stderr
    home = tmp_path / "home"
    home.mkdir()
    directory.rename(home / "logs")
    with OurBroker(home) as broker:
        servers = broker.bootstrap_servers
        assert values_of(read_with_kafka_python(servers, [TOPIC])) == VALUES
        assert committed_of_kafka_python(servers, GROUP, COMMITTED) == COMMITTED
        producer = KafkaProducer(bootstrap_servers=servers)
        assert producer.send(TOPIC, b"more", partition=0).get(TIMEOUT_S).offset == len(VALUES[0])
        producer.close()
    again = adopt(home / "logs", "--no-serve")
    assert again.returncode == 1
    assert "has its cluster metadata" in again.stderr
    aside = adopt(home / "logs", "--no-serve", "--set-metadata-aside")
    assert aside.returncode == 0, aside.stderr
    assert [path for path in (home / "logs").iterdir() if path.name.startswith("__cluster_metadata-0.")]


def test_a_directory_of_zookeeper_days_becomes_one_of_today(directory: Path, tmp_path: Path) -> None:
    (directory / "meta.properties").write_text("#Mon Jan 1\nversion=0\nbroker.id=7\ncluster.id=dead-cluster\n")
    for partition in VALUES:
        (directory / f"{TOPIC}-{partition}" / "partition.metadata").unlink()
    with Adopted(tmp_path, directory) as adopted:
        assert values_of(read_with_kafka_python(adopted.bootstrap_servers, [TOPIC])) == VALUES
        assert committed_of_kafka_python(adopted.bootstrap_servers, GROUP, COMMITTED) == COMMITTED
    meta = read_meta_properties(Files(), directory)
    assert meta is not None
    assert (meta.node_id, meta.cluster_id, len(meta.directory_id)) == (7, "dead-cluster", 16)
    ids = {read_partition_metadata(Files(), directory / f"{TOPIC}-{partition}") for partition in VALUES}
    assert len(ids) == 1, "Kafka takes a partition without its topic's id for a stray"
    assert None not in ids


@pytest.mark.ci
def test_what_a_kafka_has_set_aside_is_served_again(directory: Path, tmp_path: Path) -> None:
    """A Kafka that was started on the disks with new metadata has renamed every partition to -stray."""
    for path in list(directory.glob("*-[0-9]*")):
        path.rename(path.with_name(f"{path.name}.{'0123abcd' * 4}-stray"))
    refused = adopt(directory, "--read-only", "--no-serve")
    assert refused.returncode == 1
    assert "--adopt-strays" in refused.stderr
    before = fingerprint(directory)
    with Adopted(tmp_path, directory, "--read-only", "--adopt-strays") as adopted:
        assert values_of(read_with_kafka_python(adopted.bootstrap_servers, [TOPIC])) == VALUES
    assert fingerprint(directory) == before
    with Adopted(tmp_path, directory, "--adopt-strays") as adopted:
        assert values_of(read_with_kafka_python(adopted.bootstrap_servers, [TOPIC])) == VALUES
        assert committed_of_kafka_python(adopted.bootstrap_servers, GROUP, COMMITTED) == COMMITTED
    assert not list(directory.glob("*-stray"))


def test_several_directories_are_served_together(directory: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (directory / f"{TOPIC}-1").rename(other / f"{TOPIC}-1")
    with Adopted(tmp_path, "--read-only", directory, other) as adopted:
        assert values_of(read_with_kafka_python(adopted.bootstrap_servers, [TOPIC])) == VALUES
    shutil.copytree(directory / f"{TOPIC}-0", other / f"{TOPIC}-0")
    refused = adopt(directory, other)
    assert refused.returncode == 1
    assert "exists twice" in refused.stderr


def test_a_directory_in_use_is_refused_and_left_as_it_is(directory: Path, tmp_path: Path) -> None:
    with Adopted(tmp_path, "--read-only", directory):
        before = fingerprint(directory)
        for arguments in ((directory,), (directory, "--no-serve")):
            refused = adopt(*arguments)
            assert refused.returncode == 1
            assert "another process has this log directory open" in refused.stderr
        assert fingerprint(directory) == before


def test_read_only_and_no_serve_says_what_is_there(directory: Path) -> None:
    before = fingerprint(directory)
    said = adopt("--read-only", "--no-serve", directory)
    assert said.returncode == 0, said.stderr
    assert f"  {TOPIC}: 2 of 2 partitions" in said.stdout
    assert "__consumer_offsets: 1 of 50 partitions" in said.stdout
    assert fingerprint(directory) == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--config", "orders"], "must be like"),
        (["--partitions", "orders=x"], "must be like"),
        (["--override", "no.such.key=1"], "no.such.key"),
        (
            ["--override", "authorizer.class.name=a.B"],
            "authorizer.class.name is set (--override), but org.apache.kafka.metadata.authorizer",
        ),
    ],
)
def test_wrong_options(directory: Path, arguments: list[str], sentence: str) -> None:
    before = fingerprint(directory)
    refused = adopt(directory, *arguments)
    assert refused.returncode in (1, 2)
    assert sentence in refused.stderr
    assert {name for name in fingerprint(directory) if name != ".lock"} == {name for name in before if name != ".lock"}


@pytest.mark.parametrize("mode", ["--no-serve", "--read-only"])
def test_bad_configs_are_refused_before_anything_is_written(
    directory: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    before = fingerprint(directory)
    options = ["--config", f"{TOPIC}:retention.ms=evil", "--config", f"{TOPIC}:segment.byte=5"]
    assert storage(["adopt", str(directory), mode, *options]) == 1
    said = capsys.readouterr().err
    assert f"topic {TOPIC}: retention.ms=evil: Invalid value evil" in said
    assert f"topic {TOPIC}: segment.byte=5: Unknown topic config name" in said
    assert fingerprint(directory) == before


def test_a_segment_without_room_for_more_is_refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / f"{TOPIC}-1" / f"{2**63 - 1:020d}.log").touch()
    assert storage(["adopt", str(directory), "--no-serve"]) == 1
    assert f"{TOPIC}-1: offsets go up to {2**63 - 2}" in capsys.readouterr().err
